import { relatedTo, type RelatedServer } from "./related.ts";
import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { inForceAt, knownAmong, type KnownServer } from "./known.ts";

type Reader = Pick<ReadClient | TransactionClient, "server" | "serverAlias" | "agreement" | "agreementParty">;
/** What answers about servers need besides. */
type RecordReader = Reader & Pick<ReadClient | TransactionClient, "blacklistRecord">;
export type { KnownServer };

/** A watched server. */
export interface WatchedServer {
  id: string;
  hash: string;
  name: string | null;
  revision: number;
}

/** An agreement in force with one of this community's own servers, seen from another party. */
export interface AgreementFact {
  id: string;
  /** Hash of the party somebody may be in. */
  serverHash: string;
  serverId: string;
  covers: "staff" | "members" | "both";
  reference: string | null;
  startsAt: Date;
  endsAt: Date | null;
  revision: number;
}

/** What the registry knows that decides matches, as the rows of a transaction have it. */
export interface ServerFacts {
  /**
   * Servers whose records concern members of the given ones, too.
   * @param hashes keyed hashes of servers somebody is in
   * @returns for each relation: `of` is the hash that was asked for, the rest is the server it leads to
   */
  relatedTo(db: Reader, hashes: readonly string[]): Promise<RelatedServer[]>;
  /** Which of these servers are watched. */
  watchedAmong(db: Reader, hashes: readonly string[]): Promise<WatchedServer[]>;
  /** Agreements in force between one of `own` (ids) and one of `hashes`. */
  agreementsAmong(db: Reader, hashes: readonly string[], own: readonly string[], now: Date): Promise<AgreementFact[]>;
  /** What answers may say of these servers, by their hashes; a server nobody registered or listed is not in it. */
  knownAmong(db: RecordReader, hashes: readonly string[], now: Date): Promise<Map<string, KnownServer>>;
}

/** The registry's answers for matching. */
export function createServerFacts(): ServerFacts {
  return { relatedTo, watchedAmong, agreementsAmong, knownAmong };
}

async function watchedAmong(db: Reader, hashes: readonly string[]): Promise<WatchedServer[]> {
  if (hashes.length === 0) return [];
  const rows = await db.server.findMany({
    where: { hash: { in: [...hashes] } },
    select: { id: true, hash: true, name: true, revision: true, status: true },
    orderBy: { id: "asc" },
  });
  // As a condition it would let SQLite walk through everything that is watched.
  return rows.flatMap(({ status, ...server }) => (status === "watched" ? [server] : []));
}

async function agreementsAmong(db: Reader, hashes: readonly string[], own: readonly string[], now: Date): Promise<AgreementFact[]> {
  if (hashes.length === 0 || own.length === 0) return [];
  const rows = await db.agreementParty.findMany({
    where: {
      serverHash: { in: [...hashes] },
      serverId: { notIn: [...own] },
      agreement: { ...inForceAt(now), parties: { some: { serverId: { in: [...own] } } } },
    },
    include: { agreement: true },
    orderBy: [{ agreementId: "asc" }, { serverId: "asc" }],
  });
  return rows.map(({ serverHash, serverId, agreement }) => ({
    id: agreement.id,
    serverHash,
    serverId,
    covers: agreement.covers as AgreementFact["covers"],
    reference: agreement.originReference,
    startsAt: agreement.startsAt,
    endsAt: agreement.endsAt,
    revision: agreement.revision,
  }));
}
