import { say, worded } from "../../kit/say.ts";
import { MessageFlags, RESTJSONErrorCodes as Codes, Routes } from "discord-api-types/v10";
import type { DiscordAction, DiscordRequest } from "../../kernel/discord-port.ts";
import { z } from "zod";
import { ProblemError } from "../../kernel/errors.ts";
import { Snowflake } from "../../kernel/fields.ts";
import { refusalCode } from "./refusals.ts";
import { unavailable } from "../rest/errors.ts";
import { createHash } from "node:crypto";

/** The action has nothing to do. */
interface NoChange {
  noChange: string;
  until?: string;
  /** The present state certainly comes from somebody else. */
  isOthers?: true;
}

/** The call that carries out the action. */
interface Change extends Pick<DiscordRequest, "method" | "route" | "body"> {
  detail: string;
  until?: string;
}

interface ActionKind<A> {
  plan(action: A, state: PresentState, now: number): Promise<NoChange | Change>;
  /** Refusals that mean there is nothing left to do, with their texts. */
  nothingLeft?: Readonly<Record<number, string>>;
  /** Whether it is done later where the person is not in the server. */
  waitsForReturn?: true;
}

type Kind = DiscordAction["kind"];

const second = 1000;
const day = 86_400 * second;
/** Discord's limit, less a minute for clock skew. */
const maxTimeout = 28 * day - 60 * second;
const gone = { [Codes.UnknownMember]: say("discord-actions.they-are-not-in-the-server") };

/** For every kind of action: how it checks the present state, and the call it makes. */
const kinds: { readonly [K in Kind]: ActionKind<Extract<DiscordAction, { kind: K }>> } = {
  role_add: {
    async plan({ guildId, userId, roleId }, state) {
      const { roles } = await state.member(guildId, userId);
      if (roles.includes(roleId)) return { noChange: say("discord.they-already-had-the-role") };
      return { method: "PUT", route: Routes.guildMemberRole(guildId, userId, roleId), detail: say("discord.they-got-the-role") };
    },
    waitsForReturn: true,
  },
  role_remove: {
    async plan({ guildId, userId, roleId }, state) {
      const { roles } = await state.member(guildId, userId);
      if (!roles.includes(roleId)) return { noChange: say("discord.they-did-not-have-the-role") };
      return { method: "DELETE", route: Routes.guildMemberRole(guildId, userId, roleId), detail: say("discord.they-lost-the-role") };
    },
    nothingLeft: gone,
  },
  nickname: {
    async plan({ guildId, userId, nickname }, state) {
      const nick = nickname === null ? null : fittingNickname(nickname);
      if ((await state.member(guildId, userId)).nick === nick) return { noChange: say("discord.they-already-had-that-name") };
      return {
        method: "PATCH",
        route: Routes.guildMember(guildId, userId),
        body: { nick },
        detail: say("discord.their-nickname-was-changed"),
      };
    },
    waitsForReturn: true,
  },
  timeout: {
    async plan({ guildId, userId, until, from }, state, now) {
      const wanted = Date.parse(until);
      if (from !== undefined) return await planNewEnd({ guildId, userId, until, from }, state, now);
      if (wanted <= now) return { noChange: say("discord.the-timeout-would-already-be-over") };
      const isCut = wanted > now + maxTimeout;
      const end = isCut ? now + maxTimeout : wanted;
      const { timeoutEnds } = await state.member(guildId, userId);
      // A capped end moves with the time of the request; less than a day is no reason to set it again.
      if (timeoutEnds >= end - (isCut ? day : second)) return longerStands(timeoutEnds);
      const ends = new Date(end).toISOString();
      const detail = isCut ? say("discord.they-were-timed-out-for-28-days") : say("discord.they-were-timed-out");
      return timeoutChange(guildId, userId, { until: ends, detail });
    },
    waitsForReturn: true,
  },
  timeout_lift: {
    async plan({ guildId, userId, until }, state, now) {
      const { timeoutEnds } = await state.member(guildId, userId);
      if (timeoutEnds <= now) return { noChange: say("discord.they-were-not-timed-out") };
      if (until !== undefined && !isOneOf(timeoutEnds, [until].flat()))
        return { noChange: say("discord.they-have-another-timeout-which-i-left"), isOthers: true };
      return timeoutChange(guildId, userId, { detail: say("discord.their-timeout-was-lifted") });
    },
    waitsForReturn: true,
  },
  kick: {
    async plan({ guildId, userId }, state) {
      await state.member(guildId, userId);
      return { method: "DELETE", route: Routes.guildMember(guildId, userId), detail: say("discord.they-were-kicked") };
    },
  },
  ban: {
    async plan({ guildId, userId, deleteMessageSeconds: seconds = 0 }, state) {
      if ((await state.ban(guildId, userId)) !== undefined) return { noChange: say("discord.they-were-already-banned") };
      const body = seconds === 0 ? {} : { delete_message_seconds: seconds };
      return { method: "PUT", route: Routes.guildBan(guildId, userId), body, detail: say("discord.they-were-banned") };
    },
  },
  unban: {
    async plan({ guildId, userId, onlyWith }, state) {
      const ban = await state.ban(guildId, userId);
      if (ban === undefined) return { noChange: say("discord.they-were-not-banned") };
      if (onlyWith !== undefined && ![onlyWith].flat().some((sign) => ban.reason.includes(sign)))
        return { noChange: say("discord.somebody-else-banned-them-and-i-left"), isOthers: true };
      return { method: "DELETE", route: Routes.guildBan(guildId, userId), detail: say("discord.their-ban-was-lifted") };
    },
    nothingLeft: { [Codes.UnknownBan]: say("discord.they-were-not-banned") },
  },
  message_user: {
    plan: async (action, state) => messageChange(await state.directChannel(action.userId), action),
  },
  message_channel: {
    plan: (action) => Promise.resolve(messageChange(action.channelId, action)),
  },
};

