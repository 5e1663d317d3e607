import { RESTJSONErrorCodes as Codes, Routes, type APIEmbed } from "discord.js";
import { z } from "zod";
import { ProblemError } from "../kernel/errors.ts";
import { endOf, refusalCode } from "./actions.refusals.ts";
import type { Row } from "./command.ts";
import type { DiscordRequest } from "./rest-request.ts";
import type { DiscordRest } from "./rest.ts";

/** What a card shows: a message of the bot that is kept as it should be. */
export interface CardMessage {
  embeds: readonly APIEmbed[];
  components: readonly Row[];
}

/** How a call about a card ended. `gone`: there is no such message; `later`: after so many milliseconds it may work. */
export type CardEnd =
  | { outcome: "done"; messageId: string }
  | { outcome: "gone" }
  | { outcome: "refused"; detail: string }
  | { outcome: "later"; afterMs: number };

/** Messages of the bot in channels, with refusals as values; nobody is ever alerted. */
export interface CardMessages {
  /** @param nonce the same one twice within minutes is one message, at most 25 characters */
  post(channelId: string, message: CardMessage, nonce: string): Promise<CardEnd>;
  edit(channelId: string, messageId: string, message: CardMessage): Promise<CardEnd>;
  /** Whether it is still there. */
  find(channelId: string, messageId: string): Promise<CardEnd>;
  remove(channelId: string, messageId: string): Promise<CardEnd>;
  pin(channelId: string, messageId: string): Promise<CardEnd>;
}

const Sent = z.object({ id: z.string() });
const deadlineMs = 10_000;
/** How long a card waits after a failure of Discord that names no time. */
export const usualPauseMs = 5000;

export function createCardMessages(rest: Pick<DiscordRest, "call">, pauseMs = usualPauseMs): CardMessages {
  async function attempt(request: Pick<DiscordRequest, "method" | "route" | "body">, known?: string): Promise<CardEnd> {
    try {
      const answer = Sent.safeParse(await rest.call({ ...request, purpose: "action", deadlineMs }));
      const messageId = known ?? answer.data?.id;
      return messageId === undefined ? { outcome: "later", afterMs: pauseMs } : { outcome: "done", messageId };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const code = refusalCode(error);
      // A message goes with its channel.
      if (code === Codes.UnknownMessage || (known !== undefined && code === Codes.UnknownChannel)) return { outcome: "gone" };
      const end = endOf(error, false);
      if (end.outcome === "failed") return { outcome: "refused", detail: end.detail };
      return { outcome: "later", afterMs: end.retryAfterMs ?? pauseMs };
    }
  }

  return {
    post: (channelId, message, nonce) =>
      attempt({ method: "POST", route: Routes.channelMessages(channelId), body: { ...bodyOf(message), nonce, enforce_nonce: true } }),
    edit: (channelId, messageId, message) =>
      attempt({ method: "PATCH", route: Routes.channelMessage(channelId, messageId), body: bodyOf(message) }, messageId),
    find: (channelId, messageId) => attempt({ method: "GET", route: Routes.channelMessage(channelId, messageId) }, messageId),
    remove: (channelId, messageId) => attempt({ method: "DELETE", route: Routes.channelMessage(channelId, messageId) }, messageId),
    pin: (channelId, messageId) => attempt({ method: "PUT", route: Routes.channelMessagesPin(channelId, messageId) }, messageId),
  };
}

function bodyOf(message: CardMessage): object {
  return { ...message, allowed_mentions: { parse: [] } };
}
