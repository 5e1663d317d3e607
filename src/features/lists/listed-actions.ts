import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { RESTJSONErrorCodes } from "discord-api-types/v10";
import type { Tx } from "../../database/database.ts";
import type { CausesInForce } from "../../discord-actions/in-force.ts";
import type { Outcome } from "../../discord-actions/outcome.ts";
import { memberKey } from "../../discord-actions/returns.ts";
import type { ActionSource, Claimed, Ended } from "../../discord-actions/source.ts";
import { Prisma, type ListAction } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { DiscordAction, DiscordActionDraft } from "../../kernel/discord-port.ts";
import { leaseFrom, maxAttempts, type DueTask } from "../../kit/task.ts";
import { afterWithdrawing, markOf } from "./causes.ts";
import { causeNameOf, endingOf, isUndoable, lockPerson, type ActionChanges, type Ledger } from "./ledger.ts";
import type { ListActionName } from "./lists.schema.ts";
import { barOf, isBarred } from "./stance-roles.ts";

export interface ListedActionsDeps extends Deps<"database" | "access" | "guildState"> {
  ledger: Ledger;
  causesInForce: Pick<CausesInForce, "afterWithdrawing" | "lock">;
}

/** An attempt that is under way. */
interface Claim extends Claimed {
  row: ListAction;
  dueAt: Date | null;
}

const states = ["pending", "undoing"] as const;
const ended = { dueAt: null, mayBeDone: false };

/** What guilds have the bot do to listed people, and take back, as actions for {@link createDiscordActions}. */
export function createListedActions({ database, access, guildState, ledger, causesInForce }: ListedActionsDeps): ActionSource<Claim> {
  async function open(tx: Tx, id: string): Promise<ListAction | null> {
    const found = await tx.db.listAction.findUnique({ where: { id }, select: { userId: true, guildId: true } });
    if (found === null) return null;
    await lockPerson(tx, found.userId);
    await causesInForce.lock(tx, found);
    return await tx.db.listAction.findUnique({ where: { id } });
  }

  /** What was begun earlier about the same person in the same guild comes first. */
  async function isItsTurn(tx: Tx, { id, guildId, userId, createdAt, state }: ListAction): Promise<boolean> {
    const earlier = [{ createdAt: { lt: createdAt } }, ...(state === "pending" ? [{ createdAt, state: "undoing" }] : [])];
    const where = { guildId, userId, stance: "apply", state: { in: [...states] }, dueAt: { not: null }, id: { not: id }, OR: earlier };
    return (await tx.db.listAction.count({ where })) === 0;
  }

  async function claim(tx: Tx, id: string): Promise<Claim | "handled" | undefined> {
    const row = await open(tx, id);
    if (row === null || row.dueAt === null || row.dueAt > tx.now || !(await isItsTurn(tx, row))) return undefined;
    if (row.state !== "pending" && row.state !== "undoing") return undefined;
    const { isOwner, held } = access.of(row.userId);
    if (row.state === "pending" && (isOwner || held.length > 0)) {
      await ledger.change(tx, row, endingOf(row, tx.now), { why: say("lists.they-are-staff") });
      return "handled";
    }
    // The role may have become a staff role since the rule was saved.
    if (row.state === "pending" && row.roleId !== null && isBarred(barOf({ access, guildState }, row.guildId, row.roleId))) {
      await ledger.change(tx, row, endingOf(row, tx.now), { why: say("lists.lists-do-not-give-this-role") });
      return "handled";
    }
    const until = row.until ?? addSeconds(tx.now, row.seconds ?? 0);
    const draft = row.state === "undoing" ? (await afterWithdrawing(causesInForce, tx, row)).next : null;
    if (row.state === "undoing" && draft === null) {
      await ledger.change(tx, row, { state: row.standingKey === null ? "undone" : "settled", ...ended });
      return "handled";
    }
    const actionFor = (claimed: ListAction): DiscordAction => (draft === null ? actionOf(claimed) : oppositeOf(claimed, draft));
    if (row.attempts >= maxAttempts)
      return { row, action: actionFor({ ...row, until }), dueAt: row.dueAt, attempts: row.attempts, mayBeDone: true, isSpent: true };
    const dueAt = leaseFrom(tx.now);
    const attempts = row.attempts + 1;
    await ledger.change(tx, row, { attempts, dueAt, until, ...(row.state === "pending" && { mayBeDone: true }) });
    const claimed = { ...row, attempts, dueAt, until };
    return { row: claimed, dueAt, attempts, action: actionFor(claimed), mayBeDone: row.state === "pending" && row.mayBeDone };
  }

  /** It was called off meanwhile: what was done after all is taken back. */
  async function endCalledOff(tx: Tx, row: ListAction, { row: claimed, dueAt }: Claim, outcome: Outcome): Promise<void> {
    const isDone = outcome.state === "done" && outcome.changed;
    if (claimed.state !== "pending" || !isDone || !isUndoable(row)) {
      if (row.state === "undoing" && outcome.state !== "later" && row.dueAt?.getTime() === dueAt?.getTime())
        await ledger.change(tx, row, { state: row.standingKey === null ? "ended" : "settled", dueAt: null });
      return;
    }
    if (!["undoing", "settled", "ended"].includes(row.state)) return;
    await ledger.change(tx, row, {
      state: "undoing",
      changed: true,
      mayBeDone: false,
      attempts: 0,
      dueAt: tx.now,
      ...(outcome.until && { shownUntil: outcome.until }),
    });
  }

  async function page(now: Date, most: number, after: DueTask | undefined) {
    const behind = after === undefined ? Prisma.empty : Prisma.sql`AND (t.due_at, t.id) > (${after.dueAt}, ${after.id})`;
    const found = await Promise.all(
      states.map((state) =>
        database.read.$select(
          "ListAction",
          Prisma.sql`WHERE t.state = ${state} AND t.stance = 'apply' AND t.due_at <= ${now} ${behind} ORDER BY t.due_at, t.id LIMIT ${most}`,
          ["id", "guildId", "userId", "dueAt"],
        ),
      ),
    );
    return found.flat();
  }

  return {
    name: "listed actions",

    async due(now, most, after) {
      const tasks = (await page(now, most, after)).flatMap(({ id, guildId, userId, dueAt }): DueTask[] =>
        dueAt === null ? [] : [{ id, key: memberKey({ guildId, userId }), dueAt }],
      );
      return tasks.toSorted((a, b) => a.dueAt.getTime() - b.dueAt.getTime() || (a.id < b.id ? -1 : 1)).slice(0, most);
    },

    async nextDue(now) {
      const where = { state: { in: [...states] }, stance: "apply", dueAt: { gt: now } };
      return (await database.read.listAction.findFirst({ where, orderBy: { dueAt: "asc" }, select: { dueAt: true } }))?.dueAt ?? null;
    },

    claim,

    waitingFor: () =>
      database.read.listAction.findMany({
        where: { state: { in: [...states] }, stance: "apply", dueAt: null },
        select: { guildId: true, userId: true },
      }),

    async requeue({ db, now }, { guildId, userId }) {
      const where = { guildId, userId, state: { in: [...states] }, stance: "apply", dueAt: null };
      await db.listAction.updateMany({ where, data: { dueAt: now, joinedAt: now } });
    },

    async end(tx, claim, outcome): Promise<Ended> {
      const { row: claimed, dueAt } = claim;
      const cause = causeNameOf(claimed);
      const row = await open(tx, claimed.id);
      if (row === null) return { cause, isWritten: false };
      const isOurs = row.state === claimed.state && row.dueAt?.getTime() === dueAt?.getTime() && row.attempts === claimed.attempts;
      if (!isOurs) {
        await endCalledOff(tx, row, claim, outcome);
        return { cause, isWritten: false };
      }
      const { changes, why } = changesAfter(row, outcome);
      await ledger.change(tx, row, changes, why === undefined ? {} : { why });
      return { cause, isWritten: changes.state === "failed" };
    },
  };
}

