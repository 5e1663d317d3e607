import { ownList, type AlertKind } from "../../kernel/vocabulary.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { EventType } from "../events/types.ts";

/** What an event says: ids, references and statuses. */
export type AlertData = Readonly<Record<string, unknown>>;

interface AlertSpec {
  raisedBy: EventType;
  /** After these nobody needs to look any more. */
  endedBy?: readonly EventType[];
  /** The fields of the events that name what it is about: one alert for each. */
  about: readonly string[];
  /** Whether an event is about something that is told at all; always unless given. */
  isFor?: (data: AlertData) => boolean;
  /** Permissions of its events, besides the usual one of their type, whose holders read alerts as well. */
  alsoFor?: readonly PermissionKey[];
  /** Whether it goes ahead of alerts that wait; never unless given. */
  isUrgent?: (data: AlertData) => boolean;
  /** Has more than a few an hour with the same value of a field told in one summary. */
  gathered?: {
    by: string;
    /** Whether it is told in the summary alone, however few there are. */
    isOnly: (data: AlertData) => boolean;
  };
}

const decided = ["workflow.decided", "workflow.expired"] as const;

/** What needs somebody's attention, by the events that begin and end it. One with a `guild_id` is told in that guild alone. */
export const alertSpecs: Readonly<Record<AlertKind, AlertSpec>> = {
  discord_action_failed: {
    raisedBy: "discord_action.failed",
    endedBy: ["discord_action.recovered"],
    about: ["cause", "id", "place"],
    // What a list asked for is told of as listed people are.
    alsoFor: ["blacklist.read"],
    // Whether a message arrived is told in the reply and on the card of its request.
    isFor: ({ guild_id: guildId }) => typeof guildId === "string",
    isUrgent: () => true,
  },
  listed_person_joined: {
    raisedBy: "listed_person.joined",
    endedBy: ["listed_person.cleared"],
    about: ["user_id", "list"],
    isUrgent: ({ list }) => list === ownList,
    gathered: { by: "list", isOnly: ({ list, by_rule: byRule }) => list !== ownList && byRule === false },
  },
  list_actions_held: { raisedBy: "list_actions.held", endedBy: ["list_actions.released"], about: [], isUrgent: () => true },
  match_opened: { raisedBy: "match.opened", endedBy: ["match.closed"], about: ["match_id"] },
  appeal_filed: { raisedBy: "appeal.filed", endedBy: decided, about: ["request_id"] },
  request_overdue: { raisedBy: "workflow.overdue", endedBy: decided, about: ["request_id"] },
  record_review_due: {
    raisedBy: "blacklist.review_due",
    endedBy: ["blacklist.updated", "blacklist.revoked", "blacklist.expired", "blacklist.purged"],
    about: ["id"],
  },
  callsign_pool_low: { raisedBy: "callsign.low_pool", about: ["pool"] },
  roster_drift: { raisedBy: "roster.drift", about: [] },
  webhook_disabled: { raisedBy: "webhook.disabled", about: ["webhook_id"] },
};

/** What an event means for alerts: which kinds it begins or ends. */
export interface AlertChange {
  kind: AlertKind;
  isOver: boolean;
}

const changes = new Map<string, AlertChange[]>();
for (const [kind, { raisedBy, endedBy = [] }] of Object.entries(alertSpecs) as [AlertKind, AlertSpec][]) {
  for (const type of [raisedBy, ...endedBy]) changes.set(type, [...(changes.get(type) ?? []), { kind, isOver: type !== raisedBy }]);
}

/** Which alerts an event of this type begins and ends. */
export function alertChangesOf(type: string): readonly AlertChange[] {
  return changes.get(type) ?? [];
}

/** Permissions of events of a type, besides its usual one, whose holders read its alerts as well. */
export function alsoForOf(type: string): readonly PermissionKey[] {
  return alertChangesOf(type).flatMap(({ kind }) => alertSpecs[kind].alsoFor ?? []);
}

/** Alerts wait in two lanes for each guild, each in the order of the journal; what is urgent goes first. */
export const lanes = ["urgent", "ordinary"] as const;
export type Lane = (typeof lanes)[number];

/** Whether an alert waits in a lane. Its end is looked at in every lane of its kind, as it may not say what its beginning said. */
export function isInLane(lane: Lane, { kind, isOver }: AlertChange, data: AlertData): boolean {
  const { isUrgent } = alertSpecs[kind];
  if (isOver) return lane === "ordinary" || isUrgent !== undefined;
  return (isUrgent?.(data) ?? false) === (lane === "urgent");
}

const typesOf = (kinds: readonly (AlertKind | undefined)[]): string[] =>
  [...changes].flatMap(([type, some]) => (some.some(({ kind }) => kinds.includes(kind)) ? [type] : []));
const kinds = Object.keys(alertSpecs) as AlertKind[];

/** Events that begin or end alerts, by lane. */
export const laneEvents: Readonly<Record<Lane, readonly string[]>> = {
  urgent: typesOf(kinds.filter((kind) => alertSpecs[kind].isUrgent !== undefined)),
  ordinary: typesOf(kinds),
};

/** Events of alerts that can be told in a summary. */
export const gatheringEvents: readonly string[] = typesOf(kinds.filter((kind) => alertSpecs[kind].gathered !== undefined));
