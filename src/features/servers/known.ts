import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { Prisma, Server, ServerAlias } from "../../generated/sqlite/client.ts";
import type { StoredStatus } from "./servers.schema.ts";

type Reader = Pick<ReadClient | TransactionClient, "server" | "serverAlias" | "agreementParty" | "blacklistRecord">;
/** A registered server with its further ids. */
export type RegisteredServer = Server & { aliases: ServerAlias[] };

/** What the register and the blacklist say of a server. */
export interface KnownServer {
  id: string;
  /** An alias has the name of the server it belongs to. */
  name: string | null;
  icon: string | null;
  /** The registered server it is, or whose alias it is. */
  registered: { id: string; status: StoredStatus; mergedInto: string | null; tags: string[] } | null;
  /** The gravest record in force about it, or about another id of the same server. */
  blacklistId: string | null;
  /** Ids of the agreements in force. */
  agreements: string[];
}

/** A record in force about a server. */
export interface RecordInForce {
  id: string;
  subjectId: string;
  subjectName: string | null;
}

/** SQLite and PostgreSQL take more values in one statement; this leaves room for the rest of it. */
const valuesAtOnce = 10_000;

/** Agreements that count at a moment, whether or not the sweep has come by. */
export function inForceAt(now: Date): Prisma.AgreementWhereInput {
  return { status: { in: ["scheduled", "active"] }, startsAt: { lte: now }, OR: [{ endsAt: null }, { endsAt: { gt: now } }] };
}

/** The gravest record in force about each of these servers, by their hashes. */
export async function recordsInForce(
  db: Pick<Reader, "blacklistRecord">,
  hashes: readonly string[],
  now: Date,
): Promise<Map<string, RecordInForce>> {
  const found = new Map<string, RecordInForce>();
  for (let from = 0; from < hashes.length; from += valuesAtOnce) {
    const rows = await db.blacklistRecord.findMany({
      where: {
        subjectHash: { in: hashes.slice(from, from + valuesAtOnce) },
        startsAt: { lte: now },
        OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
      },
      select: { id: true, subjectId: true, subjectName: true, subjectHash: true, status: true },
      orderBy: [{ severityOrder: "asc" }, { id: "desc" }],
    });
    // The last one of a server is the gravest. Whether it counts is looked at here: as a condition it would let SQLite walk through
    // all that count instead of those about these servers.
    for (const { subjectHash, status, ...record } of rows)
      if (subjectHash !== null && (status === "active" || status === "scheduled")) found.set(subjectHash, record);
  }
  return found;
}

/** Ids of the agreements in force of each of these servers, by their hashes. */
export async function agreementsInForce(
  db: Pick<Reader, "agreementParty">,
  hashes: readonly string[],
  now: Date,
): Promise<Map<string, { serverId: string; ids: string[] }>> {
  const found = new Map<string, { serverId: string; ids: string[] }>();
  const where = { serverHash: { in: [...hashes] }, agreement: inForceAt(now) };
  for (const { serverHash, serverId, agreementId } of await db.agreementParty.findMany({ where, orderBy: { agreementId: "asc" } })) {
    const party = found.get(serverHash) ?? { serverId, ids: [] };
    party.ids.push(agreementId);
    found.set(serverHash, party);
  }
  return found;
}

/** What is known of each server, by its hash; nothing stands for a server that is neither registered nor listed nor party of anything. */
export async function knownAmong(db: Reader, hashes: readonly string[], now: Date): Promise<Map<string, KnownServer>> {
  const asked = [...hashes];
  // Aliases first: asked for in one condition with the hashes, SQLite would look at every server of the register.
  const named = await db.serverAlias.findMany({ where: { aliasHash: { in: asked } }, select: { serverId: true } });
  const own = await db.server.findMany({ where: { hash: { in: asked } }, select: { id: true } });
  const ids = [...new Set([...named.map(({ serverId }) => serverId), ...own.map(({ id }) => id)])];
  const servers = await db.server.findMany({ where: { id: { in: ids } }, include: { aliases: true } });
  const registered = new Map(servers.flatMap((server) => hashesOf(server).map((hash) => [hash, server] as const)));
  const all = [...new Set([...asked, ...registered.keys()])];
  const records = await recordsInForce(db, all, now);
  const agreements = await agreementsInForce(db, all, now);
  const known = asked.flatMap((hash): [string, KnownServer][] => {
    const server = registered.get(hash);
    const group = server === undefined ? [hash] : [hash, ...hashesOf(server)];
    const record = group.map((one) => records.get(one)).find((one) => one !== undefined);
    const parties = group.flatMap((one) => agreements.get(one)?.ids ?? []);
    const id = server === undefined ? (record?.subjectId ?? agreements.get(hash)?.serverId) : idOf(server, hash);
    if (id === undefined) return [];
    const facts = { blacklistId: record?.id ?? null, agreements: [...new Set(parties)] };
    return [
      [
        hash,
        server === undefined
          ? { id, name: record?.subjectName ?? null, icon: null, registered: null, ...facts }
          : { id, ...ofServer(server), ...facts },
      ],
    ];
  });
  return new Map(known);
}

/** A server by its own id or by an alias. */
export function byAnyId(id: string): Prisma.ServerWhereInput {
  return { OR: [{ id }, { aliases: { some: { aliasId: id } } }] };
}

/** Every id of a registered server, its own first; null for a server nobody registered. @param id its own or an alias */
export async function idsOfServer(db: Pick<Reader, "server">, id: string): Promise<string[] | null> {
  const server = await db.server.findFirst({ where: byAnyId(id), include: { aliases: true } });
  return server === null ? null : [server.id, ...server.aliases.map(({ aliasId }) => aliasId)];
}

/** The hash of every id of a server, its own first. */
export function hashesOf({ hash, aliases }: RegisteredServer): string[] {
  return [hash, ...aliases.map(({ aliasHash }) => aliasHash)];
}

function idOf({ id, aliases }: RegisteredServer, hash: string): string {
  return aliases.find(({ aliasHash }) => aliasHash === hash)?.aliasId ?? id;
}

function ofServer({ id, name, icon, status, mergedInto, tags }: RegisteredServer): Pick<KnownServer, "name" | "icon" | "registered"> {
  return { name, icon, registered: { id, status: status as StoredStatus, mergedInto, tags: tags as string[] } };
}
