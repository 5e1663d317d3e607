import { say } from "../../../kit/say.ts";
import type { Tx } from "../../../database/database.ts";
import type { CallsignRepair, CallsignSlot } from "../../../generated/sqlite/client.ts";
import { canIn } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import { announce, type ApplyDeps } from "./apply.ts";
import { clearKeys, columnsOf, imageOf, oneByOne, partsOf, RepairUndo, type SlotImage } from "./images.ts";
import { repairPermission, type UndoneRepairView } from "./repair.schema.ts";

type SlotUndo = RepairUndo["slots"][number];
type Left = UndoneRepairView["left"][number];

/** A slot that goes back to how it stood. */
interface Return {
  row: CallsignSlot;
  to: SlotImage;
}

export interface UndoneRepair {
  restored: number;
  left: Left[];
  nicknames: RepairUndo["nicknames"];
}

/** Why a slot cannot go back. */
const changed = say("callsigns.it-has-changed-since-the-repair");
const taken = say("callsigns.its-number-or-its-holder-has-another");
const notYours = say("callsigns.its-holder-stands-at-or-above-you");

/** Takes a repair back, inside a transaction that holds the locks of its people and pools. */
export function createRepairUndo({ audit, events, history }: ApplyDeps) {
  return async (tx: Tx, row: CallsignRepair, reason: string, mayChange: (userId: string) => boolean): Promise<UndoneRepair> => {
    const undo = RepairUndo.parse(row.undo);
    const rows = await rowsOf(tx, undo.slots);
    const { returns, left } = sorted(undo.slots, rows, tx.now, mayChange);
    for (const { row: slot } of await blocked(tx, returns)) {
      returns.delete(slot.id);
      left.push({ callsign: slot.callsign, why: taken });
    }
    const back = [...returns.values()];
    const users = back.flatMap(({ row: { userId } }) => (userId === null ? [] : [userId]));
    await history.around(tx, users, reason, () => restore(tx, back));
    for (const { row: slot, to } of back) {
      audit.record(tx, {
        action: "callsign.repair_undo",
        target: { kind: "callsign", id: slot.id, reference: to.callsign },
        ...(slot.userId !== null && { subjectUserId: slot.userId }),
        reason,
        before: { state: slot.state, callsign: slot.callsign },
        after: { state: to.state, callsign: to.callsign, pool: slot.pool, number: slot.number, repair_id: row.id },
        permission: repairPermission,
      });
    }
    announce(
      tx,
      events,
      row.id,
      back.map(({ row: slot, to }) => ({ ...slot, ...columnsOf(to) })),
    );
    const nicknames = undo.nicknames.filter(
      ({ user_id: userId, guild_id: guildId }) => mayChange(userId) && canIn(tx.call, repairPermission, [guildId]),
    );
    return { restored: back.length, left, nicknames };
  };
}

/** Who and what a repair has touched. */
export async function touchedBy(tx: Tx, row: CallsignRepair): Promise<{ users: string[]; pools: string[] }> {
  const rows = [...(await rowsOf(tx, RepairUndo.parse(row.undo).slots)).values()];
  const users = rows.flatMap(({ userId }) => (userId === null ? [] : [userId]));
  return { users: [...new Set(users)].toSorted(), pools: [...new Set(rows.map(({ pool }) => pool))].toSorted() };
}

/** @throws ProblemError invalid_transition where a repair cannot be taken back: there is none, it was, or its day is over */
export function requireUndoable(row: CallsignRepair | null, now: Date): CallsignRepair {
  if (row !== null && row.undoneAt === null && row.undoUntil > now) return row;
  const from = row === null ? null : row.undoneAt === null ? "final" : "undone";
  const why =
    row === null
      ? say("callsigns.there-is-no-such-repair")
      : row.undoneAt === null
        ? say("callsigns.it-can-be-taken-back-for-a")
        : say("callsigns.it-was-taken-back");
  throw new ProblemError("invalid_transition", { detail: why, extra: { from, action: "undo", allowed: [] } });
}

async function rowsOf({ db }: Tx, slots: readonly SlotUndo[]): Promise<Map<string, CallsignSlot>> {
  const rows = new Map<string, CallsignSlot>();
  for (const part of partsOf(slots.map(({ id }) => id))) {
    for (const row of await db.callsignSlot.findMany({ where: { id: { in: part } } })) rows.set(row.id, row);
  }
  return rows;
}

/** Which slots still stand as the repair left them. */
function sorted(slots: readonly SlotUndo[], rows: ReadonlyMap<string, CallsignSlot>, now: Date, mayChange: (userId: string) => boolean) {
  const returns = new Map<string, Return>();
  const left: Left[] = [];
  for (const { id, before, after } of slots) {
    const row = rows.get(id);
    const why =
      row === undefined || !isSame(imageOf(row), after) ? changed : row.userId === null || mayChange(row.userId) ? null : notYours;
    if (row !== undefined && why === null) {
      // A number that was free is free again; the slot stays behind as one that is over.
      const over = { ...after, state: "ended", live_key: null, holder_key: null, ended_at: now.toISOString() };
      returns.set(id, { row, to: { ...(before ?? over), revision: row.revision + 1 } });
    } else left.push({ callsign: after.callsign, why: why ?? changed });
  }
  return { returns, left };
}

/** Those whose keys somebody else has by now, and those that these in turn stand in the way of. */
async function blocked({ db }: Tx, returns: ReadonlyMap<string, Return>): Promise<Return[]> {
  const owners: Record<"live_key" | "holder_key", Map<string, string>> = { live_key: new Map(), holder_key: new Map() };
  for (const part of partsOf([...returns.values()], 100)) {
    const keys = { live: part.flatMap(({ to }) => to.live_key ?? []), holder: part.flatMap(({ to }) => to.holder_key ?? []) };
    const where = { OR: [{ liveKey: { in: keys.live } }, { holderKey: { in: keys.holder } }] };
    for (const { id, liveKey, holderKey } of await db.callsignSlot.findMany({ where })) {
      if (liveKey !== null) owners.live_key.set(liveKey, id);
      if (holderKey !== null) owners.holder_key.set(holderKey, id);
    }
  }
  const staying = new Map<string, Return>();
  const isOpen = (key: string | null, column: "live_key" | "holder_key", id: string): boolean => {
    const owner = key === null ? undefined : owners[column].get(key);
    return owner === undefined || owner === id || (returns.has(owner) && !staying.has(owner));
  };
  for (let size = -1; size !== staying.size;) {
    size = staying.size;
    for (const [id, { row, to }] of returns) {
      if (!isOpen(to.live_key, "live_key", id) || !isOpen(to.holder_key, "holder_key", id)) staying.set(id, { row, to });
    }
  }
  return [...staying.values()];
}

async function restore({ db }: Tx, returns: readonly Return[]): Promise<void> {
  await clearKeys(
    db,
    returns.map(({ row }) => row.id),
  );
  await oneByOne(returns, ({ row, to }) => db.callsignSlot.update({ where: { id: row.id }, data: columnsOf(to) }));
}

function isSame(one: SlotImage, other: SlotImage): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
