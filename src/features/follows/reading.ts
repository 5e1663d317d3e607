import { say } from "../../kit/say.ts";
import type { Logger } from "pino";
import { z } from "zod";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { FollowedEntry, FollowedList, Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { parseJsonInParts } from "../../kernel/json-parts.ts";
import { parsingSlices } from "../../kernel/time-slices.ts";
import { shownValue } from "../../kernel/foreign.ts";
import { sealedIn } from "../../kernel/secrets.ts";
import type { BlacklistTransfer } from "../blacklist/import/import.service.ts";
import { compareFile, type EntryChange } from "./compare.ts";
import { emptied, type FollowedEntries } from "./entries.ts";
import {
  FeedRefused,
  followPage,
  ReadingFailed,
  readPage,
  TakenEntry,
  type FeedEntry,
  type FeedPage,
  type Standing,
  type Unread,
} from "./feed.ts";
import { entriesIn, linesIn, type Lines } from "./file.ts";
import { entryKinds, maxEntries, maxFileBytes, maxUnreadLines, type UnreadLineView } from "./follows.schema.ts";
import { unreadLinesOf } from "./follows.policy.ts";
import { readSubject } from "./subjects.ts";
import { OutgoingFailed, type Outgoing } from "../../outgoing.ts";

export interface ReadingDeps extends Deps<"database" | "audit" | "clock" | "keyring"> {
  entries: FollowedEntries;
  readers: BlacklistTransfer["readers"];
  outgoing: Outgoing;
  logger: Pick<Logger, "warn" | "error">;
}

const pageSize = 100;
const maxPageBytes = 4 * 1024 * 1024;
/** Changes of one transaction: SQLite has one writer, and nobody waits for it for long. */
const changesAtOnce = 100;
/** What one reading of a feed takes at most; the next one goes on. */
const turn = { pages: 50, bytes: 16 * 1024 * 1024, ms: 60_000 };
const day = 86_400;
const Taken = z.object({ page: z.array(TakenEntry), vanished: z.array(z.string()) });
/** Somebody else has read or changed the list meanwhile: what was read here is dropped. */
export class Outrun extends Error {
  override name = "Outrun";
}

/** What is stored where a list begins anew. */
export const fromBeginning = () => ({
  cursor: null,
  taken: { page: [], vanished: [] },
  lastSeq: 0,
  unexplained: 0,
  explainable: 0,
  unread: 0,
  unreadLines: [],
});

/** Reads lists: what is new goes in together with how far the list was read, or not at all. */
export function createReading(deps: ReadingDeps) {
  const { database, audit, clock, keyring, entries, readers, outgoing, logger } = deps;

  /** Write what a reading found, unless the list is not as it was read. */
  async function store(
    call: Call,
    list: FollowedList,
    work: (tx: Tx, row: FollowedList) => Promise<Prisma.FollowedListUpdateInput>,
  ): Promise<FollowedList> {
    const stored = await database.write(call, async (tx) => {
      await tx.lock(`followed_list:${list.id}`);
      const row = await tx.db.followedList.findUnique({ where: { id: list.id } });
      if (row?.readings !== list.readings) return undefined;
      const data = await work(tx, row);
      return await tx.db.followedList.update({ where: { id: list.id }, data: { ...data, readings: { increment: 1 } } });
    });
    if (stored === undefined) throw new Outrun();
    return stored;
  }

  const asRead = (list: FollowedList, now: Date) => ({ problem: null, failures: 0, lastReadAt: now, nextReadAt: nextAt(list, now, 0) });

  async function fetchPage(list: FollowedList, cursor: string | null): Promise<{ page: FeedPage; bytes: number }> {
    const query = new URLSearchParams({ limit: pageSize.toString(), ...(cursor !== null && { cursor }) });
    const address = `${(list.address ?? "").replace(/\/+$/, "")}/blacklist/changes?${query.toString()}`;
    const key = list.key === null ? undefined : opened(list.id, list.key);
    const { status, text } = await outgoing.get(address, { key, maxBytes: maxPageBytes });
    if (status === 400 && cursor !== null && text.includes('"invalid_cursor"'))
      throw new FeedRefused(say("follows.the-list-does-not-know-how-far"));
    if (status === 401 || status === 403) throw new ReadingFailed(say("follows.the-list-refuses-the-key"));
    if (status !== 200) throw new ReadingFailed(say("follows.the-list-answers-with-status", { status }));
    return { page: readPage(await parseJsonInParts(text, parsingSlices()).catch(() => undefined)), bytes: text.length };
  }

  function opened(listId: string, sealed: string): string {
    try {
      return keyring.decrypt(sealed, sealedIn.listKey(listId));
    } catch {
      throw new ReadingFailed(say("follows.the-key-of-the-list-cannot-be"));
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
      const told = [...last.values()].flatMap((entry) => (entry.change === "purged" ? [] : [rowOf(list, entry, tx.now)]));
      const before = [...known.values()].filter(({ originId }) => last.has(originId));
      if (last.size > 0) await entries.put(tx, list.id, { before, rows: told.map(({ row }) => row), gone });
      // A record has an entry of its own in the feed, so there are no more records than numbers.
      if (standing.lastSeq > maxEntries && (await tx.db.followedEntry.count({ where: { listId: list.id } })) > maxEntries)
        throw new FeedRefused(say("follows.a-list-holds-at-most-entries", { count: maxEntries }));
      const unread = told.flatMap(({ unread: one, seq: line }): UnreadLineView[] => (one === undefined ? [] : [{ line, ...one }]));
      const { page: taken, vanished, ...rest } = standing;
      return {
        ...asRead(list, tx.now),
        ...rest,
        taken: { page: taken.map((entry) => [...entry]), vanished: [...vanished] },
        ...(unread.length > 0 && {
          unread: { increment: unread.length },
          unreadLines: [...unreadLinesOf(list), ...unread].slice(-maxUnreadLines).map((one) => ({ ...one })),
        }),
      };
    });
  }

  async function readFeed(call: Call, first: FollowedList): Promise<FollowedList> {
    let list = first;
    let cursor = list.cursor;
    let allBytes = 0;
    const began = performance.now();
    for (let pages = 0; pages < turn.pages && allBytes < turn.bytes && performance.now() - began < turn.ms; pages += 1) {
      const { page, bytes } = await fetchPage(list, cursor);
      allBytes += bytes;
      list = await takePage(call, list, cursor, page);
      if (page.page.next_cursor === null) break;
      cursor = page.meta.resume_cursor;
    }
    return list;
  }

  async function readFile(call: Call, list: FollowedList): Promise<FollowedList> {
    const { status, text } = await outgoing.get(list.address ?? "", { maxBytes: maxFileBytes });
    if (status !== 200) throw new ReadingFailed(say("follows.the-list-answers-with-status", { status }));
    return await takeFile(call, list, linesIn(readers, text));
  }

  /**
   * Compare a file whole: what has left it is taken back. What changes goes in in parts, so that nobody else waits for all of a large file.
   * @param call without an idempotency key, as there may be several transactions
   * @param also in the first transaction, before anything is written
   * @throws Outrun when somebody else reads or changes the list meanwhile
   */
  async function takeFile(
    call: Call,
    list: FollowedList,
    lines: Lines,
    also?: (tx: Tx, row: FollowedList, changes: readonly EntryChange[]) => Promise<void>,
  ): Promise<FollowedList> {
    const found = await entriesIn(lines, { listId: list.id, categories: list.categories as string[], now: clock.now() }).catch(
      (error: unknown) => {
        throw error instanceof ProblemError ? new ReadingFailed(say("follows.the-columns-of-the-file-are-not")) : error;
      },
    );
    const changes = await compareFile(entries.pagesOf(list.id), found);
    let stored = list;
    // Of a file that changes nothing it is noted that it was read.
    for (let from = 0; from === 0 || from < changes.length; from += changesAtOnce) {
      const part = changes.slice(from, from + changesAtOnce);
      const isLast = from + changesAtOnce >= changes.length;
      stored = await store(call, stored, async (tx, row) => {
        if (from === 0) await also?.(tx, row, changes);
        if (part.length > 0) {
          const before = part.flatMap((one) => one.before ?? []);
          const rows = part.flatMap(({ after }) => after ?? []);
          await entries.put(tx, list.id, { before, rows, gone: part.flatMap(({ id, after }) => (after === undefined ? [id] : [])) });
        }
        const isChanged = also !== undefined && changes.length > 0;
        const { unread, unreadLines } = found;
        return {
          ...(isChanged && { revision: { increment: 1 }, updatedAt: tx.now }),
          ...(isLast && { ...asRead(list, tx.now), unread, unreadLines: unreadLines.map((one) => ({ ...one })) }),
        };
      });
    }
    return stored;
  }

  /** Note that a reading came to nothing. @returns the list as it is then */
  async function note(call: Call, id: string, error: unknown): Promise<FollowedList | undefined> {
    const isStopped = error instanceof FeedRefused;
    const isTold = isStopped || error instanceof OutgoingFailed;
    const problem = isTold ? error.message : say("follows.something-went-wrong-here-while-the-list");
    if (isTold) logger.warn({ list_id: id, stopped: isStopped }, "a followed list could not be read");
    else logger.error({ list_id: id, err: error }, "a followed list could not be read");
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
          after: { problem },
          permission: "system.act",
        });
      return await tx.db.followedList.update({ where: { id }, data: { ...change, failures, problem } });
    });
  }

  return {
    takeFile,

    /**
     * Read a list now. What goes wrong is noted with the list and not thrown, whatever it is, unless the storage takes nothing.
     * @param call without an idempotency key, as there may be several transactions
     * @returns undefined when it is gone
     * @throws ProblemError storage_busy, storage_full, storage_readonly, shutting_down
     */
    async read(call: Call, id: string): Promise<FollowedList | undefined> {
      const list = await database.read.followedList.findUnique({ where: { id } });
      if (list === null || list.state !== "following" || list.address === null) return list ?? undefined;
      try {
        return await (list.kind === "file" ? readFile(call, list) : readFeed(call, list));
      } catch (error) {
        if (error instanceof Outrun) return (await database.read.followedList.findUnique({ where: { id } })) ?? undefined;
        if (error instanceof ProblemError) throw error;
        return await note(call, id, error);
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

/** What is kept of an entry: nothing of a record that has ended, that is not taken, or that cannot be read. */
function rowOf(list: FollowedList, entry: FeedEntry, now: Date): { row: FollowedEntry; seq: number; unread?: Unread } {
  const { record_id: originId, number, revision, retract, record, seq } = entry;
  const row = emptied({ listId: list.id, originId, number, revision, updatedAt: now });
  if (entry.unread !== undefined) return { row, seq, unread: entry.unread };
  const categories = list.categories as string[];
  // A record that does not count for a while, as an appeal against it is open, says nothing until it does.
  const isCounting = record?.status === "active" || record?.status === "scheduled";
  if (retract || record === null || !isCounting) return { row, seq };
  if (categories.length > 0 && !categories.includes(record.category)) return { row, seq };
  const kind = entryKinds.find((one) => one === record.kind);
  if (kind === undefined)
    return {
      row,
      seq,
      unread: { field: "/record/kind", value: shownValue(record.kind), reason: say("follows.this-kind-of-entry-is-not-known") },
    };
  const found = readSubject(kind, record.subject_id);
  if ("fault" in found)
    return { row, seq, unread: { field: "/record/subject_id", value: shownValue(record.subject_id), reason: found.fault } };
  const { category, severity, recommended_action: recommendedAction, starts_at: startsAt, expires_at: expiresAt } = record;
  return { row: { ...row, kind, subject: found.subject, category, severity, recommendedAction, startsAt, expiresAt }, seq };
}
