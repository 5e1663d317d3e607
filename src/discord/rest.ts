import { DiscordAPIError, REST, type RequestMethod } from "discord.js";
import type { Logger } from "pino";
import { pause } from "./pause.ts";
import { pauseBefore, zeroCounts, type CallCounts, type CallPurpose, type DiscordRequest } from "./rest-request.ts";
import { rateLimitWait, safeError, toProblem, unavailable } from "./rest-errors.ts";
import { userAgentAppendix } from "./user-agent.ts";

export interface DiscordRest {
  /**
   * Call Discord as the bot. Rate limits are waited for while the deadline allows; failures of calls that may be repeated are repeated.
   * @throws ProblemError discord_unavailable with a time to wait, or discord_error when Discord refused
   */
  call<T>(request: DiscordRequest): Promise<T>;
  counts(): Readonly<Record<CallPurpose, Readonly<CallCounts>>>;
  /** Whether Discord refused the bot's token in a call; cleared by the next call that works. */
  isTokenRefused(): boolean;
  stop(): void;
}

interface RestOptions {
  apiBase: string;
  token: string;
  logger: Logger;
  /** How long no call is made after Discord refused the token: such calls count as invalid requests, of which it tolerates few. Default 60,000. */
  tokenRestMs?: number;
  /** How long look-ups are not tried after a failure: an answer now is worth more than a late one. Default 3,000. */
  lookUpRestMs?: number | undefined;
  /** Pause before the first repetition of a failed call; doubles with each. Default 250. */
  repeatMs?: number | undefined;
}

/**
 * Own handling instead of the library's: it repeats 5xx without a pause, sleeps through rate limits without a deadline,
 * and forgets its token after a 401.
 */
export function createDiscordRest({
  apiBase,
  token,
  logger,
  tokenRestMs = 60_000,
  lookUpRestMs = 3000,
  repeatMs,
}: RestOptions): DiscordRest {
  const rest = new REST({
    version: "10",
    api: apiBase,
    retries: 0,
    timeout: 10_000,
    rejectOnRateLimit: () => true,
    userAgentAppendix,
  }).setToken(token);
  const counts = { action: zeroCounts(), lookup: zeroCounts(), sync: zeroCounts(), registration: zeroCounts() };
  let failingUntil = 0;
  let refusedUntil = 0;
  let isTokenRefused = false;

  const once = (request: DiscordRequest, signal: AbortSignal): Promise<unknown> => {
    const { method, route, query, body, reason } = request;
    return rest.request({
      method: method as RequestMethod,
      fullRoute: route,
      signal,
      ...(query !== undefined && { query }),
      ...(body !== undefined && { body }),
      ...(reason !== undefined && { reason }),
    });
  };

  const gate = ({ purpose }: DiscordRequest): void => {
    const now = performance.now();
    if (now < refusedUntil) throw unavailable(refusedUntil - now);
    if (purpose === "lookup" && now < failingUntil) throw unavailable(failingUntil - now);
  };

  const failed = (request: DiscordRequest, error: unknown): void => {
    const count = counts[request.purpose];
    if (rateLimitWait(error) !== undefined) {
      count.rateLimited += 1;
    } else if (!(error instanceof DiscordAPIError)) {
      count.failed += 1;
      failingUntil = performance.now() + lookUpRestMs;
    } else {
      count.refused += 1;
      if (error.status !== 401) return;
      isTokenRefused = true;
      refusedUntil = performance.now() + tokenRestMs;
      rest.setToken(token);
      logger.error({ err: safeError(error) }, "Discord refused the bot token in a call");
    }
  };

  const attempt = async (request: DiscordRequest, until: number, signal: AbortSignal): Promise<unknown> => {
    for (let tried = 1; ; tried += 1) {
      try {
        const answer = await once(request, signal);
        counts[request.purpose].ok += 1;
        isTokenRefused = false;
        failingUntil = 0;
        return answer;
      } catch (error) {
        failed(request, error);
        const pauseMs = pauseBefore(error, request, tried, repeatMs);
        if (pauseMs === undefined || signal.aborted || performance.now() + pauseMs > until) throw toProblem(error);
        await pause(pauseMs, signal);
      }
    }
  };

  return {
    async call<T>(request: DiscordRequest): Promise<T> {
      gate(request);
      const ms = request.deadlineMs ?? 5000;
      const tooLong = new AbortController();
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<never>((_, reject) => {
        const giveUp = (): void => {
          tooLong.abort();
          reject(unavailable(2000));
        };
        timer = setTimeout(giveUp, ms).unref();
      });
      try {
        return (await Promise.race([attempt(request, performance.now() + ms, tooLong.signal), deadline])) as T;
      } finally {
        // A deadline that went on would keep the answer: whole pages of members, for a minute.
        clearTimeout(timer);
      }
    },
    counts: () => counts,
    isTokenRefused: () => isTokenRefused,
    stop() {
      rest.clearHandlerSweeper();
      rest.clearHashSweeper();
    },
  };
}
