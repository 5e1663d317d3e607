import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { Discord } from "../../discord/client.ts";
import { Prisma, type ListAction } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { CausesInForce } from "../../discord-actions/in-force.ts";
import type { DiscordAction, DiscordActionDraft, Performed } from "../../kernel/discord-port.ts";
import { afterWithdrawing, markOf } from "./causes.ts";
import { endingOf, isUndoable, lockPerson, type ActionChanges, type Ledger } from "./ledger.ts";
import type { ListActionName } from "./lists.schema.ts";

export interface CarryOutDeps extends Deps<"database" | "access"> {
  ledger: Ledger;
  discord: Pick<Discord, "actions" | "status">;
  causesInForce: Pick<CausesInForce, "afterWithdrawing">;
}

/** After so many attempts an action has failed. */
const maxAttempts = 12;
/** How long an attempt is nobody else's: an action ends within ten seconds of its turn, and one goes at a time. */
const leaseSeconds = 60;
const pause = { first: 30, most: 3600 };

/** An attempt that is under way. */
interface Claim {
  row: ListAction;
  action: DiscordAction;
  dueAt: Date;
}

/** Has the bot do and take back what guilds want. Each step is written before and after, so that none is lost and none is done twice. */
export function createCarryOut({ database, access, ledger, discord, causesInForce }: CarryOutDeps) {
  async function open(tx: Tx, id: string): Promise<ListAction | null> {
    const found = await tx.db.listAction.findUnique({ where: { id }, select: { userId: true } });
    if (found === null) return null;
    await lockPerson(tx, found.userId);
    return await tx.db.listAction.findUnique({ where: { id } });
  }

  /** What was begun earlier about the same person in the same guild comes first. */
  async function isItsTurn(tx: Tx, { id, guildId, userId, createdAt, state }: ListAction): Promise<boolean> {
    const earlier = [{ createdAt: { lt: createdAt } }, ...(state === "pending" ? [{ createdAt, state: "undoing" }] : [])];
    const where = { guildId, userId, stance: "apply", state: { in: ["pending", "undoing"] }, id: { not: id }, OR: earlier };
    return (await tx.db.listAction.count({ where })) === 0;
  }

  async function claim(tx: Tx, id: string): Promise<Claim | undefined> {
    const row = await open(tx, id);
    if (row === null || row.dueAt === null || row.dueAt > tx.now || !(await isItsTurn(tx, row))) return undefined;
    if (row.state !== "pending" && row.state !== "undoing") return undefined;
    const { isOwner, held } = access.of(row.userId);
    if (row.state === "pending" && (isOwner || held.length > 0)) {
      await ledger.change(tx, row, endingOf(row, tx.now), { why: "They are staff." });
      return undefined;
    }
    if (row.attempts >= maxAttempts) {
      await ledger.change(tx, row, { state: "failed", dueAt: null, lastError: "The last try came to no end." });
      return undefined;
    }
    const draft = row.state === "undoing" ? (await afterWithdrawing(causesInForce, tx, row)).next : null;
    if (row.state === "undoing" && draft === null) {
      await ledger.change(tx, row, {
        state: row.standingKey === null ? "undone" : "settled",
        dueAt: null,
        lastError: null,
        mayBeDone: false,
      });
      return undefined;
    }
    const dueAt = addSeconds(tx.now, leaseSeconds);
    const begun = { attempts: row.attempts + 1, dueAt, ...(row.state === "pending" && { mayBeDone: true }) };
    const until = row.until ?? addSeconds(tx.now, row.seconds ?? 0);
    await ledger.change(tx, row, { ...begun, until });
    const claimed = { ...row, ...begun, until };
    const action = draft === null ? actionOf(claimed) : oppositeOf(claimed, draft);
    return { row: { ...claimed, mayBeDone: row.mayBeDone }, action, dueAt };
  }

  async function end(tx: Tx, { row: claimed, dueAt }: Claim, performed: Performed): Promise<void> {
    const row = await open(tx, claimed.id);
    if (row === null) return;
    const isOurs = row.state === claimed.state && row.dueAt?.getTime() === dueAt.getTime() && row.attempts === claimed.attempts;
    if (isOurs) return await ledger.change(tx, row, changesAfter(tx.now, row, performed));
    // It was called off meanwhile: what was done after all is taken back.
    const isDone = performed.outcome === "done" && performed.changed;
    if (claimed.state !== "pending" || !isDone || !isUndoable(row)) {
      if (row.state === "undoing" && performed.outcome !== "retry" && row.dueAt?.getTime() === dueAt.getTime())
        await ledger.change(tx, row, { state: row.standingKey === null ? "ended" : "settled", dueAt: null });
      return;
    }
    if (!["undoing", "settled", "ended"].includes(row.state)) return;
    await ledger.change(tx, row, { state: "undoing", changed: true, mayBeDone: false, attempts: 0, dueAt: tx.now, ...untilOf(performed) });
  }

  return {
    /** Actions that are due, in the order in which they are. */
    async due(now: Date, most: number): Promise<string[]> {
      const found = await Promise.all(
        ["pending", "undoing"].map((state) =>
          database.read.$select(
            "ListAction",
            Prisma.sql`WHERE t.state = ${state} AND t.stance = 'apply' AND t.due_at <= ${now} ORDER BY t.due_at, t.id LIMIT ${most}`,
            ["id", "dueAt"],
          ),
        ),
      );
      return found
        .flat()
        .toSorted((a, b) => (a.dueAt?.getTime() ?? 0) - (b.dueAt?.getTime() ?? 0) || (a.id < b.id ? -1 : 1))
        .map(({ id }) => id)
        .slice(0, most);
    },

    /** Try one; the bot acts between two transactions. @returns whether it came to an end */
    async attempt(call: Call, id: string): Promise<"ended" | "retry" | "passed"> {
      const claimed = await database.write(call, (tx) => claim(tx, id));
      if (claimed === undefined) return "passed";
      const performed = await discord.actions.perform(claimed.action, {
        mayBeDone: claimed.row.mayBeDone && claimed.row.state === "pending",
      });
      await database.write(call, (tx) => end(tx, claimed, performed));
      return performed.outcome === "retry" ? "retry" : "ended";
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

function changesAfter(now: Date, row: ListAction, performed: Performed): ActionChanges {
  const isUndoing = row.state === "undoing";
  if (performed.outcome === "done") {
    if (isUndoing) return { state: row.standingKey === null ? "undone" : "settled", dueAt: null, lastError: null, mayBeDone: false };
    return {
      state: "done",
      changed: performed.changed,
      mayBeDone: false,
      dueAt: null,
      lastError: null,
      ...(performed.changed && untilOf(performed)),
    };
  }
  const lastError = performed.detail;
  if (performed.outcome === "failed" || row.attempts >= maxAttempts) return { state: "failed", lastError, dueAt: null };
  const seconds = Math.max(Math.min(pause.first * 2 ** (row.attempts - 1), pause.most), (performed.retryAfterMs ?? 0) / 1000);
  return { lastError, dueAt: addSeconds(now, seconds), ...(!isUndoing && { mayBeDone: performed.mayBeDone }) };
}

function untilOf(performed: Performed): { until?: Date } {
  return performed.outcome === "done" && performed.until !== undefined ? { until: new Date(performed.until) } : {};
}
