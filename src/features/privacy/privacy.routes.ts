import { z } from "zod";
import { routesFor, type Route } from "../../operations/route.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { privacyPolicy } from "./privacy.policy.ts";
import { DataExportView, ErasureView, RedactInput } from "./privacy.schema.ts";
import type { PrivacyService } from "./privacy.service.ts";

const { get, post } = routesFor("privacy");
const params = z.object({ discord_user_id: Snowflake });
const userId = "80351110224678912";
const at = "2026-11-20T10:00:00.000Z";
const none = { entries: [] };

const exampleExport = {
  discord_user_id: userId,
  made_at: at,
  authorization: {
    status: "active",
    scopes: ["identify", "guilds"],
    detail: "full",
    purposes: ["verification"],
    consent_version: "2",
    granted_at: at,
    last_refreshed_at: at,
    expires_at: "2026-12-20T10:00:00.000Z",
    ended_at: null,
  },
  sessions: none,
  servers: {
    entries: [{ id: "41771983423143937", name: "Harbour", relation: "member", first_seen_at: at, last_seen_at: at, left_at: null }],
    listed: 0,
  },
  matches: none,
  linked_accounts: none,
  messages: none,
  requests: none,
  blacklist: none,
  cases: none,
  staff: null,
  memberships: none,
  native_actions: none,
  reads: { entries: [{ reader: "Nelly", what: "servers", hour: at }] },
  audit: { entries: [{ at, action: "authorization.grant" }] },
};

const exampleErasure = {
  discord_user_id: userId,
  kind: "redaction",
  erased_at: at,
  deleted: {
    authorization: 1,
    sessions: 2,
    servers: 41,
    matches: 1,
    reads: 7,
    sign_ins: 0,
    links: 0,
    staff: 1,
    names: 3,
    audit_details: 12,
  },
  kept: ["That something was done, in the audit."],
  suppressed: true,
};

/** HTTP routes for export and redaction. */
export function privacyRoutes(privacy: PrivacyService): Route[] {
  return [
    get("/users/{discord_user_id}/data-export", "exportUserData", {
      summary: "Export everything stored about a person that they may have",
      description:
        "Everybody may have their own, as often as the limit `export` allows for one person over every transport together. The answer is the same whoever asks: it holds no tokens, no notes of staff, nothing of confidential requests, and nothing about others. Somebody nothing is stored of gets an empty export.",
      access: { permission: privacyPolicy.export, own: "discord_user_id" },
      limit: "export",
      request: { params },
      success: { status: 200, shape: "single", schema: DataExportView, description: "The export", example: exampleExport },
      handle: ({ call, params: { discord_user_id } }) => privacy.export(call, discord_user_id),
    }),
    post("/users/{discord_user_id}/redaction", "redactUser", {
      summary: "Erase a person",
      description:
        "Deletes what the person shared, their names, links and staff data, and the details of the audit about them. Blacklist records, cases, requests and decisions stay as records about an id. Always waits for a second person who holds `users.redact`, too. Present staff have to lose their roles first.",
      access: { permission: privacyPolicy.redact },
      confirmable: true,
      request: { params, body: RedactInput, example: { reason: "Asked for by the person by mail." } },
      success: { status: 200, shape: "single", schema: ErasureView, description: "What was erased", example: exampleErasure },
      refusals: ["invalid_transition", "hierarchy_violation", "last_owner"],
      handle: ({ call, params: { discord_user_id }, body }) => privacy.redact(call, discord_user_id, body),
    }),
  ];
}
