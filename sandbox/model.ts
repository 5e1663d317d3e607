import type {
  AuditLogEvent,
  APIAuditLogEntry,
  APIApplicationCommand,
  APIEmbed,
  APIMessageTopLevelComponent,
  GatewayDispatchEvents,
  StickerFormatType,
} from "discord-api-types/v10";
import type { MemberList } from "./member-list.ts";
import type { Alerted } from "./mentions.ts";

export type User = {
  readonly id: string;
  username: string;
  global_name: string | null;
  avatar: string | null;
  bot: boolean;
  /** The user accepts no direct messages. */
  dmsClosed: boolean;
  /** The language of their Discord, as Discord names it; English by default. */
  locale?: string;
};

export type Role = {
  readonly id: string;
  readonly guildId: string;
  name: string;
  permissions: bigint;
  position: number;
  color: number;
  hoist: boolean;
  mentionable: boolean;
  /** The bot this role belongs to; such a role cannot be given by hand. */
  readonly botId: string | null;
};

export type Member = {
  readonly user: User;
  nick: string | null;
  roles: readonly string[];
  readonly joinedAt: number;
  timeoutUntil: number | null;
};

export type Ban = { readonly user: User; readonly reason: string | null };

/** Who does something in a guild, and what they give as the reason. */
export type Doing = { by: User; reason?: string | null | undefined };

/** What Discord writes into a guild's audit log. Only what is done to members is written here; role changes and the rest are not. */
export type AuditLogAction =
  | AuditLogEvent.MemberKick
  | AuditLogEvent.MemberPrune
  | AuditLogEvent.MemberBanAdd
  | AuditLogEvent.MemberBanRemove
  | AuditLogEvent.MemberUpdate
  | AuditLogEvent.AutoModerationUserCommunicationDisabled;

/** One entry as the audit log keeps it, which is also how it goes over the wire. Of what scripts write themselves only the id is certain. */
export type AuditLogEntry = Pick<APIAuditLogEntry, "id"> & Partial<APIAuditLogEntry>;

export type Attachment = {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  readonly bytes: Buffer;
  /** Told instead of the real size. */
  readonly announcedSize?: number;
  /** Told instead of the real address. */
  readonly url?: string;
};

/** A sticker on a message; its picture is a file of the world under its id. */
export type Sticker = { readonly id: string; readonly name: string; readonly format: StickerFormatType };

/** What a command of a context menu was used on. */
export type Target = { readonly user: User } | { readonly messageId: string };

export type Message = {
  readonly id: string;
  readonly channelId: string;
  readonly guildId: string | null;
  readonly author: User;
  content: string;
  embeds: APIEmbed[];
  attachments: readonly Attachment[];
  components: APIMessageTopLevelComponent[];
  flags: number;
  readonly createdAt: number;
  editedAt: number | null;
  readonly nonce: string | number | null;
  alerted: Alerted;
  /** When it was pinned; null while it is not. */
  pinnedAt: number | null;
  readonly stickers: readonly Sticker[];
  /** The message that was forwarded in this one, as it was then. */
  readonly forwarded: Message | null;
  /** What else Discord says of it, in place of what the sandbox would say. */
  extra: Readonly<Record<string, unknown>>;
  /** Present on answers to interactions. */
  readonly interaction: { id: string; type: 2 | 3 | 5; name: string; user: User; target: Target | null } | null;
};

export type Channel = {
  readonly id: string;
  readonly guildId: string | null;
  readonly name: string;
  readonly position: number;
  /** The roles that do not see it. */
  readonly hiddenFrom: readonly string[];
  /** The other side of a direct-message channel. */
  readonly recipient: User | null;
  readonly messages: Map<string, Message>;
};

export type Guild = {
  readonly id: string;
  name: string;
  ownerId: string;
  icon: string | null;
  preferredLocale: string;
  unavailable: boolean;
  readonly roles: Map<string, Role>;
  readonly members: MemberList<Member>;
  readonly bans: Map<string, Ban>;
  /** When the timeouts of those who have left end: they hold for them when they are back. */
  readonly timeoutsOfOthers: Map<string, number>;
  /** What was done to members, oldest first. */
  readonly auditLog: AuditLogEntry[];
  readonly channels: Map<string, Channel>;
  readonly commands: Map<string, APIApplicationCommand>;
  /** Roles that the guild lets use every command of the application, whatever the command asks for by default. */
  readonly commandRoles: Set<string>;
  /** Commands that only members with one of these roles see, by the command's name. */
  readonly ownCommandRoles: Map<string, Set<string>>;
};

export type Application = {
  readonly id: string;
  readonly name: string;
  readonly bot: User;
  readonly botToken: string;
  readonly clientSecret: string;
  /** Privileged gateway intents switched on for the application, as intent bits. */
  privilegedIntents: number;
  readonly redirectUris: Set<string>;
  readonly commands: Map<string, APIApplicationCommand>;
};

/** One thing that happened, as the gateway would tell it. */
export type WorldEvent = {
  t: `${GatewayDispatchEvents}`;
  /** null for events outside guilds */
  guildId: string | null;
  /** Intent bits of which one is needed; 0 = sent to everybody. */
  intent: number;
  /** Told only while the bot holds this permission in the guild. */
  permission?: bigint;
  data: () => unknown;
};

export type World = {
  readonly now: () => number;
  readonly nextId: () => string;
  readonly application: Application;
  readonly users: Map<string, User>;
  readonly guilds: Map<string, Guild>;
  readonly channels: Map<string, Channel>;
  /** Guilds by the codes of the invites that lead to them. */
  readonly invites: Map<string, Guild>;
  /** Files that are in no message of a channel: given to interactions, or in answers for one pair of eyes. */
  readonly files: Map<string, Attachment>;
  /** Where attachments are served, known once the sandbox listens. */
  readonly cdn: { origin: string; readonly secret: string };
  /** Tells listeners; guild events are told only while the bot is in that guild. */
  emit(event: WorldEvent): void;
  /** Listens until the returned function is called. */
  listen(listener: (event: WorldEvent) => void): () => void;
};
