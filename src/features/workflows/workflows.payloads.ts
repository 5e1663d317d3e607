import { z } from "zod";
import { Duration, Snowflake, Timestamp, text } from "../../kernel/fields.ts";
import { isAnonymous, notAnonymous } from "../../kernel/identifying.ts";
import { ids, idsUpTo, listOf, Reason } from "./workflows.fields.ts";

export const severities = ["low", "medium", "high", "critical"] as const;
const length = Duration.nullable().optional().meta({ description: "null: permanent" });
const role = text(1, 60);

export const userCategories = [
  "raid",
  "harassment",
  "hate",
  "exploit",
  "scam",
  "doxxing",
  "impersonation",
  "ban_evasion",
  "leaking",
  "predatory",
  "staff_abuse",
  "poaching",
  "compromised",
  "other",
] as const;

export const BlacklistUserPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason,
    category: z.enum(userCategories),
    severity: z.enum(severities),
    scope: z.enum(["network", "servers"]),
    server_ids: ids.default([]),
    recommended_action: z.enum(["monitor", "verify", "deny_entry", "kick", "ban"]).optional(),
    duration: length,
    review_after: Duration.default("P180D"),
    include_alts: z.enum(["none", "confirmed", "probable"]).default("confirmed"),
    compromised_account: z.boolean().default(false),
  })
  .refine((payload) => payload.scope === "network" || payload.server_ids.length > 0, {
    path: ["server_ids"],
    message: "Name the servers of the scope.",
  })
  .meta({ id: "BlacklistUserPayload" });

const Interview = z.strictObject({
  at: Timestamp.optional(),
  panel: idsUpTo(10).optional(),
  score: z.int().min(0).max(100).optional(),
  notes: text(0, 2000).optional(),
});

export const RecruitmentPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason.optional(),
    position: role.meta({ description: "Key of the staff role" }),
    department: text(1, 100).optional(),
    referred_by: Snowflake.optional(),
    answers: z
      .array(z.strictObject({ question: text(1, 500), answer: text(0, 2000) }))
      .max(20)
      .default([]),
    timezone: text(1, 60).optional(),
    availability: text(1, 500).optional(),
    experience: text(1, 2000).optional(),
    trial_days: z.int().min(0).max(365).default(30),
    callsign: z
      .union([z.literal("none"), z.strictObject({ pool: text(1, 60), preferred: z.int().min(0).max(999_999).optional() })])
      .default("none"),
    interview: Interview.optional().meta({ description: "Shown to deciders only" }),
  })
  .meta({ id: "RecruitmentPayload" });

const Basis = z.strictObject({
  type: z.enum(["admission", "staff_observation", "shared_connection", "behaviour", "invite_chain", "other"]).default("other"),
  note: text(1, 2000).refine(isAnonymous, notAnonymous).optional().meta({ description: "Addresses, devices and fingerprints are refused" }),
});

export const AltRequestPayload = z
  .object({
    user_ids: listOf(z.array(Snowflake).min(2).max(10)),
    primary_user_id: Snowflake.optional(),
    reason: Reason.optional(),
    kind: z.enum(["suspected_evasion", "declared_alt", "shared_account", "compromised"]).default("suspected_evasion"),
    confidence: z.enum(["suspected", "probable", "confirmed"]),
    basis: z.array(Basis).max(20),
    propagate: z
      .strictObject({ blacklist: z.boolean().default(false), cases: z.boolean().default(false), matches: z.boolean().default(false) })
      .prefault({}),
    review_after: Duration.optional(),
  })
  .refine((payload) => new Set(payload.user_ids).size === payload.user_ids.length, {
    path: ["user_ids"],
    message: "Name each account once.",
  })
  .meta({ id: "AltRequestPayload" });

export const PunishmentPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason,
    action: z.enum(["note", "warning", "strike", "probation", "suspension", "demotion", "termination", "blacklist_referral"]),
    points: z.int().min(0).max(10).default(0),
    duration: length,
    rules: z.array(text(1, 60)).max(20).default([]),
    case_reference: text(1, 60).optional(),
    demote_to: role.optional(),
    discord: z
      .strictObject({ action: z.enum(["none", "timeout", "role_remove", "kick", "ban"]).default("none"), guild_ids: ids.default([]) })
      .prefault({}),
    notify_subject: z.boolean().default(true),
    appeal_until: z.union([Timestamp, Duration]).default("P30D"),
  })
  .refine((payload) => payload.action !== "demotion" || payload.demote_to !== undefined, {
    path: ["demote_to"],
    message: "A demotion names the role it leads to.",
    params: { code: "required" },
  })
  .meta({ id: "PunishmentPayload" });

export const AppealPayload = z
  .object({
    target: text(1, 100).meta({ description: "A reference, or the id of a record, a case or a strike" }),
    grounds: text(20, 2000),
    desired_outcome: z.enum(["overturn", "reduce", "clarify"]).default("overturn"),
    user_id: Snowflake.optional().meta({ description: "Whose appeal it is, when staff file it for them" }),
    answers: z
      .array(z.strictObject({ question: text(1, 500), answer: text(0, 2000) }))
      .max(20)
      .default([]),
  })
  .meta({ id: "AppealPayload" });

export const InvestigationPayload = z
  .object({
    subject: z.preprocess(
      (given) => (typeof given === "string" || typeof given === "number" ? { id: given } : given),
      z.strictObject({ kind: z.enum(["user", "staff", "server"]).default("user"), id: Snowflake }),
    ),
    allegation: text(10, 2000),
    category: z.enum(["conduct", "abuse_of_power", "leak", "alt", "poaching", "security", "other"]).default("other"),
    confidential: z.boolean().default(false),
    lead_user_id: Snowflake.optional(),
    team_user_ids: idsUpTo(20).default([]),
    conflict_user_ids: idsUpTo(20).default([]),
    interim: z.enum(["none", "suspend_permissions", "remove_from_queue"]).default("none"),
    due_at: Timestamp.optional(),
  })
  .meta({ id: "InvestigationPayload" });
