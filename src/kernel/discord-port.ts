import type { Readable } from "node:stream";
import type { DiscordActions } from "./discord-action.ts";

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
  attachments: readonly FetchedAttachment[];
}

export interface FetchedAttachment {
  name: string;
  /** The size as Discord states it. */
  bytes: number;
  /** Signed, and valid for a short while only. */
  url: string;
}

export interface MessageSource {
  /**
   * Fetch one message of a guild this service serves.
   * @param viewerId the person who asks: what Discord does not show them, the bot does not fetch for them; null for the service itself
   * @returns undefined when there is no such message, or none that the bot and the viewer can see
   * @throws ProblemError discord_unavailable, discord_error
   */
  fetch(channelId: string, messageId: string, viewerId: string | null): Promise<FetchedMessage | undefined>;
}

export interface AttachmentSource {
  /**
   * Open an attachment at Discord's own hosts. No redirect is followed.
   * @param signal ends the download, too
   * @returns undefined for any other address, and when Discord does not send the file
   */
  open(url: string, signal: AbortSignal): Promise<Readable | undefined>;
}
