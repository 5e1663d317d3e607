import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { z } from "zod";
import type { ReadClient, Tx, TransactionClient } from "../../../database/database.ts";
import { earliestOf } from "../../../database/earliest.ts";
import type { PoachClearance, Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { sweepIsolated } from "../../../kernel/isolated.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import { newestFirst } from "../../../kernel/keyset.ts";
import { listPage, type Page } from "../../../kernel/page.ts";
import { registryPermissions } from "../servers.policy.ts";
import { ListClearancesQuery, type ClearanceView } from "../poaching/poaching.schema.ts";
import { isoOrNull } from "../../../kernel/fields.ts";

export type ClearanceDeps = Deps<"database" | "audit" | "events" | "cursors" | "clock" | "logger">;

/** A clearance that an approved request leads to. */
export interface RequestedClearance {
  userId: string;
  fromServerId: string;
  toServerId: string;
  /** Its end; none when it holds permanently. */
  validUntil: Date | null;
  originReference: string;
  /** The permission that approved it. */
  permission: string;
}

interface Note {
  permission: string;
  reason?: string;
}
type Verb = "grant" | "revoke" | "use" | "unuse" | "expire";

const UseUndo = z.strictObject({ clearance_id: z.string(), reference: z.string() });
const batch = 100;
const active = "active";

/** People who may be recruited in spite of an agreement. */
export function createClearances({ database, audit, events, cursors, clock, logger }: ClearanceDeps) {
  function recordChange(tx: Tx, row: PoachClearance, verb: Verb, note: Note): void {
    const { id, userId, status, usedReference, originReference } = row;
    const after = { status, from_server_id: row.fromServerId, to_server_id: row.toServerId, request: originReference, used: usedReference };
    audit.record(tx, { action: `poach_clearance.${verb}`, target: { kind: "poach_clearance", id }, subjectUserId: userId, after, ...note });
    events.emit(tx, { type: "poach_clearance.changed", data: { clearance_id: id, user_id: userId, status } });
  }

  /** @throws ProblemError record_not_found */
  async function loadForUpdate(tx: Tx, id: string): Promise<PoachClearance> {
    await tx.lock(`poach_clearance:${id}`);
    const row = await tx.db.poachClearance.findUnique({ where: { id } });
    if (row === null) throw recordNotFound();
    return row;
  }

  async function change(tx: Tx, id: string, data: Prisma.PoachClearanceUpdateInput, verb: Verb, note: Note): Promise<void> {
    recordChange(tx, await tx.db.poachClearance.update({ where: { id }, data }), verb, note);
  }

  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> => {
    const where = { status: active, validUntil: { lte: clock.now() }, ...(after !== undefined && { id: { gt: after.id } }) };
    return database.read.poachClearance.findMany({ where, select: { id: true }, orderBy: { id: "asc" }, take: batch });
  };

  function expireAll(call: Call, due: readonly { id: string }[]): Promise<number> {
    const note = { permission: registryPermissions.sweep };
    return database.write(call, async (tx) => {
      for (const { id } of due) {
        const row = await loadForUpdate(tx, id);
        if (row.status !== active || isInForce(row, tx.now)) continue;
        await change(tx, id, { status: "expired", endedAt: tx.now, endReason: say("servers.it-was-valid-until-then") }, "expire", note);
      }
      return due.length;
    });
  }

  return {
    /** Clear somebody. @returns its id and what takes it back, or why nothing was done */
    async grantClearanceInTx(
      tx: Tx,
      { permission, ...wanted }: RequestedClearance,
    ): Promise<{ id: string; undo: { clearance_id: string } } | { skipped: string }> {
      if (wanted.validUntil !== null && wanted.validUntil <= tx.now) return { skipped: say("servers.the-clearance-would-be-over-already") };
      const id = uuid7(tx.now.getTime());
      const row = await tx.db.poachClearance.create({ data: { ...wanted, id, status: active, createdAt: tx.now } });
      recordChange(tx, row, "grant", { permission });
      return { id, undo: { clearance_id: id } };
    },

    /** A clearance, used or not, is taken back; anyone who was recruited with it stays. @throws ProblemError record_not_found */
    async revokeClearanceInTx(tx: Tx, id: string, note: { reason: string; permission: string }) {
      const row = await loadForUpdate(tx, id);
      if (row.status !== "used" && !isInForce(row, tx.now))
        return { restored: false, detail: say("servers.the-clearance-was-over-already") };
      await change(tx, id, { status: "revoked", endedAt: tx.now, endReason: note.reason }, "revoke", note);
      const detail =
        row.status === "used" ? say("servers.the-clearance-was-revoked-after-it-had") : say("servers.the-clearance-was-revoked");
      return { restored: true, detail };
    },

    /** A recruitment uses a clearance up. @returns what takes it back, or why nothing was done @throws ProblemError record_not_found */
    async useClearanceInTx(
      tx: Tx,
      { id, reference, permission }: { id: string; reference: string; permission: string },
    ): Promise<{ undo: z.infer<typeof UseUndo> } | { skipped: string }> {
      const row = await loadForUpdate(tx, id);
      if (!isInForce(row, tx.now)) return { skipped: say("servers.the-clearance-is-over-or-used-already") };
      const used = { status: "used", usedReference: reference, endedAt: tx.now, endReason: null };
      await change(tx, id, used, "use", { permission });
      return { undo: { clearance_id: id, reference } };
    },

    /** A clearance can be used again, unless it was revoked since. @param undo of `useClearanceInTx` */
    async undoUseClearanceInTx(tx: Tx, undo: unknown, note: { reason: string; permission: string }) {
      const { clearance_id: id, reference } = UseUndo.parse(undo);
      const row = await loadForUpdate(tx, id);
      if (row.status !== "used" || row.usedReference !== reference)
        return { restored: false, detail: say("servers.the-clearance-was-revoked-or-given-back") };
      await change(tx, id, { status: active, usedReference: null, endedAt: null, endReason: null }, "unuse", note);
      return { restored: true, detail: say("servers.the-clearance-can-be-used-again") };
    },

    /** The clearances of somebody that can be used at a moment, the oldest first. */
    async findClearances(db: Pick<ReadClient | TransactionClient, "poachClearance">, userId: string, now: Date): Promise<PoachClearance[]> {
      const rows = await db.poachClearance.findMany({ where: { userId, status: active }, orderBy: [{ createdAt: "asc" }, { id: "asc" }] });
      return rows.filter((row) => isInForce(row, now));
    },

    /** The clearances of somebody, newest first, those that are over included. */
    async listClearances(call: Call, userId: string, query: ListClearancesQuery): Promise<Page<ClearanceView>> {
      requirePermission(call, registryPermissions.read);
      const asked = ListClearancesQuery.parse(query);
      const now = clock.now();
      return listPage({
        cursors,
        list: "clearances",
        filters: { userId },
        query: asked,
        keyset: newestFirst,
        find: ({ after, take }) =>
          database.read.poachClearance.findMany({ where: { AND: [{ userId }, after] }, orderBy: newestFirst.orderBy, take }),
        count: () => database.read.poachClearance.count({ where: { userId } }),
        present: (row) => presentClearance(row, now),
      });
    },

    /** End the clearances past their end; answers how many. */
    sweepClearances: (call: Call): Promise<number> =>
      sweepIsolated({
        size: batch,
        find: findDue,
        work: (due) => expireAll(call, due),
        logger,
        failure: "a clearance that is over could not be ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ poach_clearance: id }),
      }),

    /** When the next clearance ends. */
    nextClearance: (): Promise<Date | null> => earliestOf(database.read, "PoachClearance", "validUntil", [{ status: active }]),
  };
}

/** Whether a clearance can be used at a moment, whether or not the sweep has come by. */
export function isInForce({ status, validUntil }: Pick<PoachClearance, "status" | "validUntil">, now: Date): boolean {
  return status === "active" && (validUntil === null || validUntil > now);
}

export function presentClearance(row: PoachClearance, now: Date): ClearanceView {
  const isOver = row.status === "active" && !isInForce(row, now);
  const endedAt = row.endedAt ?? (isOver ? row.validUntil : null);
  return {
    id: row.id,
    status: isOver ? "expired" : (row.status as ClearanceView["status"]),
    user_id: row.userId,
    from_server_id: row.fromServerId,
    to_server_id: row.toServerId,
    valid_until: isoOrNull(row.validUntil),
    used_reference: row.usedReference,
    origin_reference: row.originReference,
    created_at: row.createdAt.toISOString(),
    ended: endedAt === null ? null : { at: endedAt.toISOString(), reason: row.endReason },
  };
}
