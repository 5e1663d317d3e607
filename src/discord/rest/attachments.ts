import { say } from "../../kit/say.ts";
import { isIP } from "node:net";
import { RESTJSONErrorCodes } from "discord-api-types/v10";
import { Readable } from "node:stream";
import type {
  AttachmentSource,
  DiscordAction,
  DiscordActions,
  Performed,
  PerformOptions,
  DiscordCalls,
  SentBans,
} from "../../kernel/discord-port.ts";
import type { ServedGuilds } from "../guild-state.ts";
import { userAgent } from "./rest.ts";
import type { Logger } from "pino";
import { type Clock, systemClock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { type ActionCall, auditReason, createPresentState, kindOf } from "../actions/kinds.ts";
import { endOf, refusalCode } from "../actions/refusals.ts";

/** The hosts of Discord's files, and of its copies of what embeds show; no other host is ever called. */
const hosts: ReadonlySet<string> = new Set([
  "cdn.discordapp.com",
  "media.discordapp.net",
  "images-ext-1.discordapp.net",
  "images-ext-2.discordapp.net",
]);

/** @param apiBase Discord's API; if it is on this machine, its origin counts as a host of attachments, too */
export function createAttachments({ apiBase }: { apiBase: string }): AttachmentSource {
  const local = originOnThisMachine(apiBase);
  return {
    async open(url, signal) {
      const address = allowedAddress(url, local);
      if (address === undefined) return undefined;
      try {
        const response = await fetch(address, {
          redirect: "manual",
          signal,
          headers: { "accept-encoding": "identity", "user-agent": await userAgent() },
        });
        if (response.status === 200 && response.body !== null && !response.headers.has("content-encoding"))
          return Readable.fromWeb(response.body);
        await response.body?.cancel();
        return undefined;
      } catch {
        return undefined;
      }
    },
  };
}

/** The address of an attachment, if it is at one of Discord's hosts. It is built from the checked parts, so that exactly these are requested. */
export function allowedAddress(text: string, local: string | undefined): URL | undefined {
  if (!URL.canParse(text) || /[\s\\]/.test(text)) return undefined;
  const { protocol, hostname, port, username, password, origin, pathname, search } = new URL(text);
  if (username !== "" || password !== "") return undefined;
  const isDiscords = protocol === "https:" && port === "" && hosts.has(hostname);
  if (!isDiscords && (local === undefined || origin !== local)) return undefined;
  return new URL(`${origin}${pathname}${search}`);
}

/** The origin of an address on this machine; undefined for any other. */
export function originOnThisMachine(address: string): string | undefined {
  const { hostname, origin } = new URL(address);
  const isLoopback = hostname === "localhost" || hostname === "[::1]" || (isIP(hostname) === 4 && hostname.startsWith("127."));
  return isLoopback ? origin : undefined;
}

interface ActionsOptions {
  rest: DiscordCalls;
  /** The guilds in which the bot acts. */
  served: ServedGuilds;
  logger?: Logger;
  clock?: Clock;
  /** The deadline of one action with all its calls; default 10,000. */
  deadlineMs?: number;
}

/** Carries out the actions of the bot. */
export function createDiscordActions(options: ActionsOptions): DiscordActions & { sent: SentBans } {
  const { rest, served, logger, clock = systemClock, deadlineMs: usualMs = 10_000 } = options;

  const sent = createSentBans();

  const run = async (action: DiscordAction, { mayBeDone = false, deadlineMs = usualMs }: PerformOptions): Promise<Performed> => {
    if ("guildId" in action && !served.has(action.guildId)) return { outcome: "failed", detail: say("discord.i-dont-act-in-that-server") };
    const call = timed(rest, deadlineMs);
    const { plan, nothingLeft = {}, waitsForReturn = false } = kindOf(action);
    let isSent = false;
    try {
      const planned = await plan(action, createPresentState(call), clock.now().getTime());
      const until = planned.until !== undefined && { until: planned.until };
      if ("noChange" in planned) {
        const changed = mayBeDone && planned.isOthers !== true;
        return { outcome: "done", detail: planned.noChange, changed, ...until };
      }
      const { detail, until: _, ...request } = planned;
      isSent = true;
      sent.note(action);
      await call({ ...request, ...reasonOf(action) });
      return { outcome: "done", detail, changed: true, ...until };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const code = refusalCode(error);
      const detail = nothingLeft[code ?? -1];
      if (detail !== undefined) return { outcome: "done", detail, changed: isSent || mayBeDone };
      // The answer to an earlier request was lost: the person was there, and is gone.
      if (code === RESTJSONErrorCodes.UnknownMember && (isSent || mayBeDone) && action.kind === "kick")
        return { outcome: "done", detail: say("discord.they-were-kicked"), changed: true };
      if (code === RESTJSONErrorCodes.UnknownMember && waitsForReturn) return { outcome: "away", detail: awayText };
      const end = endOf(error, isSent);
      return end.outcome === "retry" ? { ...end, mayBeDone: end.mayBeDone || mayBeDone } : end;
    }
  };

  return {
    sent,
    async perform(action, earlier = {}) {
      const performed = await run(action, earlier);
      const { outcome, detail } = performed;
      logger?.[outcome === "done" ? "debug" : "warn"]({ action: action.kind, id: action.id, outcome, detail }, "an action in Discord");
      return performed;
    },
  };
}

const awayText = say("discord.they-are-not-in-the-server-ill");

/** By a clock that nobody sets: what tells of an action comes within moments, whatever the time of the machine is by then. */
function createSentBans(): SentBans & { note(action: DiscordAction): void } {
  const keptMs = 60_000;
  const at = new Map<string, number>();
  const keyOf = ({ kind, guildId, userId }: Parameters<SentBans["has"]>[0]) => [kind, guildId, userId].join(":");
  return {
    note(action) {
      if (action.kind !== "ban" && action.kind !== "unban") return;
      const now = performance.now();
      for (const [key, then] of at) if (then < now - keptMs) at.delete(key);
      at.set(keyOf(action), now);
    },
    has: (ban) => (at.get(keyOf(ban)) ?? Number.NEGATIVE_INFINITY) > performance.now() - keptMs,
  };
}

/** Calls that share one deadline. */
function timed(rest: ActionsOptions["rest"], deadlineMs: number): ActionCall {
  const end = performance.now() + deadlineMs;
  return (request) => {
    const left = Math.max(1, Math.ceil(end - performance.now()));
    return rest.call({ ...request, purpose: "action", deadlineMs: left });
  };
}

/** The reason for Discord's audit log; messages have none. */
function reasonOf(action: DiscordAction): { reason?: string } {
  const reason = "guildId" in action ? auditReason(action.reason) : undefined;
  return reason === undefined ? {} : { reason };
}
