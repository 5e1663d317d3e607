import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { fieldError, type FieldError } from "../../kernel/errors.ts";
import type { Standings } from "../permissions/standing/standing.ts";

type Reader = Pick<ReadClient | TransactionClient, "callsignPool" | "rosterEntry">;

interface Asked {
  pool?: string | undefined;
  role_key?: string | undefined;
  user_id?: string | undefined;
}

/** Where a callsign is to come from. */
export interface Source {
  /** Null: there is no pool, or no such pool. */
  pool: string | null;
  /** The role asked for, else that of the person. */
  roleKey: string | null;
}

/** Finds the pool that somebody's callsign comes from. */
export function createPoolChoice(standing: Pick<Standings, "of" | "role">) {
  async function roleOf(db: Reader, { role_key: asked, user_id: userId }: Asked, where: FieldError["in"]): Promise<string | null> {
    if (asked !== undefined) {
      if (standing.role(asked) === undefined) throw fieldError("/role_key", "unknown_role", "There is no such staff role.", where);
      return asked;
    }
    if (userId === undefined) return null;
    const entry = await db.rosterEntry.findUnique({ where: { userId }, select: { staffRole: true } });
    return entry?.staffRole ?? standing.of(userId).held[0]?.role.key ?? null;
  }

  /** The pool of the role, else of the highest staff role of the person that has one. */
  function poolOfRoles(roleKey: string | null, userId: string | undefined): string | null {
    const own = userId === undefined ? [] : standing.of(userId).held.map(({ role }) => role);
    const role = roleKey === null ? undefined : standing.role(roleKey);
    return [role, ...own].find((one) => typeof one?.callsignPool === "string")?.callsignPool ?? null;
  }

  return {
    /**
     * The pool that is named, else that of the roles, else the one made first: who asks for no pool in particular has one.
     * @throws ProblemError validation_failed for a staff role that is not there
     */
    async source(db: Reader, asked: Asked, where: FieldError["in"]): Promise<Source> {
      const roleKey = await roleOf(db, asked, where);
      const named = asked.pool ?? poolOfRoles(roleKey, asked.user_id);
      if (named !== null) {
        const found = await db.callsignPool.findUnique({ where: { key: named }, select: { key: true } });
        return { pool: found?.key ?? null, roleKey };
      }
      const first = await db.callsignPool.findFirst({ select: { key: true }, orderBy: [{ createdAt: "asc" }, { key: "asc" }] });
      return { pool: first?.key ?? null, roleKey };
    },
  };
}

/** @throws ProblemError validation_failed where there is no pool, or not the one named */
export function requirePool(pool: string | null, where: FieldError["in"] = "body"): string {
  if (pool === null) throw fieldError("/pool", "unknown_pool", "There is no such pool of callsigns.", where);
  return pool;
}
