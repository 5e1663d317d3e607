import fc from "fast-check";
import { expect, test } from "vitest";
import type { Leader } from "../../src/cluster/leader.ts";
import { createJudge } from "../../src/discord-actions/judge.ts";
import { whyNot, type MemberAction, type Verdict } from "../../src/discord-actions/possible.ts";
import { inWords } from "../../src/kit/say.ts";
import type { GuildHandle, Role, User } from "../../sandbox/index.ts";
import { createStand, goLive, linkTo, type Stand } from "../discord/support.ts";
import { callApi } from "../sandbox/support.ts";
import { runsOf } from "../support/size.ts";

const hour = 3_600_000;

const caughtUp = async ({ sandbox, state }: Pick<Stand, "sandbox" | "state">): Promise<void> => {
  await sandbox.caughtUp();
  await state.feed.stored();
};

/** What the service says about an action, by what the gateway has told it. */
function judge({ state }: Pick<Stand, "state">, guild: GuildHandle, action: MemberAction): Verdict | null {
  const isBanned = guild.bans().some(({ user }) => user.id === action.userId);
  return whyNot(action, { guild: state.standings.of(guild.id), isBanned, now: new Date() });
}

/** What Discord says about it. */
async function attempt(stand: Pick<Stand, "sandbox">, action: MemberAction) {
  const guild = `/guilds/${action.guildId}`;
  const [member, ban] = [`${guild}/members/${action.userId}`, `${guild}/bans/${action.userId}`];
  const send = (method: string, path: string, body?: object) => callApi(stand.sandbox, method, path, body);
  switch (action.kind) {
    case "ban":
      return await send("PUT", ban, {});
    case "unban":
      return await send("DELETE", ban);
    case "kick":
      return await send("DELETE", member);
    case "timeout":
      return await send("PATCH", member, { communication_disabled_until: action.until });
    case "timeout_lift":
      return await send("PATCH", member, { communication_disabled_until: null });
    case "nickname":
      return await send("PATCH", member, { nick: action.nickname });
    case "role_add":
      return await send("PUT", `${member}/roles/${action.roleId}`);
    case "role_remove":
      return await send("DELETE", `${member}/roles/${action.roleId}`);
  }
}

const roleCount = 4;
const granted = ["Administrator", "BanMembers", "KickMembers", "ModerateMembers", "ManageRoles", "ManageNicknames"] as const;
const permissions = fc.oneof({ weight: 1, arbitrary: fc.constant([]) }, { weight: 2, arbitrary: fc.subarray([...granted]) });
const roleNumbers = fc.subarray(Array.from({ length: roleCount }, (_, index) => index));
const hours = fc.option(fc.integer({ min: 1, max: 400 }), { freq: 2 });
const kinds = ["ban", "unban", "kick", "timeout", "timeout_lift", "nickname", "role_add", "role_remove"] as const;

const situations = fc.record({
  roles: fc.array(fc.record({ position: fc.integer({ min: 1, max: 5 }), permissions }), { minLength: roleCount, maxLength: roleCount }),
  everyone: fc.subarray(["BanMembers", "ManageRoles"]),
  bot: fc.record({
    position: fc.integer({ min: 1, max: 6 }),
    permissions: fc.oneof(permissions, fc.constant([...granted].slice(1))),
    roles: roleNumbers,
    timeout: fc.constantFrom(null, null, null, 5),
  }),
  person: fc.oneof(
    { weight: 3, arbitrary: fc.record({ roles: roleNumbers, timeout: hours }) },
    { weight: 1, arbitrary: fc.constantFrom("banned" as const, "away" as const) },
  ),
  target: fc.constantFrom("person", "person", "person", "owner", "bot"),
  kind: fc.constantFrom(...kinds),
  role: fc.constantFrom(0, 1, 2, 3, "everyone", "bot", "gone", "managed"),
  hours: fc.integer({ min: 1, max: 400 }),
});
type Situation = typeof situations extends fc.Arbitrary<infer One> ? One : never;

interface Scene {
  guild: GuildHandle;
  roles: Role[];
  gone: Role;
  managed: Role;
  person: User;
  owner: User;
  bot: User;
}

