import { expect, test } from "vitest";
import { catalog, levels } from "../../src/kernel/permissions.ts";
import type { Role, User } from "../../sandbox/index.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import type { Answer, World } from "../support/world.ts";
import { createJudgedWorld } from "../contract/world.ts";

const editCount = sizeOf({ quick: 80, all: 400, long: 10_000 });
const leastPerKind = sizeOf({ quick: 1, all: 8, long: 200 });
const upkeepEvery = 40;
/** Printed with every failure, to play the same edits again. */
const seed = seedOf(20_261_122);

let state = seed;
const roll = (sides: number): number => {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * sides);
};
const pick = <T>(all: readonly T[]): T => all[roll(all.length)] as T;
const some = <T>(all: readonly T[], most: number): T[] => [...new Set(Array.from({ length: 1 + roll(most) }, () => pick(all)))];
const chance = (percent: number): boolean => roll(100) < percent;

const managing = ["permissions.read", "permissions.roles.manage", "permissions.users.manage", "staffroles.manage", "staff.suspend"];
/** What is given and taken: keys of every default level, of one guild or not, those that manage, and one of a newer version. */
const pool = [
  ...managing,
  "staff.read",
  "blacklist.check",
  "cases.read",
  "cases.note",
  "cases.close",
  "staff.stats",
  "blacklist.create",
  "cases.confidential",
  "cases.delete",
  "workflows.override",
  "newer.key",
];
/** Entries are mostly about what few people hold, so that those who hold it for a while or in one guild pass it on. */
const contested = ["cases.delete", "workflows.override", "cases.confidential", "cases.note"];
const keys = [...catalog.map((entry) => entry.key), "newer.key"];
const known: ReadonlySet<string> = new Set(catalog.map((entry) => entry.key));
const scoped: ReadonlySet<string> = new Set(catalog.filter((entry) => entry.scopes.includes("server")).map((entry) => entry.key));

interface ApiKey {
  text: string;
  allows(key: string): boolean;
}

/** What is edited, and in whose reach that is. */
interface Edit {
  kind: string;
  method: "PUT" | "PATCH" | "DELETE" | "POST";
  path: string;
  body: object;
  /** Ranks that the acting person has to stand above. */
  ranks: number[];
  /** Ending a suspension gives back what was held before it: rank and permission decide. */
  givesBack?: boolean;
}

/** Until when everybody holds what, in milliseconds, for each place; nothing that is not held. */
type Held = ReadonlyMap<string, number>;

async function createCommunity() {
  const world = await createJudgedWorld({ furtherGuilds: ["Quay"] });
  const [quay] = world.furtherGuilds;
  if (quay === undefined) throw new Error("there is no second guild");
  const extra: Role[] = ["crew", "desk", "chief"].map((name) => world.guild.createRole(name));
  const loose: Role[] = ["loose", "spare"].map((name) => world.guild.createRole(name));
  const [owner] = [await world.staff("owner")];
  const settings = [
    { key: "crew", rank: 20, level: "viewer" },
    { key: "desk", rank: 50, level: "none" },
    { key: "chief", rank: 70, level: "moderator" },
  ];
  for (const [index, { key, ...more }] of settings.entries()) {
    const discord = [{ guild_id: world.guild.id, role_id: extra[index]?.id ?? "" }];
    await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, discord[0]?.role_id ?? "") !== undefined);
    await world.put(`/staffroles/${key}`, { name: key, discord, ...more }, { actor: owner });
  }
  // People below admins who manage, so that there are editors who lack much of what they edit.
  for (const key of ["senior", "chief"]) await world.patch(`/permissions/roles/${key}`, { allow: managing }, { actor: owner });
  const { roles, guild } = world;
  const casts: Role[][] = [
    [roles.owner],
    [roles.admin],
    [roles.admin],
    [roles.senior],
    [roles.senior, ...extra.slice(1, 2)],
    [roles.moderator],
    [roles.moderator, ...extra.slice(0, 1)],
    [roles.viewer],
    extra.slice(2),
    [roles.viewer, ...extra.slice(1)],
    [roles.viewer, ...loose.slice(0, 1)],
    loose,
    [],
  ];
  const people: User[] = [owner];
  for (const [index, cast] of casts.entries()) {
    const person = world.sandbox.createUser(`person${index.toString()}`);
    guild.addMember(person, { roles: cast });
    people.push(person);
  }
  // Whoever was staff or had an entry once is stored; of others Discord tells only after the edit that makes them staff.
  const seen = { name: "seen", rank: 1, level: "none", discord: loose.map(({ id }) => ({ guild_id: guild.id, role_id: id })) };
  await world.put("/staffroles/seen", seen, { actor: owner });
  const [nobody] = people.slice(-1);
  const first = { key: "cases.read", effect: "deny", reason };
  await world.patch(`/permissions/users/${nobody?.id ?? ""}`, { overrides: [first] }, { actor: owner });
  await world.sandbox.waitFor(() => people.every((one) => world.app.guildState.members(one.id).length > 0));
  await world.sandbox.waitFor(() => people.filter((one) => world.app.access.of(one.id).isStaff).length === people.length - 1);
  await world.delete("/staffroles/seen", {}, { actor: owner });
  const refs = [...Object.values(roles), ...extra, ...loose].map((role) => ({ guild_id: guild.id, role_id: role.id }));
  return { world, people, refs, places: [undefined, guild.id, quay.id] };
}

