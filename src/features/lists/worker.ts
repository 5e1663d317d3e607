import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { DiscordActions } from "../../discord-actions/discord-actions.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { createTasks, type TaskKind, type Attempted, leaseFrom, maxAttempts, type DueTask, type TaskState } from "../../kit/task.ts";
import { type Ledger, lockPerson, causeNameOf, endingOf, isUndoable, type ActionChanges } from "./ledger.ts";
import type { Presence } from "../../discord/guild/presence.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { ListChecks } from "./checks.ts";
import type { ListSource } from "./own-list.ts";
import type { Reconcile } from "./reconcile.ts";
import { say } from "../../kit/say.ts";
import { RESTJSONErrorCodes } from "discord-api-types/v10";
import type { Tx } from "../../database/database.ts";
import type { CausesInForce } from "../../discord-actions/in-force.ts";
import type { Outcome } from "../../discord-actions/outcome.ts";
import { memberKey } from "../../discord-actions/returns.ts";
import type { ActionSource, Claimed, Ended } from "../../discord-actions/source.ts";
import { Prisma, type ListAction } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { DiscordAction, DiscordActionDraft } from "../../kernel/discord-port.ts";
import { afterWithdrawing, markOf } from "./causes.ts";
import type { ListActionName } from "./lists.schema.ts";
import { barOf, isBarred } from "./stance-roles.ts";

