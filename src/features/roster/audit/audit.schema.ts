import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { listQuery, Snowflake, text, Timestamp, UserRef } from "../../../kernel/fields.ts";

/** What an audit looks for, in the order of a report. */
export const auditCodes = [
  "left_guild",
  "missing_role",
  "extra_role",
  "unmapped_staff_role",
  "role_without_entry",
  "callsign_missing",
  "callsign_duplicate",
  "nickname_mismatch",
  "trial_overdue",
  "loa_overdue",
  "inactive_n_days",
  "suspended_with_access",
  "blacklisted_staff",
  "open_match_on_staff",
  "stale_authorization",
  "rank_over_capacity",
  "override_expiring",
  "linked_alt_on_roster",
] as const;
export const AuditCode = z.enum(auditCodes).meta({ id: "RosterAuditCode", description: "What is not as it should be" });
export type AuditCode = z.infer<typeof AuditCode>;

/** The gravest first. */
export const severities = ["critical", "warning", "info"] as const;
export const Severity = z.enum(severities);
export type Severity = z.infer<typeof Severity>;

/** The most findings of an answer, of the resolved ones in it, and of those that can be named at once. */
export const auditLimits = { findings: 200, resolved: 50, named: 100 } as const;

const Key = text(1, 100);
export const AuditScope = z
  .strictObject({
    pool: Key.optional().meta({ description: "Whoever has a callsign of this pool, or a staff role with it", example: "main" }),
    department: Key.optional().meta({ description: "Entries of this department", example: "north" }),
    role: Key.optional().meta({ description: "Entries with this staff role", example: "moderator" }),
  })
  .meta({ id: "RosterAuditScope", description: "Of whom; of everybody when empty. What is named together has to hold together" });
export type AuditScope = z.infer<typeof AuditScope>;

export const RunRosterAuditInput = z
  .strictObject({
    scope: AuditScope.optional(),
    checks: z.array(AuditCode).min(1).max(auditCodes.length).optional().meta({ description: "What to look for; everything unless told" }),
    save: z.boolean().default(true).meta({ description: "Whether the report is kept; only kept findings can be fixed or acknowledged" }),
  })
  .meta({ id: "RunRosterAuditInput" });
export type RunRosterAuditInput = z.input<typeof RunRosterAuditInput>;

export const FixActions = z.enum([
  "resign",
  "sync_roles",
  "sync_nickname",
  "begin",
  "allocate_callsign",
  "end_trial",
  "end_leave",
  "suspend",
]);
export type FixAction = z.infer<typeof FixActions>;

export const RosterFindingView = z
  .object({
    id: z.string().nullable().meta({ description: "Null in a report that is not kept" }),
    code: AuditCode,
    severity: Severity,
    user: UserRef.nullable().meta({ description: "Whom it is about; null where it is about no single person" }),
    detail: z.string(),
    facts: z.record(z.string(), z.unknown()).meta({ description: "What was seen, by the kind of finding" }),
    fix: z.object({ action: FixActions, detail: z.string() }).nullable().meta({ description: "What `POST /roster/audit/fixes` would do" }),
    since: Timestamp.meta({ description: "The first of the runs of the same scope and checks in a row that found it" }),
    is_new: z.boolean().meta({ description: "Whether the run before had it not" }),
    acknowledged: z
      .object({ by: Snowflake.nullable(), at: Timestamp, reason: z.string(), until: Timestamp.nullable() })
      .nullable()
      .meta({ description: "That somebody decided to live with it" }),
    fixed_at: Timestamp.nullable().meta({ description: "When its fix was applied" }),
  })
  .meta({ id: "RosterFinding" });
export type RosterFindingView = z.infer<typeof RosterFindingView>;

const Counts = z
  .partialRecord(AuditCode, z.int())
  .meta({ id: "RosterAuditCounts", description: "Findings by code, as far as the caller may see them" });

export const RosterAuditSummary = z
  .object({
    id: z.string(),
    status: z.enum(["running", "done", "failed"]),
    trigger: z.enum(["request", "nightly"]),
    scope: AuditScope,
    checks: z.array(AuditCode).meta({ description: "What was looked for" }),
    skipped: z.array(AuditCode).meta({ description: "What was left out because the guilds were not known well enough" }),
    by: Snowflake.nullable(),
    started_at: Timestamp,
    ended_at: Timestamp.nullable(),
    members_scanned: z.int(),
    findings_total: z.int(),
    new_total: z.int(),
    summary: Counts,
  })
  .meta({ id: "RosterAuditSummary", description: "A run of the audit; counts hold what the caller may see" });
