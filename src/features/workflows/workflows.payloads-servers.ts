import { z } from "zod";
import { Duration, Snowflake, Timestamp, text } from "../../kernel/fields.ts";
import { ids, idsUpTo, listOf, Reason } from "./workflows.fields.ts";
import { severities } from "./workflows.payloads.ts";

export const serverCategories = [
  "poaching",
  "raiding",
  "exploits",
  "stolen_assets",
  "leaking",
  "scam",
  "predatory",
  "ban_evasion_hub",
  "terms",
  "other",
] as const;

export const BlacklistServerPayload = z
  .object({
    server_id: Snowflake,
    reason: Reason,
    server_name: text(1, 100).optional(),
    invite_codes: z.array(text(1, 100)).max(20).default([]),
    owner_user_id: Snowflake.optional(),
    category: z.enum(serverCategories),
    severity: z.enum(severities),
    member_policy: z.enum(["inform", "flag", "verify", "deny_staff", "deny_entry"]),
    grace_period: Duration.default("P7D").meta({ description: "How long members may take to leave" }),
    min_tenure: Duration.optional(),
    exempt_user_ids: ids.default([]),
    aliases: idsUpTo(20).default([]).meta({ description: "Other ids of the same server" }),
    duration: Duration.nullable().optional().meta({ description: "null: permanent" }),
    review_after: Duration.default("P180D"),
  })
  .meta({ id: "BlacklistServerPayload" });

export const ServerMergePayload = z
  .object({
    source_server_id: Snowflake,
    target_server_id: Snowflake,
    reason: Reason.optional(),
    initiated_by: z.enum(["source", "target", "network"]).default("network"),
    owner_consents: z
      .array(z.strictObject({ server_id: Snowflake, user_id: Snowflake, at: Timestamp, evidence: text(1, 2000).optional() }))
      .max(4)
      .default([]),
    staff_plan: z
      .array(z.strictObject({ user_id: Snowflake, from_role: text(1, 60).optional(), to_role: text(1, 60) }))
      .max(100)
      .default([]),
    records: z.enum(["link", "transfer"]).default("link"),
    callsign_policy: z.enum(["keep_target", "renumber"]).default("keep_target"),
    effective_at: Timestamp,
    source_after: z.enum(["archive", "keep"]).default("archive"),
    announce: z.boolean().default(false),
  })
  .refine((payload) => payload.source_server_id !== payload.target_server_id, {
    path: ["target_server_id"],
    message: "A server cannot merge with itself.",
  })
  .meta({ id: "ServerMergePayload" });

const Kind = z.enum(["report", "agreement", "clearance"]);

const required = {
  report: ["offending_server_id", "victim_server_id", "occurred_at"],
  agreement: ["party_server_ids"],
  clearance: ["user_id", "from_server_id", "to_server_id"],
} as const;

const needed = (kind: keyof typeof required) => ({ description: `Needed when the kind is ${kind}` });

export const PoachPayload = z
  .object({
    kind: Kind,
    reason: Reason.optional(),
    offender_user_ids: listOf(idsUpTo(20)).default([]),
    offending_server_id: Snowflake.optional().meta(needed("report")),
    victim_server_id: Snowflake.optional().meta(needed("report")),
    target_user_ids: idsUpTo(50).default([]),
    method: z.enum(["dm", "invite", "offer", "ad", "role_offer", "other"]).default("other"),
    occurred_at: Timestamp.optional().meta(needed("report")),
    party_server_ids: z.array(Snowflake).min(2).max(10).optional().meta(needed("agreement")),
    covers: z.enum(["staff", "members", "both"]).default("both"),
    cooling_off_days: z.int().min(0).max(365).default(30),
    starts_at: Timestamp.optional(),
    ends_at: Timestamp.optional(),
    terms: text(0, 4000).optional(),
    signatories: idsUpTo(20).default([]),
    user_id: Snowflake.optional().meta(needed("clearance")),
    from_server_id: Snowflake.optional().meta(needed("clearance")),
    to_server_id: Snowflake.optional().meta(needed("clearance")),
    valid_until: Timestamp.optional(),
  })
  .superRefine(
    (payload, context) => {
      for (const field of required[payload.kind]) {
        if (payload[field] !== undefined) continue;
        const message = `${needed(payload.kind).description}.`;
        context.addIssue({ code: "custom", path: [field], message, params: { code: "required" } });
      }
    },
    // Beside other wrong fields too, so that one answer names them all.
    { when: ({ value }) => z.object({ kind: Kind }).safeParse(value).success },
  )
  .meta({ id: "PoachPayload" });
