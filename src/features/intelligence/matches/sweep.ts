import type { Deps } from "../../deps.ts";
import { groupBy } from "../../../kernel/group.ts";
import type { Tx } from "../../../database/database.ts";
import { earliestOf, firstOf } from "../../../database/earliest.ts";
import { partByPart, sweepIsolated } from "../../../kernel/isolated.ts";
import { inBatches } from "../../../kernel/pause.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { Match } from "../../../generated/sqlite/client.ts";
import { comparePeople, matchesLock, type CompareDeps } from "./compare.ts";
import { denialSeconds } from "./people.ts";
import { emitMatchChange } from "./store.ts";

export interface SweepDeps extends CompareDeps, Deps<"database" | "clock" | "audit" | "logger"> {}

const peopleAtOnce = 50;
const rowsAtOnce = 100;
const deletedAtOnce = 1000;
/** How long a closed match is kept, in seconds. */
const keptSeconds = 90 * 86_400;

type DueGrace = Pick<Match, "id" | "graceUntil">;

/** What time does to matches. */
export function createMatchSweep(deps: SweepDeps) {
  const { database, clock, audit, events, logger } = deps;
  /** Up to when denied applications were looked through. */
  let denialsDone = new Date(0);

  /** Matches whose grace period is over ask for attention. */
  function endGrace(call: Call): Promise<number> {
    const due = { status: "grace", graceUntil: { lte: clock.now() } };
    return sweepIsolated<DueGrace>({
      size: rowsAtOnce,
      find: (after) => {
        const behind = after && {
          OR: [{ graceUntil: { gt: after.graceUntil ?? clock.now() } }, { graceUntil: after.graceUntil, id: { gt: after.id } }],
        };
        const orderBy = [{ graceUntil: "asc" }, { id: "asc" }] as const;
        return database.read.match.findMany({
          where: { ...due, ...behind },
          select: { id: true, graceUntil: true },
          orderBy: [...orderBy],
          take: rowsAtOnce,
        });
      },
      work: (found) =>
        database.write(call, async (tx) => {
          await tx.lock(matchesLock);
          const ids = found.map(({ id }) => id);
          const rows = await tx.db.match.findMany({ where: { id: { in: ids }, ...due } });
          const still = { id: { in: rows.map(({ id }) => id) } };
          await tx.db.match.updateMany({ where: still, data: { status: "open", revision: { increment: 1 } } });
          for (const match of rows) emitMatchChange(tx, events, "opened", { ...match, status: "open" });
          for (const [userId, matches] of groupBy(rows, (row) => row.userId)) noteGrace(tx, userId, matches);
          return found.length;
        }),
      logger,
      failure: "a match whose grace is over could not be opened; it is tried again in a minute",
      idsOf: ({ id }) => ({ match: id }),
    });
  }

  function noteGrace(tx: Tx, userId: string, matches: readonly { id: string; recordReference: string }[]): void {
    audit.record(tx, {
      action: "match.open",
      subjectUserId: userId,
      before: { status: "grace" },
      after: { status: "open", match_ids: matches.map(({ id }) => id) },
      permission: "system.act",
    });
  }

  async function compareAgain(call: Call, userIds: ReadonlySet<string>): Promise<void> {
    if (userIds.size === 0) return;
    await database.write(call, async (tx) => {
      await tx.lock(matchesLock);
      await comparePeople(tx, [...userIds], "everything", deps);
    });
  }

  /** People whose exemption ran out are compared as if there had been none. */
  function endExemptions(call: Call): Promise<number> {
    const due = { status: "exempt", exemptUntil: { lte: clock.now() }, closedAt: null };
    return sweepIsolated<{ userId: string }>({
      size: peopleAtOnce,
      find: (after) =>
        database.read.match.findMany({
          where: { ...due, ...(after !== undefined && { userId: { gt: after.userId } }) },
          select: { userId: true },
          distinct: ["userId"],
          orderBy: { userId: "asc" },
          take: peopleAtOnce,
        }),
      async work(people) {
        await compareAgain(call, new Set(people.map(({ userId }) => userId)));
        return people.length;
      },
      logger,
      failure: "somebody whose exemption is over could not be compared again; it is tried again in a minute",
      idsOf: ({ userId }) => ({ user_id: userId }),
    });
  }

  /** Only what has run out since the last time is looked at; the first time, everything. */
  async function endDenials(call: Call): Promise<number> {
    const until = addSeconds(clock.now(), -denialSeconds);
    const decidedAt = { gt: denialsDone, lte: until };
    const requests = await database.read.workflowRequest.findMany({
      where: { type: "recruitment", status: "denied", decidedAt },
      select: { id: true },
    });
    const touched = await sweepIsolated<{ id: string }>({
      size: peopleAtOnce,
      find: () => Promise.resolve(requests.splice(0, peopleAtOnce)),
      async work(some) {
        const where = { kind: "prior_denial", recordId: { in: some.map(({ id }) => id) } };
        const rows = await database.read.match.findMany({ where, select: { userId: true, closedAt: true } });
        // As a condition it would let SQLite walk through everything that is not closed.
        const open = rows.filter(({ closedAt }) => closedAt === null);
        await compareAgain(call, new Set(open.map(({ userId }) => userId)));
        return open.length;
      },
      logger,
      failure: "somebody whose denial has run out could not be compared again; it is tried again in a minute",
      idsOf: ({ id }) => ({ request_id: id }),
    });
    denialsDone = until;
    return touched;
  }

  /** What has been closed for long is forgotten, remembered decisions with it. */
  async function forget(call: Call): Promise<number> {
    const old = { closedAt: { lte: addSeconds(clock.now(), -keptSeconds) } };
    // In the order of the index that finds them: by id, SQLite would walk through all matches.
    const orderBy = { closedAt: "asc" } as const;
    const rows = await database.read.match.findMany({ where: old, select: { id: true }, orderBy, take: deletedAtOnce });
    if (rows.length === 0) return 0;
    const ids = rows.map(({ id }) => id);
    await database.write(call, (tx) => tx.db.match.deleteMany({ where: { ...old, id: { in: ids } } }));
    return rows.length;
  }

  return {
    /** @returns how many matches were touched */
    async sweep(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const { opened, exempted, denied, forgotten } = await partByPart({
        opened: () => endGrace(call),
        exempted: () => endExemptions(call),
        denied: () => endDenials(call),
        forgotten: () => inBatches(deletedAtOnce, () => forget(call)),
      });
      return opened + exempted + denied + forgotten;
    },

    /** When the next grace period or exemption ends. */
    async nextDue(): Promise<Date | null> {
      // Closed matches keep the dates of their exemptions: they are not read again and again.
      const recently = addSeconds(clock.now(), -120);
      return firstOf(
        await earliestOf(database.read, "Match", "graceUntil", [{ status: "grace" }]),
        await earliestOf(database.read, "Match", "exemptUntil", [{ status: "exempt", exemptUntil: { gt: recently }, closedAt: null }]),
      );
    },
  };
}
