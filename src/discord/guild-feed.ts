import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import type { Clock } from "../kernel/clock.ts";
import type { GuildDispatchName } from "./guild-dispatches.ts";
import type { LookUpLimits } from "./member-look-up.ts";
import type { MemberSource } from "./member-source.ts";
import type { SyncLimits } from "./member-sync.ts";

/** How the gateway feeds the state. */
export interface GuildFeed {
  attach(source: MemberSource): void;
  /** @throws ZodError when the event is not what Discord documents; nothing of it was taken over then */
  handle(name: GuildDispatchName, data: unknown): void;
  /** What was told of this guild (of any, unless told) may be wrong: it is read again, and stale until then. */
  doubt(guildId?: string): void;
  /** The gateway answered a heartbeat sent at this time. */
  alive(at: Date): void;
  /** The link to the gateway broke; until it is back the last state answers, marked stale. */
  lost(): void;
  /** Write what is pending (at most 5 s) and nothing afterwards. */
  stop(): Promise<void>;
}

export interface GuildStateOptions {
  database: Database;
  logger: Logger;
  /** The guilds that count; empty: every guild the bot is in. */
  guildIds: readonly string[];
  clock?: Clock;
  /** Age from which the state is too old for privileged writes; default 900. */
  staleLimitSeconds?: number;
  /** How often a live state notes its time, so that a restart knows its age; default 60,000. */
  noteMs?: number;
  sync?: SyncLimits;
  lookUp?: LookUpLimits;
}
