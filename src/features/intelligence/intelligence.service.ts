import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { Cursors } from "../../kernel/page.ts";
import type { Keyring } from "../../kernel/secrets.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { GrantsService } from "../authorization/grants.service.ts";
import { createBlacklistIndex } from "./blacklist-index.ts";
import { isInForce } from "./match-record.ts";
import type { MatchesService } from "./matches.service.ts";
import { createMatchesService } from "./matches.service.ts";
import type { UserServersService } from "./user-servers.service.ts";
import { createUserServersService } from "./user-servers.service.ts";

export interface IntelligenceDeps {
  database: Database;
  guildState: Pick<GuildState, "lookUp">;
  grants: GrantsService;
  keyring: Keyring;
  cursors: Cursors;
  clock: Clock;
  /** Hashes server ids; the same key wherever `subject_hash` and `server_hash` are written. */
  serversKey: Buffer;
  /** Staff match records about themselves without a grant. */
  isStaff: (userId: string) => boolean;
}

/** What is known about people's servers, and how they match. `matches.load()` once at boot. */
export function createIntelligence(deps: IntelligenceDeps): { servers: UserServersService; matches: MatchesService } {
  const { serversKey, clock } = deps;
  const hashOf = (serverId: string): string => keyedHash(serversKey, serverId);
  const index = createBlacklistIndex([], hashOf);
  const blacklistIdOf = (serverId: string): string | null => {
    const now = clock.now();
    return index.byServer(serverId).find((record) => isInForce(record, now))?.id ?? null;
  };
  const servers = createUserServersService({ ...deps, hashOf, blacklistIdOf });
  return { servers, matches: createMatchesService({ ...deps, index, servers, hashOf }) };
}
