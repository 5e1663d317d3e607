import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { authorize, staffAtConsole } from "../contract/world.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type World } from "../support/world.ts";

const system = () => systemCall("job", uuid7());

/** A community, and another server of which only its owner thinks that the bot belongs there. */
async function createNeighbourhood(env: Record<string, string> = {}) {
  const lines: { level: number; guild_id?: string; guild?: string; msg: string }[] = [];
  const world = await createWorld({ env, pauses: { discord: soonBack }, log: (line) => lines.push(JSON.parse(line) as (typeof lines)[0]) });
  const raider = world.sandbox.createUser("raider");
  const den = world.sandbox.createGuild({ name: "Raiders' Den", owner: raider, withBot: false });
  const owner = await staffAtConsole(world, "owner");
  return { world, raider, den, owner, warnings: () => lines.filter(({ level, guild_id: id }) => level === 40 && id === den.id) };
}

/** The bot has come into a server, and the service has had every chance to read it. */
async function join(world: World, den: GuildHandle) {
  den.addBot();
  await world.sandbox.caughtUp();
  await delay(200);
  await world.app.guildState.feed.stored();
}

const consentPage = async (world: World, by: User): Promise<string> => {
  const session = await world.post("/authorize/sessions", { discord_user_id: world.member().id }, { actor: by });
  expect(session.status, JSON.stringify(session.body)).toBe(201);
  return await (await fetch(session.body.url)).text();
};

const noPoach = async (world: World, user: User, by: User) => {
  const filed = await world.post("/workflows/recruitment", { user_id: user.id, position: "moderator" }, { actor: by });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const decider = await world.staff("owner");
  const { checks } = (await world.get(`/workflows/recruitment/${String(filed.body.id)}`, { actor: decider })).body.data;
  return checks.find(({ key }: { key: string }) => key === "no_poach").result;
};

