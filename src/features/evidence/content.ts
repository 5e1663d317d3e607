import { say } from "../../kit/say.ts";
import type { FetchedMessage, MessageSource, NoMessage } from "../../kernel/discord-port.ts";
import { fieldError } from "../../kernel/errors.ts";
import { writtenKinds, type CommonParts } from "../../kernel/message-parts.ts";

/** Why there is no message, and what helps. */
export const whyNone: Readonly<Record<NoMessage, string>> = {
  channel_hidden: say("evidence.there-is-no-such-channel-in-a"),
  history_hidden: say("evidence.the-bot-may-not-read-messages-in"),
  message_gone: say("evidence.there-is-no-such-message-in-this"),
};

const hidden = say("evidence.discord-does-not-show-the-bot-what");
const nothing = say("evidence.this-message-is-empty-it-has-no");
const unsure = say("evidence.discord-shows-nothing-of-this-message-that");

/**
 * A message that holds something to keep. Where Discord hides its text from the bot and something else is left, that is named.
 * @throws ProblemError validation_failed with the reason why there is nothing to keep
 */
export async function requireContent(message: FetchedMessage, source: MessageSource, pointer: string): Promise<FetchedMessage> {
  const { parts } = message;
  if (message.content !== "" || showsText(parts) || (parts.forwards ?? []).some((one) => hasText(one) || showsText(one))) return message;
  const isShown = await source.isContentShown();
  if (holdsMore(parts)) {
    if (isShown !== false) return message;
    return { ...message, parts: { ...parts, gaps: [...(parts.gaps ?? []), { at: "/content", why: "hidden" }] } };
  }
  if (isShown === false) throw fieldError(pointer, "empty_message", hidden);
  const { kind } = parts;
  if (kind !== undefined && !writtenKinds.has(kind))
    throw fieldError(pointer, "empty_message", say("evidence.system-message", { kind: kind.replaceAll("_", " ") }));
  throw fieldError(pointer, "empty_message", isShown === undefined ? unsure : nothing);
}

const hasText = ({ content = "" }: { content?: string | undefined }): boolean => content !== "";
const isThere = (list: readonly unknown[] | undefined): boolean => (list?.length ?? 0) > 0;

/** Parts that Discord shows a bot only with the message content intent. */
function showsText({ attachments, embeds, components, poll }: CommonParts): boolean {
  return isThere(attachments) || isThere(embeds) || isThere(components) || poll !== undefined;
}

/** Parts that Discord always shows, and that are worth keeping by themselves. */
function holdsMore(parts: FetchedMessage["parts"]): boolean {
  const { kind, reply_to: reply, stickers, forwards, activity, call, thread, role_subscription: sold, purchase, theme, gaps } = parts;
  const isUnread = (gaps ?? []).some(({ why }) => why === "unread" || why === "unknown");
  return (
    isThere(stickers) ||
    (forwards ?? []).some((one) => isThere(one.stickers)) ||
    [activity, call, thread, sold, purchase, theme].some((part) => part !== undefined) ||
    // The first message of a thread is what it was started from.
    (kind === "thread_starter_message" && reply !== undefined && (hasText(reply) || showsText(reply))) ||
    isUnread
  );
}
