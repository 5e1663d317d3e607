import { say } from "../kit/say.ts";
/** Actions that failed, and that nobody has tried again or called off since. */
export interface Failures {
  count: number;
  newest: { at: Date; why: string } | null;
}

/** How far back failures are reported, in milliseconds. */
export const failuresMs = 7 * 86_400_000;

/** Failures of several causes together. */
export function joinFailures(parts: readonly Failures[]): Failures {
  const newest = parts.flatMap((part) => part.newest ?? []).toSorted((one, other) => other.at.getTime() - one.at.getTime());
  return { count: parts.reduce((sum, { count }) => sum + count, 0), newest: newest[0] ?? null };
}

/** What an operator is told about failures; undefined where there are none. */
export function failuresText({ count, newest }: Failures): string | undefined {
  if (newest === null) return undefined;
  const at = newest.at.toISOString();
  const what =
    count === 1
      ? say("discord-actions.an-action-in-discord-failed-at-and", { at })
      : say("discord-actions.actions-in-discord-failed-in-the-last", { count, at });
  return [what, newest.why, say("discord-actions.try-again-from-the-alerts-channel-the")].join(" ");
}
