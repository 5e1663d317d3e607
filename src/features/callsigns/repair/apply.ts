import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { CallsignSlot, Prisma } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { EventsService } from "../../events/events.service.ts";
import { phases, type DraftStep } from "./draft.ts";
import { clearKeys, columnsOf, imageOf, oneByOne, partsOf, type RepairUndo } from "./images.ts";
import type { Plan } from "./plan.ts";
import { repairPermission } from "./repair.schema.ts";
import type { RosterService } from "../../roster/roster.service.ts";

const daySeconds = 86_400;
/** Of a pool that is gone. */
const usualHoldDays = 90;
const undoSeconds = 86_400;
/** How many slots one event tells of. */
const perEvent = 100;

export interface ApplyDeps extends Deps<"audit" | "events"> {
  history: RepairHistory;
}

export interface Applied {
  id: string;
  undoUntil: Date;
}

interface Change {
  /** Null: the repair makes the slot. */
  before: CallsignSlot | null;
  after: CallsignSlot;
}

/** Carries out a plan that was made inside the same transaction, under the locks of its people and pools. */
export function createApply({ audit, events, history }: ApplyDeps) {
  async function save({ db }: Tx, changes: readonly Change[]): Promise<void> {
    await clearKeys(
      db,
      changes.flatMap(({ before }) => (before === null ? [] : [before.id])),
    );
    await oneByOne(changes, ({ before, after }) => {
      const data = columnsOf(imageOf(after));
      if (before !== null) return db.callsignSlot.update({ where: { id: before.id }, data });
      const { id, pool, number, createdAt } = after;
      return db.callsignSlot.create({ data: { ...data, id, pool, number, createdAt } });
    });
  }

  function recordApplied(tx: Tx, id: string, steps: readonly DraftStep[], slots: ReadonlyMap<string, CallsignSlot>): void {
    for (const { code, action, pool, number, callsign, user_id: userId, slotId, from, to } of steps) {
      const slot = slots.get(slotId ?? "");
      // A nickname is a name: it is kept by Discord alone.
      const values = action === "set_nickname" ? { before: {}, after: {} } : { before: { value: from }, after: { value: to } };
      audit.record(tx, {
        action: "callsign.repair",
        ...(slot !== undefined && { target: { kind: "callsign", id: slot.id, reference: callsign ?? slot.callsign } }),
        ...(userId !== null && { subjectUserId: userId }),
        before: values.before,
        after: { ...values.after, code, action, pool, number, repair_id: id },
        permission: repairPermission,
      });
    }
    announce(tx, events, id, [...slots.values()]);
  }

  /** @returns where it is undone */
  return async (tx: Tx, { plan_hash: planHash, steps, draft }: Plan, pool: string | null): Promise<Applied> => {
    const id = uuid7(tx.now.getTime());
    const changes = changesOf(tx, { steps, draft });
    const undoUntil = addSeconds(tx.now, undoSeconds);
    const undo: RepairUndo = {
      slots: changes.map(({ before, after }) => ({ id: after.id, before: before && imageOf(before), after: imageOf(after) })),
      nicknames: draft.nicknames,
    };
    const users = changes.flatMap(({ after }) => (after.userId === null ? [] : [after.userId]));
    await history.around(tx, users, say("callsigns.the-registry-of-callsigns-was-repaired"), () =>
      save(
        tx,
        changes.map(({ before, after }) => ({ before, after })),
      ),
    );
    const made = new Map(changes.map(({ draftId, after }) => [draftId, after]));
    recordApplied(tx, id, steps, made);
    const fixes = steps.map(({ code, action, pool: key, number, callsign, user_id }) => ({
      code,
      action,
      pool: key,
      number,
      callsign,
      user_id,
    }));
    const json = { fixes, undo: undo as unknown as Prisma.InputJsonObject };
    await tx.db.callsignRepair.create({ data: { id, planHash, pool, ...json, actorId: tx.call.actor?.id ?? null, at: tx.now, undoUntil } });
    return { id, undoUntil };
  };
}

