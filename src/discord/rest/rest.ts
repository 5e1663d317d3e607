import { worded } from "../../kit/say.ts";
import type { RequestMethod, REST } from "discord.js";
import type { Logger } from "pino";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import type { CallPurpose, DiscordCalls, DiscordRequest } from "../../kernel/discord-port.ts";
import { backOff, pause } from "../../kernel/pause.ts";
import { tokenInstruction } from "../gateway/close-codes.ts";
import { isRefusal, loadLibrary } from "../load-library.ts";
import { rateLimitWait, toProblem, unavailable } from "./errors.ts";
import { version } from "../../version.ts";

interface ClockCheckOptions {
  clock: Clock;
  logger: Pick<Logger, "warn">;
}

/** An answer takes a few seconds at most, and its time has no parts of a second. */
const allowedMs = 60_000;
/** How often the clocks are compared at most, and a warning is logged. */
const everyMs = 3_600_000;

/** Warns when the clock of this machine is far from Discord's, whose answers say what time it is there. */
export function createClockCheck({ clock, logger }: ClockCheckOptions) {
  let lookedAt = -Infinity;

  return {
    /** @param date the header `Date` of an answer that has just come */
    answered(date: string | null): void {
      const now = performance.now();
      if (now - lookedAt < everyMs) return;
      const there = Date.parse(date ?? "");
      if (Number.isNaN(there)) return;
      lookedAt = now;
      const seconds = Math.round((clock.now().getTime() - there) / 1000);
      if (Math.abs(seconds) * 1000 <= allowedMs) return;
      const way = seconds > 0 ? "ahead of" : "behind";
      logger.warn(
        { seconds },
        `The clock of this machine is ${shown(Math.abs(seconds))} ${way} Discord's: records and the audit get wrong times, and what has an end ends too early or too late. Set it by the network, such as with \`timedatectl set-ntp true\`, and restart.`,
      );
    },
  };
}

function shown(seconds: number): string {
  const [amount, unit] =
    seconds < 7200 ? [seconds / 60, "minutes"] : seconds < 172_800 ? [seconds / 3600, "hours"] : [seconds / 86_400, "days"];
  const whole = Math.round(amount);
  return `${whole.toString()} ${whole === 1 ? unit.slice(0, -1) : unit}`;
}

/** discord.js appends this to its own part of the User-Agent. */
export const userAgentAppendix = `provost/${version}`;

/** The User-Agent in the form Discord requires of every client; calls without it may be blocked. */
export async function userAgent(): Promise<string> {
  return `${(await loadLibrary()).DefaultUserAgent} ${userAgentAppendix}`;
}

export interface DiscordRest extends DiscordCalls {
  counts(): Readonly<Record<CallPurpose, Readonly<CallCounts>>>;
  /** Whether Discord refused the bot's token in a call; cleared by the next successful call. */
  isTokenRefused(): boolean;
  stop(): void;
}

interface RestOptions {
  apiBase: string;
  token: string;
  logger: Logger;
  /** The machine's own by default; compared with the times of Discord's answers. */
  clock?: Clock;
  /** The time without calls after Discord refused the token: it counts them as invalid requests, and tolerates few. Default 60,000. */
  tokenRestMs?: number;
  /** The time without look-ups after a failure: a quick refusal is worth more than a late answer. Default 3,000. */
  lookUpRestMs?: number | undefined;
  /** The pause before the first repetition of a failed call; doubles with each. Default 250. */
  repeatMs?: number | undefined;
}

/**
 * Calls with the bot's token. Repetitions and rate limits are handled here, since the library repeats 5xx without a pause, waits for rate
 * limits without a deadline, and forgets its token after a 401.
 */
