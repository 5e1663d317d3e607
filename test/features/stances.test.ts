import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import type { GuildHandle, User } from "../../src/sandbox/index.ts";
import { createWorld } from "../support/world.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";

const reason = "Led the raid of last night.";
/** What each event is followed by, at the latest. */
const limitMs = 2000;

async function community(env: Record<string, string> = {}) {
  const world = await createWorld({ furtherGuilds: ["Bay", "Cove"], env });
  const [bay, cove] = world.furtherGuilds as [GuildHandle, GuildHandle];
  const owner = await world.staff("owner");
  const admin = await world.staff("admin");
  return {
    world,
    harbour: world.guild,
    bay,
    cove,
    owner,
    admin,
    async stance(guild: GuildHandle, ...rules: object[]) {
      const answer = await world.put(`/guilds/${guild.id}/stance`, { rules }, { actor: owner });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      return answer.body.data;
    },
    async list(user: Pick<User, "id">, more: object = {}): Promise<{ number: string; id: string }> {
      const body = { kind: "user", subject_id: user.id, category: "raid", severity: "high", reason_public: reason, ...more };
      const answer = await world.post("/blacklist", body, { actor: admin });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.data;
    },
    async revoke(number: string) {
      const answer = await world.delete(`/blacklist/${number}`, { reason: "It was somebody else." }, { actor: admin });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    },
    rows: (user: Pick<User, "id">) => world.app.database.read.listAction.findMany({ where: { userId: user.id }, orderBy: { id: "asc" } }),
  };
}

/** Waits until something is so; says how long it took, in milliseconds. */
async function within(isSo: () => boolean | Promise<boolean>, most = 10_000): Promise<number> {
  for (const began = performance.now(); ; await pause(5)) {
    const ms = performance.now() - began;
    if (await isSo()) return ms;
    if (ms > most) throw new Error(`not within ${most.toString()} ms`);
  }
}

const isBanned = (guild: GuildHandle, user: User) => guild.bans().some((ban) => ban.user.id === user.id);

