import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { Discord } from "../../discord/client.ts";
import type { Presence } from "../../discord/guild/presence.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { requirePermission, systemCall, type Call } from "../../kernel/call.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { pause } from "../../kernel/pause.ts";
import type { ListChecks } from "./checks.ts";
import type { createCarryOut } from "./carry-out.ts";
import type { ListSource } from "./own-list.ts";
import type { createProposals } from "./proposals.ts";
import type { Reconcile } from "./reconcile.ts";

export interface WorkerDeps extends Deps<"database" | "clock"> {
  checks: ListChecks;
  sources: readonly ListSource[];
  reconcile: Reconcile;
  carryOut: ReturnType<typeof createCarryOut>;
  proposals: ReturnType<typeof createProposals>;
  discord: Pick<Discord, "status">;
  guildState: Pick<GuildState, "presences">;
  logger: Logger;
}

export type ListWorker = ReturnType<typeof createListWorker>;

const atOnce = 100;
/** After so many actions in a row that Discord did not take, the rest waits. */
const maxRetries = 3;
const pauses = { longest: 60_000, discord: 2000, failed: 5000 };

/** Sees to who joined and who was left to be compared, and has the bot do what follows: at once, and again after a restart. */
export function createListWorker(parts: WorkerDeps) {
  const { database, clock, checks, sources, reconcile, carryOut, proposals, discord, guildState, logger } = parts;
  /** Listed people who were seen in a guild; a member list that is read after a start names them again. */
  const seen = new Set<string>();
  const stopping = new AbortController();
  let alarm = new AbortController();
  let isWoken = false;
  let loop: Promise<void> | undefined;
  let last: Promise<unknown> = Promise.resolve();

  const wake = (): void => {
    isWoken = true;
    alarm.abort();
  };
  const learn = (userIds: readonly string[]): void => {
    for (const source of sources) source.learn(userIds);
  };
  guildState.presences.onSeen(({ userId }: Presence) => {
    if (!sources.some((source) => source.mayList(userId))) return;
    seen.add(userId);
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

  async function comparePeople(call: Call, userIds: readonly string[]): Promise<void> {
    for (const userId of userIds) {
      if (stopping.signal.aborted) return;
      seen.delete(userId);
      try {
        await database.write(call, (tx) => reconcile.person(tx, userId));
      } catch (error) {
        seen.add(userId);
        throw error;
      }
    }
  }

  /** The people that rows name, each with the rows that name them: gone in the transaction that sees to them. */
  async function compareAsked(call: Call): Promise<number> {
    const rows = await database.read.listCheck.findMany({ orderBy: { id: "asc" }, take: atOnce });
    const byUser = new Map<string, string[]>();
    for (const { id, userId } of rows) if (userId !== null) byUser.set(userId, [...(byUser.get(userId) ?? []), id]);
    learn([...byUser.keys()]);
    // The rows go last: until then they name again whom they reach.
    await comparePeople(call, await reachedFrom([...byUser.keys()]));
    for (const [userId, ids] of byUser) {
      if (stopping.signal.aborted) return 0;
      await database.write(call, async (tx) => {
        await tx.db.listCheck.deleteMany({ where: { id: { in: ids } } });
        await reconcile.person(tx, userId);
      });
    }
    for (const { id, userId, guildId } of rows) if (userId === null) await spread(call, id, guildId ?? "");
    return rows.length;
  }

  /** A guild has other rules: everyone there who may be listed is compared, and everyone about whom something stands. */
  async function spread(call: Call, id: string, guildId: string): Promise<void> {
    const standing = await database.read.listAction.findMany({
      where: { guildId, standingKey: { not: null } },
      select: { userId: true },
      distinct: ["userId"],
    });
    const here = [...guildState.presences.membersOf(guildId)].filter((userId) => sources.some((source) => source.mayList(userId)));
    await database.write(call, async (tx) => {
      await tx.db.listCheck.deleteMany({ where: { id } });
      checks.ask(tx, [...new Set([...here, ...standing.map(({ userId }) => userId)])]);
    });
  }

  /** @returns whether something is left that waits for nothing but Discord */
  async function act(call: Call): Promise<boolean> {
    const passed = new Set<string>();
    for (let retries = 0; ;) {
      const due = (await carryOut.due(clock.now(), atOnce)).filter((id) => !passed.has(id));
      if (due.length === 0 || stopping.signal.aborted) return false;
      for (const id of due) {
        if (stopping.signal.aborted) return false;
        if (discord.status().state !== "ready" || retries >= maxRetries) return true;
        const tried = await carryOut.attempt(call, id);
        if (tried === "passed") passed.add(id);
        retries = tried === "retry" ? retries + 1 : 0;
      }
    }
  }

  async function round(call: Call): Promise<boolean> {
    // Those who joined come first: they are to be seen to within two seconds.
    for (;;) {
      isWoken = false;
      await comparePeople(call, [...seen]);
      const isMore = (await compareAsked(call)) > 0;
      await proposals.fileDue(call);
      const isLeft = await act(call);
      if (stopping.signal.aborted || (!isMore && !isWoken)) return isLeft;
    }
  }

  /** One after the other, no matter who asks. */
  function inTurn(call: Call): Promise<boolean> {
    const next = last.then(() => round(call));
    last = next.catch(() => undefined);
    return next;
  }

  async function run(): Promise<void> {
    while (!stopping.signal.aborted) {
      alarm = new AbortController();
      const ms = await inTurn(systemCall("job", uuid7()))
        .then((isLeft) => (isLeft ? pauses.discord : pauses.longest))
        .catch((error: unknown) => {
          if (!stopping.signal.aborted && !(error instanceof ProblemError))
            logger.error({ err: error }, "what follows from lists could not be seen to; trying again");
          return error instanceof ProblemError ? (error.retryAfter ?? 1) * 1000 : pauses.failed;
        });
      if (!isWoken) await pause(await untilNext(ms), alarm.signal);
    }
  }

  /** How long nothing is to be done, in milliseconds. */
  async function untilNext(ms: number): Promise<number> {
    const next = await database.read.listAction
      .findFirst({
        where: { state: { in: ["pending", "undoing"] }, dueAt: { gt: clock.now() } },
        orderBy: { dueAt: "asc" },
        select: { dueAt: true },
      })
      .catch(() => null);
    const dueAt = next?.dueAt ?? undefined;
    return dueAt === undefined ? ms : Math.max(250, Math.min(ms, dueAt.getTime() - clock.now().getTime()));
  }

  return {
    wake,

    /** See to everything that is due now. */
    async catchUp(call: Call): Promise<void> {
      requirePermission(call, "system.act");
      await inTurn(call);
    },

    start(): void {
      loop ??= run();
    },

    /** Begin nothing more, and wait for what is under way. */
    async stop(): Promise<void> {
      stopping.abort();
      alarm.abort();
      await loop;
    },
  };
}
