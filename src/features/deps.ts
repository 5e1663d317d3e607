import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import type { GuildState } from "../discord/guild-state.ts";
import type { Clock } from "../kernel/clock.ts";
import type { Cursors } from "../kernel/page.ts";
import type { Keyring } from "../kernel/secrets.ts";
import type { AuditService } from "./audit/audit.service.ts";
import type { EventsService } from "./events/events.service.ts";
import type { LinkReach } from "./links/reach.ts";
import type { ListChecks } from "./lists/checks.ts";
import type { AccessDirectory } from "./permissions/access/access-directory.ts";

/** What most services work with, each by the one name it has everywhere. */
interface Common {
  database: Database;
  /** Writes an entry of the audit trail, in the transaction of the change. */
  audit: Pick<AuditService, "record">;
  /** Writes an event of the journal, in the transaction of the change. */
  events: Pick<EventsService, "emit">;
  cursors: Cursors;
  clock: Clock;
  logger: Logger;
  keyring: Keyring;
  /** The guilds of this community, whether or not the bot is in them yet. */
  servedGuilds: ReadonlySet<string>;
  guildState: GuildState;
  access: AccessDirectory;
  /** Has people compared with the lists again, in the transaction that is the reason. */
  listChecks: Pick<ListChecks, "ask">;
  /** Which accounts belong to one person. */
  reach: Pick<LinkReach, "linkedAccountsOf">;
}

/** The named ones of what most services work with: `Deps<"database" | "audit">`. */
export type Deps<Name extends keyof Common> = Pick<Common, Name>;