async function createKeys(world: World): Promise<ApiKey[]> {
  const named = async (scopes: string[]): Promise<ApiKey> => {
    const held = new Set(scopes);
    return { text: await world.makeKey(scopes), allows: (key) => held.has(key) };
  };
  const everything = { text: await world.makeKey(["*"]), allows: (key: string) => key !== "system.act" };
  const half = pool.filter((key) => known.has(key) && (managing.includes(key) || chance(50)));
  return [everything, everything, await named(half), await named([...managing, "cases.read", "cases.delete"])];
}

const reason = "For this test";
const start = Date.now();
const ends = [1, 2, 24].map((hours) => new Date(start + hours * 3_600_000).toISOString());

/** Chooses edits, most of which somebody might be allowed. */
function createEditor({ world, people, refs, places }: Awaited<ReturnType<typeof createCommunity>>) {
  const { access } = world.app;
  const names = ["admin", "senior", "moderator", "viewer", "crew", "desk", "chief", "owner", "fresh"];
  const roleNamed = (isThere = true) => {
    const likely = names.slice(1, -2).filter((name) => (access.role(name) !== undefined) === isThere);
    return chance(90) && likely.length > 0 ? pick(likely) : pick(names);
  };
  const rankOf = (key: string): number[] => {
    const role = access.role(key);
    return role === undefined ? [] : [role.rank];
  };
  const level = () => (chance(3) ? "owner" : pick(levels.slice(0, 5)));
  const rank = () => pick([5, 15, 25, 35, 45, 55, 65, 75, 90]);
  const mapping = (key: string) => {
    const taken = new Set(
      access
        .roles()
        .filter((role) => role.key !== key)
        .flatMap((role) => role.discord.map(({ roleId }) => roleId)),
    );
    return some(
      refs.filter((ref) => !taken.has(ref.role_id)),
      2,
    ).filter((ref) => typeof ref === "object");
  };
  const lists = () => {
    const likely = [...pool, ...contested];
    const [allow, deny, clear] = [some(likely, 3), some(likely, 2), some(likely, 3)].map((all) => (chance(60) ? all : []));
    return {
      allow,
      deny: deny?.filter((key) => allow?.includes(key) !== true),
      clear: clear?.filter((key) => ![...(allow ?? []), ...(deny ?? [])].includes(key)),
    };
  };
  const entry = (withEnd: boolean) => {
    const key = pick(chance(60) ? contested : pool.filter((one) => known.has(one)));
    const effect = pick(["allow", "allow", "deny", "clear"]);
    const scope = scoped.has(key) && chance(35) ? pick(places) : undefined;
    const expires = withEnd && effect !== "clear" ? { expires_at: pick(ends) } : {};
    return { key, effect, reason, ...expires, ...(scope !== undefined && { scope }) };
  };
  const entries = (withEnd: boolean) => {
    const all = Array.from({ length: 1 + roll(3) }, () => entry(withEnd));
    return [...new Map(all.map((one) => [`${one.key} ${one.scope ?? ""}`, one])).values()];
  };
  const target = () => pick(chance(50) ? people.slice(1, 6) : people);
  const ofUser = (person: User) => [access.of(person.id).rank];
  const suspended = () => people.filter((one) => access.of(one.id).overrides.some(({ permission }) => permission === "*"));

  const kinds: Record<string, () => Omit<Edit, "kind">> = {
    "role replaced"() {
      const key = roleNamed();
      const { allow = [], deny = [] } = lists();
      const before = access.role(key)?.rules;
      // The whole set is sent: most of it as it was.
      const kept = (said: ReadonlySet<string> | undefined, not: readonly string[]) =>
        [...(said ?? [])].filter((one) => !not.includes(one) && chance(90));
      const body = {
        allow: [...new Set([...kept(before?.allow, deny), ...allow])],
        deny: [...new Set([...kept(before?.deny, allow), ...deny])],
      };
      return { method: "PUT", path: `/permissions/roles/${key}`, body, ranks: rankOf(key) };
    },
    "role changed"() {
      const key = roleNamed();
      return { method: "PATCH", path: `/permissions/roles/${key}`, body: lists(), ranks: rankOf(key) };
    },
    "person changed"() {
      const person = target();
      return { method: "PATCH", path: `/permissions/users/${person.id}`, body: { overrides: entries(false) }, ranks: ofUser(person) };
    },
    "person changed for a while"() {
      const person = target();
      return { method: "PATCH", path: `/permissions/users/${person.id}`, body: { overrides: entries(true) }, ranks: ofUser(person) };
    },
    "person cleared"() {
      const person = target();
      return { method: "DELETE", path: `/permissions/users/${person.id}`, body: { reason }, ranks: ofUser(person) };
    },
    "staff role put"() {
      const key = roleNamed(chance(15));
      const wanted = rank();
      const body = { name: key, rank: wanted, level: level(), discord: mapping(key) };
      return { method: "PUT", path: `/staffroles/${key}`, body, ranks: [...rankOf(key), wanted] };
    },
    "staff role changed"() {
      const key = roleNamed();
      const parts = { rank: rank(), level: level(), discord: mapping(key) };
      const names = some(["rank", "level", "discord"] as const, 2);
      const body: Record<string, unknown> = Object.fromEntries(names.map((name) => [name, parts[name]]));
      return { method: "PATCH", path: `/staffroles/${key}`, body, ranks: [...rankOf(key), ...("rank" in body ? [parts.rank] : [])] };
    },
    "staff role deleted"() {
      const key = roleNamed();
      return { method: "DELETE", path: `/staffroles/${key}`, body: {}, ranks: rankOf(key) };
    },
    "person suspended"() {
      const person = target();
      const body = { reason, ...(chance(50) && { until: pick(ends) }) };
      return { method: "POST", path: `/staff/${person.id}/suspend`, body, ranks: ofUser(person) };
    },
    "person reinstated"() {
      const person = pick(suspended().length > 0 && chance(90) ? suspended() : people);
      return {
        method: "POST",
        path: `/staff/${person.id}/reinstate`,
        body: { reason },
        ranks: ofUser(person),
        givesBack: true,
      };
    },
  };
  const kindNames = Object.keys(kinds);
  return {
    kinds: kindNames,
    choose(number: number): Edit {
      // Roles are made as often as they are deleted, so that there are some to edit.
      const turns = [...kindNames, "staff role put"];
      const kind = turns[number % turns.length] ?? "";
      return { kind, ...(kinds[kind]?.() ?? { method: "PATCH", path: "", body: {}, ranks: [] }) };
    },
    actor(): User {
      const owners = people.filter((one) => access.of(one.id).isOwner);
      const staff = people.filter((one) => access.of(one.id).isStaff);
      return chance(55) ? pick(owners) : pick(chance(80) ? staff : people);
    },
  };
}

