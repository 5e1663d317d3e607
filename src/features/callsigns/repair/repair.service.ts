import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { NicknameChange, Presence } from "./draft.ts";
import type { Database, Tx, ReadClient } from "../../../database/database.ts";
import type { GuildState, MemberState } from "../../../discord/guild-state.ts";
import { Prisma, type CallsignRepair, type CallsignSlot } from "../../../generated/sqlite/client.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { canIn, requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../../kernel/page.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { CallsignsService } from "../callsigns.service.ts";
import { createApply, createRepairHistory, announce, type ApplyDeps } from "./apply.ts";
import { performNicknames, type Performing } from "./checks.ts";
import { makePlan, presentSteps, usualLimits, type Limits, type Plan, type Scope } from "./plan.ts";
import { readRegistry, type RegistryReader } from "./registry.ts";
import {
  repairCodes,
  RepairInput,
  repairPermission,
  UndoRepairInput,
  ListRepairsQuery,
  type NicknameResult,
  type RepairRecordView,
  type RepairView,
  type UndoneRepairView,
} from "./repair.schema.ts";
import { z } from "zod";
import { isoOrNull } from "../../../kernel/fields.ts";
import { clearKeys, columnsOf, imageOf, oneByOne, partsOf, RepairUndo, type SlotImage } from "./images.ts";

type SlotUndo = RepairUndo["slots"][number];
type Left = UndoneRepairView["left"][number];

/** A slot that goes back to how it stood. */
interface Return {
  row: CallsignSlot;
  to: SlotImage;
}

interface UndoneRepair {
  restored: number;
  left: Left[];
  nicknames: RepairUndo["nicknames"];
}

/** Why a slot cannot go back. */
const changed = say("callsigns.it-has-changed-since-the-repair");
const taken = say("callsigns.its-number-or-its-holder-has-another");
const notYours = say("callsigns.its-holder-stands-at-or-above-you");

