import type { CommandSet, SourceSpec } from "../../commands/entry.ts";
import { requestMenuEntries, requestMenus } from "./commands/menus.ts";
import { draftName, requestEntries } from "./commands/request.ts";
import { reviewEntries } from "./commands/review.ts";
import { directEntries, directMenuEntries, directMenus, directSources } from "./direct/direct.commands.ts";
import { reasonNames } from "./direct/settings.commands.ts";
import type { CommentView } from "./comments/comments.schema.ts";
import type { DraftView } from "./drafts/drafts.schema.ts";
import type { WorkflowView } from "./requests/workflows.schema.ts";
import { servedServerSource } from "./commands/servers.ts";
import { ownComments } from "./commands/comments.ts";
import { cut } from "../../commands/show.ts";
import { choiceLimit, findBy } from "../../commands/sources.ts";
import { plainTitle } from "./commands/titles.ts";

const least = 2;

/** Requests by reference, narrowed to those that fit. */
function requests(narrowed: Readonly<Record<string, string>>): SourceSpec {
  return {
    operation: "listWorkflows",
    input: (typed) => ({
      query: { ...narrowed, limit: choiceLimit, q: typed.trim().length < least ? undefined : typed.trim().slice(0, 100) },
    }),
    choice: (view: WorkflowView, _typed, t) => ({
      name: cut(
        [view.reference, plainTitle(view, t), t(`= ${view.status}`), view.requester?.display_name].filter(Boolean).join(" · "),
        100,
      ),
      value: view.reference,
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
  ...directSources,
  "reason-name": reasonNames,
  "served-server": servedServerSource,
  draft: {
    operation: "listRequestDrafts",
    input: () => ({ query: { limit: choiceLimit } }),
    find: findBy("getRequestDraft"),
    choice: (view: DraftView, _typed, t) => ({ name: cut(draftName(view, t), 100), value: view.id }),
  },
};

/** What Discord offers of requests: filing, `/request`, deciding, `/review`, and both in one step, such as `/ban`. */
export const workflowCommands: CommandSet = {
  entries: [...requestEntries, ...reviewEntries, ...directEntries],
  menus: [...requestMenus, ...directMenus],
  menuEntries: [...requestMenuEntries, ...directMenuEntries],
  sources: workflowSources,
};
