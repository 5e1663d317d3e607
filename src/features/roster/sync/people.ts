import type { Deps } from "../../deps.ts";
import { setImmediate as breathe } from "node:timers/promises";
import type { Tx } from "../../../database/database.ts";
import type { Selects } from "../../../database/models.ts";
import { conditionOf } from "../../../database/where.ts";
import type { GuildInfo } from "../../../discord/guild-state.ts";
import { Prisma, type RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import { sweepIsolated } from "../../../kernel/isolated.ts";
import type { RosterService } from "../roster.service.ts";
import { shownOf, stepsFor, type Following } from "./diff.ts";

export interface PeopleDeps extends Deps<"database" | "guildState" | "access" | "logger"> {
  roster: Pick<RosterService, "records">;
}

/** Somebody whose entry is not in step. */
export interface Differing extends Following {
  userId: string;
  entry: RosterEntry | null;
}

export interface People {
  rankOf(key: string): number | undefined;
  /**
   * Whether what is known of the guilds is current and complete: only then is anything concluded from it. In a guild that staff
   * roles stand in and the bot is not in any more nobody is seen, and yet nobody has left.
   */
  isKnown(): boolean;
  /** Everybody the guild state stores, and everybody with an entry. */
  everyone(): Promise<string[]>;
  /** Those of them who are not in step. */
  differing(userIds: readonly string[], at: Date): Promise<Differing[]>;
  /**
   * Bring these people in step, each as they stand when their turn comes.
   * @param mayGoOn asked before each part
   * @returns how many were changed, and who was not reached
   * @throws Error when everybody else was brought in step
   */
  apply(
    call: Call,
    userIds: readonly string[],
    mayGoOn: () => boolean,
  ): Promise<{
    changed: number;
    left: string[];
  }>;
}

const readAtOnce = 500;
const writtenAtOnce = 2;
/** After so many people that were only looked at others have their turn, and after each who was written. */
const comparedAtOnce = 100;

/** Those whom following is about, looked at and written in parts so that nobody else waits long. */
export function createPeople({ database, guildState, access, roster, logger }: PeopleDeps): People {
  const rankOf = (key: string): number | undefined => access.role(key)?.rank;

  /** What differs for somebody now. */
  function differenceOf(userId: string, entry: RosterEntry | null, at: Date): Following | null {
    const shown = shownOf(access.of(userId), guildState.guilds());
    return shown === null ? null : stepsFor(entry, shown, rankOf, at);
  }

  async function bringInStep(tx: Tx, userIds: readonly string[]): Promise<number> {
    // Always in one order, so that two transactions never wait for each other.
    for (const userId of userIds) await roster.records.lock(tx, userId);
    const entries = await entriesOf(tx.db, userIds);
    let changed = 0;
    for (const userId of userIds) {
      const entry = entries.get(userId) ?? null;
      const following = differenceOf(userId, entry, tx.now);
      if (following !== null) changed += await keep(tx, userId, entry, following);
      // What the commit takes is another turn.
      await breathe();
    }
    return changed;
  }

  /** @returns 1 for a change, 0 for a first look */
  async function keep(tx: Tx, userId: string, entry: RosterEntry | null, { steps, extras }: Following): Promise<number> {
    const [first, ...more] = steps;
    if (first !== undefined) {
      const note = { causeReference: null, source: "discord", permission: "system.act" } as const;
      await roster.records.write(tx, { userId, entry }, [first, ...more], note, { extras });
      return 1;
    }
    if (entry !== null) await tx.db.rosterEntry.update({ where: { id: entry.id }, data: extras });
    return 0;
  }

  return {
    rankOf,

    isKnown(): boolean {
      const guilds = guildState.guilds();
      const mapped = new Set(access.roles().flatMap(({ discord }) => discord.map(({ guildId }) => guildId)));
      const isRead = ({ id, present, syncedAt }: GuildInfo): boolean => (present ? syncedAt !== null : !mapped.has(id));
      return !guildState.freshness().stale && guilds.some(({ present }) => present) && guilds.every(isRead);
    },

    async everyone(): Promise<string[]> {
      const people = new Set(guildState.trackedUsers());
      for (let after = ""; ;) {
        const where = { userId: { gt: after } };
        const rows = await database.read.rosterEntry.findMany({
          where,
          select: { userId: true },
          orderBy: { userId: "asc" },
          take: readAtOnce,
        });
        for (const { userId } of rows) people.add(userId);
        const last = rows.at(-1);
        if (last === undefined || rows.length < readAtOnce) return [...people].toSorted();
        after = last.userId;
        await breathe();
      }
    },

    async differing(userIds: readonly string[], at: Date): Promise<Differing[]> {
      const found: Differing[] = [];
      for (let from = 0; from < userIds.length; from += readAtOnce) {
        const part = userIds.slice(from, from + readAtOnce);
        const entries = await entriesOf(database.read, part);
        for (const [index, userId] of part.entries()) {
          if (index % comparedAtOnce === 0) await breathe();
          const entry = entries.get(userId) ?? null;
          const following = differenceOf(userId, entry, at);
          if (following !== null) found.push({ userId, entry, ...following });
        }
      }
      return found;
    },

    async apply(call: Call, userIds: readonly string[], mayGoOn: () => boolean): Promise<{ changed: number; left: string[] }> {
      const sorted = userIds.toSorted();
      let reached = 0;
      const changed = await sweepIsolated<string>({
        size: writtenAtOnce,
        find() {
          const part = mayGoOn() ? sorted.slice(reached, reached + writtenAtOnce) : [];
          reached += part.length;
          return Promise.resolve(part);
        },
        async work(part) {
          const written = await database.write(call, (tx) => bringInStep(tx, part));
          await breathe();
          return written;
        },
        logger,
        failure: "somebody on the roster could not be brought in step; it is tried again",
        idsOf: (userId) => ({ user_id: userId }),
      });
      return { changed, left: sorted.slice(reached) };
    },
  };
}

async function entriesOf(db: Selects, userIds: readonly string[]): Promise<Map<string, RosterEntry>> {
  const rows = await db.$select("RosterEntry", Prisma.sql`WHERE ${conditionOf("RosterEntry", { userId: { in: userIds } })}`);
  return new Map(rows.map((row) => [row.userId, row]));
}
