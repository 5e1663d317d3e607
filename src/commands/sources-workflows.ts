import type { CommentView } from "../features/workflows/comments/comments.schema.ts";
import type { DraftView } from "../features/workflows/drafts/drafts.schema.ts";
import type { WorkflowView } from "../features/workflows/requests/workflows.schema.ts";
import type { SourceSpec } from "./entry.ts";
import { ownComments } from "./review-comments.ts";
import { cut } from "./show.ts";
import { holds } from "./sources-staff.ts";

const most = 25;
const least = 2;

/** Requests by reference, narrowed to those that fit. */
function requests(narrowed: Readonly<Record<string, string>>): SourceSpec {
  return {
    operation: "listWorkflows",
    input: (typed) => ({ query: { ...narrowed, limit: most, q: typed.trim().length < least ? undefined : typed.trim().slice(0, 100) } }),
    choice: ({ reference, status, title }: Pick<WorkflowView, "reference" | "status" | "title">) => ({
      name: cut(`${reference} · ${status.replace("_", " ")} · ${title}`, 100),
      value: reference,
    }),
  };
}

/** Where the requests and positions that are typed are completed from. */
export const workflowSources: Readonly<Record<string, SourceSpec>> = {
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
    input: () => ({ query: { limit: most } }),
    choice: ({ id, type, created_at: at }: DraftView) => ({ name: cut(`${type} · ${at.slice(0, 16).replace("T", " ")}`, 100), value: id }),
  },
  position: {
    operation: "listStaffRoles",
    input: () => ({ query: { limit: 200 } }),
    choice: ({ key, name }: { key: string; name: string }) => ({ name: cut(`${name} (${key})`, 100), value: key }),
    keeps: ({ key, name }: { key: string; name: string }, typed) => holds(typed, key, name),
  },
};
