import type { Tx } from "../../database/database.ts";
import { insertRows } from "../../database/insert.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { RosterEventName } from "./states.ts";

/** Where a line of history comes from. */
export const lineSources = ["staff", "request", "discord", "time"] as const;
export type LineSource = (typeof lineSources)[number];

/** What happened to somebody. */
export interface Line {
  /** Null for the callsign of somebody who is not on the roster. */
  entryId: string | null;
  userId: string;
  event: RosterEventName;
  /** Plain JSON of what it changes; the whole stand of an entry, or what was shown or held. */
  before: object;
  after: object;
  pool?: string;
  callsign?: string;
}

/** Why it happened, and since when. */
export interface LineNote {
  /** The request or case it comes from. */
  causeReference: string | null;
  reason?: string | undefined;
  /** Since when it is so; from now on by default, and then never before what is in effect already. */
  effectiveAt?: Date | undefined;
  /** A request where there is a cause, time where the service acts by itself, staff else, by default. */
  source?: LineSource | undefined;
}

/** Add lines to the history of one person: they stand in the order of their ids, however the clock goes. The caller holds a lock of the person. */
export async function addLines(tx: Tx, lines: readonly Line[], note: LineNote): Promise<void> {
  const [first] = lines;
  if (first === undefined) return;
  const { causeReference, reason } = note;
  const { userId } = first;
  const effectiveAt = note.effectiveAt ?? (await sinceNow(tx, userId));
  const [newest] = await tx.db.$select("RosterEvent", Prisma.sql`WHERE t.user_id = ${userId} ORDER BY t.id DESC LIMIT 1`, ["id"]);
  const from = newest === undefined ? tx.now.getTime() : Math.max(tx.now.getTime(), timeOf(newest.id) + 1);
  const rows = lines.map((line, index) => ({
    id: uuid7(from + index),
    entryId: line.entryId,
    userId: line.userId,
    event: line.event,
    before: line.before,
    after: line.after,
    ...rolesOf(line),
    pool: line.pool ?? null,
    callsign: line.callsign ?? null,
    source: note.source ?? sourceOf(tx, causeReference),
    actorId: tx.call.actor?.id ?? null,
    causeReference,
    reason: reason ?? null,
    effectiveAt,
    recordedAt: tx.now,
  }));
  await insertRows(tx, "RosterEvent", rows);
}

/** From now on; where the clock went back, from the latest line on: what is written last counts. */
async function sinceNow({ db, now }: Tx, userId: string): Promise<Date> {
  const rest = Prisma.sql`WHERE t.user_id = ${userId} ORDER BY t.effective_at DESC LIMIT 1`;
  const [latest] = await db.$select("RosterEvent", rest, ["effectiveAt"]);
  return latest !== undefined && latest.effectiveAt > now ? latest.effectiveAt : now;
}

function sourceOf({ call }: Tx, causeReference: string | null): LineSource {
  if (causeReference !== null) return "request";
  return call.via === "job" ? "time" : "staff";
}

/** The staff roles a line leads from and to; none where it changes neither. */
function rolesOf({ before, after }: Line): { formerRole: string | null; staffRole: string | null } {
  const [from, to] = [roleIn(before), roleIn(after)];
  return from === to ? { formerRole: null, staffRole: null } : { formerRole: from, staffRole: to };
}

function roleIn(facts: { staff_role?: unknown }): string | null {
  return typeof facts.staff_role === "string" ? facts.staff_role : null;
}

/** The milliseconds a UUIDv7 begins with. */
function timeOf(id: string): number {
  return Number.parseInt(id.slice(0, 8) + id.slice(9, 13), 16);
}
