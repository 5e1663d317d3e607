import { say } from "../../kit/say.ts";
import { z } from "zod";
import { idOrPattern, listQuery } from "../../kernel/fields.ts";
import { routesFor, type Route } from "../../operations/route.ts";
import {
  BlacklistChangesNotes,
  BlacklistNotes,
  BlacklistChangeView,
  BlacklistCheck,
  BlacklistPurge,
  BlacklistVersionView,
  BlacklistView,
  CheckBlacklistInput,
  CreateBlacklistInput,
  ListBlacklistChangesQuery,
  ListBlacklistQuery,
  PurgeBlacklistInput,
  RevokeReason,
  UpdateBlacklistInput,
} from "./blacklist.schema.ts";
import type { BlacklistService } from "./blacklist.service.ts";

const { del, get, patch, post } = routesFor("blacklist");
const path = "/blacklist/{id}";
const params = z.object({
  id: z
    .string()
    .regex(idOrPattern("bl-\\d{6,9}"), say("blacklist.name-the-record-by-its-id-or"))
    .meta({ description: "Id or number", example: "BL-000123" }),
});
const RevokeBody = z.strictObject({ reason: RevokeReason.optional() }).meta({ id: "RevokeBlacklistBody" });
const RevokeQuery = z.object({ reason: RevokeReason.optional() });
const single = { status: 200, shape: "single", schema: BlacklistView } as const;

export function blacklistRoutes(blacklist: BlacklistService): Route[] {
  return [...collectionRoutes(blacklist), ...recordRoutes(blacklist)];
}

function collectionRoutes(blacklist: BlacklistService): Route[] {
  return [
    post("/blacklist", "createBlacklistRecord", {
      summary: "List a user or a server without a request",
      description: "At most one active record exists per subject and scope.",
      access: { permission: "blacklist.create" },
      request: {
        body: CreateBlacklistInput,
        example: { kind: "user", subject_id: "80351110224678912", category: "raid", severity: "high" },
      },
      success: { status: 201, shape: "single", schema: BlacklistView, description: "The new record" },
      refusals: ["duplicate_active_record", "hierarchy_violation"],
      handle: ({ call, body }) => blacklist.create(call, body),
    }),
    get("/blacklist", "listBlacklist", {
      summary: "List blacklist records, newest first",
      description:
        "Where every filter finds many records, a page looks at 2,000 records at most. It can then be shorter than `limit`, or empty, and `meta.examined_to` says how far it came; `page.next_cursor` goes on from there.",
      access: { permission: "blacklist.read" },
      request: { query: ListBlacklistQuery },
      success: { status: 200, shape: "list", schema: BlacklistView, notes: BlacklistNotes, description: "A page of records" },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => blacklist.list(call, query),
    }),
    get("/blacklist/changes", "listBlacklistChanges", {
      summary: "Follow the changes of the blacklist, oldest first",
      description:
        "Everything that happened to records, in the order in which it was stored; nothing comes in between later. Apply each entry: `retract` says let go of the record, anything else says keep it as it stands in `record`, which counts while its status is `active`. Then go on from `meta.resume_cursor`, which is there even at the end. A record that leaves the category asked for is retracted; that one was purged is told whatever the category.",
      access: { permission: "blacklist.read" },
      request: { query: ListBlacklistChangesQuery },
      success: {
        status: 200,
        shape: "list",
        schema: BlacklistChangeView,
        notes: BlacklistChangesNotes,
        description: "A page of changes",
      },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => blacklist.changes(call, query),
    }),
    post("/blacklist/check", "checkBlacklist", {
      summary: "Look up to 500 users and 500 servers up at once",
      description:
        "`listed` and `records` are about the very id. `include_alts` adds, for each user, listed accounts that may belong to the same person; it needs `users.links.read`. Callers with `servers.read` are also told of records about further ids of a server and about servers it was merged with.",
      access: { permission: "blacklist.check" },
      write: false,
      limit: "read",
      request: { body: CheckBlacklistInput, example: { user_ids: ["80351110224678912"] } },
      success: { status: 200, shape: "single", schema: BlacklistCheck, description: "One answer per id, in the order asked" },
      handle: ({ call, body }) => blacklist.check(call, body),
    }),
  ];
}

function recordRoutes(blacklist: BlacklistService): Route[] {
  const refusals = [
    "record_not_found",
    "precondition_failed",
    "invalid_transition",
    "hierarchy_violation",
    "conflict_of_interest",
  ] as const;
  return [
    get(path, "getBlacklistRecord", {
      summary: "Read one record",
      access: { permission: "blacklist.read" },
      request: { params },
      success: { ...single, description: "The record" },
      refusals: ["record_not_found"],
      handle: ({ call, params: { id } }) => blacklist.get(call, id),
    }),
    patch(path, "updateBlacklistRecord", {
      summary: "Change a record",
      description:
        "Fields that are not sent stay. Every change is kept as a version. `reason_internal` and `exempt_user_ids` are changed by holders of `blacklist.read_confidential` only.",
      access: { permission: "blacklist.update" },
      request: { params, body: UpdateBlacklistInput, example: { severity: "critical" } },
      success: { ...single, description: "The changed record" },
      refusals,
      handle: ({ call, params: { id }, body, ifMatch }) => blacklist.update(call, id, body, ifMatch),
    }),
    del(path, "revokeBlacklistRecord", {
      summary: "Revoke a record",
      description: "The record stays readable with its history. The reason stands in the body or in `?reason=`.",
      access: { permission: "blacklist.revoke" },
      request: { params, query: RevokeQuery, body: RevokeBody, bodyOptional: true, example: { reason: "The report was wrong." } },
      success: { ...single, description: "The revoked record" },
      refusals,
      handle: ({ call, params: { id }, query, body, ifMatch }) => blacklist.revoke(call, id, { ...query, ...body }, ifMatch),
    }),
    post(`${path}/purge`, "purgeBlacklistRecord", {
      summary: "Erase a record for good",
      description:
        "Only a record that does not count any more: revoke it first. Its versions, matches and evidence go with it, and the details of the audit about it; its number, the time and the reason stay, and the number is not given again.",
      access: { permission: "blacklist.purge" },
      confirmable: true,
      request: { params, body: PurgeBlacklistInput, example: { reason: "Listed the wrong person." } },
      success: { status: 200, shape: "single", schema: BlacklistPurge, description: "What is left of the record" },
      refusals,
      handle: ({ call, params: { id }, body, ifMatch }) => blacklist.purge(call, id, body, ifMatch),
    }),
    get(`${path}/history`, "listBlacklistHistory", {
      summary: "List the versions of a record, newest first",
      access: { permission: "blacklist.read" },
      request: { params, query: z.strictObject(listQuery) },
      success: { status: 200, shape: "list", schema: BlacklistVersionView, description: "A page of versions" },
      refusals: ["record_not_found", "invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => blacklist.history(call, id, query),
    }),
  ];
}
