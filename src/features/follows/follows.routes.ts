import { say } from "../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { followsPolicy } from "./follows.policy.ts";
import {
  AdoptedView,
  AdoptInput,
  EntryNumber,
  FollowedEntryView,
  FollowedListView,
  FollowListInput,
  ListEntriesQuery,
  ListFollowedQuery,
  ListId,
  maxFileBytes,
  SendFileInput,
  UpdateListInput,
} from "./follows.schema.ts";
import type { FollowsService } from "./follows.service.ts";

const { get, post, put, patch, del } = routesFor("lists");
const params = z.object({ id: ListId });
const entryParams = z.object({ id: ListId, number: EntryNumber });
const example = {
  id: "0199a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b",
  name: "Harbour Watch",
  kind: "provost",
  address: "https://provost.example",
  has_key: true,
  categories: ["raid", "scam"],
  trust: 90,
  interval_minutes: 5,
  state: "following",
  problem: null,
  failures: 0,
  unread: 0,
  last_read_at: "2026-11-25T10:00:00.000Z",
  next_read_at: "2026-11-25T10:05:00.000Z",
  created_by: "80351110224678912",
  created_at: "2026-11-20T10:00:00.000Z",
  updated_at: "2026-11-20T10:00:00.000Z",
  revision: 1,
} as const satisfies z.input<typeof FollowedListView>;
const entryExample = {
  number: "BL-000123",
  revision: 2,
  kind: "user",
  subject_id: "80351110224678912",
  category: "raid",
  severity: "high",
  recommended_action: "ban",
  starts_at: "2026-11-20T10:00:00.000Z",
  expires_at: null,
  updated_at: "2026-11-25T10:00:00.000Z",
} as const satisfies z.input<typeof FollowedEntryView>;
const unreadLine = { line: 17, field: "/subject_id", value: "bit.ly/3aB4cD5", reason: say("follows.this-leads-to-a-page-not-to") };
const single = {
  status: 200,
  shape: "single",
  schema: FollowedListView,
  example: { ...example, unread: 1, unread_lines: [unreadLine] },
} as const;

/** HTTP routes for lists of others. */
export function followsRoutes(follows: FollowsService): Route[] {
  return [...listRoutes(follows), ...entryRoutes(follows)];
}

function listRoutes(follows: FollowsService): Route[] {
  return [
    get("/lists", "listFollowedLists", {
      summary: "List the lists of others that are followed",
      access: { permission: followsPolicy.read },
      request: { query: ListFollowedQuery },
      success: { ...single, shape: "list", description: "A page of lists", example },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => follows.list(call, query),
    }),
    post("/lists", "followList", {
      summary: "Follow a list of others",
      description:
        "Another Provost is asked for its changes with an API key; a file is read from its address, or sent. What a list says is told beside your own records and never becomes one of them unless somebody adopts it.",
      access: { permission: followsPolicy.manage },
      request: {
        body: FollowListInput,
        example: {
          name: "Harbour Watch",
          address: "https://provost.example",
          key: "prv_live_aaaaaaaaaaaa_b",
          categories: ["raid", "scam"],
          trust: "high",
        },
      },
      success: { ...single, status: 201, description: "The list; it is read within a minute" },
      handle: ({ call, body }) => follows.follow(call, body),
    }),
    get("/lists/{id}", "getFollowedList", {
      summary: "See a followed list",
      access: { permission: followsPolicy.read },
      request: { params },
      success: { ...single, description: "The list" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => follows.get(call, id),
    }),
    patch("/lists/{id}", "updateFollowedList", {
      summary: "Change a followed list",
      description: "With another address or other categories it is read from the beginning.",
      access: { permission: followsPolicy.manage },
      request: { params, body: UpdateListInput, example: { trust: "low", categories: ["raid"] } },
      success: { ...single, description: "The list as it is now" },
      refusals: ["record_not_found", "precondition_failed", "conflict_of_interest"],
      handle: ({ call, params: { id }, body, ifMatch }) => follows.update(call, id, body, ifMatch),
    }),
    del("/lists/{id}", "unfollowList", {
      summary: "Follow a list no more",
      description: "Everything it said is forgotten. Records that were adopted stay.",
      access: { permission: followsPolicy.manage },
      request: { params },
      success: { ...single, description: "The list as it was" },
      refusals: ["record_not_found", "precondition_failed", "conflict_of_interest"],
      handle: ({ call, params: { id }, ifMatch }) => follows.unfollow(call, id, ifMatch),
    }),
    post("/lists/{id}/refresh", "refreshFollowedList", {
      summary: "Read a followed list now",
      description: "What goes wrong stands in `problem`.",
      access: { permission: followsPolicy.manage },
      request: { params },
      success: { ...single, description: "The list after it was read" },
      refusals: ["record_not_found", "invalid_transition"],
      handle: ({ call, params: { id } }) => follows.refresh(call, id),
    }),
    post("/lists/{id}/reset", "resetFollowedList", {
      summary: "Read a followed list from the beginning",
      description: "For a list that is stopped, once somebody has looked why. Everything it said is forgotten first.",
      access: { permission: followsPolicy.manage },
      request: { params },
      success: { ...single, description: "The list as it is now" },
      refusals: ["record_not_found", "precondition_failed", "conflict_of_interest"],
      handle: ({ call, params: { id }, ifMatch }) => follows.reset(call, id, ifMatch),
    }),
  ];
}

function entryRoutes(follows: FollowsService): Route[] {
  return [
    put("/lists/{id}/file", "sendListFile", {
      summary: "Send the file of a list",
      description:
        "For a file without an address. It is compared whole: what is no longer in it is taken back. A line that cannot be read stands in `unread_lines` and changes nothing else; a file of which most cannot be read is refused.",
      access: { permission: followsPolicy.manage },
      request: {
        params,
        body: SendFileInput,
        bodyLimit: maxFileBytes,
        byLine: ["records", "csv"],
        textBody: { type: "text/csv", field: "csv" },
        example: { records: [{ kind: "user", subject_id: "80351110224678912", category: "raid", severity: "high" }] },
      },
      success: { ...single, description: "The list after it" },
      refusals: ["record_not_found", "invalid_transition", "precondition_failed", "conflict_of_interest"],
      handle: ({ call, params: { id }, body, ifMatch }) => follows.sendFile(call, id, body, ifMatch),
    }),
    get("/lists/{id}/entries", "listFollowedEntries", {
      summary: "List what a followed list says",
      description: "What is in force now.",
      access: { permission: followsPolicy.read },
      request: { params, query: ListEntriesQuery },
      success: { status: 200, shape: "list", schema: FollowedEntryView, description: "A page of entries", example: entryExample },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => follows.entries(call, id, query),
    }),
    post("/lists/{id}/entries/{number}/adopt", "adoptFollowedEntry", {
      summary: "Make a record of your own of an entry",
      description: "The record names its origin in `origin_reference`. It stands for itself: what the list says later does not change it.",
      access: { permission: followsPolicy.adopt, also: followsPolicy.read },
      request: { params: entryParams, body: AdoptInput, bodyOptional: true, example: { reason_public: "Took part in the raid." } },
      success: { status: 201, shape: "single", schema: AdoptedView, description: "Your new record" },
      refusals: ["record_not_found", "duplicate_active_record", "hierarchy_violation", "invalid_transition"],
      handle: ({ call, params: { id, number }, body }) => follows.adopt(call, id, number, body),
    }),
  ];
}
