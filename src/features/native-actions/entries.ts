import { AuditLogEvent } from "discord-api-types/v10";
import { z } from "zod";
import { Snowflake } from "../../kernel/fields.ts";
import type { NativeActionKind } from "../../kernel/vocabulary.ts";

const discordEpoch = 1_420_070_400_000;

/** An entry of a guild's audit log, as far as it is read. Source: Discord's documentation of the audit log, API version 10. */
export const LogEntry = z.object({
  id: Snowflake,
  action_type: z.int(),
  user_id: Snowflake.nullish(),
  target_id: z.string().nullish(),
  reason: z.string().nullish(),
  changes: z.array(z.object({ key: z.string().nullish(), new_value: z.unknown().optional(), old_value: z.unknown().optional() })).nullish(),
});
export type LogEntry = z.infer<typeof LogEntry>;

/** Something that was done to a person in Discord. */
export interface Seen {
  /** The entry of the audit log; null for what only an event told of. */
  entryId: string | null;
  kind: NativeActionKind;
  guildId: string;
  userId: string;
  actorId: string | null;
  reason: string | null;
  /** When a timeout ends. */
  until: Date | null;
  at: Date;
  /** Whether the bot itself did it. */
  isOurs: boolean;
}

const kinds: Readonly<Record<number, NativeActionKind>> = {
  [AuditLogEvent.MemberBanAdd]: "ban",
  [AuditLogEvent.MemberBanRemove]: "unban",
  [AuditLogEvent.MemberKick]: "kick",
};

/** Discord's limit for a reason. */
const maxReason = 512;

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
 * What an entry says was done to a person; undefined for everything else that the log holds, such as roles and channels.
 * @param selfId the bot's own account
 */
export function readEntry(guildId: string, entry: LogEntry, selfId: string | undefined): Seen | undefined {
  const at = timeOf(entry.id);
  const told = kinds[entry.action_type] ?? (entry.action_type === AuditLogEvent.MemberUpdate ? timeoutIn(entry, at) : undefined);
  const userId = Snowflake.safeParse(entry.target_id).data;
  if (told === undefined || userId === undefined) return undefined;
  const actorId = entry.user_id ?? null;
  return {
    entryId: entry.id,
    guildId,
    userId,
    actorId,
    reason: reasonOf(entry.reason),
    at,
    isOurs: actorId !== null && actorId === selfId,
    ...(typeof told === "string" ? { kind: told, until: null } : told),
  };
}

/** A timeout that was set, changed or lifted. One that had ended already is not lifted. */
function timeoutIn({ changes }: LogEntry, at: Date): Pick<Seen, "kind" | "until"> | undefined {
  const change = changes?.find(({ key }) => key === "communication_disabled_until");
  if (change === undefined) return undefined;
  const [before, after] = [dateOf(change.old_value), dateOf(change.new_value)];
  if (after !== undefined && after > at) return { kind: "timeout", until: after };
  return before !== undefined && before > at ? { kind: "timeout_lift", until: null } : undefined;
}

function dateOf(value: unknown): Date | undefined {
  const ms = typeof value === "string" ? Date.parse(value) : Number.NaN;
  return Number.isNaN(ms) ? undefined : new Date(ms);
}

/** What both databases can store of a reason. */
function reasonOf(reason: string | null | undefined): string | null {
  const text = (reason ?? "")
    .replaceAll(/[\0\p{Surrogate}]/gu, "\uFFFD")
    .trim()
    .slice(0, maxReason);
  return text === "" ? null : text.replace(/\p{Surrogate}$/u, "");
}
