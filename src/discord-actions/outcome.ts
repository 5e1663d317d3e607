import type { DiscordAction, Performed } from "../kernel/discord-port.ts";
import type { BackOff } from "../kernel/pause.ts";
import { nextAttempt } from "../kit/task.ts";

/** An action that is tried. */
export interface Attempt {
  action: DiscordAction;
  /** Which attempt it is, from 1. */
  attempts: number;
  /** Whether there is only this one attempt, and a short one: something else waits for it. */
  isBrief?: boolean;
}

/** What came of an attempt, as it is stored and told. */
export type Outcome =
  | { state: "done"; detail: string; changed: boolean; until?: Date }
  /** Trying again changes nothing, or it was the last attempt. */
  | { state: "failed"; detail: string; code: number | null; mayBeDone: boolean }
  | { state: "later"; detail: string; code: number | null; dueAt: Date; mayBeDone: boolean }
  /** The person is not in the server: it is done when they return. */
  | { state: "away"; detail: string };

const second = 1000;
/** Discord recognises a message that it was sent before for minutes only. */
const resent: BackOff = { firstMs: 2 * second, mostMs: 240 * second };

/** What an attempt means for the action: done, failed permanently, to be tried again at a date, or waiting for the person. */
export function outcomeOf(now: Date, { action, attempts, isBrief = false }: Attempt, performed: Performed): Outcome {
  const { detail } = performed;
  if (performed.outcome === "done") {
    const until = performed.until === undefined ? {} : { until: new Date(performed.until) };
    return { state: "done", detail, changed: performed.changed, ...until };
  }
  if (performed.outcome === "away") return { state: "away", detail };
  if (performed.outcome === "failed") return { state: "failed", detail, code: performed.code ?? null, mayBeDone: false };
  const { mayBeDone, retryAfterMs: leastMs = 0, code = null } = performed;
  const isMessage = action.kind === "message_user" || action.kind === "message_channel";
  const pace = { ...(isMessage && mayBeDone && resent), leastMs };
  const dueAt = isBrief ? null : nextAttempt(now, attempts, pace);
  if (dueAt === null) return { state: "failed", detail, code, mayBeDone };
  return { state: "later", detail, code, dueAt, mayBeDone };
}
