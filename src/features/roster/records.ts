import type { Deps } from "../deps.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import type { ReadClient, TransactionClient, Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import type { Prisma, RosterEntry } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { columnsOf, factsOf, type RosterFacts, type ShownFacts } from "./facts.ts";
import { changesOf, replayHistory, type FoldedLine } from "./fold.ts";
import { addLines, type Line, type LineNote } from "./lines.ts";
import type { RosterEventName } from "./states.ts";

export type RosterReader = Pick<ReadClient | TransactionClient, "rosterEntry">;
type LineReader = Pick<ReadClient | TransactionClient, "rosterEvent">;

export type RosterRecordsDeps = Deps<"audit" | "events">;

/** Why something is done to an entry. */
export interface RosterNote extends LineNote {
  /** The permission that allowed it. */
  permission: PermissionKey;
}

/** One line of the history: what happened, and how somebody stands after it. */
export interface RosterStep {
  event: RosterEventName;
  after: RosterFacts;
  /** In place of that, what the guild showed before and shows now. */
  shown?: { before: Partial<ShownFacts>; after: Partial<ShownFacts> };
}

/** What is kept of an entry besides its facts: no line of history tells of it by itself. */
export type RosterExtras = Partial<
  Pick<Prisma.RosterEntryUncheckedUpdateInput, "notes" | "heldRoles" | "inGuild" | "nickname" | "syncedAt">
>;

/** How a change is written that differs from "so it stands from now on". */
export interface RosterWriting {
  extras?: RosterExtras;
  /** How somebody stood when a back-dated change took effect; as the entry stands by default. */
  before?: RosterFacts;
}

export interface RosterRecords {
  /** Everything done to one person waits here. */
  lock(tx: Tx, userId: string): Promise<void>;
  find(db: RosterReader, userId: string): Promise<RosterEntry | null>;
  /**
   * How somebody stood at a time, for a change that takes effect then; as the entry stands unless a time is told.
   * @returns null before they were on the roster
   */
  standAt(db: LineReader, entry: RosterEntry, at: Date | undefined): Promise<RosterFacts | null>;
  /** Not before what the status of an entry is about came about: what time ends cannot end before it began. */
  sinceStatus(db: LineReader, given: RosterEntry, at: Date): Promise<Date>;
  /**
   * Change an entry read under the lock, or make one. A change that takes effect at an earlier time leaves what later lines changed. Several lines of history are one change: told once, by its first line.
   * @param entry null where there is none yet
   */
  write(
    tx: Tx,
    about: {
      userId: string;
      entry: RosterEntry | null;
    },
    steps: readonly [RosterStep, ...RosterStep[]],
    note: RosterNote,
    given?: RosterWriting,
  ): Promise<RosterEntry>;
}

/** Writes of entries inside a given transaction: each keeps the history, the audit and the events in step. */
export function createRosterRecords({ audit, events }: RosterRecordsDeps): RosterRecords {
  return {
    lock: (tx: Tx, userId: string): Promise<void> => tx.lock(`roster:${userId}`),

    find: (db: RosterReader, userId: string): Promise<RosterEntry | null> => db.rosterEntry.findUnique({ where: { userId } }),

    standAt: (db: LineReader, entry: RosterEntry, at: Date | undefined): Promise<RosterFacts | null> => standAt(db, entry, at),

    async sinceStatus(db: LineReader, { id }: RosterEntry, at: Date): Promise<Date> {
      const changed = (await linesAbout(db, id)).filter((line) => statusNames.some((name) => name in changesOf(line).after));
      return changed.reduce((latest, { effectiveAt }) => (effectiveAt > latest ? effectiveAt : latest), at);
    },

    async write(
      tx: Tx,
      { userId, entry }: { userId: string; entry: RosterEntry | null },
      steps: readonly [RosterStep, ...RosterStep[]],
      note: RosterNote,
      { extras = {}, before }: RosterWriting = {},
    ): Promise<RosterEntry> {
      const [{ event }] = steps;
      const stood = entry === null ? null : factsOf(entry);
      const changes = changesIn(before ?? stood, steps);
      const after = (entry === null ? null : await standsWith(tx, entry, changes, note)) ?? (steps.at(-1) ?? steps[0]).after;
      const row = await save(tx, userId, entry, after, extras);
      await addLines(tx, linesOf(row, changes), note);
      const { causeReference, permission, reason } = note;
      audit.record(tx, {
        action: `roster.${event}`,
        target: { kind: "roster_entry", id: row.id, ...(causeReference !== null && { reference: causeReference }) },
        subjectUserId: userId,
        ...(reason !== undefined && { reason }),
        ...(stood !== null && { before: stood }),
        after,
        permission,
      });
      events.emit(tx, { type: "roster.changed", data: { user_id: userId, entry_id: row.id, status: row.status, event } });
      return row;
    },
  };
}

async function save(tx: Tx, userId: string, entry: RosterEntry | null, after: RosterFacts, extras: RosterExtras): Promise<RosterEntry> {
  const { db, now } = tx;
  const data = { ...columnsOf(after), ...extras, updatedAt: now };
  if (entry !== null) return db.rosterEntry.update({ where: { id: entry.id }, data: { ...data, revision: entry.revision + 1 } });
  const made = { ...unseen, ...data, id: uuid7(now.getTime()), userId, createdAt: now, revision: 1 } as RosterEntry;
  await insertRows(tx, "RosterEntry", [made]);
  return made;
}

/** What is kept of an entry besides its facts before anything is. */
const unseen = { notes: null, heldRoles: null, inGuild: false, nickname: null, syncedAt: null } satisfies Partial<RosterEntry>;

/** What a line tells, without whose it is. */
type Change = Pick<Line, "event" | "before" | "after">;

function changesIn(before: RosterFacts | null, steps: readonly RosterStep[]): Change[] {
  return steps.map(({ event, after, shown }, index) => {
    const stood = steps[index - 1]?.after ?? before;
    return { event, before: shown?.before ?? stood ?? {}, after: shown?.after ?? after };
  });
}

function linesOf({ id: entryId, userId }: RosterEntry, changes: readonly Change[]): Line[] {
  return changes.map((change) => ({ entryId, userId, ...change }));
}

const statusNames = ["status", "status_before", "suspended_until"] as const;

function linesAbout(db: LineReader, entryId: string): Promise<FoldedLine[]> {
  const select = { id: true, before: true, after: true, effectiveAt: true, recordedAt: true };
  return db.rosterEvent.findMany({ where: { entryId }, select });
}

async function standAt(db: LineReader, entry: RosterEntry, at: Date | undefined): Promise<RosterFacts | null> {
  if (at === undefined) return factsOf(entry);
  const lines = await linesAbout(db, entry.id);
  return lines.length === 0 ? factsOf(entry) : replayHistory(lines, { at });
}

/** How an entry stands with changes of an earlier time; null where they are of now, or its history begins with them. */
async function standsWith(tx: Tx, entry: RosterEntry, changes: readonly Change[], note: LineNote): Promise<RosterFacts | null> {
  const { effectiveAt } = note;
  if (effectiveAt === undefined) return null;
  const written = await linesAbout(tx.db, entry.id);
  // After every id there is: of lines that take effect at the same time, the last one written counts.
  const added = changes.map((change, index) => ({ ...change, id: `~${index.toString()}`, effectiveAt, recordedAt: tx.now }));
  return replayHistory([...written, ...added]);
}
