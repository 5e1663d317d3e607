import type { CommandSet, SourceSpec } from "../../commands/entry.ts";
import { requestMenuEntries, requestMenus } from "./commands/menus.ts";
import { requestEntries } from "./commands/request.ts";
import { reviewEntries } from "./commands/review.ts";
import type { CommentView } from "./comments/comments.schema.ts";
import type { DraftView } from "./drafts/drafts.schema.ts";
import type { WorkflowView } from "./requests/workflows.schema.ts";
import { ownComments } from "./commands/comments.ts";
import { cut } from "../../commands/show.ts";
import { choiceLimit, findBy } from "../../commands/sources.ts";

const least = 2;

/** Requests by reference, narrowed to those that fit. */
function requests(narrowed: Readonly<Record<string, string>>): SourceSpec {
  return {
    operation: "listWorkflows",
    input: (typed) => ({
      query: { ...narrowed, limit: choiceLimit, q: typed.trim().length < least ? undefined : typed.trim().slice(0, 100) },
    }),
    choice: ({ reference, status, title }: Pick<WorkflowView, "reference" | "status" | "title">) => ({
      name: cut(`${reference} · ${status.replace("_", " ")} · ${title}`, 100),
      value: reference,
    }),
  };
}

/** Where the requests that are typed are completed from. */
const workflowSources: Readonly<Record<string, SourceSpec>> = {
  request: requests({}),
  "open-request": requests({ status: "open" }),
  "own-request": requests({ requester: "@me", status: "open" }),
  "own-comment": {
    operation: "listWorkflowComments",
    input: () => ({}),
    read: ownComments,
    choice: ({ id, body, created_at: at }: CommentView) => ({
      name: cut(`${at.slice(0, 16).replace("T", " ")} · ${body.replaceAll(/\s+/g, " ")}`, 100),
      value: id,
    }),
    keeps: ({ body }: CommentView, typed) => body.toLowerCase().includes(typed.trim().toLowerCase()),
  },
  draft: {
    operation: "listRequestDrafts",
    input: () => ({ query: { limit: choiceLimit } }),
    find: findBy("getRequestDraft"),
    choice: ({ id, type, created_at: at }: DraftView) => ({ name: cut(`${type} · ${at.slice(0, 16).replace("T", " ")}`, 100), value: id }),
  },
};

/** What Discord offers of requests: filing, `/request`, and deciding, `/review`. */
export const workflowCommands: CommandSet = {
  entries: [...requestEntries, ...reviewEntries],
  menus: requestMenus,
  menuEntries: requestMenuEntries,
  sources: workflowSources,
};