test("a listed person who joins three servers meets in each what its stance says, and what the bot did is undone with the record", async () => {
  const { world, harbour, bay, cove, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  await stance(cove, { category: "raid", stance: "propose", action: "kick", min_severity: "high" });
  const user = world.sandbox.createUser("wanted");
  const { number } = await list(user);
  for (const guild of [harbour, bay, cove]) guild.addMember(user);
  const took = await within(() => isBanned(bay, user));
  expect(took).toBeLessThan(limitMs);
  await within(async () => (await rows(user)).every(({ state }) => state === "done"));
  const done = await rows(user);
  expect([harbour, bay, cove].map(({ id }) => done.find(({ guildId }) => guildId === id))).toMatchObject([
    { guildId: harbour.id, stance: "notify", recordReference: number },
    { guildId: bay.id, stance: "apply", action: "ban", changed: true },
    { guildId: cove.id, stance: "propose", action: "kick" },
  ]);
  expect(harbour.member(user)).toBeDefined();
  expect(cove.member(user)).toBeDefined();
  expect(bay.bans().map(({ reason: why }) => why)).toEqual([expect.stringContaining(number)]);

  const other = world.sandbox.createUser("banned by hand");
  bay.ban(other, "Spam.");
  await revoke(number);
  expect(await within(() => !isBanned(bay, user))).toBeLessThan(limitMs);
  expect(isBanned(bay, other)).toBe(true);
});

test("an exemption takes back what the bot did, and keeps the person free until it ends", async () => {
  const { world, bay, stance, list, admin } = await community();
  await stance(bay, { category: "any", stance: "apply", action: "timeout", timeout_seconds: 3600 });
  const user = world.sandbox.createUser("spared");
  bay.addMember(user);
  await list(user);
  const isTimedOut = () => (bay.member(user)?.timeoutUntil ?? 0) > Date.now();
  expect(await within(isTimedOut)).toBeLessThan(limitMs);
  const path = `/guilds/${bay.id}/exemptions`;
  const added = await world.post(path, { user_id: user.id, reason: "Apologised." }, { actor: admin });
  expect(added.status, JSON.stringify(added.body)).toBe(201);
  expect(await within(() => !isTimedOut())).toBeLessThan(limitMs);
  expect((await world.get(path, { actor: admin })).body.data).toMatchObject([{ user_id: user.id, reason: "Apologised.", until: null }]);
  expect((await world.delete(`${path}/${user.id}`, undefined, { actor: admin })).status).toBe(200);
  expect(await within(isTimedOut)).toBeLessThan(limitMs);
  expect((await world.delete(`${path}/${user.id}`, undefined, { actor: admin })).body).toMatchObject({ code: "record_not_found" });
});

test("a ban lifted by hand is not made again for the same record, and one made by hand instead stays", async () => {
  const { world, bay, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const user = world.sandbox.createUser("known better");
  bay.addMember(user);
  const { number } = await list(user);
  await within(() => isBanned(bay, user));
  await within(async () => (await rows(user))[0]?.state === "done");
  bay.unban(user);
  await within(async () => (await rows(user))[0]?.state === "settled");
  bay.addMember(user);
  bay.kick(user);
  bay.ban(user, "By hand.");
  await world.get("/health");
  await revoke(number);
  await within(async () => (await rows(user)).every(({ state }) => state === "ended"));
  expect(await rows(user)).toHaveLength(1);
  expect(isBanned(bay, user)).toBe(true);
});

test("who was banned by hand before stays banned, and a staff member is only told of", async () => {
  const { world, harbour, bay, stance, list, revoke, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  await stance(harbour, { category: "raid", stance: "apply", action: "ban" });
  const colleague = await world.staff("viewer");
  await list(colleague);
  await within(async () => (await rows(colleague)).length > 0);
  expect(await rows(colleague)).toMatchObject([{ stance: "notify", state: "done" }]);
  expect(harbour.member(colleague)).toBeDefined();

  // They are in the server when the record starts, and a person is faster than the bot.
  const user = world.sandbox.createUser("first");
  const away = world.app.discord.status;
  world.app.discord.status = () => ({ ...away(), state: "connecting" });
  bay.addMember(user);
  const { number } = await list(user);
  await within(async () => (await rows(user)).length > 0);
  bay.ban(user, "By hand.");
  world.app.discord.status = away;
  await within(async () => (await rows(user))[0]?.state === "done");
  expect(await rows(user)).toMatchObject([{ changed: false }]);
  await revoke(number);
  await within(async () => (await rows(user)).every(({ state }) => state === "ended"));
  expect(isBanned(bay, user)).toBe(true);
});

test("a mistaken import of many acts on as many as an hour allows, waits, and is undone by one press", async () => {
  const many = 60;
  const { world, bay, stance, admin } = await community({ ACTION_BREAKER: "20" });
  await stance(bay, { category: "raid", stance: "apply", action: "ban" });
  const people = bay.addMembers(many);
  const records = people.map(({ id }) => ({ kind: "user", subject_id: id, category: "raid", severity: "high" }));
  const told = await world.post("/blacklist/import?dry_run=true", { records }, { actor: admin });
  expect(told.status, JSON.stringify(told.body)).toBe(200);
  const imported = await world.post("/blacklist/import", { records }, { actor: admin });
  expect(imported.status, JSON.stringify(imported.body)).toBe(200);
  const path = `/guilds/${bay.id}/held-actions`;
  const held = async () => (await world.get(path, { actor: admin })).body.data;
  await within(async () => (await held()).waiting === many - 20 && bay.bans().length === 20);
  expect(await held()).toMatchObject({ state: "waiting", acted: 20, waiting: many - 20 });
  const undone = await world.post(`${path}/undo`, undefined, { actor: admin });
  expect(undone.status, JSON.stringify(undone.body)).toBe(200);
  await within(() => bay.bans().length === 0);
  expect((await world.get(path, { actor: admin })).body.data).toMatchObject({ state: "none", waiting: 0 });
  expect((await world.post(`${path}/confirm`, undefined, { actor: admin })).body).toMatchObject({ code: "invalid_transition" });
  // They are not acted on again for the same records.
  for (const user of people) if (bay.member(user) === undefined) bay.addMember(user);
  await world.app.lists.worker.catchUp(systemCall("job", uuid7()));
  expect(bay.bans()).toEqual([]);
});

test("who joined while the service was away is met after its start, and of a stranger memory alone tells that nobody lists them", async () => {
  const { world, bay, stance, list, rows } = await community();
  await stance(bay, { category: "raid", stance: "apply", action: "kick" });
  const user = world.sandbox.createUser("late");
  await list(user);
  await world.app.stop();
  bay.addMember(user);
  await world.restart();
  await within(() => bay.member(user) === undefined);
  await within(async () => (await rows(user))[0]?.state === "done");
  bay.addMember(user);
  await within(() => bay.member(user) === undefined);
  expect(await rows(user)).toHaveLength(2);
  const stranger = world.member();
  expect(world.app.lists.sources.map(({ mayList }) => [mayList(stranger.id), mayList(user.id)])).toEqual([[false, true]]);
});
