import type { z } from "zod";
import type { Action } from "./transition.table.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import { workflowKinds } from "../../kernel/workflow-kinds.ts";
import type { EventType } from "../events/events.types.ts";
import { effect, type Use } from "./effects.inputs.ts";
import * as people from "./workflows.payloads.ts";
import * as servers from "./workflows.payloads-servers.ts";

const hour = 3600;
const day = 24 * hour;

/** What a request is about; a record is what an appeal is against. */
export interface Subject {
  kind: "user" | "server" | "record";
  id: string;
}

/** What comes of an appeal that is heard. */
export const rulings = ["overturn", "reduce", "remit"] as const;
export type Ruling = (typeof rulings)[number];

interface KindSpec<Payload extends z.ZodObject> {
  prefix: string;
  payload: Payload;
  /** What a needed field is when it was not sent but the others say it; the client is told. `undefined` leaves the field missing. */
  assumed?: Readonly<Record<string, (fields: Readonly<Record<string, unknown>>) => unknown>>;
  /** Other names clients use, besides camelCase, to the payload's own. */
  aliases: Readonly<Record<string, string>>;
  /** Bring fields that clients spread differently into the payload's form, before it is checked. */
  prepare?(fields: Map<string, unknown>): void;
  /** How many people approve, unless the operator sets it otherwise: usually, and what is grave. */
  approvals: { usual: number; grave?: number };
  /** Whether a request asks for more than usual. */
  isGrave?(payload: z.output<Payload>): boolean;
  /** How many people take an approval back. */
  reversals: 1 | 2;
  /** Whether votes of others stay hidden from those who decide until they have voted. */
  hasBlindVotes?: true;
  /** Whether what is known of the subject is checked when it is filed and approved. */
  isChecked?: true;
  /** Words for decisions that this kind has besides the usual ones, and the ruling each stands for. */
  words?: Readonly<Record<string, { action: Action; ruling?: Ruling }>>;
  /** Seconds to the first touch, to the decision, and to the end of an open request. */
  clocks: { firstTouch: number; decision: number; expiry: number };
  /** Seconds a denied request cannot be filed again. */
  coolDown: number;
  subjects(payload: z.output<Payload>): Subject[];
  /** People besides requester and subjects who may not take part in the decision. */
  conflicts?(payload: z.output<Payload>): string[];
  /** People besides the subjects whom an approval moves: they are as partial, and their rank counts as much. */
  concerned?(payload: z.output<Payload>): string[];
  /** Who may see the request besides its requester, when not everybody who reads requests may. */
  readers?(payload: z.output<Payload>): string[] | undefined;
  title(payload: z.output<Payload>): string;
  /** What an approval does, in order, and what each effect is told. */
  effects(payload: z.output<Payload>): readonly Use[];
  /** Whether people file it for themselves, without a permission, about what is about them: the field of the payload that names it. */
  filedForOneself?: { about: keyof z.output<Payload> & string };
  /** What is told of it besides what is told of every request. */
  events?: { filed: EventType; decided: EventType };
  /** Whether a decision counts when its subjects are compared with what is known: they are compared again. */
  isRemembered?: true;
  example: object;
}

/** A kind whose payload type is known to the table alone. */
export type Kind = KindSpec<z.ZodObject>;

function kind<Payload extends z.ZodObject>(spec: KindSpec<Payload>): Kind {
  return spec;
}

