import { setTimeout as wait } from "node:timers/promises";
import { DiscordAPIError, HTTPError, RESTJSONErrorCodes, type REST } from "discord.js";

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
/** What the link asks before it is there. It is begun anew where there is no connection, with pauses of its own. */
const others: Patience = { route: /^/, attempts: 4, attemptMs: 10_000, endMs: 60_000 };

/** How much longer than the first the longest pause is: half a minute. */
const longest = 300;

/**
 * Has failed calls of the library made again with pauses, as long as what they say still counts. A refusal of Discord is final.
 * The library waits for rate limits itself.
 * @param firstMs pause before the first repetition; doubles with each
 */
export function repeatCalls(rest: REST, firstMs = 100): void {
  const once = rest.request.bind(rest);
  rest.request = async (request) => {
    const patience = answers.find(({ route }) => route.test(request.fullRoute)) ?? others;
    const { attempts, attemptMs, endMs } = patience;
    const end = performance.now() + endMs;
    for (let tried = 1; ; tried += 1) {
      try {
        return await once({ ...request, signal: AbortSignal.timeout(attemptMs) });
      } catch (error) {
        if (tried > 1 && isTaken(error)) return undefined;
        const pauseMs = firstMs * Math.min(longest, 2 ** (tried - 1)) * (0.75 + Math.random() / 2);
        const isFinal = error instanceof DiscordAPIError || (patience === others && !(error instanceof HTTPError));
        if (isFinal || tried >= attempts || performance.now() + pauseMs > end) throw error;
        await wait(pauseMs, undefined, { ref: false });
      }
    }
  };
}

/** Discord took an earlier attempt, and its word of it was lost. */
function isTaken(error: unknown): boolean {
  return error instanceof DiscordAPIError && error.code === RESTJSONErrorCodes.InteractionHasAlreadyBeenAcknowledged;
}
