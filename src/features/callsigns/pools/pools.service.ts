import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { CallsignPool } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../../kernel/page.ts";
import { requireRevision } from "../../../kernel/revision.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { callsignsPolicy } from "../callsigns.policy.ts";
import { columnsOfPool, countsOf, presentPool, rolesFrom, rulesOf, warningsOf } from "./pools.policy.ts";
import { requirePoolRules } from "./rules.ts";
import { CreatePoolInput, PatchPoolInput, PoolsQuery, type PoolRules, type PoolView } from "./pools.schema.ts";

export type CallsignPoolsService = ReturnType<typeof createPoolsService>;

export interface PoolsDeps extends Deps<"database" | "audit" | "cursors" | "clock"> {
  access: Pick<AccessDirectory, "role" | "roles">;
}

const list = "callsigns.pools";
const permission = callsignsPolicy.manage;
type Verb = "create" | "update" | "delete";

/** The pools that callsigns are taken from. */
export function createPoolsService({ database, audit, access, cursors, clock }: PoolsDeps) {
  const isRole = (key: string): boolean => access.role(key) !== undefined;

  /** A pool nobody takes numbers from meanwhile. @throws ProblemError validation_failed, precondition_failed */
  async function loadForUpdate(tx: Tx, key: string, ifMatch: number | undefined): Promise<CallsignPool> {
    await tx.lock(`callsigns:${key}`);
    const pool = await tx.db.callsignPool.findUnique({ where: { key } });
    if (pool === null) throw unknownPool();
    requireRevision(ifMatch, pool.revision);
    return pool;
  }

  function recordChange(tx: Tx, key: string, verb: Verb, change: { before?: PoolRules; after?: PoolRules }): void {
    audit.record(tx, { action: `callsign_pool.${verb}`, target: { kind: "callsign_pool", id: key }, ...change, permission });
  }

  async function changed(tx: Tx, pool: CallsignPool): Promise<PoolView> {
    return { ...(await presentPool(tx.db, pool, tx.now)), warnings: await warningsOf(tx.db, pool) };
  }

  return {
    /** Pools in the order of their keys. */
    async list(call: Call, query: PoolsQuery): Promise<Page<PoolView>> {
      requirePermission(call, callsignsPolicy.read);
      const { limit, cursor, count } = PoolsQuery.parse(query);
      const { read } = database;
      const after = cursor === undefined ? undefined : cursors.decode(list, {}, cursor)[1];
      const where = after === undefined ? {} : { key: { gt: after } };
      const rows = await read.callsignPool.findMany({ where, orderBy: { key: "asc" }, take: limit + 1 });
      const page = toPage(
        rows,
        limit,
        (row) => row,
        (last) => cursors.encode(list, {}, [0, last.key]),
      );
      const data: PoolView[] = [];
      for (const row of page.data) data.push(await presentPool(read, row, clock.now()));
      return withTotal({ ...page, data }, { count }, () => read.callsignPool.count());
    },

    /** @throws ProblemError validation_failed when there is no such pool */
    async get(call: Call, key: string): Promise<PoolView> {
      requirePermission(call, callsignsPolicy.read);
      const pool = await database.read.callsignPool.findUnique({ where: { key } });
      if (pool === null) throw unknownPool();
      return await presentPool(database.read, pool, clock.now());
    },

    /** @throws ProblemError validation_failed, duplicate_active_record */
    async create(call: Call, given: CreatePoolInput): Promise<PoolView> {
      requireWrite(call, permission);
      const { key, ...rules } = CreatePoolInput.parse(given);
      requirePoolRules(rules, isRole);
      return await database.write(call, async (tx) => {
        await tx.lock(`callsigns:${key}`);
        if ((await tx.db.callsignPool.findUnique({ where: { key }, select: { key: true } })) !== null)
          throw new ProblemError("duplicate_active_record", { detail: say("callsigns.there-is-a-pool-of-this-key") });
        const pool = await tx.db.callsignPool.create({ data: { key, ...columnsOfPool(rules), createdAt: tx.now, updatedAt: tx.now } });
        recordChange(tx, key, "create", { after: rules });
        return await changed(tx, pool);
      });
    },

    /** Change parts of a pool. Callsigns that somebody has stay as they are. @throws ProblemError validation_failed, precondition_failed */
    async patch(call: Call, key: string, given: PatchPoolInput, ifMatch?: number): Promise<PoolView> {
      requireWrite(call, permission);
      const input = PatchPoolInput.parse(given);
      return await database.write(call, async (tx) => {
        const pool = await loadForUpdate(tx, key, ifMatch);
        const before = rulesOf(pool);
        const sent = Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined));
        const after: PoolRules = { ...before, ...sent };
        requirePoolRules(after, input.rank_bands === undefined ? undefined : isRole);
        if (JSON.stringify(before) === JSON.stringify(after)) return await changed(tx, pool);
        const data = { ...columnsOfPool(after), updatedAt: tx.now, revision: pool.revision + 1 };
        const row = await tx.db.callsignPool.update({ where: { key }, data });
        recordChange(tx, key, "update", { before, after });
        return await changed(tx, row);
      });
    },

    /** Delete a pool of which nothing is in use. @returns it as it was @throws ProblemError validation_failed, precondition_failed, invalid_transition with `counts` */
    async remove(call: Call, key: string, ifMatch?: number): Promise<PoolView> {
      requireWrite(call, permission);
      return await database.write(call, async (tx) => {
        const pool = await loadForUpdate(tx, key, ifMatch);
        requireUnused(key, await countsOf(tx.db, pool, tx.now));
        const view = await presentPool(tx.db, pool, tx.now);
        await tx.db.callsignPool.delete({ where: { key } });
        recordChange(tx, key, "delete", { before: rulesOf(pool) });
        const roles = rolesFrom(access, key);
        return { ...view, warnings: roles.length === 0 ? [] : [say("callsigns.staff-roles-still-name-it", { roles: roles.join(", ") })] };
      });
    },
  };
}

function unknownPool(): ProblemError {
  return fieldError("/key", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"), "path");
}

function requireUnused(key: string, { capacity, free, ...used }: PoolView["counts"]): void {
  if (Object.values(used).every((count) => count === 0)) return;
  throw new ProblemError("invalid_transition", {
    detail: say("callsigns.callsigns-of-the-pool-are-in-use"),
    extra: { from: "in_use", action: "delete", allowed: ["update"], pool: key, counts: { capacity, ...used, free } },
  });
}
