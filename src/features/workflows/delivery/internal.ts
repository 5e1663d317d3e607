import { decidePermission } from "../requests/workflows.policy.ts";
import type { Logger } from "pino";
import { z } from "zod";
import type { Database, Tx } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { ProblemError, problems } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { maxAttempts, pauseAfter } from "./pace.ts";
import { isItsTurn, openEffect, type EffectChanges, type EffectRecords, type Opened, type Place } from "./records.ts";
import type { Tried } from "./discord.ts";
import type { Done } from "../effects/types.ts";
import type { Effects } from "../effects/effects.ts";

export interface InternalDeliveryDeps {
  database: Database;
  records: EffectRecords;
  effects: Pick<Effects, "dueOf">;
  logger: Logger;
}

/** Carries out what approvals left for a date. */
export function createInternalDelivery({ database, records, effects, logger }: InternalDeliveryDeps) {
  /** Done and written together, under the request's lock: once, or not at all. */
  async function run(tx: Tx, at: Place): Promise<Tried> {
    const opened = await openEffect(tx, at);
    if (opened?.row.status !== "pending" || !isItsTurn(opened, tx.now)) return "passed";
    const { request, row } = opened;
    const type = request.type as WorkflowKind;
    const run = effects.dueOf({ type, payload: jsonObject(request.payload) }, row.key);
    if (run === undefined) throw new ProblemError("unsupported_operation", { detail: "Nothing is known any more of how this is done." });
    const done = await run({ tx, request, actorId: null, permission: decidePermission(type) }, row);
    await records.write(tx, opened, changesAfter(tx.now, opened, done));
    return "ended";
  }

  async function fail(tx: Tx, at: Place, error: unknown): Promise<Tried> {
    const opened = await openEffect(tx, at);
    if (opened?.row.status !== "pending" || !isItsTurn(opened, tx.now)) return "passed";
    const attempts = opened.row.attempts + 1;
    const lastError = wordsOf(error);
    const isOver = isFinal(error) || attempts >= maxAttempts;
    const dueAt = addSeconds(tx.now, pauseAfter(attempts) / 1000);
    await records.write(tx, opened, { attempts, lastError, ...(isOver ? { status: "failed", dueAt: null } : { dueAt }) });
    return isOver ? "ended" : "retry";
  }

  return {
    /**
     * Do an effect that is due. A refusal leaves nothing of it, and is noted.
     * @throws ProblemError when the storage takes nothing at the moment: then it was no try
     */
    async deliver(call: Call, at: Place): Promise<Tried> {
      try {
        return await database.write(call, (tx) => run(tx, at));
      } catch (error) {
        if (error instanceof ProblemError && (error.code === "shutting_down" || error.code.startsWith("storage_"))) throw error;
        if (!(error instanceof ProblemError)) logger.error({ err: error, ...at }, "an effect of a request failed unexpectedly");
        return await database.write(call, (tx) => fail(tx, at, error));
      }
    },
  };
}

function changesAfter(now: Date, { row }: Opened, { status, detail, target, input, undo, dueAt }: Done): EffectChanges {
  const isLeft = status === "pending";
  return {
    status,
    detail,
    // What is put off to another date begins anew.
    attempts: isLeft ? 0 : row.attempts + 1,
    lastError: null,
    dueAt: isLeft ? (dueAt ?? addSeconds(now, pauseAfter(1) / 1000)) : null,
    ...(input !== undefined && { input }),
    ...(undo !== undefined && { undo }),
    ...(target && { targetKind: target.kind, targetId: target.id, targetReference: target.reference ?? null }),
  };
}

/** Whether trying again changes nothing: the state or the values do not allow it. */
function isFinal(error: unknown): boolean {
  if (error instanceof z.ZodError) return true;
  if (!(error instanceof ProblemError)) return false;
  const { status, retryable = false }: { status: number; retryable?: boolean } = problems[error.code];
  return !retryable && (status < 500 || error.code === "unsupported_operation");
}

function wordsOf(error: unknown): string {
  if (error instanceof ProblemError) return error.message;
  return error instanceof z.ZodError
    ? "What was left to be done no longer fits."
    : "It failed unexpectedly; the log of the service says more.";
}
