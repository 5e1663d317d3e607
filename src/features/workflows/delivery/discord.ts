import type { Logger } from "pino";
import type { Database, Tx } from "../../../database/database.ts";
import type { Discord } from "../../../discord/client.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { Performed } from "../../../kernel/discord-port.ts";
import { leaseSeconds, maxAttempts, pauseAfter } from "./pace.ts";
import { isItsTurn, openEffect, type EffectChanges, type EffectRecords, type Opened, type Place } from "./records.ts";
import { mayBeDone, DiscordEffectInput } from "../effects/discord-effect.ts";

/** How the service reaches Discord. */
export type DiscordPort = Pick<Discord, "actions" | "status">;

/** What became of a try; `passed`: it was not this one's to do. */
export type Tried = "ended" | "retry" | "passed";

export interface DiscordDeliveryDeps {
  database: Database;
  records: EffectRecords;
  discord: DiscordPort;
  logger: Logger;
}

type Action = DiscordEffectInput["discord"];

/** An attempt that is under way: nobody else makes one until its lease is over. */
interface Claim extends Place {
  action: Action;
  /** Which attempt it is, from 1. */
  attempts: number;
  mayBeDone: boolean;
}

/** Has the bot do what approvals left for it. */
export function createDiscordDelivery({ database, records, discord, logger }: DiscordDeliveryDeps) {
  /** Take an effect on. Until its end is written, it may be done for all that anybody knows. */
  async function claim(tx: Tx, at: Place): Promise<Claim | undefined> {
    const opened = await openEffect(tx, at);
    if (opened?.row.status !== "pending" || !isItsTurn(opened, tx.now)) return undefined;
    const { row } = opened;
    const { discord: action } = DiscordEffectInput.parse(row.input);
    if (row.attempts >= maxAttempts) {
      await records.write(tx, opened, { status: "failed", dueAt: null, lastError: "The last try came to no end." });
      return undefined;
    }
    const attempts = row.attempts + 1;
    const data = { attempts, dueAt: addSeconds(tx.now, leaseSeconds), undo: { mayBeDone: true }, updatedAt: tx.now };
    const { count } = await tx.db.workflowEffect.updateMany({ where: { ...at, status: "pending", attempts: row.attempts }, data });
    return count === 0 ? undefined : { ...at, action, attempts, mayBeDone: mayBeDone(row) };
  }

  /** Write how an attempt ended. */
  async function end(tx: Tx, claimed: Claim, performed: Performed): Promise<void> {
    const opened = await openEffect(tx, claimed);
    // After a lease ran out, whoever took the effect on next says how it ended.
    if (opened?.row.attempts !== claimed.attempts) return;
    if (opened.row.status === "skipped" && opened.row.dueAt !== null) return await endCalledOff(tx, opened, performed);
    if (opened.row.status === "pending") await records.write(tx, opened, changesAfter(tx.now, opened.row.detail, claimed, performed));
  }

  /** It was called off while the bot was at it. */
  async function endCalledOff(tx: Tx, opened: Opened, performed: Performed): Promise<void> {
    const isDone = performed.outcome === "done" && performed.changed;
    if (isDone || (performed.outcome === "retry" && performed.mayBeDone)) return await records.takeBack(tx, opened, untilOf(performed));
    await records.write(tx, opened, { dueAt: null, undo: Prisma.DbNull });
  }

  return {
    /** Try to have an effect done that is due. The bot acts between two transactions. */
    async deliver(call: Call, at: Place): Promise<Tried> {
      const claimed = await database.write(call, (tx) => claim(tx, at));
      if (claimed === undefined) return "passed";
      let performed: Performed;
      try {
        performed = await discord.actions.perform(claimed.action, { mayBeDone: claimed.mayBeDone });
      } catch (error) {
        logger.error({ err: error, ...at }, "an action in Discord failed unexpectedly and is tried again after its lease");
        return "retry";
      }
      await database.write(call, (tx) => end(tx, claimed, performed));
      return performed.outcome === "retry" ? "retry" : "ended";
    },

    /** See to what was called off in the middle of an attempt whose end nobody wrote: what may be done is taken back. */
    async retractAbandoned(call: Call, at: Place): Promise<Tried> {
      return await database.write(call, async (tx): Promise<Tried> => {
        const opened = await openEffect(tx, at);
        if (opened?.row.status !== "skipped" || opened.row.dueAt === null || opened.row.dueAt > tx.now) return "passed";
        await records.takeBack(tx, opened, {});
        return "ended";
      });
    },
  };
}

function changesAfter(now: Date, detail: string, { attempts, action, mayBeDone: mayHaveBeen }: Claim, performed: Performed): EffectChanges {
  if (performed.outcome === "done") {
    const undo = { changed: performed.changed, ...untilOf(performed) };
    return { status: "done", detail: `${detail} ${performed.detail}`, undo, dueAt: null, lastError: null };
  }
  const lastError = performed.detail;
  const undo = { mayBeDone: performed.outcome === "retry" ? performed.mayBeDone : mayHaveBeen };
  if (performed.outcome === "failed" || attempts >= maxAttempts) return { status: "failed", lastError, dueAt: null, undo };
  const isMessage = performed.mayBeDone && (action.kind === "message_user" || action.kind === "message_channel");
  const pause = pauseAfter(attempts, { isMessage, leastMs: performed.retryAfterMs ?? 0 });
  return { lastError, dueAt: addSeconds(now, pause / 1000), undo };
}

function untilOf(performed: Performed): { until?: string } {
  return performed.outcome === "done" && performed.until !== undefined ? { until: performed.until } : {};
}