const ofUser = { target_id: "user_id", target_user_id: "user_id", discord_user_id: "user_id", member_id: "user_id" };
const user = (id: string) => ({ kind: "user" as const, id });
const server = (id: string) => ({ kind: "server" as const, id });
const dateOf = (text: string | undefined): Date | null => (text === undefined ? null : new Date(text));
/** How long somebody whose account was taken over is listed, unless the request says otherwise. */
const compromisedLength = "P30D";
type Punishment = z.output<typeof people.PunishmentPayload>;
type Poach = z.output<typeof servers.PoachPayload>;
/** What a punishment does besides its entry in a case. */
const penalties: Readonly<Record<Punishment["action"], (payload: Punishment) => readonly Use[]>> = {
  note: () => [],
  warning: () => [],
  strike: () => [],
  probation: ({ user_id: userId, duration: length }) => [effect("roster.probation", { userId, length })],
  suspension: ({ user_id: userId, duration: length }) => [
    effect("staff.suspend", { userId, length }),
    effect("roster.suspend", { userId, length }),
  ],
  demotion: ({ user_id: userId, demote_to: roleKey }) => [
    effect("roster.demote", { userId, roleKey: roleKey ?? null }),
    effect("discord.roles_remove", { userId, keptRoleKey: roleKey }),
    effect("discord.roles_add", { userId, roleKey: roleKey ?? "" }),
  ],
  termination: ({ user_id: userId }) => [
    effect("roster.terminate", { userId }),
    effect("callsign.hold", { userId }),
    effect("discord.roles_remove", { userId, keptRoleKey: undefined }),
  ],
  blacklist_referral: ({ user_id: userId, reason }) => [effect("draft.blacklist", { userId, reason })],
};
const poachEffects: Readonly<Record<Poach["kind"], (payload: Poach) => readonly Use[]>> = {
  report: (payload) => {
    const serverId = payload.offending_server_id ?? "";
    return [
      effect("case.append", { type: "poach", subject: server(serverId), text: payload.reason }),
      effect("poach.incident", {
        serverId,
        victimServerId: payload.victim_server_id ?? "",
        offender_user_ids: payload.offender_user_ids,
        method: payload.method,
        occurredAt: dateOf(payload.occurred_at),
      }),
      effect("notice.owner", { serverId }),
    ];
  },
  agreement: (payload) => [effect("agreement.create", payload)],
  clearance: (payload) => [
    effect("clearance.grant", {
      userId: payload.user_id ?? "",
      fromServerId: payload.from_server_id ?? "",
      toServerId: payload.to_server_id ?? "",
      validUntil: dateOf(payload.valid_until),
    }),
  ],
};
const snowflake = "80351110224678912";
const otherSnowflake = "80351110224678913";

