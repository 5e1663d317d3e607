import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { shareWorld } from "../contract/world.ts";
import { actionsOf, settled } from "./native-actions-ground.ts";

const shared = shareWorld();

/** A person, and a moderator who acts in Discord itself. */
async function scene() {
  const { world } = shared;
  return { world, person: world.member(), mona: await world.staff("moderator"), owner: await world.staff("owner") };
}

async function timelineOf(world: World, person: User, actor: User): Promise<Record<string, unknown>[]> {
  await settled(world);
  const { status, body } = await world.get(`/users/${person.id}/timeline?kind=native_action`, { actor });
  expect(status, JSON.stringify(body)).toBe(200);
  return body.data;
}

test("a ban by hand is in the person's timeline within two seconds, with who, why and when", async () => {
  const { world, person, mona, owner } = await scene();
  const began = performance.now();
  world.guild.ban(person, { by: mona, reason: "Advertising: ü%" });
  let body: { data: { at: string }[] } = { data: [] };
  while (body.data.length === 0 && performance.now() - began < 5000)
    ({ body } = await world.get(`/users/${person.id}/timeline?kind=native_action`, { actor: owner }));
  expect(performance.now() - began).toBeLessThan(2000);
  expect(body.data).toMatchObject([
    {
      kind: "native_action",
      event: "ban",
      user_id: person.id,
      actor_id: mona.id,
      summary: `Was banned by hand on the server ${world.guild.id}. Reason given: Advertising: ü%`,
    },
  ]);
  expect(Math.abs(Date.now() - Date.parse(body.data[0]?.at ?? ""))).toBeLessThan(5000);
  expect(world.sandbox.directMessages(person)).toEqual([]);
});

test("kicks, timeouts and what lifts them are recorded by people and by other bots, in their order", async () => {
  const { world, person, mona, owner } = await scene();
  const { guild } = world;
  const robot = world.sandbox.createUser("robot", { bot: true });
  guild.timeout(person, 600, { by: mona, reason: "calm down" });
  guild.timeout(person, 0, { by: robot });
  guild.setNick(person, "Renamed");
  guild.kick(person, { by: robot, reason: "raid" });
  guild.ban(person, { by: mona });
  guild.unban(person, { by: owner });
  await settled(world);
  const found = await actionsOf(world, person, owner);
  expect(found.map(({ action, by, reason }) => [action, by, reason])).toEqual([
    ["timeout", mona.id, "calm down"],
    ["timeout_lift", robot.id, null],
    ["kick", robot.id, "raid"],
    ["ban", mona.id, null],
    ["unban", owner.id, null],
  ]);
  const [timeout] = found;
  expect(Date.parse(timeout?.until ?? "") - Date.parse(timeout?.at ?? "")).toBeGreaterThan(590_000);
  expect(found.slice(1).every(({ until }) => until === null)).toBe(true);
});

test("who leaves, and what is done in a server that is not served, is recorded nowhere", async () => {
  const { world, person, mona, owner } = await scene();
  const elsewhere = world.sandbox.createGuild({ name: "Elsewhere" });
  elsewhere.addMember(person);
  elsewhere.ban(person, { by: mona });
  world.guild.leave(person);
  await settled(world);
  expect(await actionsOf(world, person, owner)).toEqual([]);
  expect(world.sandbox.exchanges.filter(({ path }) => path.includes(`/guilds/${elsewhere.id}/`))).toEqual([]);
});

describe("who sees it", () => {
  test("those who read cases, and nobody else", async () => {
    const { world, person, mona, owner } = await scene();
    world.guild.ban(person, { by: mona, reason: "Seen by moderators only" });
    expect(await timelineOf(world, person, mona)).toHaveLength(1);
    const viewer = await world.staff("viewer");
    expect(await timelineOf(world, person, viewer)).toEqual([]);
    const refused = await world.get(`/users/${person.id}/native-actions`, { actor: viewer });
    expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied", required: "cases.read" } });
    const id = (await actionsOf(world, person, owner))[0]?.id ?? "";
    expect((await world.get(`/native-actions/${id}`, { actor: viewer })).status).toBe(403);
    expect((await world.get(`/native-actions/${id.toUpperCase()}`, { actor: mona })).body.data).toMatchObject({ id, action: "ban" });
    expect((await world.get(`/native-actions/${id.replace(/^./, "f")}`, { actor: mona })).status).toBe(404);
  });
});

test("the list is filtered and paged, newest first", async () => {
  const { world, person, mona, owner } = await scene();
  for (let round = 0; round < 3; round += 1) {
    world.guild.ban(person, { by: mona });
    world.guild.unban(person, { by: mona });
  }
  await settled(world);
  const ask = async (query: string) => (await world.get(`/users/${person.id}/native-actions?${query}`, { actor: owner })).body;
  const first = await ask("action=ban&limit=2&count=true");
  expect(first.page.total).toBe(3);
  const second = await ask(`action=ban&limit=2&cursor=${first.page.next_cursor}`);
  expect([...first.data, ...second.data].map(({ action }: { action: string }) => action)).toEqual(["ban", "ban", "ban"]);
  expect((await ask("guild_id=80351110224678912")).data).toEqual([]);
  expect((await ask(`guild_id=${world.guild.id}`)).data).toHaveLength(6);
});
