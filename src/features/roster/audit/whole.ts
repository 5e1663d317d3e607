import { say } from "../../../kit/say.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { LinkReach } from "../../links/reach.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { Found } from "./checks.ts";
import type { AuditDb } from "./people.ts";
import type { AuditCode, AuditScope } from "./audit.schema.ts";
import { liveStatuses } from "../states.ts";

/** Users of one statement that names each twice. */
const linkedAtOnce = 400;
const callsignsAtOnce = 500;

/** Those who were looked at. */
export interface Scanned {
  scope: AuditScope;
  /** Of every entry in the scope. */
  userIds: ReadonlySet<string>;
  /** Of those that count. */
  live: ReadonlySet<string>;
  /** The staff roles of those. */
  roles: ReadonlySet<string>;
}

/** Something found over all people: `subject` makes it the same in every run. */
export interface FoundOverall extends Found {
  subject: string;
  userId: string | null;
}

export interface WholeDeps {
  access: Pick<AccessDirectory, "roles">;
  reach: Pick<LinkReach, "linkedAccountsOf">;
}

export type WholeCheck = (db: AuditDb, scanned: Scanned) => Promise<FoundOverall[]>;

/** The kinds of findings that are about several people, or none. */
export function createWholeChecks({ access, reach }: WholeDeps): Readonly<Partial<Record<AuditCode, WholeCheck>>> {
  return {
    async callsign_duplicate(db, { userIds, scope }) {
      const where = { state: "assigned" };
      const groups = await db.callsignSlot.groupBy({ by: ["callsign"], where, having: { callsign: { _count: { gt: 1 } } } });
      const found: FoundOverall[] = [];
      for (let from = 0; from < groups.length; from += callsignsAtOnce) {
        const callsigns = groups.slice(from, from + callsignsAtOnce).map(({ callsign }) => callsign);
        const rows = await db.callsignSlot.findMany({ where: { ...where, callsign: { in: callsigns } }, orderBy: { id: "asc" } });
        for (const callsign of callsigns) {
          const holders = rows.filter((row) => row.callsign === callsign);
          const isConcerned = isEverybody(scope) || holders.some(({ userId }) => userId !== null && userIds.has(userId));
          const facts = { callsign, holders: holders.map(({ userId, pool, number }) => ({ user_id: userId, pool, number })) };
          const detail = say("roster.people-have-see-post-callsigns-repair", { count: holders.length, callsign });
          if (isConcerned && holders.length > 1) found.push({ subject: callsign, userId: null, detail, facts });
        }
        await nextTurn();
      }
      return found;
    },

    async rank_over_capacity(db, { scope, roles }) {
      const where = { status: { in: liveStatuses.filter((status) => status !== "applicant") } };
      const counts = await db.rosterEntry.groupBy({ by: ["staffRole"], where, _count: true });
      const held = new Map(counts.map(({ staffRole, _count: count }) => [staffRole, count]));
      return access.roles().flatMap(({ key, capacity }): FoundOverall[] => {
        const holders = held.get(key) ?? 0;
        if (capacity === null || holders <= capacity || !(isEverybody(scope) || roles.has(key))) return [];
        const detail = say("roster.people-hold-which-has-places", { count: holders, role: key, capacity });
        return [{ subject: key, userId: null, detail, facts: { staff_role: key, capacity, holders } }];
      });
    },

    async linked_alt_on_roster(db, { live }) {
      const seen = new Set<string>();
      const found: FoundOverall[] = [];
      for (const userId of await linkedAmong(db, [...live])) {
        if (seen.has(userId)) continue;
        const group = [userId, ...(await reach.linkedAccountsOf(db, userId))];
        for (const one of group) seen.add(one);
        const where = { userId: { in: group }, status: { in: [...liveStatuses] } };
        const rows = await db.rosterEntry.findMany({ where, select: { userId: true }, orderBy: { userId: "asc" } });
        const [first, ...others] = rows.map((row) => row.userId);
        await nextTurn();
        if (first === undefined || others.length === 0) continue;
        const detail = say("roster.accounts-of-one-person-are-on-the", { count: rows.length });
        found.push({ subject: first, userId: first, detail, facts: { user_ids: [first, ...others] } });
      }
      return found;
    },
  };
}

/** Those with a confirmed link to anybody; they are few. */
async function linkedAmong(db: AuditDb, userIds: readonly string[]): Promise<string[]> {
  const among = new Set(userIds);
  const linked = new Set<string>();
  for (let from = 0; from < userIds.length; from += linkedAtOnce) {
    const some = { in: userIds.slice(from, from + linkedAtOnce) };
    const rows = await db.accountLink.findMany({
      // "Not ended" lets SQLite begin with the people, not with every link that counts.
      where: { confidence: "confirmed", status: { not: "ended" }, OR: [{ userA: some }, { userB: some }] },
      select: { userA: true, userB: true },
    });
    for (const id of rows.flatMap(({ userA, userB }) => [userA, userB])) if (among.has(id)) linked.add(id);
    await nextTurn();
  }
  return [...linked].toSorted();
}

function isEverybody(scope: AuditScope): boolean {
  return Object.keys(scope).length === 0;
}
