import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";

export type LinkReader = Pick<ReadClient | TransactionClient, "$select">;

/** Another account that may belong to the same person, and how sure that is. */
export interface LinkedAccount {
  userId: string;
  confidence: "confirmed" | "probable";
}

/** Who belongs together, as the rows of a transaction have it. */
export interface LinkReach {
  /**
   * The accounts that records about this one concern, too: everyone of the group over confirmed links, and every group that has a
   * probable link to one of them. So it holds both ways: anyone who is reached from here reaches back. Probable links are not
   * followed twice, links that do not propagate lead nowhere, and suspected links never do.
   */
  reachOf(db: LinkReader, userId: string): Promise<LinkedAccount[]>;
  /** The same for many accounts, in a number of statements that does not grow with theirs. Accounts that reach nobody are left out. */
  reachOfAll(db: LinkReader, userIds: readonly string[]): Promise<Map<string, LinkedAccount[]>>;
  /** The accounts of one person: the group over confirmed links, without the one asked for. */
  linkedAccountsOf(db: LinkReader, userId: string): Promise<string[]>;
  /** The same for several people, in a number of statements that does not grow with theirs. */
  linkedAccountsOfAll(db: LinkReader, userIds: readonly string[]): Promise<Map<string, string[]>>;
}

/** Accounts of one statement, each twice; SQLite is given at most 999 values. */
const accountsAtOnce = 450;
/** How many accounts a group holds at most; a link that would make it larger is refused, a walk goes no further. */
export const maxGroup = 100;

interface Edge {
  id: string;
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

/** The links of some accounts. */
type EdgesOf = (userIds: readonly string[]) => Promise<readonly Edge[]>;

/** Walks the links as they are stored. */
export function createLinkReach(): LinkReach {
  return {
    reachOf: (db, userId) => reachOver(stored(db, { propagates: true }), userId),

    async reachOfAll(db, userIds) {
      const edgesOf = await gather(stored(db, { propagates: true }), userIds);
      const found = new Map<string, LinkedAccount[]>();
      for (const userId of userIds) {
        const reached = await reachOver(edgesOf, userId);
        if (reached.length > 0) found.set(userId, reached);
      }
      return found;
    },

    linkedAccountsOf: (db, userId) => linkedOver(stored(db, { confidence: "confirmed" }), userId),

    async linkedAccountsOfAll(db, userIds) {
      const edgesOf = await gather(stored(db, { confidence: "confirmed" }), userIds);
      const found = new Map<string, string[]>();
      for (const userId of userIds) found.set(userId, await linkedOver(edgesOf, userId));
      return found;
    },
  };
}

async function linkedOver(edgesOf: EdgesOf, userId: string): Promise<string[]> {
  const { members } = await walk(edgesOf, [userId]);
  return inOrder([...members].filter((id) => id !== userId));
}

async function reachOver(edgesOf: EdgesOf, userId: string): Promise<LinkedAccount[]> {
  const own = await walk(edgesOf, [userId]);
  const around = own.near.length === 0 ? [] : [...(await walk(edgesOf, own.near)).members];
  return [
    ...accounts(own.members, "confirmed", [userId]),
    ...accounts(
      around.filter((id) => !own.members.has(id)),
      "probable",
    ),
  ];
}

/** Read everything that walks from these accounts can meet, level by level for all of them together. */
async function gather(edgesOf: EdgesOf, userIds: readonly string[]): Promise<EdgesOf> {
  const ends = new Map<string, Map<string, Edge>>();
  const seen = new Set<string>();
  const spread = async (from: Iterable<string>): Promise<void> => {
    for (let frontier = unseen(from, seen); frontier.length > 0;) {
      const found: string[] = [];
      for (let start = 0; start < frontier.length; start += accountsAtOnce) {
        for (const edge of await edgesOf(frontier.slice(start, start + accountsAtOnce))) {
          for (const end of [edge.userA, edge.userB]) ends.set(end, (ends.get(end) ?? new Map<string, Edge>()).set(edge.id, edge));
          if (edge.confidence === "confirmed") found.push(edge.userA, edge.userB);
        }
      }
      frontier = unseen(found, seen);
    }
  };
  await spread(userIds);
  // Anyone who was met without being followed is at the far end of a probable link.
  await spread([...ends.keys()]);
  return (asked) => Promise.resolve([...new Set(asked.flatMap((id) => [...(ends.get(id)?.values() ?? [])]))]);
}

/** Those of some accounts that were not met before; from now on they were. */
function unseen(from: Iterable<string>, seen: Set<string>): string[] {
  const fresh = [...new Set(from)].filter((id) => !seen.has(id));
  for (const id of fresh) seen.add(id);
  return fresh;
}

/**
 * The group of an account, and those that have a probable link to one of it, whether or not the links propagate. The main account
 * is that of the newest confirmed link that names one.
 */
export async function neighbourhoodOf(db: LinkReader, userId: string) {
  const { members, near, confirmed } = await walk(stored(db, {}), [userId]);
  const primaryUserId = confirmed.find((edge) => edge.primaryUserId !== null)?.primaryUserId ?? null;
  return { members: [...accounts(members, "confirmed", [userId]), ...accounts(near, "probable")], primaryUserId };
}

/** Level by level, one statement each, over confirmed links; the probable ones met on the way are told, not followed. */
async function walk(edgesOf: EdgesOf, from: readonly string[]): Promise<Walk> {
  const members = new Set(from.slice(0, maxGroup));
  const edges = new Map<string, Edge>();
  let frontier = [...members];
  while (frontier.length > 0) {
    const rows = await edgesOf(frontier);
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

const edgeFields = ["id", "userA", "userB", "confidence", "primaryUserId"] as const;

function stored(db: LinkReader, filter: { propagates?: boolean; confidence?: string }): EdgesOf {
  const { propagates, confidence } = filter;
  const confidences =
    confidence === undefined ? Prisma.sql`t.confidence IN ('confirmed', 'probable')` : Prisma.sql`t.confidence = ${confidence}`;
  const spreading = propagates === undefined ? Prisma.empty : Prisma.sql`AND t.propagates = ${propagates}`;
  return async (userIds) => {
    if (userIds.length === 0) return [];
    const ids = Prisma.join([...userIds]);
    // Of two states of a link the other is left out: as an equation SQLite would walk through all links of it, not through somebody's.
    const rest = Prisma.sql`WHERE ${confidences} ${spreading} AND t.status <> 'ended' AND (t.user_a IN (${ids}) OR t.user_b IN (${ids})) ORDER BY t.id DESC`;
    return await db.$select("AccountLink", rest, edgeFields);
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