/** Takes a repair back, inside a transaction that holds the locks of its people and pools. */
function createRepairUndo({ audit, events, history }: ApplyDeps) {
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
async function touchedBy(tx: Tx, row: CallsignRepair): Promise<{ users: string[]; pools: string[] }> {
  const rows = [...(await rowsOf(tx, RepairUndo.parse(row.undo).slots)).values()];
  const users = rows.flatMap(({ userId }) => (userId === null ? [] : [userId]));
  return { users: [...new Set(users)].toSorted(), pools: [...new Set(rows.map(({ pool }) => pool))].toSorted() };
}

/** @throws ProblemError invalid_transition where a repair cannot be taken back: there is none, it was, or its day is over */
function requireUndoable(row: CallsignRepair | null, now: Date): CallsignRepair {
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

export interface RepairsService {
  /**
   * Look for damage in the registry, and put it right as planned.
   * @param input without `dry_run: false` nothing changes; with it the `plan_hash` of a dry run is needed
   * @throws ZodError, ProblemError permission_denied, validation_failed; precondition_failed with the new `plan_hash`
   */
  repair(call: Call, input: RepairInput): Promise<RepairView>;
  /**
   * Take a repair back within a day. What somebody has changed since is left as it is, and named.
   * @throws ZodError, ProblemError permission_denied; invalid_transition where there is nothing to take back
   */
  undo(call: Call, id: string, input: UndoRepairInput): Promise<UndoneRepairView>;
  /** Repairs that were carried out, newest first. @throws ProblemError permission_denied, invalid_cursor */
  list(call: Call, query: ListRepairsQuery): Promise<Page<RepairRecordView>>;
  /** Forget what can no longer be undone. For the job that runs each minute. @returns how many repairs */
  sweep(call: Call): Promise<number>;
}

export interface RepairsDeps extends Deps<"database" | "audit" | "events" | "cursors" | "clock"> {
  guildState: Pick<GuildState, "guilds" | "members">;
  /** Whether what is known of the guilds is current and complete. */
  isKnown: () => boolean;
  access: Pick<AccessDirectory, "of" | "role">;
  roster: Pick<RosterService, "isLive" | "lines">;
  callsigns: Pick<CallsignsService, "records">;
  /** What sets nicknames. */
  discordActions: Performing;
  limits?: Limits;
}

const sweepBatch = 100;

/** Finds what is damaged in the registry of callsigns, and puts it right. */
export function createRepairsService(deps: RepairsDeps): RepairsService {
  const { database, audit, events, access, roster, callsigns, discordActions, cursors, clock, limits = usualLimits } = deps;
  const parts = { audit, events, history: createRepairHistory(roster.lines) };
  const apply = createApply(parts);
  const undoInTx = createRepairUndo(parts);

  const mayChange =
    ({ actor }: Call) =>
    (userId: string): boolean =>
      actor === null || actor.isOwner || actor.rank > access.of(userId).rank;

  async function planOf(call: Call, db: RegistryReader, scope: Scope, now: Date): Promise<Plan> {
    const registry = await readRegistry(db, roster.isLive);
    if (scope.pool !== null && !registry.pools.has(scope.pool))
      throw fieldError("/pool", "unknown_pool", say("callsigns.there-is-no-such-pool"));
    const poolOf = (staffRole: string): string | null => access.role(staffRole)?.callsignPool ?? null;
    const mayActIn = (guildId: string): boolean => canIn(call, repairPermission, [guildId]);
    return await makePlan({ registry, presence: presenceIn(deps), now, mayChange: mayChange(call), mayActIn, poolOf }, scope, limits);
  }

  async function lock(tx: Tx, users: readonly string[], pools: readonly string[]): Promise<void> {
    for (const userId of users) await callsigns.records.lock(tx, { userId, pools: [] });
    await callsigns.records.lock(tx, { pools });
  }

  /** Carry out the plan that somebody has seen, if it is still what has to be done. */
  async function carryOut(tx: Tx, scope: Scope, seen: Plan, planHash: string): Promise<RepairView> {
    requireSame(seen, planHash);
    const users = seen.steps.flatMap(({ user_id: userId }) => (userId === null ? [] : [userId]));
    await lock(tx, [...new Set(users)].toSorted(), [...seen.draft.pools.keys()]);
    const plan = await planOf(tx.call, tx.db, scope, tx.now);
    requireSame(plan, planHash);
    if (plan.steps.length === 0) return present(plan, false);
    const { id, undoUntil } = await apply(tx, plan, scope.pool);
    return { ...present(plan, false), undo_token: id, undo_until: undoUntil.toISOString() };
  }

  /** What Discord is asked for once the registry is right; a repeated call asks for nothing. */
  const setNicknames = (call: Call, id: string, changes: readonly NicknameChange[], reason: string): Promise<NicknameResult[]> =>
    call.replayed ? Promise.resolve(changes.map(notAsked)) : performNicknames(discordActions, id, changes, reason);

  return {
    async repair(call: Call, input: RepairInput): Promise<RepairView> {
      requireWrite(call, repairPermission);
      const { pool = null, dry_run: isDryRun, fix = repairCodes, plan_hash: planHash } = RepairInput.parse(input);
      if (!isDryRun && planHash === undefined) throw fieldError("/plan_hash", "required", say("callsigns.make-a-dry-run-first-and-name"));
      const scope = { pool, fix };
      const seen = await planOf(call, database.read, scope, clock.now());
      if (isDryRun || planHash === undefined) return present(seen, true);
      const view = await database.write(call, (tx) => carryOut(tx, scope, seen, planHash));
      if (call.replayed || view.undo_token === null) return view;
      const nicknames = await performNicknames(discordActions, view.undo_token, seen.draft.nicknames, "Callsign repaired");
      return { ...view, nicknames, applied: view.applied + nicknames.filter(({ applied }) => applied).length };
    },

    async undo(call: Call, id: string, input: UndoRepairInput): Promise<UndoneRepairView> {
      requireWrite(call, repairPermission);
      const { reason } = UndoRepairInput.parse(input);
      const { nicknames, ...view } = await database.write(call, async (tx) => {
        await tx.lock(`callsign-repair:${id}`);
        const row = requireUndoable(await tx.db.callsignRepair.findUnique({ where: { id } }), tx.now);
        const { users, pools } = await touchedBy(tx, row);
        await lock(tx, users, pools);
        const { restored, left, nicknames } = await undoInTx(tx, row, reason, mayChange(call));
        const undone = { undoneAt: tx.now, undoneBy: call.actor?.id ?? null, undo: Prisma.JsonNull };
        await tx.db.callsignRepair.update({ where: { id }, data: undone });
        return { id, undone_at: tx.now.toISOString(), restored, left, nicknames };
      });
      const former = nicknames.map(({ from, to, ...who }) => ({ ...who, from: to, to: from }));
      const present = presenceIn(deps);
      const unchanged = former.filter(({ user_id: userId, from }) => present.shown(userId)?.nickname === from);
      return { ...view, nicknames: await setNicknames(call, `${id}:undo`, unchanged, reason) };
    },

    list(call: Call, query: ListRepairsQuery): Promise<Page<RepairRecordView>> {
      requirePermission(call, repairPermission);
      return listRepairs(database.read, cursors, query);
    },

    async sweep(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await inBatches(sweepBatch, () => forget(database, call, clock));
    },
  };
}

async function forget(database: Database, call: Call, clock: Clock): Promise<number> {
  const due = { undoUntil: { lte: clock.now() }, undo: { not: Prisma.JsonNull } };
  const rows = await database.read.callsignRepair.findMany({ where: due, select: { id: true }, take: sweepBatch });
  if (rows.length === 0) return 0;
  const where = { id: { in: rows.map(({ id }) => id) } };
  return await database.write(
    call,
    async ({ db }) => (await db.callsignRepair.updateMany({ where, data: { undo: Prisma.JsonNull } })).count,
  );
}

function present(plan: Plan, isDryRun: boolean): RepairView {
  const { steps, draft, ...told } = plan;
  const done = isDryRun ? 0 : steps.length - draft.nicknames.length;
  const nicknames = isDryRun ? [] : draft.nicknames.map(notAsked);
  return { dry_run: isDryRun, ...told, plan: presentSteps(steps), applied: done, nicknames, undo_token: null, undo_until: null };
}

function notAsked({ user_id, guild_id }: NicknameChange): NicknameResult {
  return { user_id, guild_id, applied: false, reason: say("callsigns.it-was-asked-for-with-the-first") };
}

/** @throws ProblemError precondition_failed */
function requireSame({ plan_hash: now }: Plan, seen: string): void {
  if (now === seen) return;
  const detail = say("callsigns.the-registry-has-changed-since-the-plan");
  throw new ProblemError("precondition_failed", { detail, extra: { plan_hash: now } });
}

const list = "callsign_repairs";
const StoredFixes = z.array(z.object({ code: z.string() })).catch([]);
type Row = Omit<CallsignRepair, "undo" | "planHash">;

/** Repairs that were carried out, newest first. @throws ProblemError invalid_cursor */
export async function listRepairs(
  db: Pick<ReadClient, "callsignRepair">,
  cursors: Cursors,
  query: ListRepairsQuery,
): Promise<Page<RepairRecordView>> {
  const { limit, cursor, count } = ListRepairsQuery.parse(query);
  const [before, id] = cursor === undefined ? [] : cursors.decode(list, {}, cursor);
  const at = new Date(before ?? 0);
  const rows = await db.callsignRepair.findMany({
    ...(id !== undefined && { where: { OR: [{ at: { lt: at } }, { at, id: { lt: id } }] } }),
    omit: { undo: true, planHash: true },
    orderBy: [{ at: "desc" }, { id: "desc" }],
    take: limit + 1,
  });
  const page = toPage(rows, limit, presentRepair, (last) => cursors.encode(list, {}, [last.at.toISOString(), last.id]));
  return await withTotal(page, { count }, () => db.callsignRepair.count());
}

function presentRepair({ id, pool, at, actorId, fixes, undoUntil, undoneAt, undoneBy }: Row): RepairRecordView {
  const counts: Record<string, number> = {};
  for (const { code } of StoredFixes.parse(fixes)) counts[code] = (counts[code] ?? 0) + 1;
  const undo = { undo_until: undoUntil.toISOString(), undone_at: isoOrNull(undoneAt), undone_by: undoneBy };
  return { id, pool, at: at.toISOString(), actor_id: actorId, counts, ...undo };
}

export interface PresenceDeps {
  /** Whether what is known of the guilds is current and complete. */
  isKnown: () => boolean;
  guildState: Pick<GuildState, "guilds" | "members">;
  access: Pick<AccessDirectory, "of">;
}

/** Who is in the guilds, by what is stored. Of somebody who was never seen there nobody can tell that they have left. */
export function presenceIn({ isKnown, guildState, access }: PresenceDeps): Presence {
  const guilds = guildState.guilds().filter(({ present }) => present);
  const known = new Set(guilds.map(({ id }) => id));
  const membersOf = (userId: string): MemberState[] => guildState.members(userId).filter(({ guildId }) => known.has(guildId));
  return {
    isComplete: isKnown(),
    hasLeft(userId) {
      const members = membersOf(userId);
      return members.length > 0 && !members.some(({ present }) => present);
    },
    shown(userId) {
      const refs = access.of(userId).held.flatMap((held) => held.refs);
      const here = membersOf(userId).filter(({ present }) => present);
      const first = here.find(({ guildId }) => refs.some((ref) => ref.startsWith(`${guildId}:`))) ?? here[0];
      if (first === undefined) return null;
      return { guildId: first.guildId, nickname: first.nick, name: first.globalName ?? first.username };
    },
  };
}
