import type { Denial, HeldServer } from "../match-drafts.ts";
import { groupBy } from "../../../kernel/group.ts";
import type { Tx } from "../../../database/database.ts";
import { Prisma, type Match } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import type { LinkedAccount, LinkReach } from "../../links/reach.ts";

/** How long a denied application is remembered, in seconds. */
export const denialSeconds = 180 * 86_400;

/** What is stored about one person. */
export interface StoredPerson {
  userId: string;
  /** Whether a grant is in force. */
  hasGrant: boolean;
  /** Whether their servers may be compared. */
  seesServers: boolean;
  servers: readonly HeldServer[];
  matches: readonly Match[];
  linked: readonly LinkedAccount[];
  denials: readonly Denial[];
  /** Denied applications, however long ago. */
  allDenials: ReadonlyMap<string, Date>;
}

export interface PeopleDeps {
  reach: LinkReach;
  isStaff: (userId: string) => boolean;
}

const noDenials = { denials: [], allDenials: new Map<string, Date>() };

/**
 * What is stored about some people, in few statements.
 * @param isWhole whether links and earlier decisions are read, too, or only servers and matches
 */
export async function readPeople(tx: Tx, userIds: readonly string[], isWhole: boolean, deps: PeopleDeps): Promise<StoredPerson[]> {
  const scopes = await readGrants(tx, userIds);
  const seeing = userIds.filter((userId) => includesGuilds(scopes.get(userId)));
  const servers = await heldServers(tx, seeing);
  const matches = groupBy(await tx.db.match.findMany({ where: { userId: { in: [...userIds] } } }), ({ userId }) => userId);
  const granted = userIds.filter((userId) => scopes.has(userId));
  const decided = isWhole && granted.length > 0 ? await readDenials(tx, granted) : new Map<string, typeof noDenials>();
  const people: StoredPerson[] = [];
  for (const userId of userIds) {
    const hasGrant = scopes.has(userId);
    const linked = isWhole && (hasGrant || deps.isStaff(userId)) ? await deps.reach.reachOf(tx.db, userId) : [];
    people.push({
      userId,
      hasGrant,
      seesServers: includesGuilds(scopes.get(userId)),
      servers: servers.get(userId) ?? [],
      matches: matches.get(userId) ?? [],
      linked,
      ...(decided.get(userId) ?? noDenials),
    });
  }
  return people;
}

const grantFields = ["userId", "scopes", "status"] as const;

/**
 * The scopes of the grants in force among these people. That a grant is in force is looked at here: as a condition it would let the
 * database walk through all grants in force instead of those asked for.
 */
export async function readGrants(tx: Tx, userIds: readonly string[]): Promise<Map<string, unknown>> {
  if (userIds.length === 0) return new Map();
  const grants = await tx.db.$select("Authorization", Prisma.sql`WHERE t.user_id IN (${Prisma.join([...userIds])})`, grantFields);
  return new Map(grants.filter(({ status }) => status === "active").map(({ userId, scopes }) => [userId, scopes]));
}

function includesGuilds(scopes: unknown): boolean {
  return Array.isArray(scopes) && scopes.includes("guilds");
}

async function heldServers(tx: Tx, userIds: readonly string[]): Promise<Map<string, HeldServer[]>> {
  if (userIds.length === 0) return new Map();
  const rows = await tx.db.userServer.findMany({
    where: { userId: { in: [...userIds] }, leftAt: null },
    select: { userId: true, serverHash: true, relation: true },
  });
  const groups = groupBy(rows, ({ userId }) => userId);
  return new Map([...groups].map(([userId, held]) => [userId, held.map((row) => ({ hash: row.serverHash, relation: row.relation }))]));
}

/** Denied applications of people; one that a later approved application has overtaken counts for nothing. */
async function readDenials(tx: Tx, userIds: readonly string[]): Promise<Map<string, Pick<StoredPerson, "denials" | "allDenials">>> {
  const where = { kind: "user", subjectId: { in: [...userIds] } };
  const subjects = await tx.db.workflowSubject.findMany({ where, select: { subjectId: true, requestId: true } });
  const ids = subjects.map(({ requestId }) => requestId);
  const requests = ids.length === 0 ? [] : await readApplications(tx, ids);
  const found = new Map<string, Pick<StoredPerson, "denials" | "allDenials">>();
  for (const [userId, rows] of groupBy(subjects, ({ subjectId }) => subjectId)) {
    const own = new Set(rows.map(({ requestId }) => requestId));
    const applications = requests.filter(({ id }) => own.has(id));
    const denied = applications.filter(({ status }) => status === "denied");
    const approved = applications.filter(({ status }) => status === "approved");
    const since = addSeconds(tx.now, -denialSeconds);
    const denials = denied
      .filter(({ at }) => at > since && !approved.some((later) => later.at > at))
      .map(({ id, reference }) => ({ id, reference, revision: 1 }));
    found.set(userId, { denials, allDenials: new Map(denied.map(({ id, at }) => [id, at])) });
  }
  return found;
}

/** Decided applications among these requests. */
async function readApplications(tx: Tx, ids: readonly string[]): Promise<{ id: string; reference: string; status: string; at: Date }[]> {
  const select = { id: true, reference: true, type: true, status: true, decidedAt: true };
  const rows = await tx.db.workflowRequest.findMany({ where: { id: { in: [...ids] } }, select });
  return rows.flatMap(({ type, decidedAt, ...row }) => (type === "recruitment" && decidedAt !== null ? [{ ...row, at: decidedAt }] : []));
}