/** Managers get back what they manage with, and some things for a while or in one guild only; the rest is left as the edits made it. */
async function upkeep(world: World, managers: readonly User[]): Promise<void> {
  const by = { actor: world.app.access.listOwners()[0] ?? "" };
  const overrides = [
    ...managing.map((key) => ({ key, effect: "allow", reason })),
    { key: "cases.delete", effect: "allow", expires_at: ends[1], reason },
    { key: "cases.note", effect: "allow", reason },
    { key: "cases.note", effect: "deny", scope: world.guild.id, reason },
    { key: "workflows.override", effect: "clear", reason },
    { key: "workflows.override", effect: "allow", scope: world.guild.id, reason },
  ];
  for (const { id } of managers) {
    await world.post(`/staff/${id}/reinstate`, { reason }, by);
    const answer = await world.patch(`/permissions/users/${id}`, { overrides }, by);
    if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  }
}

/** Refused or not, these rows say who may do what. */
async function rowsOf({ app }: World): Promise<string> {
  const { read } = app.database;
  const all = await Promise.all([
    read.staffRole.findMany({ orderBy: { key: "asc" } }),
    read.staffRoleDiscordRole.findMany({ orderBy: { roleId: "asc" } }),
    read.rolePermission.findMany({ orderBy: [{ staffRoleKey: "asc" }, { permission: "asc" }] }),
    read.userPermission.findMany({ orderBy: { id: "asc" } }),
    read.userPermissionSet.findMany({ orderBy: { userId: "asc" } }),
    read.owner.findMany(),
    read.auditEntry.count({ where: { outcome: "ok" } }),
    read.outboxEvent.count(),
  ]);
  return JSON.stringify(all);
}