/** The entry of an action in the table. */
export function kindOf({ kind }: DiscordAction): ActionKind<DiscordAction> {
  return kinds[kind];
}

interface NewEnd {
  guildId: string;
  userId: string;
  until: string;
  from: "any" | readonly string[];
}

/** Give a timeout of ours another end; one that is over by now is lifted. */
async function planNewEnd({ guildId, userId, until, from }: NewEnd, state: PresentState, now: number): Promise<NoChange | Change> {
  const wanted = Date.parse(until);
  const { timeoutEnds } = await state.member(guildId, userId);
  if (timeoutEnds <= now) return { noChange: say("discord.they-were-not-timed-out"), isOthers: true };
  if (Math.abs(timeoutEnds - wanted) <= second) return longerStands(timeoutEnds);
  if (from !== "any" && !isOneOf(timeoutEnds, from))
    return { noChange: say("discord.they-have-another-timeout-which-i-left"), isOthers: true };
  if (wanted <= now) return timeoutChange(guildId, userId, { detail: say("discord.their-timeout-was-lifted") });
  const ends = new Date(Math.min(wanted, now + maxTimeout)).toISOString();
  return timeoutChange(guildId, userId, { until: ends, detail: say("discord.the-timeout-now-ends-at", { at: ends }) });
}

function longerStands(timeoutEnds: number): NoChange {
  const until = new Date(timeoutEnds).toISOString();
  return { noChange: say("discord.they-are-already-timed-out-until", { at: until }), until };
}

function isOneOf(timeoutEnds: number, ends: readonly string[]): boolean {
  return ends.some((end) => Math.abs(timeoutEnds - Date.parse(end)) <= second);
}

function timeoutChange(guildId: string, userId: string, { until, detail }: { until?: string; detail: string }): Change {
  const body = { communication_disabled_until: until ?? null };
  return { method: "PATCH", route: Routes.guildMember(guildId, userId), body, detail, ...(until !== undefined && { until }) };
}

function messageChange(channelId: string, message: { id: string; content: string }): Change {
  return {
    method: "POST",
    route: Routes.channelMessages(channelId),
    body: messageBody(message),
    detail: say("discord.the-message-was-sent"),
  };
}

