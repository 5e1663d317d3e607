import type { CommentView } from "../comments/comments.schema.ts";
import type { Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import type { Page } from "../../../kernel/page.ts";
import type { Entry, CommandInput, OptionSpec } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { numberIn } from "../../../commands/records.ts";
import { addressOf, locateRequest } from "./replies.ts";
import { showView } from "../../../commands/show.ts";
import type { Verbs } from "../../../commands/verbs.ts";

const atOnce = 200;

/** All that somebody may read of what was said on a request that was located, newest first. @throws ProblemError record_not_found */
async function commentsOf(located: CommandInput["values"], call: Call, verbs: Verbs): Promise<CommentView[]> {
  const found: CommentView[] = [];
  let cursor: string | undefined;
  do {
    const query = { limit: atOnce, cursor };
    const page = (await verbs.run("listWorkflowComments", call, {
      params: addressOf({ values: located, files: {} }),
      query,
    })) as Page<CommentView>;
    found.push(...page.data);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return found.toReversed();
}

/** What the person at the console has said on a request that was named, newest first. @throws ProblemError record_not_found */
export async function ownComments(given: CommandInput, call: Call, verbs: Verbs): Promise<CommentView[]> {
  const comments = await commentsOf(await locateRequest(given, call, verbs), call, verbs);
  return comments.filter(({ author }) => author !== null && author.id === call.actor?.id);
}

/** The comment as it reads now, and its revision: what somebody else changes meanwhile is not written over. @throws ProblemError record_not_found */
async function asItReads(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  const id = textIn(given, "comment")?.trim().toLowerCase();
  const comment = (await commentsOf(given.values, call, verbs)).find((one) => one.id === id);
  if (comment === undefined) throw recordNotFound();
  return { body: comment.body, revision: comment.revision };
}

/** `/review comment-edit`: one's own words, changed. */
export function commentEditEntry(command: string, reference: OptionSpec): Entry {
  return {
    command,
    path: "comment-edit",
    operation: "editWorkflowComment",
    options: [
      reference,
      { name: "comment", kind: "text", required: true, completes: "own-comment", max: 64 },
      { name: "body", kind: "text" },
    ],
    form: [{ name: "body", kind: "paragraph", required: true }],
    locate: locateRequest,
    fills: asItReads,
    input: (given) => ({
      params: { ...addressOf(given), comment_id: (textIn(given, "comment") ?? "").trim() },
      body: picked(given, "body"),
      revision: numberIn(given, "revision"),
    }),
    show: (view: CommentView, { t }) => showView(view, t),
  };
}