/** The kinds of request, all that sets them apart in one table. */
export const kinds: Readonly<Record<WorkflowKind, Kind>> = {
  "blacklist-server": kind({
    prefix: "BLS",
    payload: servers.BlacklistServerPayload,
    aliases: {
      target_id: "server_id",
      target_server_id: "server_id",
      discord_server_id: "server_id",
      guild_id: "server_id",
      target_guild_id: "server_id",
      guild_name: "server_name",
      owner_id: "owner_user_id",
    },
    approvals: { usual: 2 },
    reversals: 2,
    clocks: { firstTouch: 12 * hour, decision: 72 * hour, expiry: 30 * day },
    coolDown: 14 * day,
    subjects: ({ server_id }) => [server(server_id)],
    conflicts: ({ owner_user_id }) => (owner_user_id === undefined ? [] : [owner_user_id]),
    title: ({ server_id, server_name }) => `Blacklist server ${server_name ?? server_id}`,
    effects: (payload) => {
      const serverIds = [...new Set([payload.server_id, ...payload.aliases])];
      return [
        effect("blacklist.create", {
          kind: "server",
          serverIds,
          name: payload.server_name,
          memberPolicy: payload.member_policy,
          gracePeriod: payload.grace_period,
          exemptUserIds: payload.exempt_user_ids,
          ...recordOf(payload),
          length: payload.duration,
        }),
        effect("matches.recompute", {}),
        effect("agreements.suspend", { serverIds }),
      ];
    },
    example: {
      server_id: snowflake,
      server_name: "Raid Central",
      category: "raiding",
      severity: "high",
      member_policy: "flag",
      reason: "Organises raids on our partners.",
    },
  }),
  "blacklist-user": kind({
    prefix: "BLU",
    payload: people.BlacklistUserPayload,
    assumed: { scope: ({ server_ids: chosen }) => (Array.isArray(chosen) && chosen.length > 0 ? "servers" : "network") },
    aliases: ofUser,
    approvals: { usual: 1, grave: 2 },
    isGrave: ({ scope, severity }) => scope === "network" || severity === "critical",
    reversals: 2,
    clocks: { firstTouch: 6 * hour, decision: 48 * hour, expiry: 30 * day },
    coolDown: 14 * day,
    subjects: ({ user_id }) => [user(user_id)],
    title: ({ user_id }) => `Blacklist user ${user_id}`,
    effects: (payload) => {
      const { user_id: userId, severity } = payload;
      const isCompromised = payload.category === "compromised" || payload.compromised_account;
      const length = payload.duration === undefined && isCompromised ? compromisedLength : payload.duration;
      return [
        effect("blacklist.create", {
          kind: "user",
          userId,
          scope: payload.scope,
          serverIds: payload.server_ids,
          recommendedAction: payload.recommended_action,
          includeAlts: payload.include_alts,
          ...recordOf(payload),
          length,
        }),
        effect("case.append", { type: "blacklist", subject: user(userId), text: payload.reason }),
        effect("matches.recompute", {}),
        effect("recruitment.hold", { userId }),
        ...(severity === "high" || severity === "critical" ? [effect("roster.suspend", { userId, length })] : []),
      ];
    },
    example: { user_id: snowflake, category: "raid", severity: "high", reason: "Led the raid of last night." },
  }),
  investigation: kind({
    prefix: "INV",
    payload: people.InvestigationPayload,
    assumed: { allegation: ({ reason, summary }) => reason ?? summary },
    aliases: { ...mapValues(ofUser, "subject"), user_id: "subject", subject_id: "subject", target: "subject", description: "allegation" },
    approvals: { usual: 1 },
    reversals: 1,
    clocks: { firstTouch: 12 * hour, decision: 7 * day, expiry: 90 * day },
    coolDown: 0,
    subjects: ({ subject }) => [subject.kind === "server" ? server(subject.id) : user(subject.id)],
    conflicts: ({ conflict_user_ids }) => conflict_user_ids,
    readers: ({ confidential, lead_user_id, team_user_ids }) =>
      confidential ? [...(lead_user_id === undefined ? [] : [lead_user_id]), ...team_user_ids] : undefined,
    title: ({ subject }) => `Investigation of ${subject.kind} ${subject.id}`,
    effects: ({ subject, allegation, confidential, interim, ...payload }) => {
      const dueAt = dateOf(payload.due_at);
      const people = { isConfidential: confidential, leadId: payload.lead_user_id, team: payload.team_user_ids, dueAt };
      const about = subject.kind === "server" ? server(subject.id) : user(subject.id);
      return [
        effect("case.open", { type: "investigation", subject: about, text: allegation, people }),
        ...(interim === "none" ? [] : [effect("interim.measure", { subject, confidential, measure: interim, dueAt })]),
      ];
    },
    example: { subject: { kind: "user", id: snowflake }, allegation: "Shared internal screenshots outside the team.", category: "leak" },
  }),
  recruitment: kind({
    prefix: "REC",
    payload: people.RecruitmentPayload,
    aliases: {
      ...ofUser,
      applicant_id: "user_id",
      candidate_id: "user_id",
      role: "position",
      role_key: "position",
      staff_role: "position",
    },
    approvals: { usual: 1 },
    reversals: 1,
    clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
    coolDown: 30 * day,
    subjects: ({ user_id }) => [user(user_id)],
    title: ({ user_id, position }) => `Recruitment of ${user_id} as ${position}`,
    hasBlindVotes: true,
    isChecked: true,
    effects: ({ user_id: userId, position: roleKey, department, trial_days: trialDays, callsign }) => [
      effect("roster.trial", { userId, roleKey, department, trialDays }),
      ...(callsign === "none"
        ? []
        : [effect("callsign.allocate", { userId, roleKey, department, pool: callsign.pool, preferred: callsign.preferred })]),
      effect("clearance.use", { userId }),
      effect("discord.roles_add", { userId, roleKey }),
      effect("notice.welcome", { userId, roleKey, trialDays }),
    ],
    isRemembered: true,
    example: { user_id: snowflake, position: "moderator", timezone: "Europe/Berlin" },
  }),
  "server-merge": kind({
    prefix: "SMR",
    payload: servers.ServerMergePayload,
    aliases: {
      source_id: "source_server_id",
      source_guild_id: "source_server_id",
      target_id: "target_server_id",
      target_guild_id: "target_server_id",
    },
    approvals: { usual: 2 },
    reversals: 2,
    clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
    coolDown: 0,
    subjects: ({ source_server_id, target_server_id }) => [server(source_server_id), server(target_server_id)],
    concerned: ({ staff_plan }) => planned(staff_plan),
    title: ({ source_server_id, target_server_id }) => `Merge of server ${source_server_id} into ${target_server_id}`,
    effects: (payload) => [effect("merge.plan", payload), effect("server.merge", payload)],
    example: { source_server_id: snowflake, target_server_id: otherSnowflake, effective_at: "2027-01-01T00:00:00.000Z" },
  }),
  "alt-request": kind({
    prefix: "ALT",
    payload: people.AltRequestPayload,
    aliases: {
      ...mapValues(ofUser, "primary_user_id"),
      user_id: "primary_user_id",
      alt_user_ids: "user_ids",
      alt_ids: "user_ids",
      member_ids: "user_ids",
      discord_user_ids: "user_ids",
      accounts: "user_ids",
      alt_user_id: "user_ids",
      alt_id: "user_ids",
    },
    prepare: addPrimaryAccount,
    approvals: { usual: 1, grave: 2 },
    isGrave: ({ confidence, propagate }) => confidence === "confirmed" && (propagate.matches || propagate.blacklist),
    reversals: 1,
    clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
    coolDown: 7 * day,
    subjects: ({ user_ids }) => user_ids.map(user),
    title: ({ user_ids }) => `Linked accounts: ${user_ids.length.toString()} accounts of ${user_ids[0] ?? ""}`,
    effects: (payload) => [effect("account_link.create", payload)],
    example: {
      user_ids: [snowflake, otherSnowflake],
      confidence: "suspected",
      basis: [{ type: "behaviour", note: "Same phrases, never online together." }],
    },
  }),
  punishment: kind({
    prefix: "PUN",
    payload: people.PunishmentPayload,
    aliases: { ...ofUser, punishment: "action", punishment_type: "action" },
    approvals: { usual: 1, grave: 2 },
    isGrave: ({ action, duration }) => action === "termination" || duration === null,
    reversals: 1,
    clocks: { firstTouch: 12 * hour, decision: 72 * hour, expiry: 30 * day },
    coolDown: 0,
    subjects: ({ user_id }) => [user(user_id)],
    title: ({ user_id, action }) => `Punishment (${action}) of ${user_id}`,
    effects: (payload) => {
      const { user_id: userId, action, points, reason, duration: length, discord, appeal_until } = payload;
      return [
        effect("case.append", { type: "punishment", subject: user(userId), text: reason, caseKey: payload.case_reference }),
        effect("case.action", { userId, action, points, reason, length }),
        ...penalties[action](payload),
        // Told first: whom the bot has removed it can no longer write to.
        ...(payload.notify_subject
          ? [effect("notice.subject", { userId, action, appeal_until, discordAction: discord.action, length })]
          : []),
        ...(discord.action === "none"
          ? []
          : [effect("discord.punish", { userId, action: discord.action, guildIds: discord.guild_ids, length })]),
      ];
    },
    example: { user_id: snowflake, action: "strike", points: 1, reason: "Ignored the second warning about insults." },
  }),
  poach: kind({
    prefix: "PCH",
    payload: servers.PoachPayload,
    aliases: {
      ...ofUser,
      offender_ids: "offender_user_ids",
      offender_user_id: "offender_user_ids",
      server_id: "offending_server_id",
      offending_guild_id: "offending_server_id",
      victim_guild_id: "victim_server_id",
    },
    approvals: { usual: 1, grave: 2 },
    isGrave: ({ kind: what }) => what === "agreement",
    reversals: 1,
    clocks: { firstTouch: day, decision: 7 * day, expiry: 30 * day },
    coolDown: 7 * day,
    subjects: (payload) => poachSubjects(payload),
    title: ({ kind: what }) => ({ report: "Poaching report", agreement: "No-poach agreement", clearance: "Poaching clearance" })[what],
    effects: (payload) => poachEffects[payload.kind](payload),
    example: {
      kind: "report",
      offending_server_id: snowflake,
      victim_server_id: otherSnowflake,
      occurred_at: "2026-11-20T10:00:00.000Z",
      method: "dm",
    },
  }),
  appeal: kind({
    prefix: "APL",
    payload: people.AppealPayload,
    assumed: { grounds: ({ reason, summary }) => reason ?? summary },
    aliases: { ...ofUser, target_id: "target", target_reference: "target", appeal_of: "target" },
    approvals: { usual: 1 },
    reversals: 1,
    clocks: { firstTouch: 48 * hour, decision: 14 * day, expiry: 60 * day },
    coolDown: 30 * day,
    subjects: ({ target, user_id }) => [{ kind: "record", id: target.toUpperCase() }, ...(user_id === undefined ? [] : [user(user_id)])],
    title: ({ target }) => `Appeal against ${target}`,
    words: {
      uphold: { action: "deny" },
      upheld: { action: "deny" },
      ...Object.fromEntries(rulings.map((ruling) => [ruling, { action: "approve", ruling }])),
    },
    effects: (payload) => [effect("appeal.ruling", payload)],
    filedForOneself: { about: "target" },
    events: { filed: "appeal.filed", decided: "appeal.decided" },
    example: { target: "BLU-REQ-000001", grounds: "The account was stolen on the day of the raid." },
  }),
};

