import type { Deps } from "../../deps.ts";
import type { Tx } from "../../../database/database.ts";
import type { Effects } from "../effects/effects.ts";
import type { CausesInForce } from "../../../discord-actions/in-force.ts";
import type { ActionSource, CauseName, Claimed, Ended } from "../../../discord-actions/source.ts";
import { memberKey, type Member } from "../../../discord-actions/returns.ts";
import type { Outcome } from "../../../discord-actions/outcome.ts";
import { RESTJSONErrorCodes } from "discord-api-types/v10";
import { Prisma, type WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { DiscordAction } from "../../../kernel/discord-port.ts";
import { leaseFrom, maxAttempts } from "../../../kit/task.ts";
import { eventPermission } from "../requests/workflows.policy.ts";
import { redoneByHand } from "./by-hand.ts";
import { keptOf } from "./consequences.ts";
import { createDueEffects, placeOf } from "./due.ts";
import { openEffect, type EffectChanges, type EffectRecords, type Opened, type Place } from "./records.ts";
import { Delivered, DiscordEffectInput, mayBeDone } from "../effects/discord-effect.ts";

/** What is done to one person in one server goes in order; a message goes before the act that it waits with. Everything else is independent. */
function keyOf(input: unknown): string | undefined {
  const { data } = DiscordEffectInput.safeParse(input);
  if (data === undefined) return undefined;
  const { discord: action, before } = data;
  if ("guildId" in action) return memberKey(action);
  return before ?? (action.kind === "message_user" ? `user:${action.userId}` : `channel:${action.channelId}`);
}

/**
 * Whether nothing that was left earlier for the same person in the same server waits to be tried again. Messages keep no act waiting; those of
 * one request to one place stay in their order, as a later one may take back what an earlier one says.
 */
async function isBeforeOthers(tx: Tx, { row, request }: Opened): Promise<boolean> {
  const key = keyOf(row.input);
  const action = DiscordEffectInput.parse(row.input).discord;
  const isAct = "guildId" in action;
  const isAhead = (other: WorkflowEffect): boolean =>
    other.status === "pending" &&
    other.dueAt !== null &&
    keyOf(other.input) === key &&
    isEarlier(other, row) &&
    isAct === "guildId" in DiscordEffectInput.parse(other.input).discord;
  if (request.effects.some((other) => other.place !== row.place && isAhead(other))) return false;
  if (!isAct) return true;
  const others = await tx.db.workflowEffect.findMany({
    where: {
      status: "pending",
      dueAt: { not: null },
      input: { not: Prisma.DbNull },
      requestId: { not: request.id },
      at: { lt: row.at },
      request: { subjects: { some: { kind: "user", subjectId: action.userId } } },
    },
  });
  return !others.some((other) => isAhead(other));
}

function isEarlier(one: WorkflowEffect, other: WorkflowEffect): boolean {
  return one.requestId === other.requestId ? one.place < other.place : one.at < other.at;
}

export interface ApprovedActionsDeps extends Deps<"database"> {
  records: EffectRecords;
  effects: Pick<Effects, "whyNotGiven">;
  causesInForce: Pick<CausesInForce, "afterWaiting" | "lock">;
}

/** An effect that is being carried out. */
interface Claim extends Claimed, Place {
  /** What keeps the person as they are in part, in a sentence. */
  stays?: string | null;
}

/** What waits until a person is back in the server. */
const waiting = { status: "pending", dueAt: null, input: { not: Prisma.DbNull } };

/** What approvals leave for the bot, as actions for {@link createDiscordActions}. */
export function createApprovedActions({ database, records, effects, causesInForce }: ApprovedActionsDeps): ActionSource<Claim> {
  /** An effect, as what other causes have left to it is known now. */
  async function openHeld(tx: Tx, at: Place): Promise<Opened | undefined> {
    const opened = await openEffect(tx, at);
    const action = opened && DiscordEffectInput.parse(opened.row.input).discord;
    if (opened === undefined || action === undefined || !("guildId" in action)) return opened;
    await causesInForce.lock(tx, action);
    const { requestId, place } = at;
    const now = await tx.db.workflowEffect.findUnique({ where: { requestId_place: { requestId, place } }, select: { undo: true } });
    return { ...opened, row: { ...opened.row, undo: now?.undo ?? null } };
  }

  /** What was called off in the middle of an attempt whose end nobody wrote: what may be done is taken back. */
  async function retract(tx: Tx, opened: Opened): Promise<"handled" | undefined> {
    if (opened.row.dueAt === null || opened.row.dueAt > tx.now) return undefined;
    await records.takeBack(tx, opened, {});
    return "handled";
  }

  async function claim(tx: Tx, id: string): Promise<Claim | "handled" | undefined> {
    const at = placeOf(id);
    const opened = await openHeld(tx, at);
    if (opened?.row.status === "skipped") return await retract(tx, opened);
    if (opened?.row.status !== "pending" || opened.row.dueAt === null || opened.row.dueAt > tx.now) return undefined;
    const { row } = opened;
    const { discord, before } = DiscordEffectInput.parse(row.input);
    const isBrief = before !== undefined;
    if (row.attempts >= (isBrief ? 1 : maxAttempts))
      return { ...at, action: discord, attempts: row.attempts, mayBeDone: true, isSpent: true };
    if (!(await isBeforeOthers(tx, opened))) return undefined;
    const others = await redoneByHand(tx, discord, row.at);
    const isEnding = row.key === "discord.punish" && (discord.kind === "unban" || discord.kind === "timeout_lift");
    const left =
      others === undefined
        ? await causesInForce.afterWaiting(tx, discord, { at: row.at, isEnding })
        : { stays: others, next: null, changed: false };
    const { stays, next, changed } = left;
    if (next === null) {
      const detail = `${row.detail} ${stays ?? ""}`.trim();
      await records.write(tx, opened, { status: "done", detail, undo: { changed }, dueAt: null, lastError: null });
      return "handled";
    }
    const action: DiscordAction = { ...next, id: discord.id };
    const attempts = row.attempts + 1;
    const data = { attempts, dueAt: leaseFrom(tx.now), undo: { ...keptOf(row), ...takenOver(row), mayBeDone: true }, updatedAt: tx.now };
    const { count } = await tx.db.workflowEffect.updateMany({ where: { ...at, status: "pending", attempts: row.attempts }, data });
    const refused = effects.whyNotGiven(opened.request, row);
    return count === 0
      ? undefined
      : { ...at, action, attempts, mayBeDone: mayBeDone(row), isBrief, stays, ...(refused !== null && { refused }) };
  }

  /** It was called off while the bot was at it. */
  async function endCalledOff(tx: Tx, opened: Opened, outcome: Outcome): Promise<void> {
    const isDone = outcome.state === "done" && outcome.changed;
    const isPossible = (outcome.state === "later" || outcome.state === "failed") && outcome.mayBeDone;
    if (isDone || isPossible) return await records.takeBack(tx, opened, untilIn(outcome));
    await records.write(tx, opened, { dueAt: null, undo: Prisma.DbNull });
  }

  return {
    name: "approved actions",
    ...createDueEffects(database, (input) => keyOf(input)),
    claim,

    async waitingFor() {
      const rows = await database.read.workflowEffect.findMany({ where: waiting, select: { input: true } });
      return rows.flatMap(({ input }) => memberOf(input) ?? []);
    },

    async requeue({ db, now }, member) {
      const ofPerson = { request: { subjects: { some: { kind: "user", subjectId: member.userId } } } };
      const rows = await db.workflowEffect.findMany({ where: { ...waiting, ...ofPerson } });
      for (const { requestId, place, input } of rows) {
        const its = memberOf(input);
        if (its === undefined || memberKey(its) !== memberKey(member)) continue;
        await db.workflowEffect.updateMany({ where: { ...waiting, requestId, place }, data: { dueAt: now } });
      }
    },

    async end(tx, claimed, outcome): Promise<Ended> {
      const opened = await openHeld(tx, claimed);
      const cause = causeOf(claimed, opened);
      // After a lease ran out, whoever took the effect on next says how it ended.
      if (opened?.row.attempts !== claimed.attempts) return { cause, isWritten: false };
      if (opened.row.status === "skipped" && opened.row.dueAt !== null) {
        await endCalledOff(tx, opened, outcome);
        return { cause, isWritten: false };
      }
      if (opened.row.status !== "pending") return { cause, isWritten: false };
      await records.write(tx, opened, changesAfter(opened.row, claimed, outcome));
      return { cause, isWritten: true, permission: eventPermission(opened.request) };
    },
  };
}

/** Whom an effect acts on in which server. */
function memberOf(input: unknown): Member | undefined {
  const action = DiscordEffectInput.safeParse(input).data?.discord;
  return action !== undefined && "guildId" in action ? action : undefined;
}

function causeOf({ requestId, place }: Place, opened: Opened | undefined): CauseName {
  return { feature: "request", id: requestId, place, reference: opened?.request.reference ?? "" };
}

function changesAfter(row: WorkflowEffect, { mayBeDone: mayHaveBeen, stays }: Claim, outcome: Outcome): EffectChanges {
  if (outcome.state === "done") {
    const undo = { changed: outcome.changed, ...takenOver(row), ...untilIn(outcome) };
    // What it says it does is what was done, unless Discord already showed it so.
    const detail = [row.detail, ...(stays ? [stays] : []), ...(outcome.changed ? [] : [outcome.detail])].join(" ");
    return { status: "done", detail, undo, dueAt: null, lastError: null };
  }
  const lastError = outcome.detail;
  if (outcome.state === "away")
    return { lastError, dueAt: null, attempts: 0, undo: { ...keptOf(row), code: RESTJSONErrorCodes.UnknownMember, mayBeDone: false } };
  const undo = { ...keptOf(row), code: outcome.code, mayBeDone: outcome.mayBeDone || (outcome.state === "failed" && mayHaveBeen) };
  if (outcome.state === "failed") return { status: "failed", lastError, dueAt: null, undo };
  return { lastError, dueAt: outcome.dueAt, undo: { ...undo, ...takenOver(row) } };
}

/** Another cause may have left to this one what the bot had done already. */
function takenOver({ undo }: Pick<WorkflowEffect, "undo">): { changed?: true } {
  return Delivered.safeParse(undo).data?.changed === true ? { changed: true } : {};
}

function untilIn(outcome: Outcome): { until?: string } {
  return outcome.state === "done" && outcome.until !== undefined ? { until: outcome.until.toISOString() } : {};
}
