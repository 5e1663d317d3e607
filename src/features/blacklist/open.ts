import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { Prisma, type BlacklistRecord } from "../../generated/sqlite/client.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { requireRevision } from "../../kernel/revision.ts";
import { isLive, requireOutranks, statusAt, type Ranks } from "./blacklist.policy.ts";

export interface Opening {
  lock(tx: Tx, key: string): Promise<BlacklistRecord>;
  requireImpartial(tx: Tx, row: BlacklistRecord): Promise<void>;
  /** @throws ProblemError record_not_found */
  find(key: string): Promise<BlacklistRecord>;
  /**
   * A record under its lock, to do something to it: in the revision the caller knows, about nobody above them.
   * @param wanted whether it has to count still, or must not
   * @throws ProblemError record_not_found, precondition_failed, invalid_transition, hierarchy_violation, conflict_of_interest
   */
  open(tx: Tx, key: string, given: OpeningOptions): Promise<BlacklistRecord>;
}

export interface OpeningDeps extends Deps<"database" | "reach"> {
  access: Ranks;
}

/** Finds records by what callers name them with. A key is an id or a number such as `BL-000123`. */
export function createOpening({ database, access, reach }: OpeningDeps): Opening {
  /** A record under its lock, whatever its status. @throws ProblemError record_not_found */
  async function lock(tx: Tx, key: string): Promise<BlacklistRecord> {
    const [found] = await tx.db.$select("BlacklistRecord", withKey(key), ["id"]);
    if (found === undefined) throw recordNotFound();
    // It may have been purged while its lock was waited for.
    const [, [row]] = await Promise.all([
      tx.lock(`blacklist:${found.id}`),
      tx.db.$select("BlacklistRecord", Prisma.sql`WHERE t.id = ${found.id}`),
    ]);
    if (row === undefined) throw recordNotFound();
    return row;
  }

  /**
   * Nobody works on records about themselves, an account of theirs, or somebody of equal or higher rank.
   * @throws ProblemError conflict_of_interest, hierarchy_violation
   */
  async function requireImpartial(tx: Tx, row: BlacklistRecord): Promise<void> {
    const { actor } = tx.call;
    // First: to somebody listed themselves, that they do not outrank themselves would say little.
    if (row.kind === "user" && actor !== null) {
      const isOwn = row.subjectId === actor.id || (await reach.linkedAccountsOf(tx.db, actor.id)).includes(row.subjectId);
      if (isOwn) throw new ProblemError("conflict_of_interest");
    }
    requireOutranks(tx.call, access, row);
  }

  return {
    lock,
    requireImpartial,

    async find(key: string): Promise<BlacklistRecord> {
      const [row] = await database.read.$select("BlacklistRecord", withKey(key));
      if (row === undefined) throw recordNotFound();
      return row;
    },

    async open(tx: Tx, key: string, { ifMatch, action, wanted }: OpeningOptions): Promise<BlacklistRecord> {
      const row = await lock(tx, key);
      requireRevision(ifMatch, row.revision);
      if (isLive(row, tx.now) !== (wanted === "live"))
        throw new ProblemError("invalid_transition", { extra: { from: statusAt(row, tx.now), action, allowed: [] } });
      await requireImpartial(tx, row);
      return row;
    },
  };
}

interface OpeningOptions {
  ifMatch: number | undefined;
  action: string;
  wanted: "live" | "ended";
}

/** @param key id, or number such as `BL-000123` in any case */
export function withKey(key: string): Prisma.Sql {
  const number = /^bl-(\d{6,9})$/i.exec(key)?.[1];
  return number === undefined ? Prisma.sql`WHERE t.id = ${key.toLowerCase()}` : Prisma.sql`WHERE t.number = ${Number(number)}`;
}
