import type { Logger } from "pino";
import { z } from "zod";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { FollowedEntry, FollowedList, Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { sealedIn } from "../../kernel/secrets.ts";
import type { BlacklistTransfer } from "../blacklist/import/import.service.ts";
import type { SourceLine } from "../blacklist/import-lines.ts";
import { emptied, saySame, type FollowedEntries } from "./entries.ts";
import { FeedPage, FeedRefused, followPage, ReadingFailed, TakenEntry, type FeedEntry, type Standing } from "./feed.ts";
import { entriesIn, linesIn } from "./file.ts";
import { entryKinds, maxFileBytes } from "./follows.schema.ts";
import { subjectOf } from "./subjects.ts";
import { OutgoingFailed, type Outgoing } from "../../outgoing.ts";

export interface ReadingDeps extends Deps<"database" | "audit" | "clock" | "keyring"> {
  entries: FollowedEntries;
  readers: BlacklistTransfer["readers"];
  outgoing: Outgoing;
  logger: Pick<Logger, "warn">;
}

const pageSize = 100;
/** Pages of one reading; the next one goes on. */
const maxPages = 50;
const maxPageBytes = 4 * 1024 * 1024;
const day = 86_400;
const Taken = z.object({ page: z.array(TakenEntry), vanished: z.array(z.string()) });
/** Somebody else has read or changed the list meanwhile: what was read here is dropped. */
export class Outrun extends Error {
  override name = "Outrun";
}

/** A file that somebody sends: it depends on no reading before. */
interface Sent {
  /** Whether the file can still be taken as it was read. */
  isCurrent: (row: FollowedList) => boolean;
  /** What is done in the same transaction. @returns what it changes of the list */
  alongside: (tx: Tx, changed: readonly FollowedEntry[]) => Promise<Prisma.FollowedListUpdateInput>;
}

/** What is stored where a list begins anew. */
export const unread = { cursor: null, taken: { page: [], vanished: [] }, lastSeq: 0, unexplained: 0, explainable: 0 } as const;

/** Reads lists: what is new goes in together with how far the list was read, or not at all. */
export function createReading(deps: ReadingDeps) {
  const { database, audit, clock, keyring, entries, readers, outgoing, logger } = deps;

  /** Write what a reading found, unless the list is not as it was read. */
  async function store(
    call: Call,
    list: FollowedList,
    work: (tx: Tx) => Promise<Prisma.FollowedListUpdateInput>,
    isCurrent = ({ readings }: FollowedList): boolean => readings === list.readings,
  ): Promise<FollowedList> {
    const stored = await database.write(call, async (tx) => {
      await tx.lock(`followed_list:${list.id}`);
      const row = await tx.db.followedList.findUnique({ where: { id: list.id } });
      if (row === null || !isCurrent(row)) return undefined;
      const found = await work(tx);
      const data = { problem: null, failures: 0, lastReadAt: tx.now, nextReadAt: nextAt(list, tx.now, 0), ...found };
      return await tx.db.followedList.update({ where: { id: list.id }, data: { ...data, readings: { increment: 1 } } });
    });
    if (stored === undefined) throw new Outrun();
    return stored;
  }

  async function fetchPage(list: FollowedList, cursor: string | null): Promise<FeedPage> {
    const query = new URLSearchParams({ limit: pageSize.toString(), ...(cursor !== null && { cursor }) });
    const address = `${(list.address ?? "").replace(/\/+$/, "")}/blacklist/changes?${query.toString()}`;
    const key = list.key === null ? undefined : opened(list.id, list.key);
    const { status, text } = await outgoing.get(address, { key, maxBytes: maxPageBytes });
    if (status === 400 && cursor !== null && text.includes('"invalid_cursor"'))
      throw new FeedRefused("The list does not know how far it was read: it may have been set up anew.");
    if (status === 401 || status === 403) throw new ReadingFailed("The list refuses the key.");
    if (status !== 200) throw new ReadingFailed(`The list answers with status ${status.toString()}.`);
    const page = FeedPage.safeParse(jsonOf(text));
    if (!page.success) throw new ReadingFailed("The answer is not the feed of a Provost.");
    return page.data;
  }

  function opened(listId: string, sealed: string): string {
    try {
      return keyring.decrypt(sealed, sealedIn.listKey(listId));
    } catch {
      throw new ReadingFailed("The key of the list cannot be opened any more; set it again.");
    }
  }

  /** One page, with what it changes. */
  async function takePage(call: Call, list: FollowedList, cursor: string | null, page: FeedPage): Promise<FollowedList> {
    return await store(call, list, async (tx) => {
      const known = await entries.known(tx, list.id, [...new Set(page.data.map(({ record_id: id }) => id))]);
      const revisions = new Map([...known].map(([id, { revision }]) => [id, revision]));
      const { standing, fresh } = followPage(standingOf(list), { cursor, page, known: revisions });
      const last = new Map(fresh.map((entry) => [entry.record_id, entry]));
      const gone = [...last.values()].flatMap(({ change, record_id: id }) => (change === "purged" ? [id] : []));
      const rows = [...last.values()].flatMap((entry) => (entry.change === "purged" ? [] : [rowOf(list, entry, tx.now)]));
      const before = [...known.values()].filter(({ originId }) => last.has(originId));
      if (last.size > 0) await entries.put(tx, list.id, { before, rows, gone });
      const { page: taken, vanished, ...rest } = standing;
      return { ...rest, taken: { page: taken.map((entry) => [...entry]), vanished: [...vanished] } };
    });
  }

  async function readFeed(call: Call, first: FollowedList): Promise<FollowedList> {
    let list = first;
    let cursor = list.cursor;
    for (let pages = 0; pages < maxPages; pages += 1) {
      const page = await fetchPage(list, cursor);
      list = await takePage(call, list, cursor, page);
      if (page.page.next_cursor === null) break;
      cursor = page.meta.resume_cursor;
    }
    return list;
  }

  async function readFile(call: Call, list: FollowedList): Promise<FollowedList> {
    const { status, text } = await outgoing.get(list.address ?? "", { maxBytes: maxFileBytes });
    if (status !== 200) throw new ReadingFailed(`The list answers with status ${status.toString()}.`);
    return await takeFile(call, list, linesIn(readers, text));
  }

  /** Compare a file whole: what has left it is taken back. */
  async function takeFile(
    call: Call,
    list: FollowedList,
    lines: AsyncIterable<SourceLine> | Iterable<SourceLine>,
    sent?: Sent,
  ): Promise<FollowedList> {
    const found = await entriesIn(lines, { listId: list.id, categories: list.categories as string[], now: clock.now() }).catch(
      (error: unknown) => {
        throw error instanceof ProblemError ? new ReadingFailed("The columns of the file are not those of an export.") : error;
      },
    );
    const compare = async (tx: Tx): Promise<Prisma.FollowedListUpdateInput> => {
      const held = await tx.db.followedEntry.findMany({ where: { listId: list.id } });
      const isSame = (row: FollowedEntry): boolean => {
        const other = found.get(row.originId);
        return other !== undefined && saySame(row, other);
      };
      const same = new Set(held.filter(isSame).map(({ originId }) => originId));
      const before = held.filter(({ originId }) => !same.has(originId));
      const revisions = new Map(before.map(({ originId, revision }) => [originId, revision]));
      const rows = [...found.values()]
        .filter(({ originId }) => !same.has(originId))
        .map((row) => ({ ...row, revision: (revisions.get(row.originId) ?? 0) + 1 }));
      const gone = before.flatMap(({ originId }) => (found.has(originId) ? [] : [originId]));
      await entries.put(tx, list.id, { before, rows, gone });
      return (await sent?.alongside(tx, before)) ?? {};
    };
    return await store(call, list, compare, sent?.isCurrent);
  }

  /** Note that a reading came to nothing. @returns the list as it is then */
  async function note(call: Call, id: string, error: FeedRefused | OutgoingFailed): Promise<FollowedList | undefined> {
    const isStopped = error instanceof FeedRefused;
    logger.warn({ list_id: id, stopped: isStopped }, "a followed list could not be read");
    return await database.write(call, async (tx) => {
      await tx.lock(`followed_list:${id}`);
      const row = await tx.db.followedList.findUnique({ where: { id } });
      if (row === null || row.state !== "following") return row ?? undefined;
      const failures = row.failures + 1;
      const change = isStopped ? { state: "stopped", nextReadAt: null } : { nextReadAt: nextAt(row, tx.now, failures) };
      if (isStopped)
        audit.record(tx, {
          action: "followed_list.stop",
          target: { kind: "followed_list", id, reference: id },
          after: { problem: error.message },
          permission: "system.act",
        });
      return await tx.db.followedList.update({ where: { id }, data: { ...change, failures, problem: error.message } });
    });
  }

  return {
    takeFile,

    /** Read a list now. What goes wrong is noted with the list and not thrown. @returns undefined when it is gone */
    async read(call: Call, id: string): Promise<FollowedList | undefined> {
      const list = await database.read.followedList.findUnique({ where: { id } });
      if (list === null || list.state !== "following" || list.address === null) return list ?? undefined;
      try {
        return await (list.kind === "file" ? readFile(call, list) : readFeed(call, list));
      } catch (error) {
        if (error instanceof Outrun) return (await database.read.followedList.findUnique({ where: { id } })) ?? undefined;
        if (error instanceof FeedRefused || error instanceof OutgoingFailed) return await note(call, id, error);
        throw error;
      }
    },
  };
}

/** A list that fails is asked less and less often, once a day at least. */
function nextAt({ intervalMinutes, address }: FollowedList, now: Date, failures: number): Date | null {
  return address === null ? null : addSeconds(now, Math.min(day, intervalMinutes * 60 * 2 ** Math.min(failures, 12)));
}

function standingOf({ cursor, taken, lastSeq, unexplained, explainable }: FollowedList): Standing {
  return { cursor, ...Taken.parse(taken), lastSeq, unexplained, explainable };
}

/** What is kept of an entry: nothing of a record that has ended or that is not taken. */
function rowOf(list: FollowedList, { record_id: originId, number, revision, retract, record }: FeedEntry, now: Date): FollowedEntry {
  const row = emptied({ listId: list.id, originId, number, revision, updatedAt: now });
  const categories = list.categories as string[];
  const kind = entryKinds.find((one) => one === record?.kind);
  const subject = kind === undefined || record === null ? undefined : subjectOf(kind, record.subject_id);
  // A record that does not count for a while, as an appeal against it is open, says nothing until it does.
  const isCounting = record?.status === "active" || record?.status === "scheduled";
  if (retract || record === null || !isCounting || kind === undefined || subject === undefined) return row;
  if (categories.length > 0 && !categories.includes(record.category)) return row;
  return {
    ...row,
    kind,
    subject,
    category: record.category,
    severity: record.severity,
    recommendedAction: record.recommended_action,
    startsAt: new Date(record.starts_at),
    expiresAt: record.expires_at === null ? null : new Date(record.expires_at),
  };
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