function setUp({ guild, roles, person, bot }: Scene, { roles: wanted, everyone, bot: asBot, person: asPerson }: Situation): void {
  guild.setRolePermissions(guild.everyoneRole, everyone);
  for (const [index, role] of roles.entries()) {
    guild.moveRole(role, wanted[index]?.position ?? 1);
    guild.setRolePermissions(role, wanted[index]?.permissions ?? []);
  }
  const own = guild.botRole as Role;
  guild.moveRole(own, asBot.position);
  guild.setRolePermissions(own, asBot.permissions);
  guild.setRoles(bot, [own, ...asBot.roles.map((index) => roles[index] as Role)]);
  guild.timeout(bot, (asBot.timeout ?? 0) * 3600);
  guild.unban(person);
  const isThere = guild.member(person) !== undefined;
  if (asPerson === "banned") return guild.ban(person);
  if (asPerson === "away") return isThere ? guild.leave(person) : undefined;
  if (!isThere) guild.addMember(person);
  guild.setRoles(
    person,
    asPerson.roles.map((index) => roles[index] as Role),
  );
  guild.timeout(person, (asPerson.timeout ?? 0) * 3600);
}

function actionOf({ guild, roles, gone, managed, person, owner, bot }: Scene, { kind, target, role, hours }: Situation): MemberAction {
  const userId = { person, owner, bot }[target as "person"].id;
  const named = { everyone: guild.everyoneRole, bot: guild.botRole, gone, managed }[role as "everyone"];
  const roleId = (typeof role === "number" ? roles[role] : named)?.id ?? "";
  const until = new Date(Date.now() + hours * hour).toISOString();
  return { kind, guildId: guild.id, userId, roleId, until, nickname: "Mate" };
}

test("what is said to be impossible is what Discord refuses, and what is not is done", async () => {
  const stand = await createStand();
  const { sandbox } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const roles = Array.from({ length: roleCount }, (_, index) => guild.createRole(`role${index.toString()}`));
  const managed = guild.createRole("Music", { position: 1 });
  Object.assign(managed, { botId: guild.ownerId });
  guild.renameRole(managed, "Music bot");
  const gone = guild.createRole("Gone");
  guild.deleteRole(gone);
  const { application, users } = sandbox.inside.world;
  const scene: Scene = {
    guild,
    roles,
    gone,
    managed,
    person: sandbox.createUser("person"),
    owner: users.get(guild.ownerId) as User,
    bot: application.bot,
  };
  await goLive(stand);
  const runs = runsOf(800);
  const seen = new Set<string>();

  await fc.assert(
    fc.asyncProperty(situations, async (situation) => {
      setUp(scene, situation);
      await caughtUp(stand);
      const action = actionOf(scene, situation);
      const verdict = judge(stand, guild, action);
      const { status, body } = await attempt(stand, action);
      const code = (body as { code?: number } | null)?.code;
      seen.add(verdict?.code ?? "possible");
      if (verdict?.outcome === "waits") expect(code, verdict.detail).toBe(10007);
      else if (verdict?.outcome === "impossible") expect([10007, 10011, 50013], verdict.detail).toContain(code);
      else if (verdict?.code === "not_banned") expect(code).toBe(10026);
      else expect([status < 300, code], verdict?.detail ?? "possible").toEqual([true, undefined]);
    }),
    { numRuns: runs },
  );
  // Enough situations reach most verdicts there are.
  if (runs >= 200) expect(seen.size, [...seen].join(" ")).toBeGreaterThan(10);
});

test("a refusal names the permission or the roles, and what would help", async () => {
  const stand = await createStand();
  const { sandbox, state } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const partner = guild.createRole("Partner", { position: 300 });
  const admins = guild.createRole("Captains", { permissions: ["Administrator"] });
  const [boss, captain, ann] = [sandbox.createUser("boss"), sandbox.createUser("captain"), sandbox.createUser("ann")];
  guild.addMember(boss, { roles: [partner] });
  guild.addMember(captain, { roles: [admins] });
  guild.addMember(ann);
  await goLive(stand);
  const own = guild.botRole as Role;
  const ban = { kind: "ban", guildId: guild.id, userId: boss.id } as const;
  const until = new Date(Date.now() + hour).toISOString();
  const place = `Move ${own.name} above it under Server Settings → Roles.`;
  expect(inWords(judge(stand, guild, ban))).toEqual({
    outcome: "impossible",
    code: "bot_role_too_low",
    detail: `I can't ban them in Harbour: my highest role, ${own.name}, is below their role Partner. ${place}`,
  });
  expect(inWords(judge(stand, guild, { ...ban, kind: "timeout", until, userId: captain.id }))).toMatchObject({
    code: "target_has_administrator",
    detail: expect.stringContaining("their role Captains is an administrator's"),
  });
  expect(inWords(judge(stand, guild, { ...ban, kind: "role_add", roleId: partner.id, userId: ann.id }))).toMatchObject({
    code: "role_not_manageable",
    detail: `I can't give them the role Partner in Harbour: my highest role, ${own.name}, is below it. ${place}`,
  });
  expect(judge(stand, guild, { ...ban, userId: ann.id })).toBeNull();

  // As soon as the bot's role is moved, or loses a permission, the answer is another one.
  guild.moveRole(own, 301);
  await caughtUp(stand);
  expect(judge(stand, guild, ban)).toBeNull();
  guild.setRolePermissions(own, ["KickMembers"]);
  await caughtUp(stand);
  expect(inWords(judge(stand, guild, ban))).toMatchObject({
    code: "bot_missing_permission",
    detail: "I can't ban them in Harbour: I don't have the permission Ban Members there. Give it to my role under Server Settings → Roles.",
  });
  expect(judge(stand, guild, { ...ban, kind: "kick" })).toBeNull();
  guild.removeBot();
  await caughtUp(stand);
  expect(judge(stand, guild, ban)).toMatchObject({ code: "bot_not_in_guild" });
  expect(state.standings.of(guild.id)).toMatchObject({ name: "Harbour", bot: null });
});

