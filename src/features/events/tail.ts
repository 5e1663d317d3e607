import type { Logger, ReadClient, Database } from "../../database/database.ts";
import { presentEvent, eventsPolicy, type Told } from "./events.policy.ts";
import { storedPermission } from "../../kernel/permissions.ts";
import { can, type Call, type CallClient } from "../../kernel/call.ts";
import type { HiddenIds } from "../../kernel/visibility.ts";
import type { Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";

export interface TailOptions {
  read: Pick<ReadClient, "outboxEvent">;
  /** Called with every batch that was added, once it can be read. */
  onGrowth: (events: readonly Told[]) => void;
  logger?: Logger;
}

export interface Tail {
  /** The number of the newest event that was read. */
  last(): number;
  /** Read what was committed since; one look at a time. */
  look(): Promise<void>;
  /** Go to the end without reading what is in between: for the first stream after a time without any. */
  skip(to: number): void;
  /** The next events after a number: at once when memory holds all of them, otherwise so many at most. Empty at the end. */
  after(seq: number, most?: number): readonly Told[] | Promise<readonly Told[]>;
  /** The numbers of the oldest and the newest event there are; 0 and 0 before the first. */
  ends(): Promise<{
    oldest: number;
    newest: number;
  }>;
}

/** Events read at once, and the newest ones kept in memory. */
const pageSize = 500;
const keptInMemory = 1000;

/**
 * The end of the outbox, read once for all streams. Numbers are given and committed in the same order, so anyone who has seen one
 * event has nothing to wait for below it.
 */
export function createTail({ read, onGrowth, logger }: TailOptions): Tail {
  let recent: readonly Told[] = [];
  let last = 0;
  let isLooking = false;
  let isAskedAgain = false;

  async function page(after: number, most = pageSize): Promise<Told[]> {
    const rows = await read.outboxEvent.findMany({ where: { seq: { gt: after } }, orderBy: { seq: "asc" }, take: most });
    return rows.map(presentEvent);
  }

  async function add(): Promise<void> {
    do {
      isAskedAgain = false;
      const events = await page(last);
      recent = [...recent, ...events].slice(-keptInMemory);
      last = events.at(-1)?.seq ?? last;
      if (events.length > 0) onGrowth(events);
      if (events.length === pageSize) isAskedAgain = true;
    } while (isAskedAgain);
  }

  return {
    last: (): number => last,

    async look(): Promise<void> {
      isAskedAgain = true;
      if (isLooking) return;
      isLooking = true;
      try {
        await add();
      } catch (error) {
        logger?.warn({ err: error }, "events could not be read; it is tried again");
      } finally {
        isLooking = false;
      }
    },

    skip(to: number): void {
      recent = [];
      last = to;
    },

    after(seq: number, most?: number): readonly Told[] | Promise<readonly Told[]> {
      if (seq >= (recent[0]?.seq ?? last + 1) - 1) return recent.slice(recent.findLastIndex((event) => event.seq <= seq) + 1);
      return page(seq, most);
    },

    async ends(): Promise<{ oldest: number; newest: number }> {
      const { _min, _max } = await read.outboxEvent.aggregate({ _min: { seq: true }, _max: { seq: true } });
      return { oldest: _min.seq ?? 0, newest: _max.seq ?? 0 };
    },
  };
}

export interface ViewerDeps {
  database: Pick<Database, "read">;
  permissions: Pick<PermissionsService, "createScopes">;
  access: Pick<AccessDirectory, "actorOf">;
  clock: Clock;
  /** Ids of the records a caller may not know of. */
  hiddenIds: HiddenIds;
}

export type Viewer = Awaited<ReturnType<typeof createViewer>>;

/**
 * Anyone who follows events, as they stand now and not as they stood when they came.
 * @param call whose key and acting user are followed from now on
 * @throws ProblemError credential_revoked, storage_busy
 */
export async function createViewer({ database, permissions, access, clock, hiddenIds }: ViewerDeps, call: Call) {
  const { actor } = call;
  const first = call.client === null ? undefined : await findKey(database, call.client.id);
  const client = call.client === null ? null : clientOf(call.client, first, permissions);

  /** Whether they hold a permission at this moment. */
  async function holds(permission: string): Promise<boolean> {
    if (client?.expiresAt !== undefined && client.expiresAt <= clock.now()) return false;
    return can(await callNow(), storedPermission(permission));
  }

  const callNow = async (): Promise<Call> => ({ ...call, client, actor: actor === null ? null : await access.actorOf(actor.id) });

  return {
    holds,
    /** Whether none of these ids is of a record they may not know of. */
    async knows(ids: readonly string[]): Promise<boolean> {
      return (await hiddenIds(await callNow(), ids)).length === 0;
    },
    /**
     * Whether they may still listen, by what is stored of the key and known of the acting user. Any change of a key ends what was
     * opened with it: who comes back is let in by the new rules.
     */
    async isWelcome(): Promise<boolean> {
      if (client !== null && (await findKey(database, client.id))?.revision !== first?.revision) return false;
      if (actor !== null && client?.mayName?.() === false) return false;
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
  const isInScopes = permissions.createScopes(row.scopes as string[]);
  return { ...client, allows: (permission) => isInScopes(permission) && client.allows(permission), expiresAt: row.expiresAt };
}
