import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { ListAction, Prisma } from "../../generated/sqlite/client.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { ownList } from "../../kernel/vocabulary.ts";
import { inBatches } from "../../kernel/pause.ts";
import type { DiscordAction } from "../../kernel/discord-port.ts";
import type { CauseName } from "../../discord-actions/source.ts";
import { tellRecovered, type ActionOfCause } from "../../discord-actions/discord-actions.ts";
import type { ListActionName } from "./lists.schema.ts";
import type { Verdict } from "./verdict.ts";

/**
 * How an action stands. `held` waits for a confirmation; `pending` and `undoing` are the bot's to do; `settled` is one that people have
 * decided about otherwise, which keeps it from being done again for the same record; the last four are over.
 */
export const actionStates = ["held", "pending", "done", "undoing", "undone", "failed", "settled", "ended"] as const;
export type ActionState = (typeof actionStates)[number];

/** Nothing is left to be done about these. */
const over: ReadonlySet<string> = new Set<ActionState>(["done", "undone", "settled", "ended"]);

export type ActionChanges = Prisma.ListActionUncheckedUpdateManyInput & { state?: ActionState };

export interface Ledger {
  record(tx: Tx, row: ListAction, state: string, permission: "system.act" | "blacklist.create" | "blacklist.revoke", why?: string): void;
  /** A new action, as far as nothing with its key stands. */
  begin(tx: Tx, given: NewAction): Promise<ListAction>;
  /**
   * Change how an action stands, and audit it where it is another state. Why it failed is known until it is over, and an end of that is
   * reported.
   */
  change(
    tx: Tx,
    row: ListAction,
    changes: ActionChanges,
    options?: {
      why?: string;
      verb?: string;
      permission?: Parameters<
        (tx: Tx, row: ListAction, state: string, permission: "system.act" | "blacklist.create" | "blacklist.revoke", why?: string) => void
      >[3];
    },
  ): Promise<void>;
}

/** What stands of somebody in a guild. */
export function standingKeyOf(guildId: string, userId: string, { key }: Pick<Verdict, "key">): string {
  return `${guildId}:${userId}:${key}`;
}

/** Everything about one person waits for one another. */
export async function lockPerson(tx: Tx, userId: string): Promise<void> {
  await tx.lock(`list-person:${userId}`);
}

/** The rows of what guilds do about listed people, and their audit. */
export function createLedger({ audit, events }: Deps<"audit" | "events">): Ledger {
  function record(
    tx: Tx,
    row: ListAction,
    state: string,
    permission: "system.act" | "blacklist.create" | "blacklist.revoke",
    why?: string,
  ): void {
    audit.record(tx, {
      action: `list_action.${state}`,
      ...(state === "failed" && { outcome: "failed" as const }),
      target:
        row.listId === ownList
          ? { kind: "blacklist", id: row.recordId, reference: row.recordReference }
          : { kind: "followed_list", id: row.listId, reference: row.recordReference },
      subjectUserId: row.userId,
      guildId: row.guildId,
      after: {
        list: row.listId,
        stance: row.stance,
        ...(row.action !== null && { action: row.action }),
        ...(why !== undefined && { why }),
      },
      permission,
    });
  }

  return {
    record,

    async begin(tx: Tx, { guildId, userId, joinedAt, verdict, state, batchId = null }: NewAction): Promise<ListAction> {
      const { listing, stance, action, roleId, seconds } = verdict;
      const isDone = state === "done";
      const row = await tx.db.listAction.create({
        data: {
          id: uuid7(tx.now.getTime()),
          guildId,
          userId,
          listId: listing.listId,
          recordId: listing.recordId,
          recordReference: listing.reference,
          stance,
          action,
          roleId,
          seconds,
          state,
          standingKey: standingKeyOf(guildId, userId, verdict),
          joinedAt: new Date(joinedAt),
          batchId,
          dueAt: state === "pending" ? tx.now : null,
          allowedAt: state === "held" || state === "settled" ? null : tx.now,
          createdAt: tx.now,
          updatedAt: tx.now,
        },
      });
      record(tx, row, isDone ? "told" : state === "pending" ? "begun" : state, "system.act");
      return row;
    },

    async change(
      tx: Tx,
      row: ListAction,
      changes: ActionChanges,
      { why, verb, permission = "system.act" }: { why?: string; verb?: string; permission?: Parameters<typeof record>[3] } = {},
    ): Promise<void> {
      const where = { id: row.id, state: row.state, attempts: row.attempts };
      const isOver = changes.state !== undefined && over.has(changes.state);
      const { count } = await tx.db.listAction.updateMany({
        where,
        data: { ...changes, ...(isOver && { lastError: null }), updatedAt: tx.now },
      });
      // Somebody else was faster: whoever asked for this looks again.
      if (count === 0) throw new ProblemError("storage_busy", { retryAfter: 1 });
      if (changes.state !== undefined && changes.state !== row.state)
        record(tx, { ...row, ...changes } as ListAction, verb ?? changes.state, permission, why);
      const hasFailed = row.state === "failed" || row.lastError !== null;
      if (isOver && hasFailed && row.stance === "apply") tellRecovered(events, tx, { action: toldOf(row), cause: causeNameOf(row) });
    },
  };
}