export type RosterAuditSummary = z.infer<typeof RosterAuditSummary>;

export const RosterAuditReport = RosterAuditSummary.extend({
  id: z.string().nullable().meta({ description: "Null when the report is not kept" }),
  stale: z.boolean().meta({ description: "Whether the guilds were not known well enough for every check" }),
  findings: z.array(RosterFindingView).meta({ description: "The gravest first; at most 200, the others by the list of findings" }),
  acknowledged_total: z.int().meta({ description: "How many of the findings somebody decided to live with" }),
  compared_to: z
    .object({
      id: z.string(),
      at: Timestamp,
      new: z.int(),
      resolved: z.int(),
      resolved_findings: z.array(RosterFindingView).meta({ description: "At most 50" }),
    })
    .nullable()
    .meta({ description: "The run before of the same scope and checks" }),
  withheld: z.int().meta({ description: "How many of the checks are not the caller's to see" }),
}).meta({ id: "RosterAuditReport" });
export type RosterAuditReport = z.infer<typeof RosterAuditReport>;

export const RosterAuditAnswer = RosterAuditReport.partial()
  .extend({ state: z.enum(["present", "absent"]).meta({ description: "`absent`: there is no such report, and no other field" }) })
  .meta({ id: "RosterAuditAnswer" });
export type RosterAuditAnswer = z.infer<typeof RosterAuditAnswer>;

export const ListRosterAuditsQuery = z
  .strictObject({
    ...listQuery,
    status: RosterAuditSummary.shape.status.optional(),
    trigger: RosterAuditSummary.shape.trigger.optional().meta({ description: "Asked for, or by night", example: "nightly" }),
  })
  .meta({ id: "ListRosterAuditsQuery" });
export type ListRosterAuditsQuery = z.input<typeof ListRosterAuditsQuery>;

const YesNo = z.enum(["true", "false"]);
export const ListRosterFindingsQuery = z
  .strictObject({
    ...listQuery,
    code: AuditCode.optional(),
    severity: Severity.optional(),
    user_id: Snowflake.optional(),
    is_new: YesNo.optional(),
    acknowledged: YesNo.optional().meta({ description: "Only those that somebody decided to live with, or only the others" }),
  })
  .meta({ id: "ListRosterFindingsQuery" });
export type ListRosterFindingsQuery = z.input<typeof ListRosterFindingsQuery>;

/** An id of a record, in any case. */
export const RecordId = z
  .string()
  .regex(/^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$/, say("roster.name-it-by-its-id"))
  .transform((id) => id.toLowerCase())
  .meta({ example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" });

const findings = z
  .array(RecordId)
  .min(1)
  .max(auditLimits.named)
  .refine((ids) => new Set(ids).size === ids.length, say("roster.name-every-finding-once"))
  .meta({ description: "Ids of findings of kept reports" });
const reason = text(3, 1000);

export const FixFindingsInput = z
  .strictObject({ findings, reason, dry_run: z.boolean().default(false).meta({ description: "Tell what would be done, and do nothing" }) })
  .meta({ id: "FixRosterFindingsInput" });
export type FixFindingsInput = z.input<typeof FixFindingsInput>;

export const AcknowledgeFindingsInput = z
  .strictObject({ findings, reason, until: Timestamp.optional().meta({ description: "Until when; for good unless told" }) })
  .meta({ id: "AcknowledgeRosterFindingsInput" });
export type AcknowledgeFindingsInput = z.input<typeof AcknowledgeFindingsInput>;

export const WithdrawAcknowledgementsInput = z
  .strictObject({ findings, reason: reason.optional() })
  .meta({ id: "WithdrawRosterAcknowledgementsInput" });
export type WithdrawAcknowledgementsInput = z.input<typeof WithdrawAcknowledgementsInput>;

export const FindingResult = z
  .object({
    id: z.string(),
    outcome: z.enum(["fixed", "planned", "acknowledged", "withdrawn", "unchanged", "refused", "failed", "gone"]).meta({
      description:
        "`planned`: by a dry run. `unchanged`: there was nothing to do. `gone`: it does not hold any more, or is not the caller's to see",
    }),
    detail: z.string(),
  })
  .meta({ id: "RosterFindingResult" });
export type FindingResult = z.infer<typeof FindingResult>;

export const FindingResults = z
  .object({ dry_run: z.boolean(), results: z.array(FindingResult) })
  .meta({ id: "RosterFindingResults", description: "What became of each, in the order they were named" });
export type FindingResults = z.infer<typeof FindingResults>;
