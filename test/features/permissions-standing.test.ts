import fc from "fast-check";
import { expect, test } from "vitest";
import { catalog, levels, type Level } from "../../src/kernel/permissions.ts";
import { dangerousOf, loosened } from "../../src/features/permissions/grant.ts";
import { updatedWith } from "../../src/features/permissions/simulate.ts";
import { applyEdits, editsOf, entriesAt, grantsOf, type Wanted } from "../../src/features/permissions/overrides.ts";
import { roleRules } from "../../src/features/permissions/resolve.ts";
import { standingOf, type PersonFacts } from "../../src/features/permissions/access/person.ts";
import type { Override, StaffRoleRecord } from "../../src/features/permissions/access/subject.ts";
import { runsOf, sizeOf } from "../support/size.ts";

/** Few keys of every default level, one nobody has by default, and one the catalog does not know. */
const keys = ["staff.read", "cases.read", "cases.close", "staff.suspend", "cases.delete", "system.act", "newer.key"];
const guilds = ["10000000000000001", "10000000000000002"];
const start = Date.parse("2026-11-20T10:00:00.000Z");
/** Entries end, leaves and records begin and end, at whole steps around `now`. */
const now = new Date(start + 5 * 60_000);
const at = (step: number): Date => new Date(start + step * 60_000);

const key = fc.constantFrom(...keys);
const someKeys = fc.subarray(keys);
const guild = fc.constantFrom(null, ...guilds);
const time = fc.integer({ min: 0, max: 10 }).map(at);
const end = fc.option(time);

interface Mapped {
  key: string;
  level: Level;
  rank: number;
  allow: string[];
  deny: string[];
}
const mapped: fc.Arbitrary<Mapped> = fc.record({
  key: fc.constantFrom("a", "b", "c"),
  level: fc.constantFrom(...levels),
  rank: fc.constantFrom(1, 2, 3),
  allow: someKeys,
  deny: someKeys,
});
const entry = fc.record({
  permission: fc.constantFrom(...keys, "*"),
  effect: fc.constantFrom("allow", "deny"),
  guildId: guild,
  expiresAt: end,
});
const person = fc.record({
  ownerSource: fc.option(fc.constant("owners"), { freq: 6 }),
  roles: fc.uniqueArray(mapped, { selector: (one) => one.key, maxLength: 3 }),
  entries: fc.uniqueArray(entry, { selector: (one) => `${one.permission} ${String(one.guildId)}`, maxLength: 6 }),
  leave: fc.option(fc.record({ from: time, until: end }), { freq: 3 }),
  listing: fc.option(fc.record({ startsAt: time, expiresAt: end }), { freq: 3 }),
  leaveBars: fc.boolean(),
});
type Person = typeof person extends fc.Arbitrary<infer P> ? P : never;

/** Somebody whom nothing bars and who owns nothing, with more entries than others have. */
const plainPerson: fc.Arbitrary<Person> = fc.record({
  ownerSource: fc.constant(null),
  roles: fc.uniqueArray(
    mapped.map((one) => ({ ...one, level: one.level === "owner" ? ("admin" as const) : one.level })),
    { selector: (one) => one.key, minLength: 1, maxLength: 2 },
  ),
  entries: fc.uniqueArray(
    entry.map((one) => ({ ...one, permission: one.permission === "*" ? "cases.delete" : one.permission })),
    { selector: (one) => `${one.permission} ${String(one.guildId)}`, minLength: 4, maxLength: 12 },
  ),
  leave: fc.constant(null),
  listing: fc.constant(null),
  leaveBars: fc.constant(false),
});

function recordOf({ key, level, rank, allow, deny }: Mapped): StaffRoleRecord {
  const rules = roleRules(key, level, new Set(allow), new Set(deny));
  return { key, name: key, rank, level, capacity: null, callsignPool: null, revision: 1, discord: [], rules };
}

function overridesOf({ entries }: Pick<Person, "entries">): Override[] {
  // A suspension is a denial of everything everywhere; nothing else is written with a star.
  return entries
    .filter((one) => one.permission !== "*" || (one.effect === "deny" && one.guildId === null))
    .map((one, index) => ({
      ...one,
      id: `e${index.toString()}`,
      reason: "",
      createdBy: null,
      createdAt: at(0),
    }));
}

function access(who: Person, changes: Partial<PersonFacts> = {}, roles: readonly StaffRoleRecord[] = who.roles.map(recordOf)) {
  const [guildId = ""] = guilds;
  const member = {
    guildId,
    userId: "1",
    username: "",
    globalName: null,
    nick: null,
    avatar: null,
    present: true,
    joinedAt: null,
    isBot: false,
  };
  return standingOf({
    userId: "1",
    now,
    members: [{ ...member, roleIds: roles.map((role) => role.key) }],
    isStored: true,
    ownerSource: who.ownerSource,
    overrides: overridesOf(who),
    leave: who.leave,
    listing: who.listing === null ? null : { recordId: "r", ...who.listing },
    leaveBars: who.leaveBars,
    isPresentGuild: () => true,
    roleAt: (ref) => roles.find((role) => ref.endsWith(`:${role.key}`)),
    isStale: () => false,
    ...changes,
  });
}

