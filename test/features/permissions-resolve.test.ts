import fc from "fast-check";
import { expect, test } from "vitest";
import type { Decision, Reason } from "../../src/kernel/call.ts";
import { catalog, knownPermissions, levelOrder, levels, type Level } from "../../src/kernel/permissions.ts";
import { notGranted, resolve, roleRules, rule, type Rule } from "../../src/features/permissions/resolve.ts";
import { createScopes, isKnownScope } from "../../src/features/permissions/permissions.service.ts";
import { runsOf } from "../support/size.ts";

/** The table of default levels, written down once more. */
const table: Readonly<Record<Exclude<Level, "none">, string>> = {
  viewer: `system.health.read users.authorization.read servers.read staff.read staff.access.read staff.profile.read staffroles.read
    permissions.read blacklist.check audit.read_own callsigns.read roster.read
    workflows.investigation.create workflows.poach.create workflows.appeal.create`,
  moderator: `authorize.create users.servers.read users.matches.read users.refresh users.links.read permissions.explain blacklist.read lists.read
    cases.read cases.create cases.update cases.note evidence.add evidence.read workflows.read workflows.review workflows.claim workflows.hold
    callsigns.allocate roster.history roster.sync workflows.blacklist-server.create workflows.blacklist-user.create
    workflows.recruitment.create workflows.server-merge.create workflows.alt-request.create workflows.punishment.create`,
  senior: `authorize.revoke users.servers.read_unlisted_count users.matches.resolve users.links.manage servers.manage staff.stats
    staff.discipline staff.manage blacklist.read_confidential blacklist.update blacklist.export cases.read_all cases.close cases.reopen
    audit.read workflows.read_all workflows.assign workflows.edit_any workflows.void workflows.reopen workflows.stats callsigns.release
    callsigns.manage roster.edit roster.audit workflows.blacklist-user.decide workflows.investigation.decide workflows.recruitment.decide
    workflows.alt-request.decide workflows.punishment.decide workflows.poach.decide workflows.appeal.decide`,
  admin: `system.settings.read users.refresh.force users.export staff.suspend staffroles.manage permissions.roles.manage
    permissions.users.manage blacklist.create blacklist.revoke blacklist.import lists.manage cases.confidential evidence.redact audit.export
    audit.see_redactions workflows.decide_escalated workflows.bulk callsigns.repair roster.apply_fixes
    workflows.blacklist-server.decide workflows.server-merge.decide workflows.blacklist-server.reverse workflows.blacklist-user.reverse
    workflows.investigation.reverse workflows.recruitment.reverse workflows.server-merge.reverse workflows.alt-request.reverse
    workflows.punishment.reverse workflows.poach.reverse workflows.appeal.reverse`,
  owner: "system.settings.manage system.webhooks.manage clients.manage users.redact blacklist.purge cases.delete workflows.override",
};
const keys = catalog.map((entry) => entry.key);

function lowestOf(key: string): Level {
  return levels.find((level) => level !== "none" && table[level].split(/\s+/).includes(key)) ?? "none";
}

test.each(levels)("somebody of level %s holds exactly what the table gives that level", (level) => {
  const subject = {
    owner: null,
    bars: [],
    local: new Map(),
    userDeny: new Map(),
    userAllow: new Map(),
    roles: [roleRules("r", level, new Set(), new Set())],
    otherwise: notGranted,
  };
  const held = keys.filter((key) => resolve(subject, key).allowed);
  const wanted = levels.slice(1, levelOrder[level] + 1).flatMap((lower) => (lower === "none" ? [] : table[lower].split(/\s+/)));
  expect(held).toEqual(wanted.toSorted());
});

test("the catalog has the keys of the table and system.act, each once, ordered", () => {
  const all = Object.values(table).flatMap((text) => text.split(/\s+/));
  expect(keys).toEqual([...all, "system.act"].toSorted());
  expect(new Set(keys).size).toBe(keys.length);
  expect(catalog.every((entry) => entry.implies.every((key) => knownPermissions.has(key)))).toBe(true);
});

interface Role {
  key: string;
  level: Level;
  allow: string[];
  deny: string[];
}

const barCodes = ["suspension", "blacklist", "loa_policy"] as const;

interface Person {
  isOwner: boolean;
  bars: (typeof barCodes)[number][];
  deny: string[];
  allow: string[];
  /** Entries of one guild. */
  local: { deny: string[]; allow: string[] };
  roles: Role[];
}

const some = fc.uniqueArray(fc.constantFrom(...keys.slice(0, 12), "newer.key", "system.act"), { maxLength: 6 });
const role = fc.record({ key: fc.constantFrom("a", "b", "c", "d"), level: fc.constantFrom(...levels), allow: some, deny: some });
const person = fc.record({
  isOwner: fc.boolean(),
  bars: fc.subarray([...barCodes]),
  deny: some,
  allow: some,
  local: fc.record({ deny: some, allow: some }),
  roles: fc.uniqueArray(role, { selector: (one) => one.key, maxLength: 4 }),
});

