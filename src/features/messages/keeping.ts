import { say } from "../../kit/say.ts";
import { hash } from "node:crypto";
import type { Logger } from "pino";
import type { Database } from "../../database/database.ts";
import type { CardEnd, CardMessage, CardMessages } from "../../discord/rest/cards.ts";
import { systemCall } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { keyedHash } from "../../kernel/secrets.ts";

/** How the bot posts. */
export interface Posting {
  messages: CardMessages;
  isReady(): boolean;
}

/** A message as it should be. */
export interface Wanted {
  /** What it is kept under: the id of a request, `board:<guild>`, or `alert:` and a hash. */
  key: string;
  message: CardMessage;
  /** Tells this message from an earlier one under the same key, which is known no more. */
  occasion?: string;
  /** Where it belongs; undefined: it stays where it is. */
  place: Place | undefined;
  /** Whether it is posted when it is not there. */
  isPosted: boolean;
  isPinned?: boolean;
}

/** Whether to look after it even when it should look as it does already. */
export type Care = "changed" | "check" | "force";

/** How long to wait before it is tried again; undefined: that was it. */
export type KeptEnd = number | undefined;

/** A channel in which messages are wanted and Discord takes none. */
export interface MessageRefusal {
  channelId: string;
  detail: string;
  /** Whether Discord does not take this message, while it may take others. */
  isContent: boolean;
}

const noMessages = "Discord takes no messages of the bot in this channel; it is tried again";
const noPin = "Discord does not pin the board in this channel; the board is there, and can be pinned by hand";

export interface KeepingDeps {
  database: Database;
  logger: Logger;
  /** Of the fingerprints of messages. */
  fingerprintKey: Buffer;
}

export interface Keeping {
  /** What was refused when it was last tried. */
  refusals(): readonly MessageRefusal[];
  /** Why Discord refused a message when it was last tried; undefined: it did not. */
  refusalOf(key: string): MessageRefusal | undefined;
  /** Whether a message is known. */
  isKept(key: string): Promise<boolean>;
  /** Know of a message no more: it stays as it is. */
  forget(key: string): Promise<void>;
  /** Bring one message into its place and its shape. */
  updateCard(messages: CardMessages, wanted: Wanted, care: Care): Promise<KeptEnd>;
  /** Take a message away that belongs nowhere any more. */
  takeAway(messages: CardMessages, key: string): Promise<KeptEnd>;
}

