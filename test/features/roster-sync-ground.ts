import { pino } from "pino";
import { onTestFinished } from "vitest";
import { createRosterSync, type RosterSync } from "../../src/features/roster/sync/sync.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

/** A world that neither follows nor audits by itself. */
export const alone = { ROSTER_FOLLOWS_DISCORD: "false", ROSTER_AUDIT_HOUR: "off" };

export const job = () => systemCall("job", uuid7());

export interface MovedClock {
  now(): Date;
  pass(ms: number): void;
}

export function createMovedClock(): MovedClock {
  let offset = 0;
  return { now: () => new Date(Date.now() + offset), pass: (ms) => void (offset += ms) };
}

/** Following that a test begins and ends, beside a world that does not follow by itself. */
export function followIn(world: World, clock: { now(): Date } = world.app.clock): RosterSync {
  const sync = createRosterSync({
    ...world.app,
    isFollowing: true,
    fingerprintKey: Buffer.alloc(32),
    clock,
    logger: pino({ level: "silent" }),
  });
  onTestFinished(() => sync.stop());
  return sync;
}

export const entryOf = (world: World, { id: userId }: Pick<User, "id">) =>
  world.app.database.read.rosterEntry.findUnique({ where: { userId } });

export const linesOf = (world: World, { id: userId }: Pick<User, "id">) =>
  world.app.database.read.rosterEvent.findMany({ where: { userId }, orderBy: { id: "asc" } });

export async function eventsOf(world: World, user: Pick<User, "id">): Promise<string[]> {
  return (await linesOf(world, user)).map(({ event }) => event);
}

/** Put somebody on the roster, as an approval does. */
export async function enlist(world: World, { id: userId }: Pick<User, "id">, staffRole: string | null, trialDays = 0): Promise<void> {
  const note = { causeReference: null, permission: "system.act" as const };
  await world.app.database.write(job(), (tx) => world.app.roster.beginTrialInTx(tx, { ...note, userId, staffRole, trialDays }));
}

/** Everything the roster has written so far. */
export async function written(world: World) {
  const { rosterEntry, rosterEvent, auditEntry, outboxEvent } = world.app.database.read;
  const entries = await rosterEntry.findMany({ orderBy: { userId: "asc" } });
  return {
    entries,
    lines: await rosterEvent.count(),
    audit: await auditEntry.count({ where: { outcome: { not: "denied" } } }),
    told: await outboxEvent.count(),
  };
}

/** Looks again and again until an answer is as wanted; the look starts no work. */
export async function until<T>(look: () => Promise<T>, isWanted: (found: T) => boolean, ms = 60_000): Promise<T> {
  const end = performance.now() + ms;
  for (;;) {
    const found = await look();
    if (isWanted(found)) return found;
    if (performance.now() > end) throw new Error(`not within ${ms.toString()} ms: ${JSON.stringify(found)}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
