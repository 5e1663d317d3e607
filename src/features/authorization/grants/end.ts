import type { Tx } from "../../../database/database.ts";
import type { Authorization } from "../../../generated/sqlite/client.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import type { UserServersService } from "../../intelligence/user-servers/user-servers.service.ts";
import type { GrantsStore } from "./store.ts";
import type { Revocations } from "../revocations.ts";

export interface EndDeps {
  store: GrantsStore;
  revocations: Revocations;
  servers: Pick<UserServersService, "store">;
  matches: Pick<MatchesService, "recomputeUser">;
}

/**
 * End a grant for good: its tokens, its servers and what they matched go in this transaction, and Discord is owed the end of it.
 * @returns how many servers and matches went; null when the grant is not the one that was read any more
 */
export async function endGrant(
  tx: Tx,
  { store, revocations, servers, matches }: EndDeps,
  grant: Authorization,
  status: "expired" | "revoked",
): Promise<{ servers: number; matches: number } | null> {
  const { userId } = grant;
  const tokens = store.open(grant);
  if (!(await store.end(tx, grant, status))) return null;
  const forgotten = await servers.store(tx, userId, null);
  const changes = await matches.recomputeUser(tx, userId);
  // Nothing but the refresh token is sure to be alive: access tokens end after seven days.
  if (tokens !== null) await revocations.owe(tx, userId, tokens.refreshToken);
  return { servers: forgotten.removed, matches: changes.removed };
}