function common(row: ListAction, step: string) {
  const { id, guildId, userId, recordReference } = row;
  return { id: `list:${id}:${step}`, guildId, userId, reason: `${recordReference} ${markOf(row)}` };
}

function actionOf(row: ListAction): DiscordAction {
  const every = common(row, "do");
  const kinds: Readonly<Record<ListActionName, () => DiscordAction>> = {
    role: () => ({ ...every, kind: "role_add", roleId: row.roleId ?? "" }),
    timeout: () => ({ ...every, kind: "timeout", until: (row.until ?? row.createdAt).toISOString() }),
    kick: () => ({ ...every, kind: "kick" }),
    ban: () => ({ ...every, kind: "ban" }),
  };
  return kinds[row.action as ListActionName]();
}

function oppositeOf({ id }: ListAction, draft: DiscordActionDraft): DiscordAction {
  return { ...draft, id: `list:${id}:undo` };
}

function changesAfter(row: ListAction, outcome: Outcome): { changes: ActionChanges; why?: string } {
  const isUndoing = row.state === "undoing";
  if (outcome.state === "done") {
    if (isUndoing) return { changes: { state: row.standingKey === null ? "undone" : "settled", ...ended } };
    return {
      changes: {
        state: "done",
        changed: outcome.changed || row.changed,
        ...ended,
        ...(outcome.changed && outcome.until && { shownUntil: outcome.until }),
      },
    };
  }
  if (outcome.state === "away") return { changes: { dueAt: null, attempts: 0, mayBeDone: false } };
  if (outcome.state === "later") return { changes: { dueAt: outcome.dueAt, ...(!isUndoing && { mayBeDone: outcome.mayBeDone }) } };
  // Whoever is to be kicked has left by themselves.
  if (outcome.code === RESTJSONErrorCodes.UnknownMember && row.action === "kick")
    return { changes: { state: "done", changed: false, ...ended } };
  const lastError = outcome.detail;
  return { changes: { state: "failed", lastError, dueAt: null, changed: isUndoing }, why: lastError };
}