/** Tell of slots that a repair, or taking it back, has changed. */
export function announce(tx: Tx, events: Pick<EventsService, "emit">, repairId: string, slots: readonly CallsignSlot[]): void {
  for (const told of partsOf(slots, perEvent)) {
    const pools = [...new Set(told.map(({ pool }) => pool))];
    const data = { repair_id: repairId, pools, slot_ids: told.map(({ id }) => id), callsigns: told.map(({ callsign }) => callsign) };
    events.emit(tx, { type: "callsign.repaired", data });
  }
}

function changesOf({ now }: Tx, { steps, draft }: Pick<Plan, "steps" | "draft">): (Change & { draftId: string })[] {
  const isTouched = new Set(steps.flatMap(({ slotId, phase }) => (slotId === null || phase === phases.discord ? [] : [slotId])));
  const stood = new Map(draft.registry.slots.map((slot) => [slot.id, slot]));
  return draft.slots.flatMap((slot) => {
    if (!isTouched.has(slot.id)) return [];
    const before = stood.get(slot.id) ?? null;
    const id = before === null ? uuid7(now.getTime()) : slot.id;
    const times = before === null || before.state === slot.state ? {} : timesOf(slot, now, draft.pools.get(slot.pool)?.holdDays);
    return [
      {
        draftId: slot.id,
        before,
        after: { ...slot, ...times, id, ...(before === null && { since: now, createdAt: now }), revision: slot.revision + 1 },
      },
    ];
  });
}

/** Since when a slot stands as it does now, and until when. */
function timesOf({ state }: CallsignSlot, now: Date, holdDays = usualHoldDays): Partial<CallsignSlot> {
  if (state === "ended") return { endedAt: now };
  const until = state === "held" ? addSeconds(now, holdDays * daySeconds) : null;
  return { since: now, until, reservedBy: null };
}

export interface RepairHistory {
  /** Do some work, and write down who has lost or got which callsign by it. The caller holds the locks of these people. */
  around(tx: Tx, userIds: readonly string[], reason: string, work: () => Promise<void>): Promise<void>;
}

interface Held {
  pool: string;
  callsign: string;
}

/** Keeps the history of people in step with what a repair does to their callsigns. */
export function createRepairHistory(lines: RosterService["lines"]): RepairHistory {
  return {
    async around(tx: Tx, userIds: readonly string[], reason: string, work: () => Promise<void>): Promise<void> {
      const users = [...new Set(userIds)].toSorted();
      const before = await heldBy(tx, users);
      await work();
      const after = await heldBy(tx, users);
      const entries = await entriesOf(tx, users);
      await oneByOne(users, async (userId) => {
        const [had, has] = [before.get(userId) ?? [], after.get(userId) ?? []];
        const person = { userId, entryId: entries.get(userId) ?? null };
        const lost = had
          .filter((one) => !includes(has, one))
          .map((held) => ({ event: "callsign_released" as const, before: held, after: {}, ...held }));
        const got = has
          .filter((one) => !includes(had, one))
          .map((held) => ({ event: "callsign_assigned" as const, before: {}, after: held, ...held }));
        await lines(
          tx,
          [...lost, ...got].map((line) => ({ ...person, ...line })),
          { causeReference: null, reason },
        );
      });
    },
  };
}

async function heldBy({ db }: Tx, users: readonly string[]): Promise<Map<string, Held[]>> {
  const held = new Map<string, Held[]>();
  for (const part of partsOf(users)) {
    const where = { userId: { in: part }, state: "assigned" };
    const rows = await db.callsignSlot.findMany({ where, select: { userId: true, pool: true, callsign: true }, orderBy: { id: "asc" } });
    for (const { userId, pool, callsign } of rows) held.set(userId ?? "", [...(held.get(userId ?? "") ?? []), { pool, callsign }]);
  }
  return held;
}

async function entriesOf({ db }: Tx, users: readonly string[]): Promise<Map<string, string>> {
  const ids = new Map<string, string>();
  for (const part of partsOf(users)) {
    const rows = await db.rosterEntry.findMany({ where: { userId: { in: part } }, select: { id: true, userId: true } });
    for (const { id, userId } of rows) ids.set(userId, id);
  }
  return ids;
}

function includes(held: readonly Held[], { pool, callsign }: Held): boolean {
  return held.some((one) => one.pool === pool && one.callsign === callsign);
}
