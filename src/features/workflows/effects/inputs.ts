import type {
  Severity,
  agreementCovers,
  altChoices,
  linkBases,
  linkConfidences,
  linkKinds,
  memberPolicies,
  recommendedActions,
} from "../../../kernel/vocabulary.ts";

/** Punishments that are an action of the bot in Discord, or take one back. */
export const discordPunishments = ["timeout", "kick", "ban", "untimeout", "unban"] as const;
/** What a punishment is. */
export const punishmentActions = [
  "note",
  "warning",
  "strike",
  "probation",
  "suspension",
  "demotion",
  "termination",
  "blacklist_referral",
  ...discordPunishments,
] as const;
/** What the bot does besides. */
export const discordPenalties = ["none", "timeout", "role_remove", "kick", "ban"] as const;
/** Everything the bot can do about somebody who is punished. */
type DiscordMeasure = Exclude<OneOf<typeof discordPenalties>, "none"> | OneOf<typeof discordPunishments>;
/** How staff are recruited away. */
export const poachMethods = ["dm", "invite", "offer", "ad", "role_offer", "other"] as const;
/** What is done about somebody while they are investigated. */
export const interimMeasures = ["none", "suspend_permissions", "remove_from_queue"] as const;
/** What becomes of the callsigns of a server that is merged into another. */
export const callsignPolicies = ["keep_target", "renumber"] as const;
/** What an appeal asks for. */
export const appealOutcomes = ["overturn", "reduce", "clarify"] as const;

/** An ISO 8601 duration; null and nothing at all mean permanent. */
export type Length = string | null | undefined;

type OneOf<List extends readonly string[]> = List[number];

interface OfPerson {
  userId: string;
}

/** What a record is to say, no matter whom it is about. */
interface RecordInput {
  category: string;
  severity: Severity;
  reason: string;
  reviewAfter: string;
  length: Length;
}

export interface PersonRecordInput extends RecordInput, OfPerson {
  kind: "user";
  scope: "network" | "servers";
  serverIds: readonly string[];
  recommendedAction: OneOf<typeof recommendedActions> | undefined;
  includeAlts: OneOf<typeof altChoices>;
}

export interface ServerRecordInput extends RecordInput {
  kind: "server";
  /** The server with its other ids; each has a record of its own. */
  serverIds: readonly string[];
  name: string | undefined;
  memberPolicy: OneOf<typeof memberPolicies>;
  gracePeriod: string;
  exemptUserIds: readonly string[];
}

export interface CaseInput {
  type: "blacklist" | "investigation" | "poach" | "punishment";
  subject: { kind: "user" | "server"; id: string };
  /** Why, in the words of the request; its summary unless said. */
  text: string | undefined;
  /** A case that is named; another is found or opened otherwise. */
  caseKey?: string | undefined;
  people?: { isConfidential: boolean; leadId: string | undefined; team: readonly string[]; dueAt: Date | null };
}

/** What each effect is told, by the name of the effect. */
export interface EffectInputs {
  "account_link.create": LinksInput;
  "agreement.create": AgreementInput;
  "agreements.suspend": { serverIds: readonly string[] };
  "appeal.ruling": { target: string; desired_outcome: OneOf<typeof appealOutcomes>; user_id?: string | undefined };
  "blacklist.create": PersonRecordInput | ServerRecordInput;
  "callsign.allocate": OfPerson & { roleKey: string; department: string | undefined; pool: string; preferred: number | undefined };
  "callsign.hold": OfPerson;
  "case.action": OfPerson & { action: OneOf<typeof punishmentActions>; points: number; reason: string; length: Length };
  "case.append": CaseInput;
  "case.open": CaseInput;
  "clearance.grant": OfPerson & { fromServerId: string; toServerId: string; validUntil: Date | null };
  "clearance.use": OfPerson;
  "discord.ban_end": { length: Length };
  /** In no guild by name: in every one. */
  "discord.punish": OfPerson & {
    action: DiscordMeasure;
    guildIds: readonly string[];
    length: Length;
    /** Of a ban: how far back their messages are deleted. */
    deleteMessageSeconds?: number;
  };
  "discord.roles_add": OfPerson & { roleKey: string };
  /** Those of the staff role that stays are not taken. */
  "discord.roles_remove": OfPerson & { keptRoleKey: string | undefined };
  "draft.blacklist": OfPerson & { reason: string };
  "interim.measure": {
    subject: { kind: "user" | "staff" | "server"; id: string };
    confidential: boolean;
    measure: Exclude<OneOf<typeof interimMeasures>, "none">;
    dueAt: Date | null;
  };
  "matches.recompute": object;
  "merge.plan": MergeInput;
  "server.merge": MergeInput;
  "notice.owner": { serverId: string };
  "notice.subject": OfPerson & {
    action: OneOf<typeof punishmentActions>;
    discordAction: DiscordMeasure | "none";
    /** Where the bot acts; none: everywhere. */
    guildIds: readonly string[];
    /** The staff role that a demotion leads to. */
    roleKey: string | undefined;
    points: number;
    /** A length or a point in time. */
    appealUntil: string;
    length: Length;
  };
  "notice.trial_review": OfPerson & {
    roleKey: string;
    trialDays: number;
    /** When the person has time, in their own words. */
    availability: string | undefined;
    timezone: string | undefined;
  };
  "notice.welcome": OfPerson & { roleKey: string; trialDays: number };
  "poach.incident": {
    serverId: string;
    victimServerId: string;
    offenderIds: readonly string[];
    method: OneOf<typeof poachMethods>;
    occurredAt: Date | null;
  };
  "recruitment.hold": OfPerson;
  "roster.demote": OfPerson & { roleKey: string | null };
  "roster.probation": OfPerson & { length: Length };
  "roster.suspend": OfPerson & { length: Length };
  "roster.terminate": OfPerson;
  "roster.trial": OfPerson & { roleKey: string; department: string | undefined; trialDays: number };
  "staff.suspend": OfPerson & { length: Length };
}

export interface MergeInput {
  source_server_id: string;
  target_server_id: string;
  owner_consents: readonly { server_id: string; user_id: string }[];
  staff_plan: readonly { user_id: string; from_role?: string | undefined; to_role: string }[];
  callsign_policy: OneOf<typeof callsignPolicies>;
  effective_at: string;
}

export interface LinksInput {
  user_ids: readonly string[];
  primary_user_id?: string | undefined;
  confidence: OneOf<typeof linkConfidences>;
  kind: OneOf<typeof linkKinds>;
  basis: readonly { type: OneOf<typeof linkBases>; note?: string | undefined }[];
  propagate: { blacklist: boolean; matches: boolean };
  review_after?: string | undefined;
}

export interface AgreementInput {
  party_server_ids?: readonly string[] | undefined;
  covers: OneOf<typeof agreementCovers>;
  cooling_off_days: number;
  terms?: string | undefined;
  starts_at?: string | undefined;
  ends_at?: string | undefined;
  /** Signatories who have not signed. */
  unsigned: readonly string[];
}

export type EffectKey = keyof EffectInputs;

/** An effect that a kind of request has, with what it is told. */
export type Use<Key extends EffectKey = EffectKey> = { [Each in Key]: { key: Each; input: EffectInputs[Each] } }[Key];

/** The entry of a kind for an effect: what the effect needs does not compile away. */
export function effect<Key extends EffectKey>(key: Key, input: EffectInputs[Key]): Use {
  return { key, input } as Use;
}
