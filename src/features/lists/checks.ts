import type { Insert, Tx } from "../../database/tx.ts";
import { uuid7 } from "../../kernel/ids.ts";

/** What is not asked for any more of somebody in a guild. */
interface Settled {
  guildId: string;
  userId: string;
  action: string;
}

const nameOf = ({ guildId, action }: Pick<Settled, "guildId" | "action">): string => `${action}:${guildId}`;

/** Have a decision hold for what is still to be compared, too. Under the person's lock. */
export async function settle({ db }: Tx, settled: Settled): Promise<void> {
  for (const { id, settles } of await db.listCheck.findMany({ where: { userId: settled.userId } }))
    await db.listCheck.update({ where: { id }, data: { settles: [settles, nameOf(settled)].filter((one) => one !== null).join(" ") } });
}

/** Whether decisions since these comparisons were asked for have ended an action in a guild. */
export function isSettledIn(checks: readonly { settles: string | null }[], action: Pick<Settled, "guildId" | "action">): boolean {
  return checks.some(({ settles }) => settles?.split(" ").includes(nameOf(action)) === true);
}

export interface ListChecks {
  insertOf(tx: Tx, userIds: readonly string[]): Insert;
  /** Have these people compared with the lists again once the transaction is committed. */
  ask(tx: Tx, userIds: readonly string[]): void;
  /** Have everyone in a guild compared who may be listed. */
  askGuild(tx: Tx, guildId: string): void;
  /** Hear that a transaction of this process has left some. */
  onAsked(listener: (userIds: readonly string[]) => void): void;
}

/**
 * Who is to be compared with the lists again: rows that a transaction leaves with the change that is the reason, so that none is forgotten
 * when the process ends in between.
 */
export function createListChecks(): ListChecks {
  const listeners = new Set<(userIds: readonly string[]) => void>();
  const asked = new WeakMap<Tx, Set<string>>();
  const rowOf = (userId: string | null, guildId: string | null = null) => ({ id: uuid7(), userId, guildId });

  /** The rows to insert with others of the transaction: fewer statements than {@link ask}. */
  function insertOf(tx: Tx, userIds: readonly string[]): Insert {
    if (userIds.length > 0) tellLater(tx, userIds);
    return { model: "ListCheck", rows: userIds.map((userId) => rowOf(userId)) };
  }

  function tellLater(tx: Tx, userIds: readonly string[]): void {
    tx.afterCommit(() => {
      for (const listener of listeners) listener(userIds);
    });
  }

  return {
    insertOf,

    ask(tx: Tx, userIds: readonly string[]): void {
      const known = asked.get(tx) ?? new Set<string>();
      for (const userId of userIds) known.add(userId);
      if (asked.has(tx) || known.size === 0) return;
      asked.set(tx, known);
      tx.beforeCommit(() => Promise.resolve(tx.insert([insertOf(tx, [...known])])));
    },

    askGuild(tx: Tx, guildId: string): void {
      tellLater(tx, []);
      tx.insert([{ model: "ListCheck", rows: [rowOf(null, guildId)] }]);
    },

    onAsked: (listener: (userIds: readonly string[]) => void): void => void listeners.add(listener),
  };
}
