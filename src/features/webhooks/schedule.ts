/** Seconds until the next attempt, by the attempts in a row that failed; then a day each time. */
const waits = [5, 30, 120, 600, 1800, 3600, 7200, 14_400, 28_800, 57_600] as const;
const longestWait = 86_400;
/** An attempt comes up to a fifth later, so that receivers that failed together are not asked together. */
const jitter = 0.2;
/** Seconds of failure after which a web-hook is disabled. */
export const givesUpAfter = 5 * 86_400;

/** How the attempts at an address go. */
export interface Run {
  /** Attempts in a row that failed. */
  failures: number;
  failingSince: Date | null;
  /** Null: at once. */
  nextAttemptAt: Date | null;
}

/** How an attempt ended. */
export interface Outcome {
  /** What was answered; null: nothing. */
  status: number | null;
  retryAfter?: string | undefined;
}

/** Why nothing more is sent: the receiver said so, or has failed for too long. */
export type End = "gone" | "failing";

export const afresh: Run = { failures: 0, failingSince: null, nextAttemptAt: null };

export const isDelivered = ({ status }: Outcome): boolean => status !== null && status >= 200 && status < 300;

/**
 * How the attempts stand after one more, and why it was the last one, if it was.
 * @param options.chance 0 to 1
 * @param options.pace what the usual wait is multiplied with
 */
export function afterAttempt(
  before: Run,
  outcome: Outcome,
  now: Date,
  { chance, pace = 1 }: { chance: number; pace?: number },
): Run & { end?: End } {
  if (isDelivered(outcome)) return afresh;
  const failures = before.failures + 1;
  const failingSince = before.failingSince ?? now;
  const usual = waits[failures - 1] ?? longestWait;
  const asked = Math.min(longestWait, secondsIn(outcome.retryAfter, now));
  const seconds = Math.min(longestWait, Math.max(usual * pace, asked) * (1 + jitter * chance));
  const run = { failures, failingSince, nextAttemptAt: new Date(now.getTime() + seconds * 1000) };
  if (outcome.status === 410) return { ...run, end: "gone" };
  return now.getTime() - failingSince.getTime() >= givesUpAfter * 1000 ? { ...run, end: "failing" } : run;
}

/** The seconds that a `Retry-After` asks for: a number, or a date; 0 for anything else. */
function secondsIn(retryAfter: string | undefined, now: Date): number {
  if (retryAfter === undefined) return 0;
  if (/^\d{1,10}$/.test(retryAfter)) return Number(retryAfter);
  const at = Date.parse(retryAfter);
  return Number.isNaN(at) ? 0 : Math.max(0, (at - now.getTime()) / 1000);
}