function heldBy({ app }: World, userId: string, places: readonly (string | undefined)[]): Held {
  const access = app.access.of(userId);
  const held = new Map<string, number>();
  for (const place of places) {
    for (const key of keys) {
      const until = access.heldUntil(key, place);
      if (until !== undefined) held.set(`${key} ${place ?? ""}`, until?.getTime() ?? Number.POSITIVE_INFINITY);
    }
  }
  return held;
}

test(`of ${editCount.toString()} random edits by random staff none gives what its author lacks, reaches up, or loses the last owner`, async () => {
  const community = await createCommunity();
  const { world, people, places } = community;
  const { access } = world.app;
  const apiKeys = await createKeys(world);
  const editor = createEditor(community);
  const accepted = new Map<string, number>(editor.kinds.map((kind) => [kind, 0]));
  const refusals = new Map<string, number>();
  let gains = 0;
  const look = () => new Map(people.map((one) => [one.id, heldBy(world, one.id, places)]));
  let [rows, held] = [await rowsOf(world), look()];

  for (let number = 0; number < editCount; number += 1) {
    if (number % upkeepEvery === 0) {
      await upkeep(world, people.slice(1, 6));
      [rows, held] = [await rowsOf(world), look()];
    }
    const [edit, actor, apiKey] = [editor.choose(number), editor.actor(), pick(apiKeys)];
    const by = access.of(actor.id);
    const answer: Answer = await world.request(edit.method, edit.path, edit.body, { actor, key: apiKey.text });
    const context = `seed ${seed.toString()}, edit ${number.toString()} (${edit.kind} ${edit.path} ${JSON.stringify(edit.body)}) by rank ${by.rank.toString()}`;
    if (answer.status >= 400) {
      const code = String(answer.body.code);
      refusals.set(code, (refusals.get(code) ?? 0) + 1);
      expect([context, answer.status < 500, await rowsOf(world)]).toEqual([context, true, rows]);
      continue;
    }
    accepted.set(edit.kind, (accepted.get(edit.kind) ?? 0) + 1);
    rows = await rowsOf(world);
    const now = look();
    const own = held.get(actor.id) ?? new Map<string, number>();
    for (const [userId, after] of now) {
      const before = held.get(userId) ?? new Map<string, number>();
      for (const [spot, until] of after) {
        if ((before.get(spot) ?? 0) >= until) continue;
        gains += 1;
        if (edit.givesBack === true) continue;
        const [key = ""] = spot.split(" ");
        const limit = apiKey.allows(key) ? (own.get(spot) ?? 0) : 0;
        if (limit < until)
          throw new Error(`${context}: ${userId} gained ${spot} until ${until.toString()}, its author has it until ${limit.toString()}`);
      }
    }
    if (!by.isOwner && edit.ranks.some((rank) => rank >= by.rank)) throw new Error(`${context}: reaches ${edit.ranks.join(", ")}`);
    expect([context, access.listOwners().length > 0]).toEqual([context, true]);
    held = now;
  }

  const total = [...accepted.values()].reduce((sum, count) => sum + count, 0);
  const told = `seed ${seed.toString()}: ${JSON.stringify([...accepted, ...refusals, gains])}`;
  expect([told, total >= editCount / 4]).toEqual([told, true]);
  expect([told, [...accepted].filter(([, count]) => count < leastPerKind)]).toEqual([told, []]);
  for (const code of ["hierarchy_violation", "cannot_grant_unheld", "permission_denied"])
    expect([told, refusals.has(code)]).toEqual([told, true]);
  expect([told, gains > editCount / 5]).toEqual([told, true]);
});
