import type { DecisionAnswer } from "../requests/workflows.schema.ts";
import type { EndedByHand } from "../../native-actions/records.ts";
import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import type { DiscordActions } from "../../../discord-actions/discord-actions.ts";
import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import { joinFailures, type Failures } from "../../../discord-actions/failures.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { createTasks, type TaskState, nextAttempt, type Attempted, type TaskKind } from "../../../kit/task.ts";
import { createApprovedActions } from "./approved.ts";
import { createEndedByHand } from "./by-hand.ts";
import {
  createEffectRecords,
  type EffectRecordDeps,
  openEffect,
  type EffectChanges,
  type EffectRecords,
  type Opened,
  type Place,
} from "./records.ts";
import { createEffectRetry, type EffectRetryDeps } from "./retry.ts";
import { DiscordEffectInput } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import { say } from "../../../kit/say.ts";
import { decidePermission } from "../requests/workflows.policy.ts";
import { z } from "zod";
import type { Database, Tx } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { ProblemError, problems } from "../../../kernel/errors.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { createDueEffects, placeOf } from "./due.ts";
import type { Done } from "../effects/types.ts";

interface DatedEffectsDeps {
  database: Database;
  records: EffectRecords;
  effects: Pick<Effects, "dueOf" | "whyNotGiven">;
  logger: Logger;
}

/** What approvals left for a date, as tasks: done and written together, under the request's lock, once or not at all. */
function createDatedEffects({ database, records, effects, logger }: DatedEffectsDeps): TaskKind {
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

export interface Deliveries {
  /** For what lists that something was lifted by hand. */
  endedByHand(tx: Tx, ended: readonly EndedByHand[]): Promise<void>;
  /** What is due and not done yet: since when the oldest is, and how much it is, as far as one look reaches. */
  state(): Promise<TaskState>;
  /** Do everything that is due now; answers how many effects came to an end. */
  deliverDue(call: Call): Promise<number>;
  /** How many effects are due and not done yet. */
  countDue(): Promise<number>;
  /** How many have failed and were not tried again since. */
  countFailed(): Promise<number>;
  /** What the bot could not do to people since a moment, and nobody has tried again or taken back. */
  failuresSince(since: Date): Promise<Failures>;
  /** From now on what is left is done at once, at its date, and at the latest a minute later when another instance left it. */
  start(): void;
  /** Begin nothing more, and wait for what is under way. */
  stop(): Promise<void>;
  /**
   * Have an effect that failed tried once more, as often as a new one. The request stays as it is, its revision too.
   * @param type of the request, in any spelling
   * @param key its id or reference, in any case
   * @param place of the effect among those of the request, from 1
   * @throws ProblemError as {@link requireWrite}, record_not_found, conflict_of_interest, hierarchy_violation, invalid_transition for one that did not fail
   */
  retry(call: Call, type: string, key: string, place: number): Promise<DecisionAnswer>;
}

export interface DeliveryDeps extends EffectRecordDeps, Deps<"database" | "reach" | "clock"> {
  access: EffectRetryDeps["access"];
  effects: Pick<Effects, "append" | "takenBack" | "onLeft" | "wake" | "dueOf" | "whyNotGiven">;
  discordActions: Pick<DiscordActions, "tasksOf">;
  causesInForce: Pick<CausesInForce, "afterWaiting" | "lock">;
  logger: Logger;
}

/** Does what approvals left to be done: in Discord, and at a date. */
export function createDeliveries(parts: DeliveryDeps): Deliveries {
  const { database, effects, clock, logger, discordActions, causesInForce } = parts;
  const records = createEffectRecords(parts);
  const approved = discordActions.tasksOf(createApprovedActions({ database, records, effects, causesInForce }));
  const dated = createTasks(createDatedEffects({ database, records, effects, logger }), { clock, logger });
  const both = [approved, dated];
  const wake = (): void => {
    for (const tasks of both) tasks.wake();
  };

  return {
    ...createEffectRetry(parts),
    endedByHand: createEndedByHand(records),

    async state(): Promise<TaskState> {
      const states = await Promise.all(both.map((tasks) => tasks.state()));
      const oldest = states.flatMap((state) => state.oldest ?? []).toSorted((one, other) => one.getTime() - other.getTime());
      return {
        due: states.reduce((sum, { due }) => sum + due, 0),
        isMore: states.some(({ isMore }) => isMore),
        oldest: oldest[0] ?? null,
      };
    },

    async deliverDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      // What comes to its date may leave something for the bot, and the other way round.
      for (let total = 0; ;) {
        const ended = (await dated.runDue(call)) + (await approved.runDue(call));
        total += ended;
        if (ended === 0) return total;
      }
    },

    countDue: (): Promise<number> =>
      database.read.workflowEffect.count({ where: { status: { in: ["pending", "skipped"] }, dueAt: { lte: clock.now() } } }),

    countFailed: (): Promise<number> => database.read.workflowEffect.count({ where: { status: "failed" } }),

    async failuresSince(since: Date): Promise<Failures> {
      const rows = await database.read.workflowEffect.findMany({
        where: { status: "failed", updatedAt: { gte: since }, input: { not: Prisma.DbNull } },
        select: { input: true, lastError: true, updatedAt: true },
      });
      const failed = rows.flatMap(({ input, lastError, updatedAt }) => (isAct(input) ? { at: updatedAt, why: lastError ?? "" } : []));
      return joinFailures(failed.map((newest) => ({ count: 1, newest })));
    },

    start(): void {
      effects.onLeft(wake);
      for (const tasks of both) tasks.start();
    },

    async stop(): Promise<void> {
      await Promise.all(both.map((tasks) => tasks.stop()));
    },
  };
}

/** Whether something is done to a person in a server; a message is not. */
function isAct(input: unknown): boolean {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  return action !== undefined && "guildId" in action;
}
