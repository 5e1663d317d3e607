import { catalog, type Level } from "../../src/kernel/permissions.ts";
import { uuid7 } from "../../src/kernel/ids.ts";

/** A staff role as it is set up. */
export interface RolePlan {
  key: string;
  rank: number;
  level: Level;
  allow: readonly string[];
  deny: readonly string[];
}

/** An allow or deny entry of one person. */
export interface EntryPlan {
  id: string;
  permission: string;
  effect: "allow" | "deny";
  /** Whether it counts in one guild only. */
  isLocal: boolean;
  expiresAt: Date | null;
}

/** One staff member: the keys of their roles, highest rank first, and their entries. */
export interface PersonPlan {
  roles: readonly string[];
  entries: readonly EntryPlan[];
}

export interface Community {
  roles: readonly RolePlan[];
  people: readonly PersonPlan[];
}

/** Everybody holds this role, and it says the last word about nothing but {@link watched}. */
export const sharedRole = "team";
/** Only the shared role speaks about this permission, so that denying it there changes everybody's answer. */
export const watched = "permissions.read";

const roleCount = 50;
const maxFurtherRoles = 3;
const shareWithEntries = 0.1;
const levelsByTurn: readonly Level[] = ["viewer", "moderator", "none", "senior", "moderator", "viewer", "admin", "moderator"];
const keys = catalog.map((entry) => entry.key).filter((key) => key !== watched);

/** A made-up staff of this size, the same at every run: 50 roles, one to four each, entries of their own for every tenth. */
export function planCommunity(size: number): Community {
  const random = createRandom(20_261_120);
  const upTo = (most: number): number => Math.floor(random() * (most + 1));
  const pick = <T>(from: readonly T[], count: number): T[] => {
    const left = [...from];
    return Array.from({ length: count }, () => left.splice(upTo(left.length - 1), 1)).flat();
  };
  const further = Array.from({ length: roleCount - 1 }, (_, index) => planRole(index, pick(keys, 8), upTo(6), upTo(2)));
  const roles: RolePlan[] = [{ key: sharedRole, rank: 1, level: "viewer", allow: [], deny: [] }, ...further];
  const soon = new Date(Date.now() + 3_600_000);
  const entries = (): EntryPlan[] =>
    pick(keys, 1 + upTo(2)).map((permission) => ({
      id: uuid7(),
      permission,
      effect: random() < 0.6 ? "allow" : "deny",
      isLocal: random() < 0.1,
      expiresAt: random() < 0.2 ? soon : null,
    }));
  const people = Array.from({ length: size }, () => ({
    roles: [...pick(further, upTo(maxFurtherRoles)).toSorted((a, b) => b.rank - a.rank), { key: sharedRole }].map(({ key }) => key),
    entries: random() < shareWithEntries ? entries() : [],
  }));
  return { roles, people };
}

function planRole(index: number, picked: readonly string[], allowed: number, denied: number): RolePlan {
  return {
    key: `role-${index.toString().padStart(2, "0")}`,
    rank: 10 + index,
    level: levelsByTurn[index % levelsByTurn.length] ?? "none",
    allow: picked.slice(0, allowed),
    deny: picked.slice(allowed, allowed + denied),
  };
}

/** Numbers from 0 to below 1, the same sequence for the same seed (mulberry32). */
export function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}
