import type { Deps } from "../deps.ts";
import type { Database, ReadClient, TransactionClient } from "../../database/database.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { createKeyTable, keyOfId } from "../../kernel/key-table.ts";
import { groupBy } from "../../kernel/group.ts";
import { Prisma, type BlacklistRecord } from "../../generated/sqlite/client.ts";
import { blacklistReference } from "../../kernel/parsing.ts";
import { ownList } from "../../kernel/vocabulary.ts";
import type { MatchesService } from "../intelligence/matches/matches.service.ts";
import type { LinkReach } from "../links/reach.ts";
import { doableOf } from "./lists.policy.ts";
import type { Listing } from "./verdict.ts";

/** One or several lists that people can be on. */
export interface ListSource {
  /** What the list of an id is called; undefined where none of these has it. No I/O. */
  nameOf(listId: string): string | undefined;
  /** Read into memory what tells at once who is not listed; once, at boot. */
  load(): Promise<void>;
  /** Learn of what was made since the last time without this process. */
  catchUp(): Promise<void>;
  /** Whether somebody may be listed: memory alone. One too many is possible, one too few is not. */
  mayList(userId: string): boolean;
  /** These people may be listed from now on. */
  learn(userIds: readonly string[]): void;
  /** Accounts besides these that what lists say of these people may concern. */
  reachedFrom(db: Reader, userIds: readonly string[]): Promise<string[]>;
  /** What counts now about these people; those who are not listed are left out. */
  listingsOf(db: Reader, userIds: readonly string[], now: Date): Promise<Map<string, Listing[]>>;
}

export type Reader = Pick<ReadClient | TransactionClient, "$select" | "blacklistRecord" | "followedEntry" | "match">;

/** Ids of one statement, of which SQLite is given at most 999 values. */
const idsAtOnce = 450;
const pageSize = 5000;
/** How far clocks of several processes may lie apart, and how long a transaction may take, in seconds. */
const overlap = 120;
/** Matches that a person has decided, or has to decide: neither in their grace period nor resolved away. */
const counting = ["open", "acknowledged", "confirmed"];
const takenIn = { confirmed: ["confirmed", "probable"], probable: ["probable"] } as const;

/** The list of this community, of which it can be asked what records would do that are not made yet. */
export interface OwnList extends ListSource {
  /** Whom records about people would list: those they are about, and their linked accounts as far as the records take them in. */
  listedBy(db: Reader, rows: readonly BlacklistRecord[]): Promise<Map<string, Listing[]>>;
}

export interface OwnListDeps extends Deps<"clock"> {
  database: Database;
  matches: Pick<MatchesService, "mayList">;
  reach: Pick<LinkReach, "reachOfAll">;
}

