import { say } from "../../../kit/say.ts";
import { decidePermission } from "../requests/workflows.policy.ts";
import type { Logger } from "pino";
import { z } from "zod";
import type { Database, Tx } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import type { Call } from "../../../kernel/call.ts";
import { ProblemError, problems } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { nextAttempt, type Attempted, type TaskKind } from "../../../kit/task.ts";
import { createDueEffects, placeOf } from "./due.ts";
import { openEffect, type EffectChanges, type EffectRecords, type Opened, type Place } from "./records.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
import type { Done } from "../effects/types.ts";
import type { Effects } from "../effects/effects.ts";

export interface DatedEffectsDeps {
  database: Database;
  records: EffectRecords;
  effects: Pick<Effects, "dueOf" | "whyNotGiven">;
  logger: Logger;
}

/** What approvals left for a date, as tasks: done and written together, under the request's lock, once or not at all. */
export function createDatedEffects({ database, records, effects, logger }: DatedEffectsDeps): TaskKind {
  /** The effect, as long as it is due. */
  async function openDue(tx: Tx, at: Place): Promise<Opened | undefined> {
    const opened = await openEffect(tx, at);
    const { status, dueAt = null, input } = opened?.row ?? {};
    // Another process may have come first, and have left to the bot what follows from it.
    if (DiscordEffectInput.safeParse(input).success) return undefined;
    return status !== "pending" || dueAt === null || dueAt > tx.now ? undefined : opened;
  }

  async function run(tx: Tx, at: Place): Promise<Attempted> {
    const opened = await openDue(tx, at);
    if (opened === undefined) return "passed";
    const { request, row } = opened;
    const type = request.type as WorkflowKind;
    const run = effects.dueOf({ type, payload: jsonObject(request.payload) }, row.key);
    if (run === undefined) throw new ProblemError("unsupported_operation", { detail: say("workflows.nothing-is-known-any-more-of-how") });
    const refused = effects.whyNotGiven(request, row);
    if (refused !== null) throw new ProblemError("invalid_transition", { detail: refused });
    const done = await run({ tx, request, actorId: null, permission: decidePermission(type) }, row);
    await records.write(tx, opened, changesAfter(tx.now, opened, done));
    return "ended";
  }

  async function fail(tx: Tx, at: Place, error: unknown): Promise<Attempted> {
    const opened = await openDue(tx, at);
    if (opened === undefined) return "passed";
    const attempts = opened.row.attempts + 1;
    const dueAt = isFinal(error) ? null : nextAttempt(tx.now, attempts);
    await records.write(tx, opened, { attempts, lastError: wordsOf(error), dueAt, ...(dueAt === null && { status: "failed" }) });
    return dueAt === null ? "ended" : "later";
  }

  return {
    name: "dated effects",
    places: 2,
    ...createDueEffects(database, (input, { requestId }) => (DiscordEffectInput.safeParse(input).success ? undefined : requestId)),

    /** A refusal leaves nothing of it, and is noted. Where the storage takes nothing at the moment, it was no attempt. */
    async attempt(call: Call, id: string): Promise<Attempted> {
      const at = placeOf(id);
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
    dueAt: isLeft ? (dueAt ?? nextAttempt(now, 1)) : null,
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
  if (error instanceof ProblemError) return error.said;
  return error instanceof z.ZodError
    ? say("workflows.what-was-left-to-be-done-no")
    : say("workflows.it-failed-unexpectedly-the-log-of-the");
}