/** Keeps single messages as they should be: posted once, edited when what they show changes, posted again when they were deleted. */
export function createKeeping({ database, logger, fingerprintKey }: KeepingDeps): Keeping {
  const warned = new Set<string>();
  /** By what the message is kept under; only of what should stand there. */
  const refusals = new Map<string, MessageRefusal>();

  /** A channel that does not take messages, or pins none, is no reason to stop; the operator reads of it once. */
  function warn({ channelId }: Place, detail: string, text = noMessages): undefined {
    const key = `${channelId} ${text} ${detail}`;
    if (!warned.has(key)) logger.warn({ channel: channelId, detail }, text);
    warned.add(key);
  }

  function refused(wanted: string, place: Place, { detail, isContent }: Omit<MessageRefusal, "channelId">): undefined {
    refusals.set(wanted, { channelId: place.channelId, detail, isContent });
    return warn(place, detail);
  }

  async function keep(key: string, place: Place, card: { messageId: string | null; shown: string | null }): Promise<undefined> {
    await database.write(systemCall("job", uuid7()), async ({ db, now }) => {
      const row = { ...card, guildId: place.guildId, channelId: place.channelId, updatedAt: now };
      await db.reviewCard.upsert({ where: { requestId: key }, create: { requestId: key, ...row }, update: row });
    });
    return undefined;
  }

  async function drop(key: string): Promise<void> {
    await database.write(systemCall("job", uuid7()), async ({ db }) => {
      await db.reviewCard.deleteMany({ where: { requestId: key } });
    });
  }

  async function post(
    messages: CardMessages,
    { key, message, occasion = "", isPinned = false }: Wanted,
    { place, last, shown, isUnsure }: { place: Place; last: string | null; shown: string; isUnsure: boolean },
  ): Promise<KeptEnd> {
    const nonce = hash("sha256", `${key} ${place.channelId} ${last ?? ""}${occasion}`).slice(0, 24);
    // Whoever goes on after a crash is to know that it may stand there.
    if (!isUnsure) await keep(key, place, { messageId: last, shown: null });
    const posted = await messages.post(place.channelId, message, nonce);
    // What was posted before is found again by its nonce, and shows what was so then.
    const end = isUnsure && posted.outcome === "done" ? await messages.edit(place.channelId, posted.messageId, message) : posted;
    if (end.outcome === "later") return end.afterMs;
    if (end.outcome !== "done")
      return refused(key, place, end.outcome === "refused" ? end : { detail: say("messages.it-is-gone"), isContent: false });
    await keep(key, place, { messageId: end.messageId, shown });
    for (const known of warned) if (known.startsWith(place.channelId)) warned.delete(known);
    const pinned = isPinned ? await messages.pin(place.channelId, end.messageId) : undefined;
    if (pinned === undefined || pinned.outcome === "done") return undefined;
    return warn(place, pinned.outcome === "refused" ? pinned.detail : say("messages.discord-could-not-be-reached-or-the"), noPin);
  }

  return {
    refusals: (): readonly MessageRefusal[] => [...refusals.values()],

    refusalOf: (key: string): MessageRefusal | undefined => refusals.get(key),

    isKept: async (key: string): Promise<boolean> => (await database.read.reviewCard.count({ where: { requestId: key } })) > 0,

    async forget(key: string): Promise<void> {
      refusals.delete(key);
      await drop(key);
    },

    async updateCard(messages: CardMessages, wanted: Wanted, care: Care): Promise<KeptEnd> {
      const { key, message, place, isPosted } = wanted;
      refusals.delete(key);
      const card = await database.read.reviewCard.findUnique({ where: { requestId: key } });
      // What a message shows can be redacted later: a plain hash would tell it to anybody who guesses the few words that are missing.
      const shown = keyedHash(fingerprintKey, JSON.stringify(message));
      // It may stand there already, unheard: its answer was lost, or could not be written down.
      const isUnsure = card?.shown === null;
      if (card === null || card.messageId === null) {
        if ((!isPosted && !isUnsure) || place === undefined) return undefined;
        return await post(messages, wanted, { place, last: null, shown, isUnsure });
      }
      const at = { guildId: card.guildId, channelId: card.channelId };
      const isMoved = isPosted && place !== undefined && place.channelId !== card.channelId;
      const end = isMoved
        ? await moveAway(messages, at, card.messageId)
        : await seeTo(messages, card, {
            message,
            isSame: card.shown === shown && care !== "force",
            isChecked: isPosted && care !== "changed",
          });
      if (end.outcome === "later") return end.afterMs;
      if (end.outcome === "refused") return isPosted ? refused(key, at, end) : warn(at, end.detail);
      if (end.outcome === "done") return card.shown === shown ? undefined : await keep(key, at, { messageId: card.messageId, shown });
      if (!isPosted) return await keep(key, at, { messageId: null, shown });
      return await post(messages, wanted, { place: place ?? at, last: card.messageId, shown, isUnsure });
    },

    async takeAway(messages: CardMessages, key: string): Promise<KeptEnd> {
      refusals.delete(key);
      const card = await database.read.reviewCard.findUnique({ where: { requestId: key } });
      if (card === null || card.messageId === null) return undefined;
      const end = await moveAway(messages, card, card.messageId);
      if (end.outcome === "later") return end.afterMs;
      await drop(key);
      return undefined;
    },
  };
}

async function seeTo(
  messages: CardMessages,
  { channelId, messageId }: { channelId: string; messageId: string | null },
  { message, isSame, isChecked }: { message: CardMessage; isSame: boolean; isChecked: boolean },
): Promise<CardEnd> {
  if (messageId === null) return { outcome: "gone" };
  if (!isSame) return await messages.edit(channelId, messageId, message);
  return isChecked ? await messages.find(channelId, messageId) : { outcome: "done", messageId };
}

/** What stands in a former channel goes; where it cannot, it is left behind. */
async function moveAway(messages: CardMessages, { channelId }: Place, messageId: string): Promise<CardEnd> {
  const end = await messages.remove(channelId, messageId);
  return end.outcome === "later" ? end : { outcome: "gone" };
}

export interface Place {
  guildId: string;
  channelId: string;
}
