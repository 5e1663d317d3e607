import type { z } from "zod";
import type {
  AltRequestPayload,
  AppealPayload,
  BlacklistUserPayload,
  InvestigationPayload,
  PunishmentPayload,
} from "./workflows.payloads.ts";
import type { BlacklistServerPayload, PoachPayload, ServerMergePayload } from "./workflows.payloads-servers.ts";

/** An ISO 8601 duration; null and nothing at all mean for good. */
export type Length = string | null | undefined;

type Punishment = z.output<typeof PunishmentPayload>;
type BlacklistUser = z.output<typeof BlacklistUserPayload>;
type BlacklistServer = z.output<typeof BlacklistServerPayload>;
type AltRequest = z.output<typeof AltRequestPayload>;
type Poach = z.output<typeof PoachPayload>;
type Merge = z.output<typeof ServerMergePayload>;
type Investigation = z.output<typeof InvestigationPayload>;

interface OfPerson {
  userId: string;
}

/** What a record is to say, whoever it is about. */
interface RecordInput {
  category: string;
  severity: BlacklistUser["severity"];
  reason: string;
  reviewAfter: string;
  length: Length;
}

export interface PersonRecordInput extends RecordInput, OfPerson {
  kind: "user";
  scope: BlacklistUser["scope"];
  serverIds: readonly string[];
  recommendedAction: BlacklistUser["recommended_action"];
  includeAlts: BlacklistUser["include_alts"];
}

export interface ServerRecordInput extends RecordInput {
  kind: "server";
  /** The server with its other ids; each has a record of its own. */
  serverIds: readonly string[];
  name: string | undefined;
  memberPolicy: BlacklistServer["member_policy"];
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
  "account_link.create": Pick<AltRequest, "user_ids" | "primary_user_id" | "confidence" | "kind" | "basis" | "propagate" | "review_after">;
  "agreement.create": Pick<Poach, "party_server_ids" | "covers" | "cooling_off_days" | "terms" | "starts_at" | "ends_at">;
  "agreements.suspend": { serverIds: readonly string[] };
  "appeal.ruling": Pick<z.output<typeof AppealPayload>, "target" | "desired_outcome" | "user_id">;
  "blacklist.create": PersonRecordInput | ServerRecordInput;
  "callsign.allocate": OfPerson & { roleKey: string; department: string | undefined; pool: string; preferred: number | undefined };
  "callsign.hold": OfPerson;
  "case.action": OfPerson & { action: Punishment["action"]; points: number; reason: string; length: Length };
  "case.append": CaseInput;
  "case.open": CaseInput;
  "clearance.grant": OfPerson & { fromServerId: string; toServerId: string; validUntil: Date | null };
  "clearance.use": OfPerson;
  "discord.punish": OfPerson & { action: Exclude<Punishment["discord"]["action"], "none">; guildIds: readonly string[]; length: Length };
  "discord.roles_add": OfPerson & { roleKey: string };
  /** Those of the staff role that stays are not taken. */
  "discord.roles_remove": OfPerson & { keptRoleKey: string | undefined };
  "draft.blacklist": OfPerson & { reason: string };
  "interim.measure": Pick<Investigation, "subject" | "confidential"> & {
    measure: Exclude<Investigation["interim"], "none">;
    dueAt: Date | null;
  };
  "matches.recompute": object;
  "merge.plan": MergeInput;
  "server.merge": MergeInput;
  "notice.owner": { serverId: string };
  "notice.subject": OfPerson &
    Pick<Punishment, "action" | "appeal_until"> & { discordAction: Punishment["discord"]["action"]; length: Length };
  "notice.welcome": OfPerson & { roleKey: string; trialDays: number };
  "poach.incident": Pick<Poach, "offender_user_ids" | "method"> & { serverId: string; victimServerId: string; occurredAt: Date | null };
  "recruitment.hold": OfPerson;
  "roster.demote": OfPerson & { roleKey: string | null };
  "roster.probation": OfPerson & { length: Length };
  "roster.suspend": OfPerson & { length: Length };
  "roster.terminate": OfPerson;
  "roster.trial": OfPerson & { roleKey: string; department: string | undefined; trialDays: number };
  "staff.suspend": OfPerson & { length: Length };
}

export type MergeInput = Pick<
  Merge,
  "source_server_id" | "target_server_id" | "owner_consents" | "staff_plan" | "callsign_policy" | "effective_at"
>;

export type EffectKey = keyof EffectInputs;

/** An effect that a kind of request has, with what it is told. */
export type Use<Key extends EffectKey = EffectKey> = { [Each in Key]: { key: Each; input: EffectInputs[Each] } }[Key];

/** The entry of a kind for an effect: what the effect needs does not compile away. */
export function effect<Key extends EffectKey>(key: Key, input: EffectInputs[Key]): Use {
  return { key, input } as Use;
}
