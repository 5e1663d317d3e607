import type { Server } from "../../generated/sqlite/client.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";

/** How one server concerns another: a further id of it, or one of the two has been merged into the other. */
export type Relation = "alias" | "merged";

/** A server that stands in a relation to another, by its hash. */
export interface RelatedServer {
  /** The server it is related to. */
  of: string;
  /** Keyed hash of the related server. */
  hash: string;
  serverId: string;
  how: Relation;
}

type Reader = Pick<ReadClient | TransactionClient, "server" | "serverAlias">;
type Node = Pick<Server, "id" | "hash" | "mergedInto">;
interface Named {
  id: string;
  hash: string;
}

/** A chain of mergers is followed over this many servers, in either direction. */
const maxChain = 16;
const columns = { id: true, hash: true, mergedInto: true } as const;

/**
 * The further ids of each server, and everything it was merged into or that was merged into it, with their further ids.
 * The relation holds in both directions; two servers that went into the same third are not related.
 */
export async function relatedTo(db: Reader, hashes: readonly string[]): Promise<RelatedServer[]> {
  if (hashes.length === 0) return [];
  const asked = await registeredAmong(db, hashes);
  if (asked.size === 0) return [];
  const nodes = await nodesAround(db, [...new Set(asked.values())]);
  const groups = await groupsOf(db, [...nodes.values()]);
  const parts = createParts(nodes);
  return [...asked].flatMap(([of, id]) => {
    const ids = (groups.get(id) ?? []).filter(({ hash }) => hash !== of);
    const merged = parts(id).flatMap((other) => groups.get(other) ?? []);
    const relations = [
      ...ids.map((one) => ({ ...one, how: "alias" as const })),
      ...merged.map((one) => ({ ...one, how: "merged" as const })),
    ];
    return relations.map(({ id: serverId, hash, how }) => ({ of, hash, serverId, how }));
  });
}

/** The registered server behind each hash, whether it is the server's own or an alias's. */
async function registeredAmong(db: Reader, hashes: readonly string[]): Promise<Map<string, string>> {
  const servers = await db.server.findMany({ where: { hash: { in: [...hashes] } }, select: columns });
  const aliases = await db.serverAlias.findMany({ where: { aliasHash: { in: [...hashes] } } });
  return new Map([
    ...servers.map(({ hash, id }): [string, string] => [hash, id]),
    ...aliases.map(({ aliasHash, serverId }): [string, string] => [aliasHash, serverId]),
  ]);
}

/** The servers with everything above and below them, each read once. */
async function nodesAround(db: Reader, ids: readonly string[]): Promise<Map<string, Node>> {
  const nodes = new Map<string, Node>();
  const read = async (where: object): Promise<Node[]> => {
    const found = await db.server.findMany({ where, select: columns });
    for (const node of found) nodes.set(node.id, node);
    return found;
  };
  const start = await read({ id: { in: [...ids] } });
  let above = start;
  let below = start;
  for (let step = 0; step < maxChain && above.length + below.length > 0; step += 1) {
    const targets = above.flatMap(({ mergedInto }) => (mergedInto === null ? [] : [mergedInto]));
    above = targets.length === 0 ? [] : await read({ id: { in: targets } });
    below = below.length === 0 ? [] : await read({ mergedInto: { in: below.map(({ id }) => id) } });
  }
  return nodes;
}

/** Every id of each server, its own first. */
async function groupsOf(db: Reader, nodes: readonly Node[]): Promise<Map<string, Named[]>> {
  const groups = new Map(nodes.map(({ id, hash }) => [id, [{ id, hash }]]));
  const where = { serverId: { in: nodes.map(({ id }) => id) } };
  for (const { aliasId, aliasHash, serverId } of await db.serverAlias.findMany({ where, orderBy: { aliasId: "asc" } }))
    groups.get(serverId)?.push({ id: aliasId, hash: aliasHash });
  return groups;
}

/** @returns the servers a server was merged into, and those merged into it, near ones first */
function createParts(nodes: ReadonlyMap<string, Node>): (id: string) => string[] {
  const children = new Map<string, string[]>();
  for (const { id, mergedInto } of nodes.values())
    if (mergedInto !== null) children.set(mergedInto, [...(children.get(mergedInto) ?? []), id]);
  const up = (id: string): string[] => {
    const target = nodes.get(id)?.mergedInto;
    return target === null || target === undefined || !nodes.has(target) ? [] : [target];
  };
  const down = (id: string): string[] => children.get(id) ?? [];
  const follow = (id: string, next: (id: string) => string[]): string[] => {
    const found: string[] = [];
    let frontier = [id];
    for (let step = 0; step < maxChain && frontier.length > 0; step += 1) {
      frontier = frontier.flatMap(next);
      found.push(...frontier);
    }
    return found;
  };
  return (id) => [...follow(id, up), ...follow(id, down)];
}
