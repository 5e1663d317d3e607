import { say } from "../../kit/say.ts";
import { createRecorder, type AuditInput, type QueuedEntry } from "./record.ts";
import { Readable } from "node:stream";
import type { Database, Logger, Tx, ReadClient, TransactionClient } from "../../database/database.ts";
import { can, requirePermission, processCall, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock, addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { createHiddenIds, type HiddenIds } from "../../kernel/visibility.ts";
import { type Cursors, type Page, toPage, withTotal } from "../../kernel/page.ts";
import type { Checkpoints, LeftBehind } from "./checkpoints.ts";
import { createDenied, type DeniedAttempts } from "./denied.ts";
import { exportLines, findLeftBehind, RestoreInput } from "./restore.ts";
import {
  ExportAuditQuery,
  ListAuditQuery,
  ListOwnAuditQuery,
  VerifyAuditQuery,
  type AuditVerification,
  type AuditView,
  type CheckpointView,
  type AuditFilters,
} from "./audit.schema.ts";
import type { CheckpointLine } from "./sign.ts";
import { createVerification } from "./verification.ts";
import { ownCondition, conditionsOf, type Condition } from "./filters.ts";
import {
  lastOf,
  oldestFirst,
  countAll,
  newestBefore,
  searchBefore,
  walkLimits,
  withDetails,
  type Search,
  type WholeSearch,
} from "./walk.ts";
import type { DeniedAttempt } from "../../kernel/denied.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import { presentAuditEntry } from "./audit.policy.ts";
import { createSpans } from "./spans.ts";
import { addPosition, type Ranges } from "./verify.ts";

/** Whose details go: those of entries about one person or about one record, which is named as entries name their target, or of some sorts. */
type ErasedEntries = (
  | { subjectUserId: string; targetId?: never; actionPrefixes?: readonly string[] }
  | { targetId: string; subjectUserId?: never; actionPrefixes?: readonly string[] }
  | { actionPrefixes: readonly string[]; subjectUserId?: never; targetId?: never }
) & {
  /** Only entries that are not younger. */
  before?: Date;
};

/** Entries whose details go at once. */
const slice = 500;

/**
 * Delete reason, before and after of entries, and the salts that bind them; the entries stay, and the chain with them.
 * @returns how many entries lost their details, and their positions in the chain: first and last of each run
 */
async function eraseDetails(tx: Tx, { subjectUserId, targetId, actionPrefixes, before }: ErasedEntries) {
  const entries = await tx.db.auditEntry.findMany({
    where: {
      ...(subjectUserId !== undefined && { subjectUserId }),
      ...(targetId !== undefined && { targetId }),
      ...(actionPrefixes !== undefined && { OR: actionPrefixes.map((prefix) => ({ action: { startsWith: prefix } })) }),
      ...(before !== undefined && { at: { lte: before } }),
    },
    select: { seq: true },
    orderBy: { seq: "asc" },
  });
  return eraseDetailsAt(
    tx,
    entries.map(({ seq }) => seq),
  );
}

/** Delete the details at some positions of the chain, which rise. */
async function eraseDetailsAt(tx: Tx, seqs: readonly number[]) {
  tx.erases();
  const erased: number[] = [];
  for (let from = 0; from < seqs.length; from += slice) {
    const where = { seq: { in: seqs.slice(from, from + slice) } };
    const there = await tx.db.auditPayload.findMany({ where, select: { seq: true }, orderBy: { seq: "asc" } });
    await tx.db.auditPayload.deleteMany({ where });
    erased.push(...there.map(({ seq }) => seq));
  }
  const ranges: Ranges = [];
  for (const seq of erased) addPosition(ranges, seq);
  return { count: erased.length, ranges };
}

/** Transactions in one sweep. */
const maxSlices = 20;

interface RetainDeps {
  database: Database;
  clock: Clock;
  record: (tx: Tx, entry: AuditInput) => void;
  /** How long details are kept; 0: permanently. */
  days: number;
}

/** Erase the details of entries that are older than they are kept, oldest first. The entries stay. @returns of how many entries */
async function retainDetails({ database, clock, record, days }: RetainDeps, call: Call): Promise<number> {
  if (days === 0) return 0;
  const before = addSeconds(clock.now(), -days * 86_400);
  if ((await dueAmongOldest(database.read, before)).length === 0) return 0;
  let total = 0;
  for (let slices = 0; slices < maxSlices; slices += 1) {
    const done = await database.write(call, async (tx) => {
      const due = await dueAmongOldest(tx.db, before);
      if (due.length === 0) return 0;
      const { count, ranges } = await eraseDetailsAt(tx, due);
      const after = { details_erased: count, older_than: before.toISOString() };
      record(tx, { action: "audit.retain", after, erased: ranges, permission: "system.act" });
      return count;
    });
    total += done;
    if (done === 0) break;
  }
  return total;
}

/** More than the first is looked at: an entry of a time when the clock was ahead must not keep the others. */
async function dueAmongOldest(db: ReadClient | TransactionClient, before: Date): Promise<number[]> {
  const inOrder = { select: { seq: true }, orderBy: { seq: "asc" } } as const;
  const oldest = await db.auditPayload.findMany({ ...inOrder, take: slice });
  const where = { seq: { in: oldest.map(({ seq }) => seq) }, at: { lt: before } };
  return (await db.auditEntry.findMany({ where, ...inOrder })).map(({ seq }) => seq);
}

/** Entries that one page of a search by text looks at. */
const maxExamined = 20_000;

interface ReaderDeps {
  db: ReadClient;
  cursors: Cursors;
  /** Ids of targets that a caller may not know of. */
  hiddenIds: HiddenIds;
}

/** Reads pages of entries that the caller may know of, newest first. */
function createAuditReader({ db, cursors, hiddenIds }: ReaderDeps) {
  const spans = createSpans(db);

  /** @param own what has to be met besides the filters */
  async function searchOf(call: Call, filters: AuditFilters, own: readonly Condition[] = []): Promise<Search> {
    const { from, to } = filters;
    return {
      filters,
      conditions: [...own, ...(await conditionsOf(db, filters))],
      range: from === undefined && to === undefined ? {} : await spans({ from, to }, await lastOf(db)),
      hiddenAmong: async (ids) => new Set(ids.length === 0 ? [] : await hiddenIds(call, [...new Set(ids)])),
      seesConfidential: can(call, "cases.confidential"),
      seesReasons: can(call, "audit.read"),
    };
  }

  const whole = async (call: Call, search: Search): Promise<WholeSearch> => ({ ...search, hidden: new Set(await hiddenIds(call)) });

  return {
    searchOf,

    /** A search of everything that the filters find, and whether that is the whole chain. */
    async wholeSearchOf(call: Call, filters: AuditFilters): Promise<WholeSearch & { isWhole: boolean }> {
      const search = await whole(call, await searchOf(call, filters));
      return { ...search, isWhole: search.hidden.size === 0 && Object.values(filters).every((value) => value === undefined) };
    },

    /**
     * @param list what the cursor belongs to
     * @throws ProblemError invalid_cursor
     */
    async page(call: Call, list: string, search: Search, { limit, cursor, count }: ListQuery): Promise<Page<AuditView>> {
      const { filters } = search;
      const before = cursor === undefined ? undefined : Number(cursors.decode(list, filters, cursor)[0]);
      const cursorAt = (seq: number): string => cursors.encode(list, filters, [seq, ""]);
      if (filters.q !== undefined) {
        const { found, examined, reached } = await searchBefore(db, search, { before, limit, maxExamined });
        return {
          data: found.map(({ row, payload }) => presentAuditEntry(call, row, payload)),
          limit,
          next_cursor: reached === undefined ? null : cursorAt(reached),
          notes: { examined, ...(reached !== undefined && { examined_to: reached }) },
        };
      }
      const { rows, reached, isCut } = await newestBefore(db, search, { before, limit: limit + 1 });
      const page = toPage(
        await withDetails(db, rows),
        limit,
        ({ row, payload }) => presentAuditEntry(call, row, payload),
        ({ row }) => cursorAt(row.seq),
      );
      const ended =
        isCut && reached !== undefined
          ? { next_cursor: cursorAt(reached), notes: { examined: walkLimits.positions, examined_to: reached } }
          : {};
      return withTotal({ ...page, ...ended }, { count }, async () => countAll(db, await whole(call, search)));
    },
  };
}

type Target = NonNullable<QueuedEntry["target"]>;

/** Entries of refused attempts, one for each kind, and one for all that were too many to be told apart. */
async function deniedEntries(tx: Tx, attempts: readonly DeniedAttempts[], overflow: number): Promise<QueuedEntry[]> {
  const entries: QueuedEntry[] = [];
  for (const { attempt, count, firstAt, lastAt } of attempts) {
    const { caller, action, code, subjectUserId } = attempt;
    const target = await targetOf(tx, attempt);
    entries.push({
      action,
      outcome: "denied",
      caller,
      ...(target !== undefined && { target }),
      ...(subjectUserId !== undefined && { subjectUserId }),
      ...(caller.guildId !== undefined && { guildId: caller.guildId }),
      reason: code,
      after: { count, first_at: firstAt.toISOString(), last_at: lastAt.toISOString() },
    });
  }
  if (overflow > 0) entries.push({ action: "audit.denied_overflow", outcome: "denied", after: { count: overflow } });
  return entries;
}

const reference = /^[A-Z0-9-]{1,32}-\d{1,9}$/;

/**
 * What may be hidden is named only where the refusal is about the record itself, and then by its id, so that the entry is kept from
 * those the record is kept from. Whether an entry is shown must not tell anybody that there is such a record.
 */
async function targetOf(tx: Tx, { target, isAboutRecord }: DeniedAttempt): Promise<Target | undefined> {
  if (target?.kind === "evidence") return isAboutRecord ? recordOf(tx, target.id.toLowerCase()) : undefined;
  const find = target === undefined ? undefined : mayBeHidden[target.kind];
  if (target === undefined || find === undefined) return target;
  if (!isAboutRecord) return undefined;
  const named = target.id.toUpperCase();
  // Ids are stored in small letters: only as they are stored the entry is kept from those the record is kept from.
  if (!reference.test(named)) return { ...target, id: target.id.toLowerCase() };
  const record = await find(tx, named);
  return record === null ? undefined : { ...target, id: record.id, reference: named };
}

/** Evidence is hidden with the record it belongs to: that is named in its place. */
async function recordOf({ db }: Tx, id: string): Promise<Target | undefined> {
  const piece = await db.evidenceItem.findUnique({ where: { id }, select: { recordKind: true, recordId: true, isConfidential: true } });
  return piece === null || piece.isConfidential ? undefined : { kind: piece.recordKind, id: piece.recordId };
}

/** Finds records that may be hidden by their references, under the first word of their paths. */
const mayBeHidden: Readonly<Record<string, (tx: Tx, named: string) => Promise<{ id: string } | null>>> = {
  cases: ({ db }, named) => db.case.findUnique({ where: { number: Number(/\d+$/.exec(named)?.[0]) }, select: { id: true } }),
  workflows: ({ db }, named) => db.workflowRequest.findUnique({ where: { reference: named }, select: { id: true } }),
};

export interface AuditService {
  /** Queue an entry that is chained and inserted before the commit of this transaction; nothing survives a rollback. */
  record(tx: Tx, entry: AuditInput): void;
  /**
   * Delete the details of entries about a person or a record and record that as an entry of its own: `after` says how many, and
   * where in the chain. The entries themselves are never deleted.
   * @returns how many lost their details
   */
  erase(
    tx: Tx,
    where: ErasedEntries,
    entry: Omit<AuditInput, "after"> & {
      after?: object;
    },
  ): Promise<number>;
  /**
   * Leave entries about some targets out of what a caller reads: records they may not know of. Each feature with such records tells its own,
   * at start: what is added answers the ids of those targets.
   */
  registerHiddenIds(source: HiddenIds): void;
  /** Remember an attempt that was refused; it becomes an entry within seconds. */
  noteDenied(attempt: DeniedAttempt): void;
  /** Write the attempts that are due. */
  flushDenied(): Promise<void>;
  /** Entries the caller may know of, newest first. @throws ProblemError permission_denied, invalid_cursor, validation_failed */
  list(call: Call, query: ListAuditQuery): Promise<Page<AuditView>>;
  /** What the acting user did, or what a key did that acts for nobody. @throws ProblemError permission_denied, invalid_cursor, validation_failed */
  listOwn(call: Call, query: ListOwnAuditQuery): Promise<Page<AuditView>>;
  /** Walk the chain, or a part of it. @throws ProblemError permission_denied */
  verify(call: Call, query?: VerifyAuditQuery): Promise<AuditVerification>;
  /** The youngest signed position of the chain, and the key it is proved with. @throws ProblemError permission_denied, unsupported_operation */
  checkpoint(call: Call): Promise<CheckpointView>;
  /** Sign the head of the chain now, if it is new. @throws ProblemError permission_denied, unsupported_operation; Error of the file */
  signHead(call: Call): Promise<CheckpointView>;
  /** The signed positions that the chain no longer has. @throws ProblemError permission_denied, unsupported_operation when it has all */
  leftBehind(call: Call): Promise<LeftBehind>;
  /**
   * Say that a backup was put back: those positions count no longer, and the chain goes on being signed.
   * @throws ProblemError as `leftBehind`, validation_failed; Error of the file
   */
  acceptRestore(call: Call, input: RestoreInput): Promise<CheckpointView>;
  /** Entries the caller may know of as lines of NDJSON, oldest first. @throws ProblemError permission_denied, validation_failed */
  export(call: Call, query: ExportAuditQuery): Promise<Readable>;
  /** Erase details past their time, and sign what has waited long enough. @returns of how many entries the details went */
  sweep(call: Call): Promise<number>;
  /** Take over what other processes have signed. */
  copyCheckpoints(): Promise<void>;
  /** The position of the newest entry; 0 without one. */
  headSequence(): Promise<number>;
  /** The youngest signed position. @throws Error of the file */
  signed(): Promise<CheckpointLine | undefined>;
  /** Why the head of the chain is not signed as it should be, in words for the operator. */
  state(): {
    reason?: string;
  };
  /** Write what waits, and sign the head of the chain. */
  close(): Promise<void>;
}

export interface AuditDeps {
  database: Database;
  cursors: Cursors;
  clock?: Clock;
  logger?: Logger;
  /** How long details are kept, in days; 0 (the default): kept permanently. */
  detailsDays?: number;
  /** Positions signed outside the database; none are kept without. */
  checkpoints?: { keeper: Checkpoints; path: string };
  /** The id of this installation. */
  origin?: () => Promise<string>;
}

export function createAuditService(deps: AuditDeps): AuditService {
  const { database, cursors, clock = systemClock, logger, detailsDays = 0, checkpoints, origin = () => Promise.resolve("") } = deps;
  const keeper = checkpoints?.keeper;
  const hiddenRecords = createHiddenIds();
  const record = createRecorder(keeper?.note);
  const reader = createAuditReader({ db: database.read, cursors, hiddenIds: hiddenRecords.hiddenIds });
  const verifyLive = createVerification({
    database,
    ...(checkpoints !== undefined && { checkpoints: { path: checkpoints.path, key: checkpoints.keeper.key, origin } }),
  });
  const restoring = () => ({ read: database.read, keeper: required(keeper), path: checkpoints?.path ?? "", origin });
  const denied = createDenied({
    clock,
    write: (attempts, overflow) =>
      database.write(processCall(uuid7()), async (tx) => {
        for (const entry of await deniedEntries(tx, attempts, overflow)) record(tx, entry);
      }),
    onFailure: (error) => logger?.warn({ err: error }, "refused attempts could not be written to the audit; it is tried again"),
  });

  return {
    record: (tx: Tx, entry: AuditInput): void => record(tx, entry),

    async erase(tx: Tx, where: ErasedEntries, entry: Omit<AuditInput, "after"> & { after?: object }): Promise<number> {
      const { count, ranges } = await eraseDetails(tx, where);
      record(tx, { ...entry, after: { ...entry.after, details_erased: count, ranges }, erased: ranges });
      return count;
    },

    registerHiddenIds: hiddenRecords.add,

    noteDenied: denied.note,
    flushDenied: denied.flush,

    async list(call: Call, query: ListAuditQuery): Promise<Page<AuditView>> {
      requirePermission(call, "audit.read");
      const { limit, cursor, count, ...filters } = ListAuditQuery.parse(query);
      return reader.page(call, "audit", await reader.searchOf(call, filters), { limit, cursor, count });
    },

    async listOwn(call: Call, query: ListOwnAuditQuery): Promise<Page<AuditView>> {
      requirePermission(call, "audit.read_own");
      const { limit, cursor, count, ...filters } = ListOwnAuditQuery.parse(query);
      const own = call.actor === null ? { actorId: null, clientId: call.client?.id ?? "" } : { actorId: call.actor.id };
      const list = `audit.own:${JSON.stringify(own)}`;
      return reader.page(call, list, await reader.searchOf(call, filters, ownCondition(call)), { limit, cursor, count });
    },

    async verify(call: Call, query: VerifyAuditQuery = {}): Promise<AuditVerification> {
      requirePermission(call, "audit.read");
      return verifyLive(VerifyAuditQuery.parse(query));
    },

    async checkpoint(call: Call): Promise<CheckpointView> {
      requirePermission(call, "audit.read");
      return presentCheckpoint(required(keeper));
    },

    async signHead(call: Call): Promise<CheckpointView> {
      requirePermission(call, "system.act");
      await required(keeper).write();
      return presentCheckpoint(required(keeper));
    },

    async leftBehind(call: Call): Promise<LeftBehind> {
      requirePermission(call, "system.act");
      return findLeftBehind(restoring());
    },

    async acceptRestore(call: Call, input: RestoreInput): Promise<CheckpointView> {
      requirePermission(call, "system.act");
      const { reason } = RestoreInput.parse(input);
      const gone = await findLeftBehind(restoring());
      const after = { from: gone.from, to: gone.to.seq };
      // The entry first: no line says that entries are gone while the chain does not.
      await database.write(call, async (tx) => record(tx, { action: "audit.restore", reason, after, permission: "system.act" }));
      await required(keeper).leaveBehind(gone, reason);
      await required(keeper).write();
      return presentCheckpoint(required(keeper));
    },

    async export(call: Call, query: ExportAuditQuery): Promise<Readable> {
      requirePermission(call, "audit.export");
      const filters = ExportAuditQuery.parse(query);
      const { isWhole, ...search } = await reader.wholeSearchOf(call, filters);
      const seesDetails = can(call, "audit.read");
      const complete = isWhole && seesDetails;
      await database.write(call, async (tx) =>
        record(tx, { action: "audit.export", after: { filters, complete }, permission: "audit.export" }),
      );
      const to = await lastOf(database.read);
      const head = { v: 1 as const, origin: await origin(), made_at: clock.now().toISOString(), filters, complete };
      return Readable.from(exportLines(head, oldestFirst(database.read, search, to), seesDetails), { objectMode: false });
    },

    async sweep(call: Call): Promise<number> {
      await keeper?.sweep();
      return retainDetails({ database, clock, record, days: detailsDays }, call);
    },

    copyCheckpoints: async (): Promise<void> => keeper?.copy(),

    headSequence: (): Promise<number> => lastOf(database.read),

    signed: async (): Promise<CheckpointLine | undefined> => keeper?.latest(),

    state: (): { reason?: string } => keeper?.state() ?? {},

    async close(): Promise<void> {
      await denied.close();
      await keeper?.close();
    },
  };
}

async function presentCheckpoint({ key, latest }: Checkpoints): Promise<CheckpointView> {
  return { checkpoint: (await latest()) ?? null, key: { id: key.id, public_key: key.publicKey } };
}

/** @throws ProblemError unsupported_operation */
function required(keeper: Checkpoints | undefined): Checkpoints {
  if (keeper !== undefined) return keeper;
  throw new ProblemError("unsupported_operation", { detail: say("audit.this-service-signs-no-positions") });
}