interface ListedActionsDeps extends Deps<"database" | "access" | "guildState"> {
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
function createListedActions({ database, access, guildState, ledger, causesInForce }: ListedActionsDeps): ActionSource<Claim> {
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

interface ComparisonsDeps extends Deps<"database" | "clock"> {
  checks: ListChecks;
  sources: readonly ListSource[];
  reconcile: Reconcile;
  guildState: { presences: Pick<GuildState["presences"], "onSeen" | "membersOf"> };
  /** There is somebody to compare. */
  wake: () => void;
  /** A comparison may have left something for the bot to do, or to be proposed. */
  onCompared: () => void;
}

const [seenPrefix, rowPrefix] = ["seen:", "row:"] as const;

/** Who is to be compared with the lists, as tasks: one person each, so that nobody's records keep another from being compared. */
function createComparisons(parts: ComparisonsDeps): TaskKind {
  const { database, clock, checks, sources, reconcile, guildState, wake, onCompared } = parts;
  /** Listed people who were seen in a guild, and when; a member list that is read after a start names them again. */
  const seen = new Map<string, Date>();

  const learn = (userIds: readonly string[]): void => {
    for (const source of sources) source.learn(userIds);
  };
  const mayBeListed = (userId: string): boolean => sources.some((source) => source.mayList(userId));
  guildState.presences.onSeen(({ userId }: Presence) => {
    if (seen.has(userId) || !mayBeListed(userId)) return;
    seen.set(userId, clock.now());
    wake();
  });
  checks.onAsked((userIds) => {
    learn(userIds);
    wake();
  });

  async function reachedFrom(userIds: readonly string[]): Promise<string[]> {
    const reached = new Set<string>();
    for (const source of sources) for (const userId of await source.reachedFrom(database.read, userIds)) reached.add(userId);
    return [...reached];
  }

  /** The rows that name a person are gone in the transaction that compares them. Until then they name again whom they reach. */
  async function comparePerson(call: Call, userId: string): Promise<Attempted> {
    const seenAt = seen.get(userId);
    seen.delete(userId);
    try {
      const rows = await database.read.listCheck.findMany({ where: { userId }, select: { id: true } });
      if (rows.length > 0) {
        learn([userId]);
        for (const other of await reachedFrom([userId]))
          if (other !== userId) await database.write(call, (tx) => reconcile.person(tx, other));
      }
      await database.write(call, async (tx) => {
        await lockPerson(tx, userId);
        const checks = rows.length === 0 ? [] : await tx.db.listCheck.findMany({ where: { id: { in: rows.map(({ id }) => id) } } });
        if (checks.length > 0) await tx.db.listCheck.deleteMany({ where: { id: { in: checks.map(({ id }) => id) } } });
        await reconcile.person(tx, userId, checks);
      });
      return "ended";
    } catch (error) {
      if (seenAt !== undefined) seen.set(userId, seenAt);
      throw error;
    }
  }

  /** A guild has other rules: everyone there who may be listed is compared, and everyone about whom something is recorded. */
  async function compareGuild(call: Call, id: string, guildId: string): Promise<Attempted> {
    const recorded = await database.read.listAction.findMany({
      where: { guildId, standingKey: { not: null } },
      select: { userId: true },
      distinct: ["userId"],
    });
    const here = [...guildState.presences.membersOf(guildId)].filter((userId) => mayBeListed(userId));
    await database.write(call, async (tx) => {
      await tx.db.listCheck.deleteMany({ where: { id } });
      checks.ask(tx, [...new Set([...here, ...recorded.map(({ userId }) => userId)])]);
    });
    return "ended";
  }

  async function compareAsked(call: Call, id: string): Promise<Attempted> {
    const row = await database.read.listCheck.findUnique({ where: { id } });
    if (row === null) return "passed";
    return row.userId === null ? await compareGuild(call, id, row.guildId ?? "") : await comparePerson(call, row.userId);
  }

  return {
    name: "list comparisons",
    places: 4,

    /** Those who joined come first: they are to be seen to within two seconds. */
    async due(now, most, after) {
      const isBehindJoined = after !== undefined;
      const joined = isBehindJoined
        ? []
        : [...seen].slice(0, most).map(([userId, dueAt]) => ({ id: `${seenPrefix}${userId}`, key: userId, dueAt }));
      if (joined.length === most) return joined;
      const from = after?.id.startsWith(rowPrefix) === true ? after.id.slice(rowPrefix.length) : "";
      const rows = await database.read.listCheck.findMany({
        where: { id: { gt: from } },
        orderBy: { id: "asc" },
        take: most - joined.length,
      });
      const asked = rows.map(({ id, userId, guildId }) => ({
        id: `${rowPrefix}${id}`,
        key: userId ?? `guild:${guildId ?? ""}`,
        dueAt: now,
      }));
      return [...joined, ...asked];
    },

    nextDue: () => Promise.resolve(null),

    async attempt(call, id) {
      const attempted = id.startsWith(seenPrefix)
        ? await comparePerson(call, id.slice(seenPrefix.length))
        : await compareAsked(call, id.slice(rowPrefix.length));
      onCompared();
      return attempted;
    },
  };
}

export interface WorkerDeps extends Omit<ComparisonsDeps, "wake" | "onCompared" | "guildState">, Deps<"access" | "guildState"> {
  ledger: Ledger;
  causesInForce: ListedActionsDeps["causesInForce"];
  proposals: TaskKind;
  discordActions: Pick<DiscordActions, "tasksOf">;
  logger: Logger;
}

export interface ListWorker {
  /** Something is to be compared, filed or done. */
  wake(): void;
  /** What the bot is to do about listed people that is due and not done yet. */
  state(): Promise<TaskState>;
  /** Do everything that is due now. */
  catchUp(call: Call): Promise<void>;
  start(): void;
  /** Begin nothing more, and wait for what is under way. */
  stop(): Promise<void>;
}

/** Compares who joined and who was left to be compared, files what follows and has the bot do it: at once, and again after a restart. */
export function createListWorker({ proposals, discordActions, ...parts }: WorkerDeps): ListWorker {
  const actions = discordActions.tasksOf(createListedActions(parts));
  const proposing = createTasks(proposals, parts);
  const wakeFollowing = (): void => {
    actions.wake();
    proposing.wake();
  };
  const comparing = createTasks(createComparisons({ ...parts, wake: () => comparing.wake(), onCompared: wakeFollowing }), parts);
  const all = [comparing, proposing, actions];

  return {
    wake(): void {
      for (const tasks of all) tasks.wake();
    },

    state: actions.state,

    async catchUp(call: Call): Promise<void> {
      requirePermission(call, "system.act");
      let ended: number;
      do {
        ended = 0;
        for (const tasks of all) ended += await tasks.runDue(call);
      } while (ended > 0);
    },

    start(): void {
      for (const tasks of all) tasks.start();
    },

    async stop(): Promise<void> {
      await Promise.all(all.map((tasks) => tasks.stop()));
    },
  };
}