export function createDiscordRest({
  apiBase,
  token,
  logger,
  clock = systemClock,
  tokenRestMs = 60_000,
  lookUpRestMs = 3000,
  repeatMs,
}: RestOptions): DiscordRest {
  const clockCheck = createClockCheck({ clock, logger });
  let made: Promise<REST> | undefined;
  const make = async (): Promise<REST> => {
    const { REST } = await loadLibrary();
    const rest = new REST({ version: "10", api: apiBase, retries: 0, timeout: 10_000, rejectOnRateLimit: () => true, userAgentAppendix });
    return rest.on("response", (_, { headers }) => clockCheck.answered(headers.get("date")));
  };
  const counts = { action: zeroCounts(), lookup: zeroCounts(), sync: zeroCounts(), registration: zeroCounts() };
  let failingUntil = 0;
  let refusedUntil = 0;
  let isTokenRefused = false;

  const once = async (request: DiscordRequest, signal: AbortSignal): Promise<unknown> => {
    const { method, route, query, body, reason } = request;
    // The library forgets the token after a 401.
    const rest = (await (made ??= make())).setToken(token);
    return rest.request({
      method: method as RequestMethod,
      fullRoute: route,
      signal,
      ...(query !== undefined && { query }),
      ...(body !== undefined && { body }),
      ...(reason !== undefined && { reason: worded(reason) }),
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
    } else if (!isRefusal(error)) {
      count.failed += 1;
      failingUntil = performance.now() + lookUpRestMs;
    } else {
      count.refused += 1;
      if (error.status !== 401) return;
      isTokenRefused = true;
      refusedUntil = performance.now() + tokenRestMs;
      logger.error({ reason: tokenInstruction }, "Discord refused the bot token in a call");
    }
  };

  const attempt = async (request: DiscordRequest, until: number, signal: AbortSignal): Promise<unknown> => {
    for (let tried = 1; ; tried += 1) {
      const refusedBefore = refusedUntil;
      try {
        const answer = await once(request, signal);
        counts[request.purpose].ok += 1;
        // What Discord answers to a call from before it refused the token says nothing of the token now.
        if (refusedUntil === refusedBefore) isTokenRefused = false;
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
      const { signal } = request;
      let giveUp = (): void => undefined;
      let timer: NodeJS.Timeout | undefined;
      const deadline = new Promise<never>((_, reject) => {
        giveUp = () => {
          tooLong.abort();
          reject(unavailable(2000));
        };
        timer = setTimeout(giveUp, ms).unref();
      });
      if (signal?.aborted === true) giveUp();
      signal?.addEventListener("abort", giveUp);
      try {
        return (await Promise.race([attempt(request, performance.now() + ms, tooLong.signal), deadline])) as T;
      } finally {
        // A running timer would keep the answer in memory: whole pages of members, for a minute.
        clearTimeout(timer);
        signal?.removeEventListener("abort", giveUp);
      }
    },
    counts: () => counts,
    isTokenRefused: () => isTokenRefused,
    stop() {
      void made?.then((rest) => {
        rest.clearHandlerSweeper();
        rest.clearHashSweeper();
      });
    },
  };
}

interface CallCounts {
  ok: number;
  refused: number;
  failed: number;
  rateLimited: number;
}

const attempts = 4;
/** Look-ups are part of a request somebody waits for, so they are repeated once only. */
const lookUpAttempts = 2;

/** Pause before the first repetition of a failed call; doubles with each. */
const firstPauseMs = 250;

/**
 * The milliseconds until a failed call may be made again; undefined if it must not be repeated. A POST or PATCH whose outcome is unknown is
 * never repeated; one that was rate limited was not carried out.
 */
function pauseBefore(
  error: unknown,
  { method, purpose }: Pick<DiscordRequest, "method" | "purpose">,
  tried: number,
  firstMs = firstPauseMs,
): number | undefined {
  const wait = rateLimitWait(error);
  if (wait !== undefined) return wait + 50;
  if (isRefusal(error) || method === "POST" || method === "PATCH") return undefined;
  if (tried >= (purpose === "lookup" ? lookUpAttempts : attempts)) return undefined;
  return backOff(tried, { firstMs });
}

function zeroCounts(): CallCounts {
  return { ok: 0, refused: 0, failed: 0, rateLimited: 0 };
}
