import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { Conflicts } from "../links/conflicts.ts";
import { endingOf, type Ledger } from "./ledger.ts";
import { requireServed, listsPolicy } from "./lists.policy.ts";
import type { HeldActionsView, ListActionName } from "./lists.schema.ts";

export interface Breaker {
  /**
   * Whether one more action or proposal is too many for this hour.
   * @returns the batch it waits in; null: it may be done
   */
  batchFor(tx: Tx, guildId: string): Promise<string | null>;
  /** What waits in a guild. @throws ProblemError permission_denied, record_not_found for a guild that is not served */
  held(call: Call, guildId: string): Promise<HeldActionsView>;
  /** Have everything done that waits in a guild. @throws ProblemError permission_denied, record_not_found, invalid_transition when nothing waits, conflict_of_interest, hierarchy_violation */
  confirm(call: Call, guildId: string): Promise<HeldActionsView>;
  /**
   * Drop everything that waits in a guild, and take back what was done with it; it is not done again for the same records.
   * @throws ProblemError permission_denied, record_not_found, invalid_transition when there is nothing to undo,
   * conflict_of_interest, hierarchy_violation
   */
  undo(call: Call, guildId: string): Promise<HeldActionsView>;
}

export interface BreakerDeps extends Deps<"database" | "clock" | "servedGuilds" | "events"> {
  ledger: Ledger;
  conflicts: Pick<Conflicts, "requireMayDecideAbout">;
  /** How many actions and proposals an hour a guild makes by itself. */
  most: number;
  /** There is something to do. */
  wake: () => void;
}

const hour = 3600;
const day = 86_400;
/** People an answer names. */
const shown = 50;

/** Keeps a mistake from reaching many: what is more than an hour allows waits until a person lets it through, or takes all of it back. */
export function createBreaker({ database, clock, servedGuilds, events, ledger, conflicts, most, wake }: BreakerDeps): Breaker {
  const lock = (tx: Tx, guildId: string): Promise<void> => tx.lock(`list-guild:${guildId}`);
  const heldIn = (guildId: string) => ({ guildId, state: "held" });

  /** The batch that waits, or the last one that was confirmed within a day. */
  async function latest(db: Pick<Tx["db"], "listAction"> | Deps<"database">["database"]["read"], guildId: string, now: Date) {
    const held = await db.listAction.findFirst({ where: heldIn(guildId), orderBy: { id: "asc" } });
    if (held !== null) return held;
    const where = { guildId, batchId: { not: null }, state: { in: ["pending", "done"] }, createdAt: { gt: addSeconds(now, -day) } };
    return await db.listAction.findFirst({ where, orderBy: { id: "desc" } });
  }

  async function present(guildId: string): Promise<HeldActionsView> {
    const now = clock.now();
    const found = await latest(database.read, guildId, now);
    const batchId = found?.batchId ?? undefined;
    if (found === null || batchId === undefined) return { guild_id: guildId, state: "none", acted: 0, waiting: 0, since: null, people: [] };
    const where = { batchId, state: "held" };
    const [acted, waiting, people] = [
      await database.read.listAction.count({ where: { batchId, state: { in: ["pending", "done"] } } }),
      await database.read.listAction.count({ where }),
      await database.read.listAction.findMany({ where, orderBy: { id: "asc" }, take: shown }),
    ];
    return {
      guild_id: guildId,
      state: waiting > 0 ? "waiting" : "confirmed",
      acted,
      waiting,
      since: found.createdAt.toISOString(),
      people: people.map(({ userId, action, recordReference }) => ({
        user_id: userId,
        action: action as ListActionName,
        record: recordReference,
      })),
    };
  }

  return {
    async batchFor(tx: Tx, guildId: string): Promise<string | null> {
      await lock(tx, guildId);
      const waiting = await tx.db.listAction.findFirst({ where: heldIn(guildId), select: { batchId: true } });
      if (waiting !== null) return waiting.batchId;
      const ofHour = { guildId, stance: { in: ["apply", "propose"] }, allowedAt: { gt: addSeconds(tx.now, -hour) } };
      if ((await tx.db.listAction.count({ where: ofHour })) < most) return null;
      const batchId = uuid7(tx.now.getTime());
      // What was done within the hour is taken back with the rest, if it was a mistake.
      await tx.db.listAction.updateMany({ where: { ...ofHour, batchId: null, state: { in: ["pending", "done"] } }, data: { batchId } });
      events.emit(tx, { type: "list_actions.held", data: { guild_id: guildId, acted: most } });
      return batchId;
    },

    async held(call: Call, guildId: string): Promise<HeldActionsView> {
      requirePermission(call, listsPolicy.read);
      requireServed(servedGuilds, guildId);
      return await present(guildId);
    },

    async confirm(call: Call, guildId: string): Promise<HeldActionsView> {
      requireWrite(call, listsPolicy.confirm);
      requireServed(servedGuilds, guildId);
      await database.write(call, async (tx) => {
        await lock(tx, guildId);
        const rows = await tx.db.listAction.findMany({ where: heldIn(guildId), orderBy: { id: "asc" } });
        if (rows.length === 0) throw nothing("confirm");
        await requireMayDecide(tx, rows);
        await tx.db.listAction.updateMany({
          where: heldIn(guildId),
          data: { state: "pending", dueAt: tx.now, allowedAt: tx.now, updatedAt: tx.now },
        });
        for (const row of rows) ledger.record(tx, row, "confirmed", listsPolicy.confirm);
        tellReleased(tx, guildId, "confirmed");
        tx.afterCommit(wake);
      });
      return await present(guildId);
    },

    async undo(call: Call, guildId: string): Promise<HeldActionsView> {
      requireWrite(call, listsPolicy.undo);
      requireServed(servedGuilds, guildId);
      await database.write(call, async (tx) => {
        await lock(tx, guildId);
        const found = await latest(tx.db, guildId, tx.now);
        const batchId = found?.batchId ?? undefined;
        if (batchId === undefined) throw nothing("undo");
        const where = { batchId, state: { in: ["held", "pending", "done"] } };
        const rows = await tx.db.listAction.findMany({ where, orderBy: { id: "asc" } });
        await requireMayDecide(tx, rows);
        for (const row of rows) await settle(tx, row);
        tellReleased(tx, guildId, "undone");
        tx.afterCommit(wake);
      });
      return await present(guildId);
    },
  };

  function requireMayDecide(tx: Tx, rows: readonly ListAction[]): Promise<void> {
    return conflicts.requireMayDecideAbout(tx, [...new Set(rows.map(({ userId }) => userId))]);
  }

  function tellReleased(tx: Tx, guildId: string, outcome: "confirmed" | "undone"): void {
    events.emit(tx, { type: "list_actions.released", data: { guild_id: guildId, outcome } });
  }

  /** Its key stays: that keeps it from being done again. */
  async function settle(tx: Tx, row: ListAction): Promise<void> {
    const { state, ...changes } = endingOf(row, tx.now);
    const settled = state === "undoing" ? { ...changes, state } : { ...changes, state: "settled" as const };
    await ledger.change(tx, row, { ...settled, standingKey: row.standingKey }, { permission: listsPolicy.undo });
  }
}

function nothing(action: string): ProblemError {
  return new ProblemError("invalid_transition", { detail: say("lists.nothing-waits-here"), extra: { from: "none", action, allowed: [] } });
}