/** What a record says whoever it is about. */
function recordOf(payload: { category: string; severity: (typeof people.severities)[number]; reason: string; review_after: string }) {
  return { category: payload.category, severity: payload.severity, reason: payload.reason, reviewAfter: payload.review_after };
}

/** The people of a staff plan; a request of old may have none. */
function planned(plan: readonly { user_id: string }[] | undefined): string[] {
  return (plan ?? []).map(({ user_id: id }) => id);
}

/** The kind a path or an option names: hyphen or underscore, any case. */
export function kindOf(type: string): WorkflowKind | undefined {
  const name = type.toLowerCase().replaceAll("_", "-");
  return workflowKinds.find((known) => known === name);
}

function mapValues(names: Readonly<Record<string, string>>, value: string): Record<string, string> {
  return Object.fromEntries(Object.keys(names).map((name) => [name, value]));
}

function poachSubjects(payload: z.output<typeof servers.PoachPayload>): Subject[] {
  if (payload.kind === "agreement") return (payload.party_server_ids ?? []).map(server);
  if (payload.kind === "clearance") return [user(payload.user_id ?? "")];
  return [...payload.offender_user_ids.map(user), server(payload.offending_server_id ?? "")];
}

/** A primary account belongs to the accounts, whether or not the client repeats it there. */
function addPrimaryAccount(fields: Map<string, unknown>): void {
  const primary = fields.get("primary_user_id");
  const given = fields.get("user_ids");
  if (primary === undefined || given === undefined) return;
  const accounts: unknown[] = Array.isArray(given) ? given : [given];
  if (!accounts.includes(primary)) fields.set("user_ids", [...accounts, primary]);
}