/** The blacklist of this community: who is listed, whose account is linked with theirs, and who is a member of a listed server. */
export function createOwnList({ database, matches, reach, clock }: OwnListDeps): OwnList {
  /** Everyone with linked accounts or matches; records have an index of their own. */
  const around = createKeyTable();
  const learn = (userIds: readonly string[]): void => {
    for (const userId of userIds) around.put(keyOfId(userId), 1);
  };

  /** When what was made last was read: ids are in the order of the times at which rows were made. */
  let readUntil: Date | undefined;

  /** @param first of the ids behind which links and matches are read */
  async function learnAfter(first: string): Promise<void> {
    for (let after = first; ;) {
      const rows = await database.read.$select("AccountLink", Prisma.sql`WHERE t.id > ${after} ORDER BY t.id LIMIT ${pageSize}`, [
        "id",
        "userA",
        "userB",
        "status",
      ]);
      learn(rows.flatMap(({ userA, userB, status }) => (status === "ended" ? [] : [userA, userB])));
      if (rows.length < pageSize) break;
      after = rows.at(-1)?.id ?? after;
    }
    for (let after = first; ;) {
      const rows = await database.read.$select("Match", Prisma.sql`WHERE t.id > ${after} ORDER BY t.id LIMIT ${pageSize}`, [
        "id",
        "userId",
        "kind",
      ]);
      learn(rows.flatMap(({ userId, kind }) => (kind === "server_blacklist" ? [userId] : [])));
      if (rows.length < pageSize) break;
      after = rows.at(-1)?.id ?? after;
    }
  }

  return {
    nameOf: (listId) => (listId === ownList ? ownList : undefined),
    learn,
    mayList: (userId) => matches.mayList(userId) || around.has(keyOfId(userId), 1),

    async load() {
      const began = clock.now();
      await learnAfter("");
      readUntil = began;
    },

    async catchUp() {
      if (readUntil === undefined) return;
      const began = clock.now();
      await learnAfter(uuid7(addSeconds(readUntil, -overlap).getTime()));
      readUntil = began;
    },

    async reachedFrom(db, userIds) {
      const linked = await reach.reachOfAll(db, userIds);
      const asked = new Set(userIds);
      return [...new Set([...linked.values()].flat().map(({ userId }) => userId))].filter((userId) => !asked.has(userId));
    },

    async listedBy(db, rows) {
      const linked = await reach.reachOfAll(db, [...new Set(rows.map(({ subjectId }) => subjectId))]);
      const listed = new Map<string, Listing[]>();
      for (const row of rows) {
        const others = (linked.get(row.subjectId) ?? []).filter(({ confidence }) => takesIn(row, confidence));
        for (const userId of [row.subjectId, ...others.map((other) => other.userId)])
          listed.set(userId, [...(listed.get(userId) ?? []), listingOf(row)]);
      }
      return listed;
    },

    async listingsOf(db, userIds, now) {
      const found = new Map<string, Map<string, BlacklistRecord>>();
      const note = (userId: string, row: BlacklistRecord): void => {
        const rows = found.get(userId) ?? new Map<string, BlacklistRecord>();
        found.set(userId, rows.set(row.id, row));
      };
      for (let from = 0; from < userIds.length; from += idsAtOnce) {
        const some = userIds.slice(from, from + idsAtOnce);
        const linked = await reach.reachOfAll(db, some);
        const others = [...linked.values()].flat().map(({ userId }) => userId);
        const bySubject = groupBy(await recordsAbout(db, [...new Set([...some, ...others])], now), ({ subjectId }) => subjectId);
        for (const userId of some) {
          for (const row of bySubject.get(userId) ?? []) note(userId, row);
          for (const { userId: other, confidence } of linked.get(userId) ?? [])
            for (const row of bySubject.get(other) ?? []) if (takesIn(row, confidence)) note(userId, row);
        }
        const matched = await db.match.findMany({
          where: { userId: { in: some }, kind: "server_blacklist", status: { in: counting } },
          select: { userId: true, recordId: true },
        });
        const servers = new Map(
          (
            await recordsWith(
              db,
              matched.map(({ recordId }) => recordId),
              now,
            )
          ).map((row) => [row.id, row]),
        );
        for (const { userId, recordId } of matched) {
          const row = servers.get(recordId);
          if (row !== undefined) note(userId, row);
        }
      }
      return new Map([...found].map(([userId, rows]) => [userId, [...rows.values()].map(listingOf)]));
    },
  };
}

async function recordsAbout(db: Reader, ids: readonly string[], now: Date): Promise<BlacklistRecord[]> {
  const rows: BlacklistRecord[] = [];
  for (let from = 0; from < ids.length; from += 2 * idsAtOnce) {
    const where = { kind: "user", subjectId: { in: ids.slice(from, from + 2 * idsAtOnce) }, activeKey: { not: null } };
    rows.push(...(await db.blacklistRecord.findMany({ where })));
  }
  return rows.filter((row) => counts(row, now));
}

async function recordsWith(db: Reader, ids: readonly string[], now: Date): Promise<BlacklistRecord[]> {
  if (ids.length === 0) return [];
  return (await db.blacklistRecord.findMany({ where: { id: { in: [...new Set(ids)] } } })).filter((row) => counts(row, now));
}

/** A record that an appeal suspends keeps its place and counts for nothing. */
function counts({ activeKey, status, startsAt, expiresAt }: BlacklistRecord, now: Date): boolean {
  return activeKey !== null && status !== "suspended" && startsAt <= now && (expiresAt === null || expiresAt > now);
}

function takesIn({ includeAlts }: Pick<BlacklistRecord, "includeAlts">, confidence: keyof typeof takenIn): boolean {
  return takenIn[confidence].some((alts) => alts === includeAlts);
}

/** What a record of ours says to guilds. @param row one that is there, or that would be made */
function listingOf(
  row: Pick<
    BlacklistRecord,
    "id" | "number" | "kind" | "category" | "severity" | "recommendedAction" | "memberPolicy" | "scope" | "serverIds"
  >,
): Listing {
  const recommended = row.kind === "server" ? row.memberPolicy : row.recommendedAction;
  return {
    listId: ownList,
    recordId: row.id,
    reference: blacklistReference(row.number),
    category: row.category,
    severity: row.severity,
    action: doableOf(recommended),
    guildIds: row.scope === "servers" ? (row.serverIds as string[]) : null,
  };
}
