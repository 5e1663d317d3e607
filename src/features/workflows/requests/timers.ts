import { addSeconds } from "../../../kernel/clock.ts";
import { isOpenStatus } from "../state/table.ts";
import type { Request } from "./workflows.policy.ts";

const day = 86_400;

type Clocks = Pick<
  Request,
  "status" | "dueFirstTouchAt" | "dueDecisionAt" | "expiresAt" | "firstTouchedAt" | "pausedAt" | "infoDueAt" | "isHeld" | "holdAt" | "told"
>;

/** What staff are reminded of, once each. */
export const reminders = ["first_touch", "decision", "expiring", "held", "info"] as const;
export type Reminder = (typeof reminders)[number];

/** Another hold and other questions are another matter: each is reminded of once. */
const repeated: ReadonlySet<Reminder> = new Set(["held", "info"]);

/** What is noted of a reminder once it was given. */
function noteOf(reminder: Reminder, at: Date): string {
  return repeated.has(reminder) ? `${reminder} ${at.toISOString()}` : reminder;
}

/** When each reminder of a request falls due, whether or not it was given; null: it does not. */
function timesOf(row: Clocks): Readonly<Record<Reminder, Date | null>> {
  const isRunning = row.pausedAt === null;
  return {
    first_touch: isRunning && row.firstTouchedAt === null ? row.dueFirstTouchAt : null,
    decision: isRunning ? row.dueDecisionAt : null,
    expiring: row.expiresAt === null ? null : addSeconds(row.expiresAt, -day),
    held: row.isHeld && row.holdAt !== null ? addSeconds(row.holdAt, day) : null,
    info: row.infoDueAt,
  };
}

/** When each reminder of a request falls due; those given already are left out. */
export function remindersOf(row: Clocks): [Reminder, Date][] {
  if (!isOpenStatus(row.status)) return [];
  const told = toldOf(row);
  const times = timesOf(row);
  return reminders.flatMap((reminder): [Reminder, Date][] => {
    const at = times[reminder];
    return at === null || told.includes(noteOf(reminder, at)) ? [] : [[reminder, at]];
  });
}

/** The notes of a request once everything that is due was told; those of earlier holds and questions go. */
export function toldWith(row: Clocks, now: Date): string[] {
  const times = timesOf(row);
  const earlier = toldOf(row).filter((note) =>
    reminders.some((reminder) => {
      const at = times[reminder];
      return repeated.has(reminder) ? at !== null && note === noteOf(reminder, at) : note === reminder;
    }),
  );
  const given = remindersOf(row).filter(([, at]) => at <= now);
  return [...earlier, ...given.map(([reminder, at]) => noteOf(reminder, at))];
}

/** A row about to be written names an empty column in the database's own way. */
/** What was told; a row about to be written names an empty column in the database's own way. */
function toldOf({ told }: Pick<Clocks, "told">): string[] {
  return Array.isArray(told) ? (told as string[]) : [];
}

/** When the next reminder falls due; null: none is left. */
export function remindAtOf(row: Clocks): Date | null {
  const times = remindersOf(row).map(([, at]) => at.getTime());
  return times.length === 0 ? null : new Date(Math.min(...times));
}

/** The clocks of a request that stood still, moved on by as long as they did. */
export function resumed(row: Pick<Request, "pausedAt" | "dueFirstTouchAt" | "dueDecisionAt">, now: Date) {
  const { pausedAt, dueFirstTouchAt, dueDecisionAt } = row;
  if (pausedAt === null) return {};
  const seconds = (now.getTime() - pausedAt.getTime()) / 1000;
  const later = (at: Date | null): Date | null => (at === null ? null : addSeconds(at, seconds));
  return { pausedAt: null, infoDueAt: null, questions: null, dueFirstTouchAt: later(dueFirstTouchAt), dueDecisionAt: later(dueDecisionAt) };
}

/** By how much urgency shortens the time limits. */
export const urgencyFactor = 4;
