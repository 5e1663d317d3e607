import type { Readable } from "node:stream";
import { z } from "zod";
import { Snowflake, Timestamp } from "./fields.ts";
import type { MessageParts } from "./message-parts.ts";

/** What features may ask of Discord. It works as far as Discord can be reached, before the gateway is connected, too. */
export interface DiscordPort {
  /** What the bot does to members and says to people. */
  actions: DiscordActions;
  /** Messages the bot sees, and their attachments. */
  messages: MessageSource;
  attachments: AttachmentSource;
  /** Calls with the bot's token. */
  rest: DiscordCalls;
  status(): DiscordStatus;
}

export interface DiscordStatus {
  state: "connecting" | "ready" | "resuming" | "down" | "fatal";
  /** What is wrong, and what the operator can do about it. */
  reason?: string;
  since: Date;
  pingMs?: number;
  /** The number of times the link to the gateway was lost since the start. */
  reconnects: number;
}

/** The purpose of a call; calls are counted by purpose, so that metrics show what uses the budget. */
export type CallPurpose = "action" | "lookup" | "sync" | "registration";

export interface DiscordRequest {
  method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** From `Routes` of discord-api-types. */
  route: `/${string}`;
  purpose: CallPurpose;
  query?: URLSearchParams;
  body?: unknown;
  /** For Discord's own audit log. */
  reason?: string;
  /** The deadline of the call with its waits and repetitions; default 5,000. */
  deadlineMs?: number;
  /** Gives the call up early, as its deadline does. */
  signal?: AbortSignal;
}

export interface DiscordCalls {
  /**
   * Call Discord as the bot. Rate limits are waited for while the deadline allows; failures of calls that may be repeated are repeated.
   * @throws ProblemError discord_unavailable with a time to wait, or discord_error when Discord refused
   */
  call<T>(request: DiscordRequest): Promise<T>;
}

/** A message of a guild, as Discord sent it now. */
export interface FetchedMessage {
  guildId: string;
  channelId: string;
  messageId: string;
  authorId: string;
  content: string;
  sentAt: Date;
  editedAt: Date | null;
  /** What else it holds; where a part has a file, its position in `files`. */
  parts: MessageParts;
  /** Files of the message and of the messages in it, those of the message first. */
  files: readonly FetchedAttachment[];
}

export interface FetchedAttachment {
  name: string;
  /** The size as Discord states it; 0 where it does not. */
  bytes: number;
  /** Signed, and valid for a short while only. */
  url: string;
}

/** Why there is no message: the channel, or the message in a channel that the viewer sees. */
export type NoMessage = "channel_hidden" | "history_hidden" | "message_gone";

export interface MessageSource {
  /**
   * Fetch one message of a guild this service serves.
   * @param viewerId the person who asks: what Discord does not show them, the bot does not fetch for them; null for the service itself
   * @returns why there is none: nobody learns whether a channel exists that the bot or the viewer does not see
   * @throws ProblemError discord_unavailable, discord_error
   */
  fetch(channelId: string, messageId: string, viewerId: string | null): Promise<FetchedMessage | NoMessage>;
  /** Whether Discord shows the bot what others write, by the message content intent; undefined where Discord does not say so now. */
  isContentShown(): Promise<boolean | undefined>;
}

export interface AttachmentSource {
  /**
   * Open an attachment at Discord's own hosts. No redirect is followed.
   * @param signal ends the download, too
   * @returns undefined for any other address, and when Discord does not send the file
   */
  open(url: string, signal: AbortSignal): Promise<Readable | undefined>;
}

const every = {
  /** A name of its own that stays: a message sent again under the same name within minutes is one message. */
  id: z.string().min(1).max(200),
  /** For Discord's own audit log, of any length; what does not fit there is cut. */
  reason: z.string(),
};
const member = { ...every, guildId: Snowflake, userId: Snowflake };
const role = { ...member, roleId: Snowflake };
/** Text of any length; what does not fit into one message is cut. */
const content = z.string().min(1);

/** One thing the bot does in Discord. Kept as JSON until it is done. */
export const DiscordAction = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("role_add"), ...role }),
  z.object({ kind: z.literal("role_remove"), ...role }),
  /** Null takes the nickname away. What is longer than Discord allows is cut. */
  z.object({ kind: z.literal("nickname"), ...member, nickname: z.string().nullable() }),
  /**
   * A timeout that lasts longer stays. With `from` the timeout that ends at one of those times gets this end instead, and any other one stays;
   * with `any` whichever there is gets it.
   */
  z.object({ kind: z.literal("timeout"), ...member, until: Timestamp, from: z.union([z.literal("any"), z.array(Timestamp)]).optional() }),
  /** With `until` only a timeout that ends then, or at one of those times, is lifted; one that somebody else has set meanwhile stays. */
  z.object({ kind: z.literal("timeout_lift"), ...member, until: z.union([Timestamp, z.array(Timestamp)]).optional() }),
  z.object({ kind: z.literal("kick"), ...member }),
  /** `deleteMessageSeconds`: how far back the person's messages in the server are deleted, 7 days at most; none without it. */
  z.object({ kind: z.literal("ban"), ...member, deleteMessageSeconds: z.int().min(0).max(604_800).optional() }),
  /** With `onlyWith` only a ban whose reason contains it, or one of them, is lifted; one that somebody else has made stays. */
  z.object({ kind: z.literal("unban"), ...member, onlyWith: z.union([z.string(), z.array(z.string())]).optional() }),
  z.object({ kind: z.literal("message_user"), ...every, userId: Snowflake, content }),
  z.object({ kind: z.literal("message_channel"), ...every, channelId: Snowflake, content }),
]);
export type DiscordAction = z.infer<typeof DiscordAction>;
/** An action without the name that keeps it from being done twice; whoever stores it gives it one. */
export type DiscordActionDraft = DiscordAction extends infer One ? (One extends DiscordAction ? Omit<One, "id"> : never) : never;

/** How an action ended. `detail` is plain words without ids of anybody, `code` is Discord's own code of a refusal. */
export type Performed =
  | {
      outcome: "done";
      detail: string;
      /** False when it stood so already: then there is nothing of ours to take back. */
      changed: boolean;
      /** When the timeout ends that stands now; for a later `timeout_lift`. */
      until?: string;
    }
  /** Final: trying again changes nothing. */
  | { outcome: "failed"; detail: string; code?: number }
  /** The person is not in the server, and it can only be done when they are back. */
  | { outcome: "away"; detail: string }
  | {
      outcome: "retry";
      detail: string;
      code?: number;
      retryAfterMs?: number;
      /** Discord may have carried it out without saying so. To be kept, and handed to the next attempt. */
      mayBeDone: boolean;
    };

/** Bans that the bot sets or lifts, as far as this process knows. */
export interface SentBans {
  /** Whether it was sent within the last minute: then what Discord tells of it is the bot's own doing. */
  has(ban: { kind: "ban" | "unban"; guildId: string; userId: string }): boolean;
}

export interface PerformOptions {
  mayBeDone?: boolean;
  /** How long the action may take with all its calls, in milliseconds. */
  deadlineMs?: number;
}

export interface DiscordActions {
  /**
   * Do it, after a look at the present state: what is so already is not done again. Never rejects for anything Discord does, and ends
   * within `deadlineMs` (10,000 by default) of its turn: actions on one person in one server are done one after the other.
   * @param options `mayBeDone` of the attempt before, or true when the process ended in the middle of one: then what stands is ours
   */
  perform(action: DiscordAction, options?: PerformOptions): Promise<Performed>;
}
