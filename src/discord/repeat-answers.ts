import { setTimeout as wait } from "node:timers/promises";
import { DiscordAPIError, RESTJSONErrorCodes, type REST } from "discord.js";

interface Patience {
  route: RegExp;
  attempts: number;
  /** How long one attempt may take. */
  attemptMs: number;
  /** When no further attempt begins. */
  endMs: number;
}

/** The first answer to an interaction counts within three seconds; an edit and a message after it share what is left of fifteen minutes. */
const answers: readonly Patience[] = [
  { route: /^\/interactions\//, attempts: 20, attemptMs: 2000, endMs: 2800 },
  { route: /^\/webhooks\//, attempts: 20, attemptMs: 10_000, endMs: 420_000 },
];

/** How much longer than the first the longest pause is: half a minute. */
const longest = 300;

/**
 * Has answers to interactions that failed sent again with pauses, as long as they still count. A refusal of Discord is final.
 * The library waits for rate limits itself; its other call, for the gateway's address, is made again by whoever connects.
 * @param firstMs pause before the first repetition; doubles with each
 */
export function repeatAnswers(rest: REST, firstMs = 100): void {
  const once = rest.request.bind(rest);
  rest.request = async (request) => {
    const patience = answers.find(({ route }) => route.test(request.fullRoute));
    if (patience === undefined) return once(request);
    const { attempts, attemptMs, endMs } = patience;
    const end = performance.now() + endMs;
    for (let tried = 1; ; tried += 1) {
      try {
        return await once({ ...request, signal: AbortSignal.timeout(attemptMs) });
      } catch (error) {
        if (tried > 1 && isTaken(error)) return undefined;
        const pauseMs = firstMs * Math.min(longest, 2 ** (tried - 1)) * (0.75 + Math.random() / 2);
        if (error instanceof DiscordAPIError || tried >= attempts || performance.now() + pauseMs > end) throw error;
        await wait(pauseMs, undefined, { ref: false });
      }
    }
  };
}

/** Discord took an earlier attempt, and its word of it was lost. */
function isTaken(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.code === RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
}
