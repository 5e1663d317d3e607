import { type APIEmbed, RESTJSONErrorCodes as Codes, Routes } from "discord-api-types/v10";
import { z } from "zod";
import type { DiscordCalls, DiscordRequest } from "../../kernel/discord-port.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { endOf, refusalCode } from "../actions/refusals.ts";
import { refusalStatus } from "./errors.ts";
import type { Row } from "../command.ts";

/** The content of a card: a message of the bot that is kept up to date. */
export interface CardMessage {
  embeds: readonly APIEmbed[];
  components: readonly Row[];
}

/** How a call about a card ended. `gone`: there is no such message; `refused`: for its content, or whatever it says; `later`: it may work after so many milliseconds. */
export type CardEnd =
  | { outcome: "done"; messageId: string }
  | { outcome: "gone" }
  | { outcome: "refused"; detail: string; isContent: boolean }
  | { outcome: "later"; afterMs: number };

/** Messages of the bot in channels. Refusals are values, and no message notifies anybody. */
export interface CardMessages {
  /** @param nonce at most 25 characters; two messages with one nonce within minutes are one message */
  post(channelId: string, message: CardMessage, nonce: string): Promise<CardEnd>;
  edit(channelId: string, messageId: string, message: CardMessage): Promise<CardEnd>;
  /** Find out whether the message still exists. */
  find(channelId: string, messageId: string): Promise<CardEnd>;
  remove(channelId: string, messageId: string): Promise<CardEnd>;
  pin(channelId: string, messageId: string): Promise<CardEnd>;
}

const Sent = z.object({ id: z.string() });
const deadlineMs = 10_000;
/** The pause of a card after a failure of Discord that names no time. */
export const defaultPauseMs = 5000;

/** @param pauseMs the pause after a failure of Discord that names no time */
export function createCardMessages(rest: DiscordCalls, pauseMs = defaultPauseMs): CardMessages {
  async function attempt(request: Pick<DiscordRequest, "method" | "route" | "body">, known?: string): Promise<CardEnd> {
    try {
      const answer = Sent.safeParse(await rest.call({ ...request, purpose: "action", deadlineMs }));
      const messageId = known ?? answer.data?.id;
      return messageId === undefined ? { outcome: "later", afterMs: pauseMs } : { outcome: "done", messageId };
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      const code = refusalCode(error);
      // A deleted channel takes its messages with it.
      if (code === Codes.UnknownMessage || (known !== undefined && code === Codes.UnknownChannel)) return { outcome: "gone" };
      const end = endOf(error, false);
      if (end.outcome === "failed") return { outcome: "refused", detail: end.detail, isContent: isAboutContent(error, code) };
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

/** Codes that Discord sends with the status of a bad request, and that are about the channel. */
const aboutChannel: ReadonlySet<number | undefined> = new Set([
  Codes.CannotSendMessagesInNonTextChannel,
  Codes.CannotExecuteActionOnThisChannelType,
  Codes.ThreadLocked,
  Codes.InvalidActionOnArchivedThread,
]);

function isAboutContent(error: ProblemError, code: number | undefined): boolean {
  const status = refusalStatus(error);
  return status === 413 || (status === 400 && !aboutChannel.has(code));
}

function bodyOf(message: CardMessage): object {
  return { ...message, allowed_mentions: { parse: [] } };
}
