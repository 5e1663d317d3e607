import type { Deps } from "../deps.ts";
import type { Presence } from "../../discord/guild/presence.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import type { Attempted, TaskKind } from "../../kit/task.ts";
import type { ListChecks } from "./checks.ts";
import type { ListSource } from "./own-list.ts";
import { lockPerson } from "./ledger.ts";
import type { Reconcile } from "./reconcile.ts";

export interface ComparisonsDeps extends Deps<"database" | "clock"> {
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
export function createComparisons(parts: ComparisonsDeps): TaskKind {
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
