import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import { createPace } from "../../../database/pace.ts";
import type { CallsignPool, RosterEntry } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { blacklistReference } from "../../../kernel/parsing.ts";
import type { StaffRoleRecord, Access, AccessDirectory } from "../../permissions/access/access-directory.ts";

export type AuditDb = ReadClient | TransactionClient;

const daySeconds = 86_400;
/** How long statements in a row may keep others waiting. */
const budgetMs = 10;
/** After so many days without a refresh a grant counts as stale. */
const staleGrantDays = 7;

/** Somebody with everything that is looked at about them. */
export interface AuditedPerson {
  userId: string;
  /** Null: they hold a staff role in Discord and are not on the roster. */
  entry: RosterEntry | null;
  access: Access;
  /** The staff role of the entry, where it is known. */
  role: StaffRoleRecord | undefined;
  /** The callsigns they have, the one they have had longest first. */
  callsigns: readonly { pool: string; callsign: string }[];
  /** Blacklist records in force about them. */
  records: readonly { id: string; reference: string; severity: string }[];
  /** Matches nobody has dealt with. */
  matches: readonly { id: string; kind: string; severity: string }[];
  /** Why a grant they gave does not hold any more. */
  grant: "expired" | "reauthorization_required" | "stale" | null;
  /** Whether they did something, or something happened to them, within the days that count. */
  isActive: boolean;
}

/** What is the same for everybody of a run. */
export interface AuditTime {
  now: Date;
  inactiveDays: number;
  pools: ReadonlyMap<string, CallsignPool>;
}

export interface AuditPeopleDeps {
  access: Pick<AccessDirectory, "of" | "role">;
  inactiveDays: number;
}

export interface AuditPeople {
  timeOf(db: AuditDb, now: Date): Promise<AuditTime>;
  /** @param entries of at most some hundred people */
  read(db: AuditDb, entries: readonly RosterEntry[], given: AuditTime): Promise<AuditedPerson[]>;
  /** Somebody who is not on the roster. */
  stranger(userId: string): AuditedPerson;
}

/** Reads what is looked at about people, for many of them in a handful of statements. */
export function createAuditPeople({ access, inactiveDays }: AuditPeopleDeps): AuditPeople {
  const pace = createPace(budgetMs);

  return {
    async timeOf(db: AuditDb, now: Date): Promise<AuditTime> {
      const pools = await db.callsignPool.findMany();
      return { now, inactiveDays, pools: new Map(pools.map((pool) => [pool.key, pool])) };
    },

    async read(db: AuditDb, entries: readonly RosterEntry[], { now }: AuditTime): Promise<AuditedPerson[]> {
      const userIds = entries.map(({ userId }) => userId);
      const active = await activeAmong(db, userIds, addSeconds(now, -inactiveDays * daySeconds), pace);
      await pace();
      const callsigns = byUser(await callsignsOf(db, userIds));
      await pace();
      const records = byUser(await recordsOf(db, userIds, now));
      await pace();
      const matches = byUser(await matchesOf(db, userIds));
      await pace();
      const grants = new Map((await grantsOf(db, userIds)).map((row) => [row.userId, grantState(row, now)]));
      return entries.map((entry) => {
        const { userId, staffRole } = entry;
        return {
          userId,
          entry,
          access: access.of(userId),
          role: staffRole === null ? undefined : access.role(staffRole),
          callsigns: callsigns.get(userId) ?? [],
          records: records.get(userId) ?? [],
          matches: matches.get(userId) ?? [],
          grant: grants.get(userId) ?? null,
          isActive: active.has(userId),
        };
      });
    },

    stranger: (userId: string): AuditedPerson => ({
      userId,
      entry: null,
      access: access.of(userId),
      role: undefined,
      callsigns: [],
      records: [],
      matches: [],
      grant: null,
      isActive: true,
    }),
  };
}

/** Those who voted, wrote or decided, and those in whose history something stands. */
async function activeAmong(
  db: AuditDb,
  userIds: readonly string[],
  since: Date,
  pace: ReturnType<typeof createPace>,
): Promise<Set<string>> {
  const among = { in: [...userIds] };
  const steps = await db.workflowStep.groupBy({ by: ["actorId"], where: { actorId: among, at: { gte: since } } });
  await pace();
  const about = await db.rosterEvent.groupBy({ by: ["userId"], where: { userId: among, recordedAt: { gte: since } } });
  // Where a line comes from leads to those since a day; who wrote it alone would lead through the whole history.
  const written = { source: { in: ["staff", "request", "discord", "time"] }, recordedAt: { gte: since }, actorId: among };
  await pace();
  const by = await db.rosterEvent.groupBy({ by: ["actorId"], where: written });
  return new Set([
    ...about.map(({ userId }) => userId),
    ...[...steps, ...by].flatMap(({ actorId }) => (actorId === null ? [] : [actorId])),
  ]);
}

async function callsignsOf(db: AuditDb, userIds: readonly string[]) {
  const where = { userId: { in: [...userIds] }, state: "assigned" };
  const select = { userId: true, pool: true, callsign: true } as const;
  const rows = await db.callsignSlot.findMany({ where, select, orderBy: [{ since: "asc" }, { id: "asc" }] });
  return rows.map(({ userId, ...rest }) => ({ ...rest, userId: userId ?? "" }));
}

async function recordsOf(db: AuditDb, userIds: readonly string[], now: Date) {
  const rows = await db.blacklistRecord.findMany({
    where: {
      kind: "user",
      subjectId: { in: [...userIds] },
      status: { in: ["active", "scheduled"] },
      startsAt: { lte: now },
      OR: [{ expiresAt: null }, { expiresAt: { gt: now } }],
    },
    select: { id: true, number: true, severity: true, subjectId: true },
    orderBy: { number: "asc" },
  });
  return rows.map(({ id, number, severity, subjectId }) => ({ id, reference: blacklistReference(number), severity, userId: subjectId }));
}

function matchesOf(db: AuditDb, userIds: readonly string[]) {
  const where = { userId: { in: [...userIds] }, status: { in: ["open", "grace"] }, closedAt: null };
  return db.match.findMany({ where, select: { id: true, kind: true, severity: true, userId: true }, orderBy: { id: "asc" } });
}

function grantsOf(db: AuditDb, userIds: readonly string[]) {
  const select = { userId: true, status: true, grantedAt: true, refreshedAt: true, expiresAt: true } as const;
  return db.authorization.findMany({ where: { userId: { in: [...userIds] } }, select });
}

type GrantRow = Awaited<ReturnType<typeof grantsOf>>[number];

/** A grant that its person took back is no fault. */
function grantState({ status, grantedAt, refreshedAt, expiresAt }: GrantRow, now: Date): AuditedPerson["grant"] {
  if (status === "expired" || status === "reauthorization_required") return status;
  if (status !== "active") return null;
  if (expiresAt !== null && expiresAt <= now) return "expired";
  return (refreshedAt ?? grantedAt) < addSeconds(now, -staleGrantDays * daySeconds) ? "stale" : null;
}

function byUser<Row extends { userId: string }>(rows: readonly Row[]): Map<string, Omit<Row, "userId">[]> {
  const found = new Map<string, Omit<Row, "userId">[]>();
  for (const { userId, ...row } of rows) found.set(userId, [...(found.get(userId) ?? []), row]);
  return found;
}
