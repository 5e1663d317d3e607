import type { ReadClient, TransactionClient } from "../../database/database.ts";

export type LinkReader = Pick<ReadClient | TransactionClient, "accountLink">;

/** Another account that may belong to the same person, and how sure that is. */
export interface LinkedAccount {
  userId: string;
  confidence: "confirmed" | "probable";
}

/** Who belongs together, as the rows of a transaction have it. */
export interface LinkReach {
  /**
   * The accounts that records about this one concern, too: everyone of the group over confirmed links, and every group that has a
   * probable link to one of them. So it holds both ways: whoever is reached from here reaches back. Probable links are not
   * followed twice, links that do not propagate lead nowhere, and suspected links never do.
   */
  reachOf(db: LinkReader, userId: string): Promise<LinkedAccount[]>;
  /** The accounts of one person: the group over confirmed links, without the one asked for. */
  groupOf(db: LinkReader, userId: string): Promise<string[]>;
}

/** How many accounts a group holds at most; a link that would make it larger is refused, a walk goes no further. */
export const maxGroup = 100;

interface Edge {
  userA: string;
  userB: string;
  confidence: string;
  primaryUserId: string | null;
}

interface Walk {
  /** Where it began and everyone found over confirmed links. */
  members: ReadonlySet<string>;
  /** The links between them, the newest first. */
  confirmed: readonly Edge[];
  /** Accounts outside with a probable link to a member. */
  near: readonly string[];
}

/** Walks the links as they are stored. */
export function createLinkReach(): LinkReach {
  return {
    async reachOf(db, userId) {
      const own = await walk(db, [userId], { propagates: true });
      const around = own.near.length === 0 ? [] : [...(await walk(db, own.near, { propagates: true })).members];
      return [
        ...accounts(own.members, "confirmed", [userId]),
        ...accounts(
          around.filter((id) => !own.members.has(id)),
          "probable",
        ),
      ];
    },

    async groupOf(db, userId) {
      const { members } = await walk(db, [userId], { confidence: "confirmed" });
      return accounts(members, "confirmed", [userId]).map((account) => account.userId);
    },
  };
}

/**
 * The group of an account, and those that have a probable link to one of it, whether or not the links propagate. The main account
 * is that of the newest confirmed link that names one.
 */
export async function neighbourhoodOf(db: LinkReader, userId: string) {
  const { members, near, confirmed } = await walk(db, [userId], {});
  const primaryUserId = confirmed.find((edge) => edge.primaryUserId !== null)?.primaryUserId ?? null;
  return { members: [...accounts(members, "confirmed", [userId]), ...accounts(near, "probable")], primaryUserId };
}

/** Level by level, one statement each, over confirmed links; the probable ones met on the way are told, not followed. */
async function walk(db: LinkReader, from: readonly string[], filter: { propagates?: boolean; confidence?: string }): Promise<Walk> {
  const members = new Set(from.slice(0, maxGroup));
  const edges = new Map<string, Edge>();
  let frontier = [...members];
  while (frontier.length > 0) {
    const rows = await db.accountLink.findMany({
      where: {
        confidence: { in: ["confirmed", "probable"] },
        ...filter,
        ...inStatus("active"),
        OR: [{ userA: { in: frontier } }, { userB: { in: frontier } }],
      },
      select: { id: true, userA: true, userB: true, confidence: true, primaryUserId: true },
      orderBy: { id: "desc" },
    });
    for (const row of rows) edges.set(row.id, row);
    const found = rows.flatMap((row) => (row.confidence === "confirmed" ? [row.userA, row.userB] : []));
    frontier = inOrder(found.filter((id) => !members.has(id))).slice(0, maxGroup - members.size);
    for (const id of frontier) members.add(id);
  }
  const near = [...edges.values()].flatMap((edge) => (edge.confidence === "probable" ? [edge.userA, edge.userB] : []));
  const newestFirst = [...edges].toSorted(([a], [b]) => (a < b ? 1 : -1)).map(([, edge]) => edge);
  return {
    members,
    confirmed: newestFirst.filter((edge) => edge.confidence === "confirmed"),
    near: inOrder(near.filter((id) => !members.has(id))).slice(0, maxGroup),
  };
}

function accounts(ids: Iterable<string>, confidence: LinkedAccount["confidence"], without: readonly string[] = []): LinkedAccount[] {
  return inOrder(ids)
    .filter((userId) => !without.includes(userId))
    .map((userId) => ({ userId, confidence }));
}

/** Links of a status, of which there are two. As an equation it would let SQLite walk through all links of it, not through somebody's. */
export function inStatus(status: "active" | "ended"): { status: { not: string } } {
  return { status: { not: status === "active" ? "ended" : "active" } };
}

/** Each id once, the smallest number first. */
export function inOrder(ids: Iterable<string>): string[] {
  return [...new Set(ids)].toSorted((a, b) => a.length - b.length || (a < b ? -1 : 1));
}