async function ban(world: World, user: User, guildIds: string[]) {
  const [requester, first, second] = [await world.staff("moderator"), await world.staff("admin"), await world.staff("admin")];
  const discord = { action: "ban", ...(guildIds.length === 0 ? { everywhere: true } : { guild_ids: guildIds }) };
  const body = { user_id: user.id, action: "warning", reason: "Led the raid of last night.", notify_subject: false, discord };
  const filed = await world.post("/workflows/punishment", body, { actor: requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  for (const actor of [first, second]) {
    const decided = await world.post(`/workflows/punishment/${String(filed.body.id)}/decision`, { decision: "approve" }, { actor });
    if (decided.body.status === "approved") break;
  }
  await world.app.deliveries.deliverDue(system());
  return (await world.get(`/workflows/punishment/${String(filed.body.id)}`, { actor: first })).body.data;
}

const storedGuilds = async ({ app: { database } }: World) => {
  const [guilds, roles, members] = await Promise.all([
    database.read.guild.findMany(),
    database.read.guildRole.findMany(),
    database.read.guildMember.findMany(),
  ]);
  return [...guilds.map(({ id }) => id), ...[...roles, ...members].map(({ guildId }) => guildId)];
};

const checkOf = async (world: World, key?: null) => (await world.get("/health", key === null ? { key } : {})).body.checks.guild_state;

describe("a server outside GUILD_IDS that somebody adds the bot to", () => {
  test("is no recipient on the consent page, is stored nowhere, and Discord is asked nothing about it", async () => {
    const { world, den, owner } = await createNeighbourhood();
    den.addMember(owner);
    await join(world, den);
    const page = await consentPage(world, owner);
    expect(page).toContain("Harbour");
    expect(page).not.toContain("Den");
    expect(world.app.guildState.guilds().map(({ id }) => id)).toEqual([world.guild.id]);
    expect(world.app.guildState.members(owner.id).map(({ guildId }) => guildId)).toEqual([world.guild.id]);
    expect(new Set(await storedGuilds(world))).toEqual(new Set([world.guild.id]));
    const asked = world.sandbox.gatewayLog.filter(({ direction, d }) => direction === "in" && JSON.stringify(d ?? null).includes(den.id));
    expect(asked).toEqual([]);
    expect(world.sandbox.exchanges.filter(({ path }) => path.includes(den.id))).toEqual([]);
  });

  test("takes no part in a ban of the whole community, and cannot be named in one", async () => {
    const { world, den } = await createNeighbourhood();
    await join(world, den);
    const user = world.member();
    den.addMember(user);
    await ban(world, user, []);
    await expect.poll(() => world.guild.bans().map((one) => one.user.id), { timeout: 20_000 }).toEqual([user.id]);
    const named = { user_id: world.member().id, action: "ban", reason: "Led the raid of last night.", guild_ids: [den.id] };
    const refused = await world.post("/workflows/punishment", named, { actor: await world.staff("moderator") });
    expect([refused.status, refused.body.errors]).toMatchObject([422, [{ pointer: "/guild_ids/0", code: "unknown_server" }]]);
    expect(den.bans()).toEqual([]);
    expect(den.member(user)).toBeDefined();
    expect(world.sandbox.exchanges.filter(({ path }) => path.includes(den.id))).toEqual([]);
  });

  test("stays the other party of an agreement: adding the bot does not make the no-poach check pass", async () => {
    const { world, den, owner } = await createNeighbourhood();
    const recruit = world.member();
    den.addMember(recruit);
    await authorize(world, recruit, { by: owner });
    const draft = {
      serverIds: [world.guild.id, den.id],
      covers: "both",
      coolingOffDays: 30,
      createdBy: null,
      permission: "system.act",
    } as const;
    await world.app.database.write(system(), (tx) => world.app.registry.createAgreementInTx(tx, draft));
    expect(await noPoach(world, recruit, owner)).toBe("fail");
    await join(world, den);
    const further = world.member();
    den.addMember(further);
    await authorize(world, further, { by: owner });
    expect(await noPoach(world, further, owner)).toBe("fail");
    const matches = await world.app.database.read.match.findMany({ where: { userId: further.id, closedAt: null } });
    expect(matches.map(({ kind, serverId }) => [kind, serverId])).toEqual([["no_poach", den.id]]);
  });

  test("gets a plain refusal to every command, of its owner and of our own staff, and nothing is run or noted", async () => {
    const { world, den, raider, owner } = await createNeighbourhood();
    await join(world, den);
    den.addMember(owner, { roles: [den.createRole("console", { permissions: ["Administrator"] })] });
    await world.sandbox.caughtUp();
    const before = await world.app.database.read.auditEntry.count();
    for (const user of [raider, owner]) {
      const console = world.sandbox.as(user).in(den);
      for (const run of [await console.runSlashCommand("staff access", { user: owner }), await console.runSlashCommand("mydata")]) {
        const said = (await run.reply()).content;
        expect(said).toContain("does not belong to the community this bot serves");
        expect(said).toContain("GUILD_IDS");
        expect(said).not.toContain("Harbour");
      }
    }
    expect(await world.app.database.read.auditEntry.count()).toBe(before);
  });

  test("is logged once with its id, its name and the remedy, and named in the health of those who may read it until the bot has left", async () => {
    const { world, den, warnings } = await createNeighbourhood();
    expect(await checkOf(world)).toMatchObject({ status: "pass" });
    await join(world, den);
    den.rename("Raiders' Other Den");
    world.sandbox.faults.invalidateSessions();
    await world.sandbox.waitFor(() => world.sandbox.gatewayLog.filter(({ t }) => t === "READY").length === 2);
    await world.sandbox.waitFor(() => !world.app.guildState.freshness().stale);
    expect(warnings()).toHaveLength(1);
    expect(warnings()[0]).toMatchObject({ guild: "Raiders' Den", guild_id: den.id });
    expect(warnings()[0]?.msg).toMatch(/GUILD_IDS/);
    const check = await checkOf(world);
    expect(check.status).toBe("warn");
    expect(check.reason).toContain(`Raiders' Other Den (${den.id})`);
    expect(check.reason).toMatch(/remove the bot from it, or add its id to GUILD_IDS/i);
    expect(await checkOf(world, null)).toEqual({ status: "warn" });
    expect(JSON.stringify((await world.get("/health", { key: null })).body)).not.toContain("Den");
    den.removeBot();
    await world.sandbox.caughtUp();
    expect(await checkOf(world)).toMatchObject({ status: "pass" });
  });
});

test("a server that was served once, and is not in GUILD_IDS any more, is not ours either, though its rows are still there", async () => {
  const { world, den, owner } = await createNeighbourhood();
  const role = den.createRole("Raider");
  const person = world.member();
  den.addMember(person, { roles: [role] });
  await world.app.database.write(system(), async ({ db, now: updatedAt }) => {
    await db.guild.create({ data: { id: den.id, name: den.name, present: true, syncedAt: updatedAt, updatedAt } });
    const member = { guildId: den.id, userId: person.id, username: "raider", roleIds: [role.id], present: true, updatedAt };
    await db.guildMember.create({ data: member });
    await db.staffRoleDiscordRole.create({ data: { staffRoleKey: "admin", guildId: den.id, roleId: role.id } });
  });
  den.addBot();
  await world.restart();
  await delay(200);
  expect(world.app.guildState.guilds().map(({ id }) => id)).toEqual([world.guild.id]);
  expect(await consentPage(world, owner)).not.toContain("Den");
  expect((await world.get(`/staff/${person.id}/access`)).body).toMatchObject({ data: { allowed: false, staff_roles: [] } });
  await ban(world, person, []);
  await expect.poll(() => world.guild.bans().map((one) => one.user.id), { timeout: 20_000 }).toEqual([person.id]);
  expect(den.bans()).toEqual([]);
  expect(world.sandbox.exchanges.filter(({ path }) => path.includes(den.id))).toEqual([]);
});