const Member = z.object({
  roles: z.array(z.string()),
  nick: z.string().nullish(),
  communication_disabled_until: z.string().nullish(),
});
const Ban = z.object({ user: z.object({ id: z.string() }), reason: z.string().nullish() });
const DirectChannel = z.object({ id: Snowflake });

/** A call within the remaining time of an action. */
export type ActionCall = (request: Pick<DiscordRequest, "method" | "route" | "body" | "reason">) => Promise<unknown>;

/** The present state in Discord; it is fetched, because the stored state may be older. */
interface PresentState {
  /**
   * The roles and the nickname of a member, and when their timeout ends (milliseconds since 1970; 0 without one).
   * @throws ProblemError discord_error if the person is no member
   */
  member(guildId: string, userId: string): Promise<{ roles: readonly string[]; nick: string | null; timeoutEnds: number }>;
  /** The ban of a person, with its reason as Discord keeps it; undefined when they are not banned. */
  ban(guildId: string, userId: string): Promise<{ reason: string } | undefined>;
  /** The channel of the bot's direct messages with a person; fetching it sends nothing. */
  directChannel(userId: string): Promise<string>;
}

/** Reads the present state by calls of one action. */
export function createPresentState(call: ActionCall): PresentState {
  const fetchAs = async <T>(request: Parameters<ActionCall>[0], schema: z.ZodType<T>): Promise<T> => {
    const answer = schema.safeParse(await call(request));
    if (!answer.success) throw unavailable(5000, answer.error);
    return answer.data;
  };
  return {
    async member(guildId, userId) {
      const {
        roles,
        nick = null,
        communication_disabled_until: until,
      } = await fetchAs({ method: "GET", route: Routes.guildMember(guildId, userId) }, Member);
      return { roles, nick, timeoutEnds: Date.parse(until ?? "") || 0 };
    },
    async ban(guildId, userId) {
      try {
        const { reason } = await fetchAs({ method: "GET", route: Routes.guildBan(guildId, userId) }, Ban);
        return { reason: reason ?? "" };
      } catch (error) {
        if (error instanceof ProblemError && refusalCode(error) === Codes.UnknownBan) return undefined;
        throw error;
      }
    },
    async directChannel(userId) {
      const request = { method: "POST", route: Routes.userChannels(), body: { recipient_id: userId } } as const;
      return (await fetchAs(request, DirectChannel)).id;
    },
  };
}

/** Discord's limits for a message and for the reason in its audit log. */
const maxMessage = 2000;
const maxReason = 512;
/** Discord's limit for a nickname. */
const maxNickname = 32;
/** Discord's limit for a nonce. */
const nonceLength = 25;

/** The body of a message without notifications and link previews; two messages with one id within minutes are one message. */
export function messageBody({ id, content }: { id: string; content: string }) {
  return {
    content: fitting(worded(content), maxMessage),
    nonce: createHash("sha256").update(id).digest("base64url").slice(0, nonceLength),
    enforce_nonce: true,
    allowed_mentions: { parse: [] },
    flags: MessageFlags.SuppressEmbeds,
  };
}

/** A reason for Discord's audit log: one line, at most 512 characters; undefined if nothing is left. */
export function auditReason(reason: string): string | undefined {
  const line = worded(reason)
    .replaceAll(/[\p{Cc}\p{Zl}\p{Zp}\s]+/gu, " ")
    .trim();
  return line === "" ? undefined : fitting(line, maxReason);
}

/** A nickname within Discord's limit of 32 characters; null if nothing is left. */
function fittingNickname(nickname: string): string | null {
  return fitting(nickname.trim(), maxNickname).trim() || null;
}

/** Cuts with an ellipsis, never through a character; lone surrogates, which cannot be sent, are replaced. */
function fitting(text: string, most: number): string {
  const cut = text.length <= most ? text : `${text.slice(0, most - 1).replace(/\p{Surrogate}$/u, "")}…`;
  return cut.replaceAll(/\p{Surrogate}/gu, "\uFFFD");
}