const said = (code: Reason["code"], source: string, ref: string | null): Reason => ({ code, source, ref });
const all = (keys: string[], of: (key: string) => Rule): Map<string, Rule> => new Map(keys.map((key) => [key, of(key)]));

/** The order of rules as plain as it can be written. */
function naive(who: Person, key: string, isInGuild: boolean): Decision {
  const spoken: [boolean, Reason][] = [];
  const nothing = { allowed: false, reasons: [said("role_mapping", "default", null)] };
  if (key === "system.act") return nothing;
  if (who.isOwner) spoken.push([true, said("owner", "configuration", null)]);
  for (const bar of who.bars) spoken.push([false, said(bar, "bar", null)]);
  if (who.deny.includes(key)) spoken.push([false, said("user_deny", "user", key)]);
  if (isInGuild && who.local.deny.includes(key)) spoken.push([false, said("user_deny", "user@g", key)]);
  if (who.allow.includes(key)) spoken.push([true, said("user_allow", "user", key)]);
  if (isInGuild && who.local.allow.includes(key)) spoken.push([true, said("user_allow", "user@g", key)]);
  for (const one of who.roles) if (one.deny.includes(key)) spoken.push([false, said("role_mapping", "role_deny", one.key)]);
  for (const one of who.roles) if (one.allow.includes(key)) spoken.push([true, said("role_mapping", "role_allow", one.key)]);
  for (const one of who.roles) {
    const lowest = lowestOf(key);
    if (lowest !== "none" && levels.indexOf(one.level) >= levels.indexOf(lowest))
      spoken.push([true, said("role_mapping", "default", one.key)]);
  }
  if (spoken.length === 0) return nothing;
  return { allowed: spoken[0]?.[0] ?? false, reasons: spoken.map(([, reason]) => reason) };
}

test("every decision, with its reasons in their order, is that of the plain rules", () => {
  fc.assert(
    fc.property(person, fc.constantFrom(...keys.slice(0, 20), "newer.key", "unheard.of", "system.act"), (who, key) => {
      const of = (entries: { deny: string[]; allow: string[] }, source: string) => ({
        deny: all(entries.deny, (one) => rule(false, said("user_deny", source, one))),
        allow: all(entries.allow, (one) => rule(true, said("user_allow", source, one))),
      });
      const { deny: userDeny, allow: userAllow } = of(who, "user");
      const subject = {
        owner: who.isOwner ? rule(true, said("owner", "configuration", null)) : null,
        bars: who.bars.map((bar) => rule(false, said(bar, "bar", null))),
        userDeny,
        userAllow,
        local: new Map([["g", of(who.local, "user@g")]]),
        roles: who.roles.map((one) => roleRules(one.key, one.level, new Set(one.allow), new Set(one.deny))),
        otherwise: notGranted,
      };
      expect(resolve(subject, key)).toEqual(naive(who, key, false));
      expect(resolve(subject, key, "elsewhere")).toEqual(naive(who, key, false));
      expect(resolve(subject, key, "g")).toEqual(naive(who, key, true));
    }),
    { numRuns: runsOf(3000) },
  );
});

test("nobody holds system.act by level, ownership, role or entry", () => {
  const subject = {
    owner: rule(true, said("owner", "configuration", null)),
    bars: [],
    local: new Map(),
    userDeny: new Map(),
    userAllow: all(["system.act"], (one) => rule(true, said("user_allow", "user", one))),
    roles: levels.map((level) => roleRules(level, level, new Set(["system.act"]), new Set())),
    otherwise: notGranted,
  };
  expect(resolve(subject, "system.act").allowed).toBe(false);
});

test("scopes hold what they name, their groups and everything, but system.act only by name", () => {
  const groups = [...new Set(keys.map((key) => `${key.slice(0, key.lastIndexOf("."))}.*`))];
  const scope = fc.constantFrom(...keys, ...groups, "*", "system.*", "newer.key");
  fc.assert(
    fc.property(fc.uniqueArray(scope, { maxLength: 5 }), fc.constantFrom(...keys, "newer.key"), (scopes, key) => {
      const isCovered = scopes.some((one) => one.endsWith("*") && key !== "system.act" && key.startsWith(one.slice(0, -1)));
      expect(createScopes(scopes)(key)).toBe(scopes.includes(key) || isCovered);
    }),
    { numRuns: runsOf(1000) },
  );
  expect(createScopes(["staff.*"])("staffroles.read")).toBe(false);
});

test.each([
  [["*"], false],
  [["system.*"], false],
  [["*", "system.*"], false],
  [["system.act"], true],
  [["*", "system.act"], true],
])("the scopes %j hold system.act: %s", (scopes, isHeld) => {
  expect(createScopes(scopes)("system.act")).toBe(isHeld);
});

test.each([
  ["*", true],
  ["staff.*", true],
  ["workflows.poach.*", true],
  ["staff.read", true],
  ["system.act", true],
  ["staff", false],
  ["staf.*", false],
  ["staff*", false],
  ["staff.read.*", false],
  ["", false],
])("the scope %j is known: %s", (scope, isKnown) => {
  expect(isKnownScope(scope)).toBe(isKnown);
});
