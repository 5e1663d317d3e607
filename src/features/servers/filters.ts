import type { ReadClient } from "../../database/database.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { recordsInForce } from "./known.ts";
import type { ListRegistryQuery } from "./servers.schema.ts";

type Where = Prisma.ServerWhereInput;

interface Asked {
  filters: Pick<ReturnType<typeof ListRegistryQuery.parse>, "status" | "q">;
  /** Ids of the servers this caller sees as blacklisted. */
  listed: readonly string[];
  dialect: "sqlite" | "postgres";
}

/** The database's words for the filters of the list. A status is the one the caller is shown. */
export function conditions({ filters: { status, q }, listed, dialect }: Asked): Where {
  const all: Where[] = [];
  if (status === "blacklisted") all.push({ id: { in: [...listed] } });
  else if (status !== undefined) all.push({ status, ...(listed.length > 0 && { id: { notIn: [...listed] } }) });
  if (q !== undefined) all.push(textCondition(q, dialect));
  return { AND: all };
}

/** SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to. */
function textCondition(q: string, dialect: "sqlite" | "postgres"): Where {
  const name = { contains: q, ...(dialect === "postgres" && { mode: "insensitive" }) };
  return { OR: [{ id: q }, { name }, { aliases: { some: { aliasId: q } } }] };
}

/** Ids of the registered servers a record is in force about. */
export async function listedServerIds(read: ReadClient, now: Date): Promise<string[]> {
  const servers = await read.server.findMany({ select: { id: true, hash: true } });
  const aliases = await read.serverAlias.findMany({ select: { serverId: true, aliasHash: true } });
  const ids = new Map([
    ...servers.map(({ id, hash }): [string, string] => [hash, id]),
    ...aliases.map(({ serverId, aliasHash }): [string, string] => [aliasHash, serverId]),
  ]);
  const records = await recordsInForce(read, [...ids.keys()], now);
  return [...new Set([...records.keys()].flatMap((hash) => ids.get(hash) ?? []))];
}