const lowest: ReadonlyMap<string, Level> = new Map(catalog.map((one) => [one.key, one.default_level]));
const runs = (from: { from?: Date; startsAt?: Date; until?: Date | null; expiresAt?: Date | null }): boolean => {
  const [begin, end] = [from.from ?? from.startsAt ?? now, from.until ?? from.expiresAt ?? null];
  return begin <= now && (end === null || end > now);
};

/** Whether somebody may, in the order of the rules as they are written down. */
function naive(who: Person, key: string, guildId?: string, entries: readonly Override[] = entriesNow(who)): boolean {
  const isOwner = who.ownerSource !== null || who.roles.some((role) => role.level === "owner");
  if (key === "system.act") return false;
  if (isOwner) return true;
  if (entries.some((one) => one.permission === "*")) return false;
  if (who.listing !== null && runs(who.listing)) return false;
  if (who.leaveBars && who.leave !== null && runs(who.leave)) return false;
  const own = entries.filter((one) => one.permission === key && (one.guildId === null || one.guildId === guildId));
  if (own.some((one) => one.effect === "deny")) return false;
  if (who.roles.length === 0) return false;
  if (own.length > 0) return true;
  if (who.roles.some((role) => role.deny.includes(key))) return false;
  if (who.roles.some((role) => role.allow.includes(key))) return true;
  const level = lowest.get(key) ?? "none";
  return level !== "none" && who.roles.some((role) => levels.indexOf(role.level) >= levels.indexOf(level));
}

function entriesNow(who: Person, moment = now): Override[] {
  return overridesOf(who).filter((one) => one.expiresAt === null || one.expiresAt > moment);
}

const places = [undefined, ...guilds];

/** A fifth of the runs in the quick tier; what turns up in passing is counted by the same measure, with room for chance. */
const often = (all: number): number => sizeOf({ quick: all / 10, all, long: all });

test("everybody's decisions are those of the written order, everywhere and in each guild", () => {
  fc.assert(
    fc.property(person, (who) => {
      const found = access(who);
      const all = keys.flatMap((one) => places.map((place) => ({ one, place })));
      const decided = all.filter(({ one, place }) => found.decide(one, place).allowed);
      expect(decided).toEqual(all.filter(({ one, place }) => naive(who, one, place)));
      const isOwner = who.ownerSource !== null || who.roles.some((role) => role.level === "owner");
      expect([found.isOwner, found.isStaff]).toEqual([isOwner, isOwner || who.roles.length > 0]);
      expect(found.isBarred && found.isOwner).toBe(false);
    }),
    { numRuns: runsOf(2000) },
  );
});

test("a permission is held until the first moment at which the entries that are left do not give it any more", () => {
  let [forGood, forAWhile] = [0, 0];
  fc.assert(
    fc.property(fc.oneof(person, plainPerson), key, fc.constantFrom(...places), (who, one, place) => {
      const ends = overridesOf(who).flatMap(({ expiresAt }) => (expiresAt !== null && expiresAt > now ? [expiresAt.getTime()] : []));
      const lost = ends.toSorted((a, b) => a - b).find((moment) => !naive(who, one, place, entriesNow(who, new Date(moment))));
      const wanted = naive(who, one, place) ? (lost === undefined ? null : new Date(lost)) : undefined;
      expect(access(who).heldUntil(one, place)).toEqual(wanted);
      forGood += wanted === null ? 1 : 0;
      forAWhile += wanted instanceof Date ? 1 : 0;
    }),
    { numRuns: runsOf(4000) },
  );
  expect(forGood).toBeGreaterThan(often(300));
  expect(forAWhile).toBeGreaterThan(often(50));
});

test("a standing says when it may change by itself", () => {
  fc.assert(
    fc.property(person, (who) => {
      const { expiresAt } = access(who);
      for (let step = 0; step <= 12; step += 1) {
        const moment = at(step);
        if (moment < now || (expiresAt !== null && moment >= expiresAt)) continue;
        const later = access(who, { now: moment });
        expect(keys.filter((one) => later.decide(one).allowed)).toEqual(keys.filter((one) => access(who).decide(one).allowed));
      }
    }),
    { numRuns: runsOf(300) },
  );
});

const edit = fc.record({ allow: someKeys, deny: someKeys, clear: someKeys }).map(({ allow, deny, clear }) => {
  return {
    allow,
    deny: deny.filter((one) => !allow.includes(one)),
    clear: clear.filter((one) => !allow.includes(one) && !deny.includes(one)),
  };
});

