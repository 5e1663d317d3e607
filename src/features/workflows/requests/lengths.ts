import { say } from "../../../kit/say.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import type { CausesInForce, Remaining } from "../../../discord-actions/in-force.ts";
import { Prisma, type WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { Undone } from "../../../kernel/undo.ts";
import type { Deps } from "../../deps.ts";
import type { RosterService } from "../../roster/roster.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { amendsIdOf, amendsKeyOf, Delivered, discordEffect, DiscordEffectInput, mayBeDone } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import { causeOf } from "../effects/shared-actions.ts";
import type { EffectKey } from "../effects/inputs.ts";
import { penaltyEnd } from "../effects/words.ts";
import { lockKept } from "./attempt.ts";
import type { OverturnNote } from "./overturn.ts";
import { tellOf } from "./told.ts";
import { getWholeRequest, type Request } from "./workflows.policy.ts";

export interface Lengths {
  /**
   * Have everything that an approval did end at another time. What is over by then ends now.
   * @param until null: without an end, as far as Discord allows
   * @returns null, with nothing done, for a request that is not approved, or that did nothing with an end
   */
  changeInTx(tx: Tx, id: string, until: Date | null, note: OverturnNote): Promise<LengthChange | null>;
  /** Put back the ends that `changeInTx` changed, as far as nobody changed them since. @param undo as it answered it */
  undoChangeInTx(tx: Tx, undo: unknown, note: OverturnNote): Promise<Undone>;
}

export interface LengthDeps extends Deps<"audit" | "events"> {
  causes: Pick<CausesInForce, "afterTimeoutChange" | "of">;
  roster: Pick<RosterService, "changeEndInTx" | "moveInTx">;
  staff: Pick<StaffService, "changeSuspensionInTx" | "suspendInTx">;
  effects: () => Pick<Effects, "append" | "wake">;
}

const text = z.string().nullable();
const Change = z.discriminatedUnion("what", [
  /** `was` is absent where the ban had no end. */
  z.object({ what: z.literal("ban_end"), place: z.int(), ban: z.int(), was: z.string().optional() }),
  z.object({ what: z.literal("timeout"), place: z.int(), was: z.string() }),
  z.object({ what: z.enum(["roster", "staff"]), place: z.int(), was: text, isLifted: z.boolean() }),
]);
type Change = z.infer<typeof Change>;
const Changes = z.object({ request_id: z.string(), changes: z.array(Change) });

/** What came of another length of a decision. */
export interface LengthChange {
  undo: z.infer<typeof Changes>;
  /** The person whom the decision is about. */
  userId: string | undefined;
  request: Request;
  /** The end that holds now, other causes included; null without one. */
  until: Date | null;
  /** Whether another decision keeps the person so for longer. */
  isKeptLonger: boolean;
}

/** The end of something, before and after. */
interface End {
  tx: Tx;
  request: Request;
  row: WorkflowEffect;
  until: Date | null;
  note: OverturnNote;
}

const keyOfEnd: EffectKey = "discord.ban_end";
const halted: Partial<Readonly<Record<string, "suspended" | "probation">>> = {
  "roster.suspend": "suspended",
  "roster.probation": "probation",
};

/** Changes when what an approval did ends, in Discord, on the roster and in the permissions, inside another decision's transaction. */
export function createLengths({ audit, events, causes, roster, staff, effects }: LengthDeps): Lengths {
  async function write(tx: Tx, { requestId, place }: Pick<WorkflowEffect, "requestId" | "place">, data: EffectChanges): Promise<void> {
    await tx.db.workflowEffect.updateMany({ where: { requestId, place }, data: { ...data, updatedAt: tx.now } });
  }

  /** A ban that has not ended is lifted at its new end, at once where that is over. */
  async function changeBan({ tx, request, row: ban, until }: End): Promise<Change | null> {
    if (ban.status !== "pending" && ban.status !== "done") return null;
    const end = request.effects.find(({ key, targetId, status }) => key === keyOfEnd && targetId === ban.targetId && status === "pending");
    if (end === undefined) {
      if (until === null) return null;
      const target = { kind: "server", id: ban.targetId ?? "" };
      const [made] = await effects().append(tx, await getWholeRequest(tx, request.id), [
        { key: keyOfEnd, status: "pending", detail: say("workflows.the-ban-is-lifted-at-its-end"), target, dueAt: until },
      ]);
      return made === undefined ? null : { what: "ban_end", place: made.place, ban: ban.place };
    }
    if (end.dueAt?.getTime() === until?.getTime()) return null;
    await write(tx, end, until === null ? { status: "skipped", dueAt: null } : { dueAt: until, attempts: 0 });
    tx.afterCommit(effects().wake);
    return { what: "ban_end", place: end.place, ban: ban.place, ...(end.dueAt !== null && { was: end.dueAt.toISOString() }) };
  }

  async function restoreBan(
    { tx, request }: Pick<End, "tx" | "request">,
    { place, ban, was }: Change & { what: "ban_end" },
  ): Promise<Undone> {
    const end = request.effects.find((row) => row.place === place);
    const banned = request.effects.find((row) => row.place === ban);
    if (end === undefined || banned === undefined) return changedSince;
    const isAhead = was === undefined || new Date(was) > tx.now;
    const isUnderWay = end.status === "pending" && DiscordEffectInput.safeParse(end.input).success;
    // Its shorter end has come: it is made again, unless its former end is over, too. A lift that Discord has put off leaves it in place.
    if ((end.status === "done" || isUnderWay) && banned.status === "reversed" && isAhead)
      await write(tx, banned, { status: "pending", dueAt: tx.now, attempts: 0, undo: { mayBeDone: isUnderWay } });
    else if (isUnderWay || (end.status !== "pending" && end.status !== "skipped")) return changedSince;
    // What was left for the bot at the shorter end is worked out anew at the former one.
    const anew = { attempts: 0, lastError: null, input: Prisma.DbNull, undo: Prisma.DbNull };
    await write(tx, end, was === undefined ? { status: "skipped", dueAt: null } : { status: "pending", dueAt: new Date(was), ...anew });
    tx.afterCommit(effects().wake);
    return restored;
  }

  /** What Discord has to be told of the new end of a timeout. */
  async function sendTimeout(tx: Tx, request: Request, row: WorkflowEffect, { next }: Remaining): Promise<void> {
    if (next === null) return;
    const detail =
      next.kind === "timeout" ? say("workflows.new-end-of-the-timeout", { at: next.until }) : say("workflows.end-of-the-timeout");
    // Two changes in one moment have names of their own.
    const id = `${amendsIdOf(row, tx.now)}:end`;
    await effects().append(tx, await getWholeRequest(tx, request.id), [
      { key: amendsKeyOf(row.key), ...discordEffect(next, { id, detail }) },
    ]);
  }

  async function setTimeoutEnd({ tx, request, row, note }: End, until: Date): Promise<{ was: string } | null> {
    const cause = causeOf(row, request.reference);
    const input = DiscordEffectInput.safeParse(row.input).data;
    if (cause?.until === null || cause?.until === undefined || input?.discord.kind !== "timeout") return null;
    if (cause.until.getTime() === until.getTime()) return null;
    const delivered = Delivered.safeParse(row.undo).data;
    const shown = { changed: true, until: until.toISOString() };
    const isKnown = row.status === "done" && delivered?.changed === true;
    await write(tx, row, {
      input: { ...input, discord: { ...input.discord, until: until.toISOString() } },
      ...(isKnown && { undo: { ...delivered, ...shown } }),
    });
    if (row.status === "done" || mayBeDone(row)) {
      const before = { ...cause, changed: true, reason: note.cause };
      const left = await causes.afterTimeoutChange(tx, before, until);
      // It had found what it asks for in place: from now on something is there that is its own.
      if (row.status === "done" && !isKnown && left.next !== null) await write(tx, row, { undo: { ...delivered, ...shown } });
      await sendTimeout(tx, request, row, left);
    }
    return { was: cause.until.toISOString() };
  }

  async function changeTimeout(end: End): Promise<Change | null> {
    const { tx, row, until } = end;
    const own = causeOf(row, "")?.until;
    if ((row.status !== "pending" && row.status !== "done") || !own || own <= tx.now) return null;
    const longest = penaltyEnd(null, tx.now);
    const changed = await setTimeoutEnd(end, until === null || until > longest ? longest : until);
    return changed && { what: "timeout", place: row.place, ...changed };
  }

  async function changeRoster({ tx, row, until, note }: End): Promise<Change | null> {
    const why = { causeReference: note.cause, permission: note.permission, reason: note.reason };
    const changed = await roster.changeEndInTx(tx, row.undo, until, why);
    if (changed === null) return null;
    await write(tx, row, { undo: changed.undo });
    return { what: "roster", place: row.place, was: isoOrNull(changed.was), isLifted: until !== null && until <= tx.now };
  }

  async function restoreRoster({ tx, row, note, until }: End, isLifted: boolean): Promise<Undone> {
    const why = { causeReference: note.cause, permission: note.permission, reason: note.reason };
    if (!isLifted) {
      const changed = await roster.changeEndInTx(tx, row.undo, until, why);
      if (changed !== null) await write(tx, row, { undo: changed.undo });
      return changed === null ? changedSince : restored;
    }
    const user = z.object({ user_id: z.string() }).parse(row.undo).user_id;
    const moved = await roster.moveInTx(tx, user, { event: "suspended", to: halted[row.key], until, ...why });
    if ("skipped" in moved) return { restored: false, detail: moved.skipped };
    await write(tx, row, { undo: moved.undo });
    return restored;
  }

  async function changeStaff({ tx, row, until, note }: End): Promise<Change | null> {
    const changed = await staff.changeSuspensionInTx(tx, row.undo, until, { ...note, causeReference: note.cause });
    return changed && { what: "staff", place: row.place, was: isoOrNull(changed.was), isLifted: until !== null && until <= tx.now };
  }

  async function restoreStaff({ tx, row, note, until }: End, isLifted: boolean): Promise<Undone> {
    const why = { ...note, causeReference: note.cause };
    if (!isLifted) return (await staff.changeSuspensionInTx(tx, row.undo, until, why)) === null ? changedSince : restored;
    const userId = z.object({ user_id: z.string() }).parse(row.undo).user_id;
    const suspended = await staff.suspendInTx(tx, { ...why, userId, until });
    if ("skipped" in suspended) return { restored: false, detail: suspended.skipped };
    await write(tx, row, { undo: suspended.undo });
    return restored;
  }

  /** How the end of an effect is changed; undefined for what has none. */
  function changing({ key, status, input }: WorkflowEffect): ((end: End) => Promise<Change | null>) | undefined {
    if (halted[key] !== undefined) return status === "done" ? changeRoster : undefined;
    if (key === "staff.suspend") return status === "done" ? changeStaff : undefined;
    if (key !== "discord.punish") return undefined;
    const kind = DiscordEffectInput.safeParse(input).data?.discord.kind;
    return kind === "ban" ? changeBan : kind === "timeout" ? changeTimeout : undefined;
  }

  async function openRequest(tx: Tx, id: string): Promise<Request | null> {
    await lockKept(tx, [id]);
    const request = await getWholeRequest(tx, id);
    return request.status === "approved" ? request : null;
  }

  function record(tx: Tx, request: Request, note: OverturnNote, until: string | null): void {
    const { id, reference, status } = request;
    const about = userOf(request);
    audit.record(tx, {
      action: "workflow.effect",
      target: { kind: "workflow", id, reference },
      ...(about !== undefined && { subjectUserId: about }),
      reason: note.reason,
      after: { until, cause: note.cause },
      permission: note.permission,
    });
    tellOf(events, tx, "workflow.updated", request, { status, action: "effect" });
  }

  /** The end that holds for the person now. */
  async function holds(tx: Tx, request: Request, until: Date | null): Promise<Pick<LengthChange, "until" | "isKeptLonger">> {
    let end = until;
    let isKeptLonger = false;
    for (const row of (await getWholeRequest(tx, request.id)).effects) {
      const cause = row.key === "discord.punish" ? causeOf(row, request.reference) : undefined;
      if (cause === undefined || (cause.kind !== "ban" && cause.kind !== "timeout")) continue;
      const others = (await causes.of(tx, cause)).filter(({ kind, id }) => kind === cause.kind && id !== cause.id);
      if (cause.kind === "ban") isKeptLonger ||= others.length > 0;
      for (const other of others) if (other.until !== null && end !== null && other.until > end) [end, isKeptLonger] = [other.until, true];
    }
    return { until: end, isKeptLonger };
  }

  return {
    async changeInTx(tx: Tx, id: string, until: Date | null, note: OverturnNote): Promise<LengthChange | null> {
      const request = await openRequest(tx, id);
      if (request === null) return null;
      const changes: Change[] = [];
      for (const row of request.effects) {
        const change = (await changing(row)?.({ tx, request, row, until, note })) ?? null;
        if (change !== null) changes.push(change);
      }
      if (changes.length === 0) return null;
      record(tx, request, note, isoOrNull(until));
      return { undo: { request_id: id, changes }, userId: userOf(request), request, ...(await holds(tx, request, until)) };
    },

    async undoChangeInTx(tx: Tx, undo: unknown, note: OverturnNote): Promise<Undone> {
      const { request_id: id, changes } = Changes.parse(undo);
      const request = await openRequest(tx, id);
      if (request === null) return changedSince;
      const results: Undone[] = [];
      for (const change of changes.toReversed()) {
        const row = request.effects.find(({ place }) => place === change.place);
        if (row === undefined) continue;
        if (change.what === "ban_end") results.push(await restoreBan({ tx, request }, change));
        else {
          const was = change.was === null ? null : new Date(change.was);
          const end = { tx, request, row, until: was, note };
          if (change.what === "timeout") results.push((await setTimeoutEnd(end, was ?? tx.now)) === null ? changedSince : restored);
          else results.push(await (change.what === "roster" ? restoreRoster : restoreStaff)(end, change.isLifted));
        }
      }
      record(tx, request, note, null);
      return results.find((one) => !one.restored) ?? restored;
    },
  };
}

type EffectChanges = Prisma.WorkflowEffectUncheckedUpdateManyInput;
const restored: Undone = { restored: true, detail: say("workflows.it-ends-when-it-did-before") };
const changedSince: Undone = { restored: false, detail: say("cases.what-was-changed-since-stays-as-it") };

function userOf({ subjects }: Request): string | undefined {
  return subjects.find(({ kind }) => kind === "user")?.subjectId;
}
