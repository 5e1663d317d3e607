import { RESTJSONErrorCodes as Codes, Routes } from "discord.js";
import type { DiscordAction } from "../kernel/discord-action.ts";
import type { Look } from "./actions.look.ts";
import { fittingNickname, messageBody } from "./actions.text.ts";
import type { DiscordRequest } from "./rest-request.ts";

/** Nothing to do. */
interface Standing {
  standing: string;
  until?: string;
  /** What stands is certainly not ours. */
  isOthers?: true;
}

/** The one call that does it. */
interface Change extends Pick<DiscordRequest, "method" | "route" | "body"> {
  detail: string;
  until?: string;
}

export interface ActionKind<A> {
  plan(action: A, look: Look, now: number): Promise<Standing | Change>;
  /** Refusals that say there is nothing left to do, with the words for that. */
  settled?: Readonly<Record<number, string>>;
}

type Kind = DiscordAction["kind"];

const second = 1000;
const day = 86_400 * second;
/** Discord's limit, less a minute for clocks that differ. */
const longestTimeout = 28 * day - 60 * second;
const gone = { [Codes.UnknownMember]: "The person is not in the server." };

/** How every kind of action looks at what stands, and what it then asks of Discord. */
const kinds: { readonly [K in Kind]: ActionKind<Extract<DiscordAction, { kind: K }>> } = {
  role_add: {
    async plan({ guildId, userId, roleId }, look) {
      const { roles } = await look.member(guildId, userId);
      if (roles.includes(roleId)) return { standing: "The person has the role already." };
      return { method: "PUT", route: Routes.guildMemberRole(guildId, userId, roleId), detail: "The role was given." };
    },
  },
  role_remove: {
    async plan({ guildId, userId, roleId }, look) {
      const { roles } = await look.member(guildId, userId);
      if (!roles.includes(roleId)) return { standing: "The person does not have the role." };
      return { method: "DELETE", route: Routes.guildMemberRole(guildId, userId, roleId), detail: "The role was taken away." };
    },
    settled: gone,
  },
  nickname: {
    async plan({ guildId, userId, nickname }, look) {
      const nick = nickname === null ? null : fittingNickname(nickname);
      if ((await look.member(guildId, userId)).nick === nick) return { standing: "The person has that name already." };
      return { method: "PATCH", route: Routes.guildMember(guildId, userId), body: { nick }, detail: "The nickname was set." };
    },
  },
  timeout: {
    async plan({ guildId, userId, until }, look, now) {
      const asked = Date.parse(until);
      if (asked <= now) return { standing: "The timeout would have ended already." };
      const isCut = asked > now + longestTimeout;
      const end = isCut ? now + longestTimeout : asked;
      const { timeoutEnds } = await look.member(guildId, userId);
      // A cut one ends later whenever it is asked for; less than a day is no reason to ask again.
      if (timeoutEnds >= end - (isCut ? day : second))
        return { standing: "The person is timed out for that long already.", until: new Date(timeoutEnds).toISOString() };
      const ends = new Date(end).toISOString();
      const detail = isCut ? "The person was timed out for 28 days, the longest Discord allows." : "The person was timed out.";
      return timeoutChange(guildId, userId, { until: ends, detail });
    },
  },
  timeout_lift: {
    async plan({ guildId, userId, until }, look, now) {
      const { timeoutEnds } = await look.member(guildId, userId);
      if (timeoutEnds <= now) return { standing: "The person is not timed out." };
      if (until !== undefined && Math.abs(timeoutEnds - Date.parse(until)) > second)
        return { standing: "Another timeout stands; it was left as it is.", isOthers: true };
      return timeoutChange(guildId, userId, { detail: "The timeout was lifted." });
    },
  },
  kick: {
    async plan({ guildId, userId }, look) {
      await look.member(guildId, userId);
      return { method: "DELETE", route: Routes.guildMember(guildId, userId), detail: "The person was kicked." };
    },
    settled: gone,
  },
  ban: {
    async plan({ guildId, userId }, look) {
      if (await look.isBanned(guildId, userId)) return { standing: "The person is banned already." };
      return { method: "PUT", route: Routes.guildBan(guildId, userId), body: {}, detail: "The person was banned." };
    },
  },
  unban: {
    async plan({ guildId, userId }, look) {
      if (!(await look.isBanned(guildId, userId))) return { standing: "The person is not banned." };
      return { method: "DELETE", route: Routes.guildBan(guildId, userId), detail: "The ban was lifted." };
    },
    settled: { [Codes.UnknownBan]: "The person is not banned." },
  },
  message_user: {
    plan: async (action, look) => messageChange(await look.directChannel(action.userId), action),
  },
  message_channel: {
    plan: (action) => Promise.resolve(messageChange(action.channelId, action)),
  },
};

/** The entry of an action. */
export function kindOf({ kind }: DiscordAction): ActionKind<DiscordAction> {
  return kinds[kind];
}

function timeoutChange(guildId: string, userId: string, { until, detail }: { until?: string; detail: string }): Change {
  const body = { communication_disabled_until: until ?? null };
  return { method: "PATCH", route: Routes.guildMember(guildId, userId), body, detail, ...(until !== undefined && { until }) };
}

function messageChange(channelId: string, message: { id: string; content: string }): Change {
  return { method: "POST", route: Routes.channelMessages(channelId), body: messageBody(message), detail: "The message was sent." };
}