test("whoever gains a permission by an edit of a role gains one of the loosened ones, and there are no others without a gainer", () => {
  let gains = 0;
  fc.assert(
    fc.property(fc.oneof(person, plainPerson), edit, (who, change) => {
      const [first, ...others] = who.roles.map(recordOf);
      if (first === undefined) return;
      const { allow, deny } = updatedWith(change)(first.rules);
      const after = { ...first, rules: roleRules(first.key, first.level, allow, deny) };
      const free = loosened(first.rules, after.rules);
      const [was, is] = [access(who), access(who, {}, [after, ...others])];
      const gained = keys.filter((one) => places.some((place) => !was.decide(one, place).allowed && is.decide(one, place).allowed));
      gains += gained.length;
      expect(gained.filter((one) => !free.includes(one))).toEqual([]);
      // Each of them is gained by somebody: one who holds a role that gives it, or a role of the lowest level, beside this one.
      for (const one of free.filter((loose) => loose !== "system.act")) {
        const plain = { ...who, ownerSource: null, entries: [], leave: null, listing: null };
        const giver = recordOf({ key: "giver", level: "none", rank: 1, allow: [one], deny: [] });
        const gainers = [[], [giver]].filter(
          (beside) =>
            !access(plain, {}, [first, ...beside]).decide(one).allowed && access(plain, {}, [after, ...beside]).decide(one).allowed,
        );
        if (gainers.length === 0) throw new Error(`nobody gains ${one}`);
      }
    }),
    { numRuns: runsOf(2000) },
  );
  expect(gains).toBeGreaterThan(often(200));
});

test("a role that appears, goes or gets another level loosens all that anybody gains by it", () => {
  let gains = 0;
  fc.assert(
    fc.property(fc.oneof(person, plainPerson), fc.constantFrom(...levels), fc.constantFrom("level", "gone"), (who, level, kind) => {
      const [first, second, ...others] = who.roles.map(recordOf);
      if (first === undefined || second === undefined) return;
      const after = { ...first, level, rules: roleRules(first.key, level, first.rules.allow, first.rules.deny) };
      const left = kind === "gone" ? [second, ...others] : [after, second, ...others];
      const free = loosened(first.rules, kind === "gone" ? null : after.rules);
      const [was, is] = [access(who), access(who, {}, left)];
      // Owners hold what the catalog does not know, too; nobody but an owner may give their level.
      const counted = kind === "level" && level === "owner" ? keys.filter((one) => one !== "newer.key") : keys;
      const gained = counted.filter((one) => !was.decide(one).allowed && is.decide(one).allowed);
      gains += gained.length;
      expect(gained.filter((one) => !free.includes(one))).toEqual([]);
    }),
    { numRuns: runsOf(3000) },
  );
  expect(gains).toBeGreaterThan(often(200));
});

test("adding system.act to a role loosens it, though nobody can hold it: only API keys do", () => {
  const none = roleRules("a", "owner", new Set(), new Set(["system.act"]));
  expect(loosened(none, roleRules("a", "owner", new Set(["system.act"]), new Set()))).toEqual(["system.act"]);
  expect(loosened(none, roleRules("a", "owner", new Set(), new Set()))).toEqual([]);
});

const wanted = fc
  .uniqueArray(fc.record({ key, effect: fc.constantFrom("allow", "deny", "clear"), guildId: guild, expiresAt: end }), {
    selector: (one) => `${one.key} ${String(one.guildId)}`,
    maxLength: 4,
  })
  .map((all) => all.filter((one) => one.expiresAt === null || one.expiresAt > now) as unknown as Wanted[]);

test("whatever somebody gains by an edit of their entries, now or at any later time, is among its grants", () => {
  let [gains, later] = [0, 0];
  fc.assert(
    fc.property(fc.oneof(person, plainPerson), wanted, (who, changes) => {
      const rows = overridesOf(who);
      const edits = editsOf(entriesAt(rows, now), changes);
      const after = applyEdits(rows, edits, { idOf: () => "new", by: null, at: now });
      const grants = grantsOf(edits);
      for (const moment of [now, ...[6, 7, 8, 9, 10, 11].map(at)]) {
        const [was, is] = [access(who, { now: moment }), access(who, { now: moment, overrides: after.rows })];
        for (const place of places) {
          const gained = keys.filter((one) => !was.decide(one, place).allowed && is.decide(one, place).allowed);
          gains += gained.length;
          later += moment > now ? gained.length : 0;
          const isGranted = (one: string): boolean =>
            grants.some(
              ({ key, guildId, until }) => key === one && (guildId === null || guildId === place) && (until === null || until > moment),
            );
          expect(gained.filter((one) => !isGranted(one))).toEqual([]);
        }
      }
      for (const row of after.gone) expect(after.rows).not.toContain(row);
      const spots = entriesAt(after.rows, now).map((row) => `${row.permission} ${String(row.guildId)}`);
      expect(new Set(spots).size).toBe(spots.length);
    }),
    { numRuns: runsOf(500) },
  );
  expect([gains > often(100), later > often(50)]).toEqual([true, true]);
});

test("dangerous permissions are those the catalog marks", () => {
  expect(dangerousOf(["staff.suspend", "staff.read", "newer.key", "staffroles.manage"])).toEqual(["staff.suspend", "staffroles.manage"]);
});