/** What is over is known for so long: in milliseconds. */
const keptMs = 90 * 86_400_000;
const sweptAtOnce = 500;

/** Forgets actions that have been over for three months; the audit keeps that they were. Answers of how many. */
export function createLedgerSweep({ database, clock }: Deps<"database" | "clock">) {
  async function sweepSome(call: Call): Promise<number> {
    const where = {
      standingKey: null,
      state: { in: ["ended", "undone", "failed"] },
      updatedAt: { lt: new Date(clock.now().getTime() - keptMs) },
    };
    const rows = await database.read.listAction.findMany({ where, select: { id: true }, take: sweptAtOnce });
    if (rows.length > 0)
      await database.write(call, ({ db }) => db.listAction.deleteMany({ where: { ...where, id: { in: rows.map(({ id }) => id) } } }));
    return rows.length;
  }

  return (call: Call): Promise<number> => {
    requirePermission(call, "system.act");
    return inBatches(sweptAtOnce, () => sweepSome(call));
  };
}

interface NewAction {
  guildId: string;
  userId: string;
  joinedAt: number;
  verdict: Verdict;
  state: "held" | "pending" | "done" | "settled";
  batchId?: string | null;
}

/** Why the bot does a list action. */
export function causeNameOf({ id, recordReference, listId }: ListAction): CauseName {
  return { feature: "list", id, place: 0, reference: recordReference, list: listId };
}

const kinds: Readonly<Record<ListActionName, readonly [done: DiscordAction["kind"], undone: DiscordAction["kind"]]>> = {
  role: ["role_add", "role_remove"],
  timeout: ["timeout", "timeout_lift"],
  kick: ["kick", "kick"],
  ban: ["ban", "unban"],
};

function toldOf(row: ListAction): ActionOfCause["action"] {
  return { kind: kinds[row.action as ListActionName][isUndo(row) ? 1 : 0], guildId: row.guildId, userId: row.userId };
}

/** Whether an action is, or was when it failed, to be taken back. */
export function isUndo({ state, standingKey, changed }: Pick<ListAction, "state" | "standingKey" | "changed">): boolean {
  // What is carried out changes nothing before it is done, and stands for as long as it is wanted.
  return state === "undoing" || (state === "failed" && (changed || standingKey === null));
}

/** Whether the bot can take an action back: nobody comes back from a kick by themselves. */
export function isUndoable({ stance, action }: Pick<ListAction, "stance" | "action">): boolean {
  return stance === "apply" && action !== "kick";
}

/** How an action stands once its ground is gone: what the bot did is taken back, what it may be doing at the moment, too. */
export function endingOf(row: ListAction, now: Date): ActionChanges {
  const state = row.state as ActionState;
  const isBegun = state === "pending" && (row.attempts > 0 || row.mayBeDone);
  if (isUndoable(row) && ((state === "done" && row.changed) || isBegun))
    // What is under way is waited for: its lease stays.
    return { state: "undoing", standingKey: null, attempts: 0, dueAt: isBegun && row.dueAt !== null && row.dueAt > now ? row.dueAt : now };
  if (isUndo(row)) return { standingKey: null };
  return { state: "ended", standingKey: null, dueAt: null };
}
