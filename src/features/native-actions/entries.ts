import { AuditLogEvent } from "discord-api-types/v10";
import { z } from "zod";
import { Snowflake } from "../../kernel/fields.ts";
import { showText } from "../../kernel/storable.ts";
import type { GuildActionKind } from "../../kernel/vocabulary.ts";

const discordEpoch = 1_420_070_400_000;
const dayMs = 86_400_000;

/** Discord's limits for a reason and for the name of a rule, and what both databases hold of a number. */
const [maxReason, maxRule, maxCount] = [512, 100, 2_147_483_647];
/** An id of a later time is none that Discord gave, however wrong the clock of this machine is. */
const maxAheadMs = 3650 * dayMs;
/** No timeout lasts as long as that. */
const maxTimeoutMs = 366 * dayMs;

const wholeNumber = z.union([
  z.int(),
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number),
]);
const change = z.object({ key: z.string(), new_value: z.unknown().optional(), old_value: z.unknown().optional() });

/**
 * An entry of a guild's audit log, as far as it is read. Only its id and its type have to be readable: Discord adds types and fields, and leaves
 * out who did something where nobody did. Source: Discord's documentation of the audit log, API version 10.
 */
const LogEntry = z.object({
  id: Snowflake,
  action_type: wholeNumber,
  user_id: Snowflake.nullable().catch(null),
  target_id: Snowflake.nullable().catch(null),
  reason: z.string().nullable().catch(null),
  changes: z.array(z.unknown()).catch([]),
  options: z.record(z.string(), z.unknown()).catch({}),
});
type LogEntry = z.infer<typeof LogEntry>;

/** Something that was done in Discord. */
export interface Seen {
  /** The entry of the audit log; null for what only an event told of. */
  entryId: string | null;
  kind: GuildActionKind;
  guildId: string;
  /** Null for a prune: the log does not say who was removed. */
  userId: string | null;
  actorId: string | null;
  reason: string | null;
  /** When a timeout ends. */
  until: Date | null;
  /** The rule of AutoMod that did it. */
  rule: string | null;
  /** How many members a prune removed, and for how many days they had been away. */
  count: number | null;
  days: number | null;
  at: Date;
  /** Whether the bot itself did it. */
  isOurs: boolean;
}

/** What an entry of the log is to us. */
export interface ReadEntry {
  /** Its id; undefined where it has none that can be one. */
  id: string | undefined;
  /** What was done; undefined for everything that is not recorded, such as roles and channels. */
  seen: Seen | undefined;
  /** It says that something was done that is recorded, or nothing that makes sense. */
  isUnreadable: boolean;
}

/** What makes one kind different from another. */
type Done = Pick<Seen, "kind"> & Partial<Pick<Seen, "userId" | "actorId" | "until" | "rule" | "count" | "days">>;

/** What an entry of each type says was done; `unreadable` where it does not say what such an entry has to say. */
const readers: Readonly<Record<number, (entry: LogEntry, at: Date) => Done | "unreadable" | undefined>> = {
  [AuditLogEvent.MemberBanAdd]: (entry) => toPerson("ban", entry),
  [AuditLogEvent.MemberBanRemove]: (entry) => toPerson("unban", entry),
  [AuditLogEvent.MemberKick]: (entry) => toPerson("kick", entry),
  [AuditLogEvent.MemberUpdate]: timeoutIn,
  [AuditLogEvent.MemberPrune]: ({ options }) => ({
    kind: "prune",
    userId: null,
    count: countOf(options["members_removed"]),
    days: countOf(options["delete_member_days"]),
  }),
  // Discord names the person as the one who did it, too, and does not say until when.
  [AuditLogEvent.AutoModerationUserCommunicationDisabled](entry) {
    const done = toPerson("timeout", entry);
    const { auto_moderation_rule_name: name } = entry.options;
    return typeof done === "string"
      ? done
      : { ...done, actorId: null, rule: storable(typeof name === "string" ? name : "", maxRule) ?? "AutoMod" };
  },
};

function toPerson(kind: GuildActionKind, { target_id: userId }: LogEntry): Done | "unreadable" {
  return userId === null ? "unreadable" : { kind, userId };
}

/** When an entry was written: its id begins with that. */
export function timeOf(id: string): Date {
  return new Date(Number(BigInt(id) >> 22n) + discordEpoch);
}

/** The id that an entry of this time would have at least. */
export function idAt(time: Date): string {
  return (BigInt(Math.max(0, time.getTime() - discordEpoch)) << 22n).toString();
}

/** The later one of two entries: ids are numbers without a zero in front. */
export function laterOf(id: string, other: string): string {
  if (id.length !== other.length) return id.length > other.length ? id : other;
  return id > other ? id : other;
}

/**
 * What an entry says was done. Whatever it holds, nothing is thrown.
 * @param selfId the bot's own account
 */
export function readEntry(guildId: string, given: unknown, { selfId, now }: { selfId: string | undefined; now: Date }): ReadEntry {
  const id = z.object({ id: Snowflake }).safeParse(given).data?.id;
  // Of an id out of the future everything that comes would be older, and none of it would be read.
  if (id === undefined || timeOf(id).getTime() > now.getTime() + maxAheadMs) return { id: undefined, seen: undefined, isUnreadable: true };
  const entry = LogEntry.safeParse(given).data;
  if (entry === undefined) return { id, seen: undefined, isUnreadable: true };
  const at = timeOf(id);
  const done = readers[entry.action_type]?.(entry, at);
  if (done === undefined || done === "unreadable") return { id, seen: undefined, isUnreadable: done === "unreadable" };
  const { user_id: actorId } = entry;
  const seen: Seen = {
    entryId: id,
    guildId,
    userId: null,
    actorId,
    reason: storable(entry.reason ?? "", maxReason),
    until: null,
    rule: null,
    count: null,
    days: null,
    at,
    isOurs: actorId !== null && actorId === selfId,
    ...done,
  };
  return { id, seen, isUnreadable: false };
}

/** A timeout that was set, changed or lifted. One that had ended already is not lifted. */
function timeoutIn(entry: LogEntry, at: Date): Done | "unreadable" | undefined {
  const found = entry.changes.map((one) => change.safeParse(one).data).find((one) => one?.key === "communication_disabled_until");
  if (found === undefined) return undefined;
  const [before, after] = [dateOf(found.old_value, at), dateOf(found.new_value, at)];
  if (before === "unreadable" || after === "unreadable") return "unreadable";
  const done = toPerson(after !== undefined && after > at ? "timeout" : "timeout_lift", entry);
  if (typeof done === "string") return done;
  if (done.kind === "timeout") return { ...done, until: after ?? null };
  return before !== undefined && before > at ? done : undefined;
}

/** @returns undefined for none */
function dateOf(value: unknown, at: Date): Date | "unreadable" | undefined {
  if (value === undefined || value === null) return undefined;
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) || ms > at.getTime() + maxTimeoutMs ? "unreadable" : new Date(ms);
}

/** A number that Discord writes as text; null where it does not say it. */
function countOf(value: unknown): number | null {
  const text = typeof value === "number" ? value.toString() : value;
  return typeof text === "string" && /^\d{1,100}$/.test(text) ? Math.min(Number(text), maxCount) : null;
}

/** What both databases can store of a text; null where nothing is left. */
function storable(text: string, most: number): string | null {
  const kept = showText(text.slice(0, 2 * most))
    .trim()
    .slice(0, most)
    .replace(/\p{Surrogate}$/u, "");
  return kept === "" ? null : kept;
}
