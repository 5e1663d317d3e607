import { storedPermission } from "../../kernel/permissions.ts";
import type { Database } from "../../database/database.ts";
import { can, type Call, type CallClient } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { Standings } from "../permissions/standing/standing.ts";
import { eventsPolicy } from "./events.policy.ts";

export interface ViewerDeps {
  database: Pick<Database, "read">;
  permissions: Pick<PermissionsService, "createScopes">;
  standing: Pick<Standings, "actorOf">;
  clock: Clock;
  /** Ids of the records a caller may not know of. */
  hiddenFrom: (call: Call) => Promise<readonly string[]>;
}

/** Whoever follows events, as they stand now and not as they stood when they came. */
export interface Viewer {
  /** Whether they may still listen, by what is stored of the key and known of the acting user. */
  isWelcome(): Promise<boolean>;
  /** Whether they hold a permission at this moment. */
  holds(permission: string): Promise<boolean>;
  /** Whether none of these ids is of a record they may not know of. */
  knows(ids: readonly string[]): Promise<boolean>;
}

/**
 * @param call whose key and acting user are followed from now on
 * @throws ProblemError credential_revoked, storage_busy
 */
export async function createViewer({ database, permissions, standing, clock, hiddenFrom }: ViewerDeps, call: Call): Promise<Viewer> {
  const { actor } = call;
  const first = call.client === null ? undefined : await findKey(database, call.client.id);
  const client = call.client === null ? null : clientOf(call.client, first, permissions);

  async function holds(permission: string): Promise<boolean> {
    if (client?.expiresAt !== undefined && client.expiresAt <= clock.now()) return false;
    return can(await callNow(), storedPermission(permission));
  }

  const callNow = async (): Promise<Call> => ({ ...call, client, actor: actor === null ? null : await standing.actorOf(actor.id) });

  return {
    holds,
    async knows(ids) {
      const hidden = new Set(await hiddenFrom(await callNow()));
      return !ids.some((id) => hidden.has(id));
    },
    /** Any change of a key ends what was opened with it: who comes back is let in by the new rules. */
    async isWelcome() {
      if (client !== null && (await findKey(database, client.id))?.revision !== first?.revision) return false;
      return await holds(eventsPolicy.follow);
    },
  };
}

type KeyRow = NonNullable<Awaited<ReturnType<typeof findKey>>>;

async function findKey({ read }: ViewerDeps["database"], id: string) {
  const select = { revision: true, scopes: true, expiresAt: true } as const;
  return await read.apiKey.findFirst({ where: { id, revokedAt: null }, select });
}

/** The key as it is stored: what the call brought may be a second old. */
function clientOf(client: CallClient, row: KeyRow | null | undefined, permissions: ViewerDeps["permissions"]): CallClient {
  if (row === null || row === undefined) throw new ProblemError("credential_revoked");
  return { ...client, allows: permissions.createScopes(row.scopes as string[]), expiresAt: row.expiresAt };
}
