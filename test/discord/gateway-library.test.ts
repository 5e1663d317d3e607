// @module-tag sqlite
import { Client, SimpleShardingStrategy, type WebSocketOptions } from "discord.js";
import { expect, onTestFinished, test, vi } from "vitest";
import { adaptLibrary, type LibraryHooks } from "../../src/discord/gateway/library.ts";
import { createStand, goLive, isLive, tracking, until } from "./support.ts";

type Manager = Parameters<NonNullable<WebSocketOptions["buildStrategy"]>>[0];

function listen() {
  const missing: string[] = [];
  const listener: LibraryHooks = {
    beforeAttempt: () => Promise.resolve(),
    onHello: () => undefined,
    onClosed: () => undefined,
    onUp: () => undefined,
    onHeartbeat: () => undefined,
    onFault: () => undefined,
    onMissing: (part) => missing.push(part),
  };
  return { library: adaptLibrary(listener), missing };
}

/** As much of a manager as a strategy asks for before it connects. */
function managerOf(extra: object = {}): Manager {
  const options = { retrieveSessionInfo: () => null, token: "sandbox.token" };
  const information = {
    url: "ws://127.0.0.1:1",
    shards: 1,
    session_start_limit: { total: 1, remaining: 1, reset_after: 0, max_concurrency: 1 },
  };
  return {
    options,
    emit: () => true,
    fetchGatewayInformation: async () => information,
    getShardCount: async () => 1,
    ...extra,
  } as unknown as Manager;
}

test("every part of discord.js that the link takes hold of is where it is looked for", async () => {
  const { library, missing } = listen();
  const client = new Client({ intents: [], ws: library.ws });
  library.guard(client);
  const strategy = library.ws.buildStrategy?.(managerOf());
  await strategy?.spawn([0]);
  expect(strategy).toBeInstanceOf(SimpleShardingStrategy);
  expect(missing).toEqual([]);
});

test("a part that has moved is told of by name", async () => {
  const { library, missing } = listen();
  library.guard({ ws: {} } as Client);
  const bare = managerOf({ emit: undefined, options: {} });
  const strategy = library.ws.buildStrategy?.(bare);
  const spawn = vi.spyOn(SimpleShardingStrategy.prototype, "spawn").mockImplementation(async function (this: SimpleShardingStrategy) {
    (this as unknown as { shards: Map<number, object> }).shards.set(0, {});
  });
  onTestFinished(() => spawn.mockRestore());
  await strategy?.spawn([0]);
  expect(missing).toEqual([
    "handlePacket",
    "retrieveSessionInfo",
    "emit",
    "unpackMessage",
    "onMessage",
    "onClose",
    "heartbeat",
    "destroy",
    "connection",
    "destroy",
    "internalConnect",
  ]);
});

/** A live link with one stored holder of a tracked role, and what escaped to the process meanwhile. */
async function createHarbour() {
  const escaped: unknown[] = [];
  const note = (reason: unknown) => void escaped.push(reason);
  process.on("unhandledRejection", note);
  process.on("uncaughtException", note);
  onTestFinished(() => {
    process.off("unhandledRejection", note);
    process.off("uncaughtException", note);
  });
  const stand = await createStand({ state: { sync: { retryMs: 50 } } });
  const guild = stand.sandbox.createGuild({ name: "Harbour" });
  const staff = guild.createRole("Moderator");
  const [ann] = guild.addMembers(1, { roles: [staff] });
  await stand.state.track(tracking(guild, [staff]));
  await goLive(stand);
  return { ...stand, guild, staff, ann: ann!, escaped };
}

const secret = "a-name-nobody-has";
const broken: readonly [what: string, t: string, d: (guildId: string) => unknown][] = [
  ["a changed member without a user", "GUILD_MEMBER_UPDATE", (guild_id) => ({ guild_id, roles: [], nick: secret })],
  ["a part of the member list without members", "GUILD_MEMBERS_CHUNK", (guild_id) => ({ guild_id, chunk_index: 0, chunk_count: 1 })],
  ["a server without roles", "GUILD_CREATE", (id) => ({ id, name: secret, owner_id: id })],
  ["a server without a name", "GUILD_UPDATE", (id) => ({ id, owner_id: id, icon: secret })],
  ["a role that is none", "GUILD_ROLE_UPDATE", (guild_id) => ({ guild_id, role: secret })],
];

test.each(broken)("%s is logged without its content and counted, and its server is read again", async (_what, t, d) => {
  const stand = await createHarbour();
  const { sandbox, state, discord, guild, ann, log, escaped } = stand;
  const before = state.members(ann.id);
  sandbox.faults.event(t, d(guild.id));
  await until(() => discord.eventFaults().count > 0);
  expect(isLive(stand)).toBe(false);
  await until(() => isLive(stand));
  expect(state.members(ann.id)).toEqual(before);
  const told = log.filter((line) => line.includes("not understood")).map((line) => JSON.parse(line) as object);
  expect(told[0]).toMatchObject({ event: t, guild_id: guild.id, count: 1 });
  expect(log.join("")).not.toContain(secret);
  expect(escaped).toEqual([]);
});

test("a command in a channel that is none, and an event of any kind without content, end nothing", async () => {
  const stand = await createHarbour();
  const { sandbox, guild, discord, escaped, ann, state, staff } = stand;
  sandbox.faults.event("INTERACTION_CREATE", { id: "1", type: 2, guild_id: guild.id, channel: { id: null, type: secret }, data: null });
  for (const t of ["GUILD_BAN_ADD", "CHANNEL_CREATE", "THREAD_LIST_SYNC", "READY", "INTERACTION_CREATE", secret])
    sandbox.faults.event(t, null);
  await until(() => discord.eventFaults().count >= 5);
  const bob = sandbox.createUser("bob");
  guild.addMember(bob, { roles: [staff] });
  await until(() => state.members(bob.id).length === 1);
  expect(state.members(ann.id)).toHaveLength(1);
  expect(discord.status()).toMatchObject({ state: "ready", reconnects: 0 });
  expect(stand.log.join("")).not.toContain(secret);
  expect(escaped).toEqual([]);
});

const frames: readonly [what: string, text: string][] = [
  ["no JSON", "{"],
  ["nothing", "null"],
  ["a greeting without a heartbeat", JSON.stringify({ op: 10, d: null })],
  ["a greeting with a heartbeat without a pause", JSON.stringify({ op: 10, d: { heartbeat_interval: 0 } })],
  ["an invalid session without a word whether it can be resumed", JSON.stringify({ op: 9 })],
  ["a message of an unknown kind", JSON.stringify({ op: 99, d: {} })],
  ["a session that is none", JSON.stringify({ op: 0, s: 3, t: "READY", d: { guilds: [{}] } })],
];

test.each(frames)("a frame that is %s changes nothing", async (_what, text) => {
  const { sandbox, guild, state, discord, staff, escaped } = await createHarbour();
  sandbox.faults.frame(text);
  const bob = sandbox.createUser("bob");
  guild.addMember(bob, { roles: [staff] });
  await until(() => state.members(bob.id).length === 1);
  expect(discord.status()).toMatchObject({ state: "ready", reconnects: 0 });
  expect(escaped).toEqual([]);
});

test("two reasons to reconnect at once make one link", async () => {
  const stand = await createHarbour();
  const { sandbox, discord, escaped } = stand;
  sandbox.faults.reconnect();
  sandbox.faults.reconnect();
  await until(() => discord.status().reconnects > 0 && discord.status().state === "ready" && isLive(stand));
  expect(sandbox.connectionCount()).toBe(1);
  expect(escaped).toEqual([]);
});