test("a process without the gateway, and one that has lost it, know of nothing that speaks against an action", async () => {
  const stand = await createStand();
  const { sandbox, state, database } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const ban = { kind: "ban", guildId: guild.id, userId: guild.ownerId } as const;
  expect(judge(stand, guild, ban)).toBeNull();
  await goLive(stand);
  expect(judge(stand, guild, ban)).toMatchObject({ code: "target_is_guild_owner" });

  const other = linkTo(sandbox, database);
  await other.state.load();
  expect(other.state.role(guild.id, guild.id)).toMatchObject({ name: "@everyone" });
  expect(other.state.role(guild.id, guild.id)).not.toHaveProperty("permissions");
  expect(judge(other, guild, ban)).toBeNull();

  const outage = sandbox.faults.down(Infinity);
  await sandbox.waitFor(() => state.freshness().stale);
  expect(judge(stand, guild, ban)).toBeNull();
  sandbox.faults.up();
  await outage;
  await sandbox.waitFor(() => !state.freshness().stale);
  expect(judge(stand, guild, ban)).toMatchObject({ code: "target_is_guild_owner" });
});

test("permissions of roles are known without a write, and survive changes of other roles", async () => {
  const stand = await createStand();
  const { sandbox, state, database } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const mods = guild.createRole("Mods", { permissions: ["BanMembers"] });
  await goLive(stand);
  const bits = state.role(guild.id, mods.id)?.permissions;
  expect(bits).toBe(4n);
  const before = await database.read.guildRole.findMany({ where: { id: mods.id } });
  guild.setRolePermissions(mods, ["KickMembers"]);
  await caughtUp(stand);
  expect(state.role(guild.id, mods.id)?.permissions).toBe(2n);
  expect(await database.read.guildRole.findMany({ where: { id: mods.id } })).toEqual(before);
  guild.createRole("Sailors");
  guild.renameRole(mods, "Moderators");
  await caughtUp(stand);
  expect(state.role(guild.id, mods.id)).toMatchObject({ name: "Moderators", permissions: 2n, managed: false });
  expect(state.role(guild.id, guild.botRole?.id ?? "")).toMatchObject({ managed: true });
});

/** The process with the gateway is this one. */
const alone: Pick<Leader, "answering"> = { answering: (_kind, answer) => async (input) => await answer(input) };

test("the ban list is asked for whoever is no member, and no answer is no objection", async () => {
  const stand = await createStand();
  const { sandbox, state, discord } = stand;
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [member, banned, stranger] = ["member", "banned", "stranger"].map((name) => sandbox.createUser(name)) as [User, User, User];
  guild.addMember(member);
  guild.ban(banned);
  await goLive(stand);
  const { ask } = createJudge({ guildState: state, discord, clock: { now: () => new Date() }, leader: alone });
  const of = (kind: "ban" | "unban", userId: string) => ask({ kind, guildId: guild.id, userId });
  const lookedUp = () => sandbox.exchanges.filter(({ path }) => /\/(bans|users)\/\d+$/.test(path)).length;

  expect(await of("ban", member.id)).toBeNull();
  expect(inWords(await of("unban", member.id))).toMatchObject({ code: "not_banned", detail: "They are not banned in Harbour." });
  expect(lookedUp()).toBe(0);
  expect(inWords(await of("ban", banned.id))).toMatchObject({ code: "already_banned", detail: "They are already banned in Harbour." });
  expect(await of("unban", banned.id)).toBeNull();
  expect(await of("ban", stranger.id)).toBeNull();
  expect(await of("unban", stranger.id)).toMatchObject({ code: "not_banned" });
  expect(await of("ban", "123456789012345678")).toMatchObject({ outcome: "impossible", code: "unknown_user" });
  expect(lookedUp()).toBe(8);

  const down = sandbox.faults.down(Infinity);
  expect(await of("unban", stranger.id)).toBeNull();
  sandbox.faults.up();
  await down;
});
