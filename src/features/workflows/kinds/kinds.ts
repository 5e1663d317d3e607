import { z } from "zod";
import { type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
import { altRequest } from "./alt-request.ts";
import { blacklistServer } from "./blacklist-server.ts";
import { blacklistUser } from "./blacklist-user.ts";
import { poach } from "./poach.ts";
import { punishment } from "./punishment.ts";
import {
  type Kind,
  day,
  hour,
  kind,
  ofUser,
  rulings,
  user,
  otherSnowflake,
  server,
  snowflake,
  dateOf,
  asField,
  ofServers,
} from "./kind.ts";
import { say } from "../../../kit/say.ts";
import { Snowflake, text, Timestamp } from "../../../kernel/fields.ts";
import { appealOutcomes, effect, callsignPolicies, interimMeasures } from "../effects/inputs.ts";
import { Reason, idsUpTo } from "../requests/fields.ts";

const Interview = z.strictObject({
  at: Timestamp.optional(),
  panel: idsUpTo(10).optional(),
  score: z.int().min(0).max(100).optional(),
  notes: text(0, 2000).optional(),
});

const RecruitmentPayload = z
  .object({
    user_id: Snowflake,
    reason: Reason.optional(),
    position: text(1, 60).meta({ description: "Key of the staff role" }),
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

const recruitment = kind({
  label: "Recruitment",
  summary: "Take a person onto the staff on trial, with checks beforehand.",
  prefix: "REC",
  payload: RecruitmentPayload,
  classes: {
    user_id: "public",
    reason: "public",
    position: "public",
    department: "public",
    referred_by: "public",
    answers: "public",
    timezone: "public",
    availability: "public",
    experience: "public",
    trial_days: "public",
    callsign: "public",
    interview: "decider",
  },
  aliases: {
    ...ofUser,
    applicant_id: "user_id",
    candidate_id: "user_id",
    role: "position",
    role_key: "position",
    staff_role: "position",
  },
  filing: {
    options: [
      { name: "user", field: "user_id" },
      { field: "position", completes: "staff-role" },
      "department",
      "referred_by",
      "timezone",
      "trial_days",
    ],
    form: ["reason", "experience", "availability", "summary", "evidence"],
  },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
  coolDown: 30 * day,
  subjects: ({ user_id }) => [user(user_id)],
  conflicts: ({ referred_by }) => (referred_by === undefined ? [] : [referred_by]),
  guilds: () => "every",
  title: ({ position }) => say("workflows.recruitment-as", { position }),
  hasBlindVotes: true,
  isChecked: true,
  effects: ({ user_id: userId, position: roleKey, department, trial_days: trialDays, callsign, availability, timezone }) => [
    effect("roster.trial", { userId, roleKey, department, trialDays }),
    ...(callsign === "none"
      ? []
      : [effect("callsign.allocate", { userId, roleKey, department, pool: callsign.pool, preferred: callsign.preferred })]),
    effect("clearance.use", { userId }),
    effect("discord.roles_add", { userId, roleKey }),
    effect("notice.welcome", { userId, roleKey, trialDays }),
    effect("notice.trial_review", { userId, roleKey, trialDays, availability, timezone }),
  ],
  isRemembered: true,
  example: { user_id: snowflake, position: "moderator", timezone: "Europe/Berlin" },
});

const InvestigationPayload = z
  .object({
    subject: z.preprocess(subjectOf, z.strictObject({ kind: z.enum(["user", "staff", "server"]).default("user"), id: Snowflake })),
    allegation: text(10, 2000),
    category: z.enum(["conduct", "abuse_of_power", "leak", "alt", "poaching", "security", "other"]).default("other"),
    confidential: z.boolean().default(false),
    lead_user_id: Snowflake.optional(),
    team_user_ids: idsUpTo(20).default([]),
    conflict_user_ids: idsUpTo(20).default([]),
    interim: z.enum(interimMeasures).default("none"),
    due_at: Timestamp.optional(),
  })
  .meta({ id: "InvestigationPayload" });

/** A lone id is that of a person, unless it was sent as that of a server. */
function subjectOf(given: unknown): unknown {
  if (typeof given === "string" || typeof given === "number") return { id: given };
  if (!isServerAlone(given)) return given;
  const { server_id: id } = given;
  return { kind: "server", id: Array.isArray(id) && id.length === 1 ? (id[0] as unknown) : id };
}

function isServerAlone(given: unknown): given is { server_id: unknown } {
  return typeof given === "object" && given !== null && Object.keys(given).join() === "server_id";
}

const words = (name: string): string => name.replaceAll("_", " ");

const investigation = kind({
  label: "Investigation",
  summary: "Open a case about a person or a server, in confidence where that is needed.",
  prefix: "INV",
  payload: InvestigationPayload,
  classes: {
    subject: "public",
    allegation: "public",
    category: "public",
    confidential: "public",
    lead_user_id: "public",
    team_user_ids: "public",
    conflict_user_ids: "public",
    interim: "public",
    due_at: "public",
  },
  assumed: { allegation: ({ reason, summary }) => reason ?? summary },
  aliases: {
    ...asField(ofUser, "subject"),
    user_id: "subject",
    subject_id: "subject",
    target: "subject",
    description: "allegation",
    ...asField(ofServers, "subject.server_id"),
    server_ids: "subject.server_id",
  },
  filing: {
    options: [
      { name: "user", field: [], as: "user" },
      { name: "server", field: [], as: "server" },
      "category",
      { name: "staff", field: [], as: "boolean" },
      "confidential",
      { name: "lead", field: "lead_user_id" },
      "interim",
    ],
    form: ["allegation", "summary", "evidence"],
    fields: ({ user: person, server: place, staff }) => {
      if (person !== undefined) return { subject: { kind: staff === true ? "staff" : "user", id: person } };
      return place === undefined ? {} : { subject: { kind: "server", id: place } };
    },
  },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: 12 * hour, decision: 7 * day, expiry: 90 * day },
  coolDown: 0,
  subjects: ({ subject }) => [subject.kind === "server" ? server(subject.id) : user(subject.id)],
  conflicts: ({ conflict_user_ids }) => conflict_user_ids,
  readers: ({ confidential, lead_user_id, team_user_ids }) =>
    confidential ? [...(lead_user_id === undefined ? [] : [lead_user_id]), ...team_user_ids] : undefined,
  title: () => say("workflows.investigation"),
  effects: ({ subject, allegation, category, confidential, interim, ...payload }) => {
    const dueAt = dateOf(payload.due_at);
    const people = { isConfidential: confidential, leadId: payload.lead_user_id, team: payload.team_user_ids, dueAt };
    const about = subject.kind === "server" ? server(subject.id) : user(subject.id);
    return [
      effect("case.open", { type: "investigation", subject: about, text: `${allegation}\nCategory: ${words(category)}`, people }),
      ...(interim === "none" ? [] : [effect("interim.measure", { subject, confidential, measure: interim, dueAt })]),
    ];
  },
  example: { subject: { kind: "user", id: snowflake }, allegation: "Shared internal screenshots outside the team.", category: "leak" },
});

const ServerMergePayload = z
  .object({
    source_server_id: Snowflake,
    target_server_id: Snowflake,
    reason: Reason.optional(),
    owner_consents: z
      .array(z.strictObject({ server_id: Snowflake, user_id: Snowflake, at: Timestamp, evidence: text(1, 2000).optional() }))
      .max(4)
      .default([]),
    staff_plan: z
      .array(z.strictObject({ user_id: Snowflake, from_role: text(1, 60).optional(), to_role: text(1, 60) }))
      .max(100)
      .default([]),
    callsign_policy: z.enum(callsignPolicies).default("keep_target"),
    effective_at: Timestamp,
  })
  .refine((payload) => payload.source_server_id !== payload.target_server_id, {
    path: ["target_server_id"],
    message: say("workflows.a-server-cannot-merge-with-itself"),
  })
  .meta({ id: "ServerMergePayload" });

const serverMerge = kind({
  label: say("workflows.server-merge"),
  summary: "Bring one server into another at a date both owners agree to.",
  prefix: "SMR",
  payload: ServerMergePayload,
  classes: {
    source_server_id: "public",
    target_server_id: "public",
    reason: "public",
    owner_consents: "public",
    staff_plan: "public",
    callsign_policy: "public",
    effective_at: "public",
  },
  aliases: {
    source_id: "source_server_id",
    source_guild_id: "source_server_id",
    target_id: "target_server_id",
    target_guild_id: "target_server_id",
  },
  unsupported: {
    announce: say("workflows.a-merger-is-not-announced-by-the"),
    initiated_by: say("workflows.both-owners-have-to-consent-whoever-began"),
    records: say("workflows.records-of-the-source-count-for-the"),
    source_after: say("workflows.the-source-stays-in-the-register-as"),
  },
  anyway: { announce: [false], records: ["link"], source_after: ["archive"] },
  filing: {
    options: [
      { name: "source", field: "source_server_id" },
      { name: "target", field: "target_server_id" },
      { name: "effective", field: "effective_at" },
      "callsign_policy",
    ],
    form: ["reason", "summary", "evidence"],
  },
  approvals: { usual: 2 },
  reversals: 2,
  clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
  coolDown: 0,
  subjects: ({ source_server_id, target_server_id }) => [server(source_server_id), server(target_server_id)],
  concerned: ({ staff_plan }) => planned(staff_plan),
  title: () => say("workflows.server-merge"),
  effects: ({ source_server_id, target_server_id, owner_consents, staff_plan, callsign_policy, effective_at }) => {
    const consents = owner_consents.map(({ server_id, user_id }) => ({ server_id, user_id }));
    const merger = { source_server_id, target_server_id, owner_consents: consents, staff_plan, callsign_policy, effective_at };
    return [effect("merge.plan", merger), effect("server.merge", merger)];
  },
  example: { source_server_id: snowflake, target_server_id: otherSnowflake, effective_at: "2027-01-01T00:00:00.000Z" },
});

/** The people of a staff plan; a request of old may have none. */
function planned(plan: readonly { user_id: string }[] | undefined): string[] {
  return (plan ?? []).map(({ user_id: id }) => id);
}

const AppealPayload = z
  .object({
    target: text(1, 100).meta({ description: "A reference, or the id of a record, a case or a strike" }),
    grounds: text(20, 2000),
    desired_outcome: z.enum(appealOutcomes).default("overturn"),
    user_id: Snowflake.optional().meta({ description: "Whose appeal it is, when staff file it for them" }),
    answers: z
      .array(z.strictObject({ question: text(1, 500), answer: text(0, 2000) }))
      .max(20)
      .default([]),
    suspend: z.boolean().default(false).meta({
      description: "Whether the blacklist record does not count until the appeal is over: needs `blacklist.revoke`",
    }),
  })
  .meta({ id: "AppealPayload" });

const appeal = kind({
  label: "Appeal",
  summary: "Ask that a decision is looked at again, by others than those who made it.",
  prefix: "APL",
  payload: AppealPayload,
  classes: {
    target: "public",
    grounds: "public",
    desired_outcome: "public",
    user_id: "public",
    answers: "public",
    suspend: "public",
  },
  assumed: { grounds: ({ reason, summary }) => reason ?? summary },
  aliases: { ...ofUser, target_id: "target", target_reference: "target", appeal_of: "target" },
  filing: { options: ["target", "desired_outcome", { name: "user", field: "user_id" }, "suspend"], form: ["grounds", "evidence"] },
  approvals: { usual: 1 },
  reversals: 1,
  clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
  coolDown: 30 * day,
  subjects: ({ target, user_id }) => [{ kind: "record", id: target.toUpperCase() }, ...(user_id === undefined ? [] : [user(user_id)])],
  title: ({ target }) => say("workflows.appeal-against", { target }),
  words: {
    uphold: { action: "deny" },
    upheld: { action: "deny" },
    ...Object.fromEntries(rulings.map((ruling) => [ruling, { action: "approve", ruling }])),
  },
  effects: ({ target, desired_outcome, user_id }) => [effect("appeal.ruling", { target, desired_outcome, user_id })],
  filedForOneself: { about: "target" },
  suspends: ({ target, suspend }) => (suspend ? target : undefined),
  events: { filed: "appeal.filed", decided: "appeal.decided" },
  example: { target: "BLU-REQ-000001", grounds: "The account was stolen on the day of the raid." },
});

/** The kinds of request: all that sets one apart stands in its file. */
export const kinds: Readonly<Record<WorkflowKind, Kind>> = {
  "blacklist-server": blacklistServer,
  "blacklist-user": blacklistUser,
  investigation,
  recruitment,
  "server-merge": serverMerge,
  "alt-request": altRequest,
  punishment,
  poach,
  appeal,
};

/** The kind a path or an option names: hyphen or underscore, any case. */
export function kindOf(type: string): WorkflowKind | undefined {
  const name = type.toLowerCase().replaceAll("_", "-");
  return workflowKinds.find((known) => known === name);
}

/** The JSON Schema of what is sent, its own fields at the top and what they refer to in `$defs`. */
export function schemaAtTop(schema: z.ZodType): Record<string, unknown> {
  const { $ref = "", $defs = {}, ...rest } = z.toJSONSchema(schema, { io: "input", unrepresentable: "any" });
  const name = $ref.split("/").at(-1) ?? "";
  const others = Object.fromEntries(Object.entries($defs).filter(([key]) => key !== name));
  return { ...rest, ...$defs[name], ...(Object.keys(others).length > 0 && { $defs: others }) };
}

/** The name of a kind as a part of other names: `BlacklistUser`. */
export function pascalCase(kind: WorkflowKind): string {
  return kind.replaceAll(/(?:^|-)([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

/** The operation that files a kind. */
export function filingOperation(kind: WorkflowKind): string {
  return `create${pascalCase(kind)}Request`;
}
