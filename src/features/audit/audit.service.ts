import { say } from "../../kit/say.ts";
import { createRecorder, type AuditInput } from "./record.ts";
import { Readable } from "node:stream";
import type { Database, Logger, Tx } from "../../database/database.ts";
import { can, requirePermission, processCall, type Call } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { createHiddenIds } from "../../kernel/visibility.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import type { Checkpoints, LeftBehind } from "./checkpoints.ts";
import { createDenied } from "./denied.ts";
import { deniedEntries } from "./denied-entries.ts";
import { eraseDetails, retainDetails, type ErasedEntries } from "./erase.ts";
import { exportLines, findLeftBehind, RestoreInput } from "./restore.ts";
import { createAuditReader } from "./read.ts";
import {
  ExportAuditQuery,
  ListAuditQuery,
  ListOwnAuditQuery,
  VerifyAuditQuery,
  type AuditVerification,
  type AuditView,
  type CheckpointView,
} from "./audit.schema.ts";
import type { CheckpointLine } from "./sign.ts";
import { createVerification } from "./verification.ts";
import { ownCondition } from "./filters.ts";
import { lastOf, oldestFirst } from "./walk.ts";

export type AuditService = ReturnType<typeof createAuditService>;

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

export function createAuditService(deps: AuditDeps) {
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
    /** Queue an entry that is chained and inserted before the commit of this transaction; nothing survives a rollback. */
    record: (tx: Tx, entry: AuditInput): void => record(tx, entry),

    /**
     * Delete the details of entries about a person or a record and record that as an entry of its own: `after` says how many, and
     * where in the chain. The entries themselves are never deleted.
     * @returns how many lost their details
     */
    async erase(tx: Tx, where: ErasedEntries, entry: Omit<AuditInput, "after"> & { after?: object }): Promise<number> {
      const { count, ranges } = await eraseDetails(tx, where);
      record(tx, { ...entry, after: { ...entry.after, details_erased: count, ranges }, erased: ranges });
      return count;
    },

    /**
     * Leave entries about some targets out of what a caller reads: records they may not know of. Each feature with such records tells its own,
     * at start: what is added answers the ids of those targets.
     */
    registerHiddenIds: hiddenRecords.add,

    /** Remember an attempt that was refused; it becomes an entry within seconds. */
    noteDenied: denied.note,
    /** Write the attempts that are due. */
    flushDenied: denied.flush,

    /** Entries the caller may know of, newest first. @throws ProblemError permission_denied, invalid_cursor, validation_failed */
    async list(call: Call, query: ListAuditQuery): Promise<Page<AuditView>> {
      requirePermission(call, "audit.read");
      const { limit, cursor, count, ...filters } = ListAuditQuery.parse(query);
      return reader.page(call, "audit", await reader.searchOf(call, filters), { limit, cursor, count });
    },

    /** What the acting user did, or what a key did that acts for nobody. @throws ProblemError permission_denied, invalid_cursor, validation_failed */
    async listOwn(call: Call, query: ListOwnAuditQuery): Promise<Page<AuditView>> {
      requirePermission(call, "audit.read_own");
      const { limit, cursor, count, ...filters } = ListOwnAuditQuery.parse(query);
      const own = call.actor === null ? { actorId: null, clientId: call.client?.id ?? "" } : { actorId: call.actor.id };
      const list = `audit.own:${JSON.stringify(own)}`;
      return reader.page(call, list, await reader.searchOf(call, filters, ownCondition(call)), { limit, cursor, count });
    },

    /** Walk the chain, or a part of it. @throws ProblemError permission_denied */
    async verify(call: Call, query: VerifyAuditQuery = {}): Promise<AuditVerification> {
      requirePermission(call, "audit.read");
      return verifyLive(VerifyAuditQuery.parse(query));
    },

    /** The youngest signed position of the chain, and the key it is proved with. @throws ProblemError permission_denied, unsupported_operation */
    async checkpoint(call: Call): Promise<CheckpointView> {
      requirePermission(call, "audit.read");
      return presentCheckpoint(required(keeper));
    },

    /** Sign the head of the chain now, if it is new. @throws ProblemError permission_denied, unsupported_operation; Error of the file */
    async signHead(call: Call): Promise<CheckpointView> {
      requirePermission(call, "system.act");
      await required(keeper).write();
      return presentCheckpoint(required(keeper));
    },

    /** The signed positions that the chain no longer has. @throws ProblemError permission_denied, unsupported_operation when it has all */
    async leftBehind(call: Call): Promise<LeftBehind> {
      requirePermission(call, "system.act");
      return findLeftBehind(restoring());
    },

    /**
     * Say that a backup was put back: those positions count no longer, and the chain goes on being signed.
     * @throws ProblemError as `leftBehind`, validation_failed; Error of the file
     */
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

    /** Entries the caller may know of as lines of NDJSON, oldest first. @throws ProblemError permission_denied, validation_failed */
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

    /** Erase details past their time, and sign what has waited long enough. @returns of how many entries the details went */
    async sweep(call: Call): Promise<number> {
      await keeper?.sweep();
      return retainDetails({ database, clock, record, days: detailsDays }, call);
    },

    /** Take over what other processes have signed. */
    copyCheckpoints: async (): Promise<void> => keeper?.copy(),

    /** The position of the newest entry; 0 without one. */
    headSequence: (): Promise<number> => lastOf(database.read),

    /** The youngest signed position. @throws Error of the file */
    signed: async (): Promise<CheckpointLine | undefined> => keeper?.latest(),

    /** Why the head of the chain is not signed as it should be, in words for the operator. */
    state: (): { reason?: string } => keeper?.state() ?? {},

    /** Write what waits, and sign the head of the chain. */
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
