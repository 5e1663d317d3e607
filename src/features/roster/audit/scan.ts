import { setImmediate as nextTurn } from "node:timers/promises";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";
import { auditChecks, type Fix, type Found } from "./checks.ts";
import type { AuditDb, AuditedPerson, AuditPeople, AuditTime } from "./people.ts";
import { auditCodes, severities, type AuditCode, type AuditScope, type Severity } from "./audit.schema.ts";
import { isLive, liveStatuses } from "../states.ts";
import { say } from "../../../kit/say.ts";
import type { LinkReach } from "../../links/reach.ts";

/** Users of one statement that names each twice. */
const linkedAtOnce = 400;
const callsignsAtOnce = 500;

/** Those who were looked at. */
interface Scanned {
  scope: AuditScope;
  /** Of every entry in the scope. */
  userIds: ReadonlySet<string>;
  /** Of those that count. */
  live: ReadonlySet<string>;
  /** The staff roles of those. */
  roles: ReadonlySet<string>;
}

/** Something found over all people: `subject` makes it the same in every run. */
interface FoundOverall extends Found {
  subject: string;
  userId: string | null;
}

interface WholeDeps {
  access: Pick<AccessDirectory, "roles">;
  reach: Pick<LinkReach, "linkedAccountsOf">;
}

type WholeCheck = (db: AuditDb, scanned: Scanned) => Promise<FoundOverall[]>;

/** The kinds of findings that are about several people, or none. */
function createWholeChecks({ access, reach }: WholeDeps): Readonly<Partial<Record<AuditCode, WholeCheck>>> {
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

/** Entries of one slice: others have their turn between two. */
const slice = 100;

/** A finding as a run has it. */
export interface ScannedFinding {
  key: string;
  code: AuditCode;
  severity: Severity;
  userId: string | null;
  detail: string;
  facts: Readonly<Record<string, unknown>>;
  fix: Fix | null;
}

export interface Scan {
  membersScanned: number;
  /** The gravest first; each key once. */
  findings: ScannedFinding[];
}

export interface ScanDeps extends WholeDeps {
  access: Pick<AccessDirectory, "of" | "role" | "roles" | "people">;
  people: AuditPeople;
}

/** Looks at everybody in a scope. */
export function createScan({ access, people, reach }: ScanDeps) {
  const whole = createWholeChecks({ access, reach });

  /** Every person of the scope, a slice at a time. */
  async function* slices(db: AuditDb, scope: AuditScope, time: AuditTime): AsyncGenerator<AuditedPerson[], void, undefined> {
    const where: Prisma.RosterEntryWhereInput = {
      ...(scope.department !== undefined && { department: scope.department }),
      ...(scope.role !== undefined && { staffRole: scope.role }),
    };
    for (let after = ""; ;) {
      const entries = await db.rosterEntry.findMany({
        where: { ...where, userId: { gt: after } },
        orderBy: { userId: "asc" },
        take: slice,
      });
      const read = await people.read(db, entries, time);
      yield read.filter((person) => isInPool(person, scope.pool));
      await nextTurn();
      if (entries.length < slice) return;
      after = entries.at(-1)?.userId ?? after;
    }
  }

  /** Those who hold a staff role and have no entry. */
  async function strangers(db: AuditDb, scope: AuditScope): Promise<AuditedPerson[]> {
    if (scope.department !== undefined) return [];
    const holders = access.people().filter((userId) => isHolderIn(userId, scope));
    const found: AuditedPerson[] = [];
    for (let from = 0; from < holders.length; from += slice) {
      const some = holders.slice(from, from + slice);
      const known = await db.rosterEntry.findMany({ where: { userId: { in: some } }, select: { userId: true } });
      const ids = new Set(known.map(({ userId }) => userId));
      found.push(...some.filter((userId) => !ids.has(userId)).map(people.stranger));
      await nextTurn();
    }
    return found;
  }

  function isHolderIn(userId: string, { pool, role }: AuditScope): boolean {
    const { held } = access.of(userId);
    const isWanted = (key: string, callsignPool: string | null) => (role ?? key) === key && (pool ?? callsignPool) === callsignPool;
    return held.some((one) => isWanted(one.role.key, one.role.callsignPool));
  }

  return async (db: AuditDb, asked: { scope: AuditScope; codes: readonly AuditCode[] }, now: Date): Promise<Scan> => {
    const { scope, codes } = asked;
    const time = await people.timeOf(db, now);
    const findings = new Map<string, ScannedFinding>();
    const [userIds, live, roles] = [new Set<string>(), new Set<string>(), new Set<string>()];
    const look = (person: AuditedPerson): void => {
      for (const finding of findingsOf(person, time, codes)) findings.set(finding.key, finding);
    };
    for await (const some of slices(db, scope, time)) {
      for (const person of some) {
        userIds.add(person.userId);
        if (person.entry !== null && isLive(person.entry)) {
          live.add(person.userId);
          roles.add(person.entry.staffRole ?? "");
        }
        look(person);
      }
    }
    const others = codes.includes("role_without_entry") ? await strangers(db, scope) : [];
    for (const person of others) look(person);
    for (const code of codes) {
      for (const { subject, userId, ...found } of (await whole[code]?.(db, { scope, userIds, live, roles })) ?? []) {
        const finding = findingOf(code, subject, userId, found);
        findings.set(finding.key, finding);
      }
    }
    return { membersScanned: userIds.size + others.length, findings: [...findings.values()].toSorted(byGravity) };
  };
}

/** What is found about one person. */
export function findingsOf(person: AuditedPerson, time: AuditTime, codes: readonly AuditCode[]): ScannedFinding[] {
  return codes.flatMap((code) =>
    (auditChecks[code].find?.(person, time) ?? []).map((found) => {
      const subject = found.part === undefined ? person.userId : `${person.userId}:${found.part}`;
      return findingOf(code, subject, person.userId, found);
    }),
  );
}

function findingOf(code: AuditCode, subject: string, userId: string | null, { detail, facts = {}, fix }: Found): ScannedFinding {
  const { severity, fix: usual = null } = auditChecks[code];
  return { key: `${code}:${subject}`, code, severity, userId, detail, facts, fix: fix ?? usual };
}

function isInPool({ role, callsigns }: AuditedPerson, pool: string | undefined): boolean {
  return pool === undefined || role?.callsignPool === pool || callsigns.some((one) => one.pool === pool);
}

const places = new Map<string, number>([...severities, ...auditCodes].map((name, place) => [name, place]));

function byGravity(one: ScannedFinding, other: ScannedFinding): number {
  const place = (name: string): number => places.get(name) ?? 0;
  return place(one.severity) - place(other.severity) || place(one.code) - place(other.code) || (one.key < other.key ? -1 : 1);
}
