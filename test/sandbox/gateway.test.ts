// @module-tag sqlite
import { Events, GatewayIntentBits, GatewayRateLimitError, Options, type Client, type ClientOptions } from "discord.js";
import { expect, test } from "vitest";
import { WebSocket } from "ws";
import type { Sandbox } from "../../sandbox/index.ts";
import { createBot, startBot, startSandbox } from "./support.ts";

/** What raw events of some kinds arrived, by name. */
function collectRaw(client: Client, names: readonly string[]) {
  const seen: { name: string; data: Record<string, unknown> }[] = [];
  for (const name of names) client.ws.on(name as never, ((data: Record<string, unknown>) => void seen.push({ name, data })) as never);
  return seen;
}

const sent = (sandbox: Sandbox, t: string) => sandbox.gatewayLog.filter((entry) => entry.direction === "out" && entry.t === t).length;
const received = (sandbox: Sandbox, op: number) => sandbox.gatewayLog.filter((entry) => entry.direction === "in" && entry.op === op).length;

test("a client logs in and sees its guilds with roles, channels and itself, and nobody else", async () => {
  const sandbox = await startSandbox({ seed: "small" });
  const client = await startBot(sandbox);
  const harbour = client.guilds.cache.get(sandbox.seeded.guilds.harbour.id);
  expect(client.guilds.cache.size).toBe(3);
  expect(client.application.id).toBe(sandbox.env().DISCORD_CLIENT_ID);
  expect(harbour?.memberCount).toBe(61);
  expect(harbour?.members.me?.permissions.has("BanMembers")).toBe(true);
  expect(harbour?.members.cache.size).toBe(1);
  expect(harbour?.roles.everyone.id).toBe(harbour?.id);
  expect(harbour?.roles.highest.tags?.botId).toBe(client.user.id);
  expect(sandbox.unhandled).toEqual([]);
});

test("it can be waited until every client has read what happened, which costs it nothing", async () => {
  // So rarely that none falls into the test by chance.
  const sandbox = await startSandbox({ heartbeatMs: 36_000_000 });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox);
  const seen = collectRaw(client, ["GUILD_ROLE_CREATE"]);
  for (let count = 1; count <= 200; count += 1) {
    guild.createRole(`Mod ${count.toString()}`);
    await sandbox.caughtUp();
    expect(seen).toHaveLength(count);
  }
  expect(sandbox.gatewayLog.filter(({ direction, op }) => direction === "in" && op === 1)).toEqual([]);
  // A dead link is waited for by nobody.
  sandbox.faults.silence();
  guild.createRole("unseen");
  await sandbox.caughtUp();
  expect(seen).toHaveLength(200);
});

test("every change in the world arrives as the event Discord would send", async () => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox);
  const names = [
    "GUILD_MEMBER_ADD",
    "GUILD_MEMBER_UPDATE",
    "GUILD_MEMBER_REMOVE",
    "GUILD_BAN_ADD",
    "GUILD_BAN_REMOVE",
    "GUILD_ROLE_CREATE",
    "GUILD_ROLE_UPDATE",
    "GUILD_ROLE_DELETE",
    "GUILD_UPDATE",
    "GUILD_DELETE",
    "GUILD_CREATE",
  ];
  const seen = collectRaw(client, names);
  const ann = sandbox.createUser("ann");
  const role = guild.createRole("Mod");
  guild.addMember(ann);
  guild.setRoles(ann, [role]);
  guild.setRoles(ann, [role]);
  guild.setNick(ann, "Annie");
  guild.timeout(ann, 60);
  guild.kick(ann);
  guild.addMember(ann);
  guild.ban(ann, { reason: "spam" });
  guild.unban(ann);
  guild.renameRole(role, "Moderator");
  guild.deleteRole(role);
  guild.rename("Port");
  guild.setAvailable(false);
  guild.setAvailable(true);
  guild.removeBot();
  await sandbox.waitFor(() => seen.filter(({ name }) => name === "GUILD_DELETE").length === 2);
  expect(seen.map(({ name }) => name)).toEqual([
    "GUILD_ROLE_CREATE",
    "GUILD_MEMBER_ADD",
    "GUILD_MEMBER_UPDATE",
    "GUILD_MEMBER_UPDATE",
    "GUILD_MEMBER_UPDATE",
    "GUILD_MEMBER_REMOVE",
    "GUILD_MEMBER_ADD",
    "GUILD_BAN_ADD",
    "GUILD_MEMBER_REMOVE",
    "GUILD_BAN_REMOVE",
    "GUILD_ROLE_UPDATE",
    "GUILD_ROLE_DELETE",
    "GUILD_UPDATE",
    "GUILD_DELETE",
    "GUILD_CREATE",
    "GUILD_DELETE",
  ]);
  expect(seen[2]?.data).toMatchObject({ roles: [role.id], user: { id: ann.id }, guild_id: guild.id });
  expect(seen[13]?.data).toMatchObject({ id: guild.id, unavailable: true });
});

test("events whose intent was not asked for stay away", async () => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox, { intents: [GatewayIntentBits.Guilds] });
  const seen = collectRaw(client, ["GUILD_MEMBER_ADD", "GUILD_BAN_ADD", "GUILD_ROLE_CREATE"]);
  const ann = sandbox.createUser("ann");
  guild.addMember(ann);
  guild.ban(ann);
  guild.createRole("Last");
  await sandbox.waitFor(() => seen.length > 0);
  expect(seen.map(({ name }) => name)).toEqual(["GUILD_ROLE_CREATE"]);
});

test("2,500 members come in three chunks, by name and by id as well", async () => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const users = guild.addMembers(2500);
  const client = await startBot(sandbox);
  const seen = client.guilds.cache.get(guild.id);
  expect((await seen?.members.fetch())?.size).toBe(2502);
  const chunks = sandbox.gatewayLog
    .filter(({ t }) => t === "GUILD_MEMBERS_CHUNK")
    .map(({ d }) => (d as { members: unknown[] }).members.length);
  expect(chunks).toEqual([1000, 1000, 502]);
  expect((await seen?.members.fetch({ query: "member00001", limit: 100 }))?.size).toBe(10);
  const byId = await seen?.members.fetch({ user: [users[5]?.id ?? "", "1"] });
  expect(byId?.map(({ id }) => id)).toEqual([users[5]?.id]);
  const last = sandbox.gatewayLog.findLast(({ t }) => t === "GUILD_MEMBERS_CHUNK");
  expect(last?.d).toMatchObject({ not_found: ["1"] });
});

test("a second full list within the window is refused with the time to wait, and given after it", async () => {
  let time = Date.now();
  const sandbox = await startSandbox({ now: () => time });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox);
  const seen = client.guilds.cache.get(guild.id);
  await seen?.members.fetch();
  const refusal: unknown = await seen?.members.fetch().catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(GatewayRateLimitError);
  expect((refusal as GatewayRateLimitError).data.retry_after).toBe(30);
  time += 30_000;
  expect((await seen?.members.fetch())?.size).toBe(2);
});

test.each([
  ["the connection breaks", (sandbox: Sandbox) => sandbox.faults.dropSockets()],
  ["Discord asks for a reconnect", (sandbox: Sandbox) => sandbox.faults.reconnect()],
])("when %s the client resumes and is told what it missed", async (_name, fail) => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox);
  const seen = collectRaw(client, ["GUILD_MEMBER_ADD"]);
  fail(sandbox);
  await sandbox.waitFor(() => sandbox.connectionCount() === 0);
  guild.addMember(sandbox.createUser("ann"));
  await sandbox.waitFor(() => sent(sandbox, "RESUMED") === 1 && seen.length === 1);
  expect(received(sandbox, 2)).toBe(1);
  expect(received(sandbox, 6)).toBe(1);
});

test("an invalid session makes the client identify anew", async () => {
  const sandbox = await startSandbox();
  sandbox.createGuild({ name: "Harbour" });
  const client = await startBot(sandbox);
  const again = new Promise((resolve) => client.once(Events.ShardReady, () => resolve(undefined)));
  sandbox.faults.invalidateSessions();
  await again;
  expect(received(sandbox, 2)).toBe(2);
  expect(sent(sandbox, "READY")).toBe(2);
});

test("a resumable invalid session is resumed", async () => {
  const sandbox = await startSandbox();
  await startBot(sandbox);
  sandbox.faults.invalidateSessions(true);
  await sandbox.waitFor(() => sent(sandbox, "RESUMED") === 1);
  expect(received(sandbox, 2)).toBe(1);
});

test("an intent that is switched off for the application closes the link with 4014", async () => {
  const sandbox = await startSandbox();
  sandbox.setPrivilegedIntents(0);
  const client = createBot(sandbox);
  await expect(client.login(sandbox.env().DISCORD_TOKEN)).rejects.toThrow(/disallowed intents/i);
  const close = await sandbox.waitFor(() => sandbox.gatewayLog.find(({ direction }) => direction === "close"));
  expect(close.op).toBe(4014);
});

test("a wrong token is refused by REST at login", async () => {
  const sandbox = await startSandbox();
  await expect(createBot(sandbox).login("sandbox.wrong.token")).rejects.toThrow(/invalid token/i);
});

test("a close with 4004 while running ends the connection for good", async () => {
  const sandbox = await startSandbox();
  const client = await startBot(sandbox);
  const closed = new Promise<{ code: number }>((resolve) => client.once(Events.ShardDisconnect, resolve));
  sandbox.faults.close(4004);
  expect((await closed).code).toBe(4004);
  await sandbox.waitFor(() => sandbox.connectionCount() === 0);
  expect(received(sandbox, 2)).toBe(1);
});

test("a silent link is noticed by the client, which comes back", async () => {
  // A client that had its turn too late on a busy machine would be taken for a silent one itself, again and again.
  const sandbox = await startSandbox({ heartbeatMs: 500 });
  await startBot(sandbox);
  sandbox.faults.silence();
  // Either side may be the first to give the link up: the session is resumed, or it has timed out and there is another.
  await sandbox.waitFor(() => sent(sandbox, "RESUMED") + sent(sandbox, "READY") > 1 && sandbox.connectionCount() === 1);
});

/** A bare link, for what a well-behaved client library does not do. */
async function openLink(sandbox: Sandbox, query = "?v=10&encoding=json") {
  const socket = new WebSocket(`ws://127.0.0.1:${sandbox.port}/${query}`);
  const messages: { op: number; d: unknown; t: string | null }[] = [];
  socket.on("message", (data: Buffer) => messages.push(JSON.parse(data.toString()) as never));
  const closed = new Promise<number>((resolve) => socket.once("close", resolve));
  await new Promise((resolve) => socket.once("open", resolve));
  return {
    send: (text: unknown) => socket.send(typeof text === "string" ? text : JSON.stringify(text)),
    messages,
    closed,
    drop: () => socket.terminate(),
  };
}

const identify = (sandbox: Sandbox, changes: object = {}) => ({
  op: 2,
  d: { token: sandbox.env().DISCORD_TOKEN, intents: 1, properties: {}, ...changes },
});

test.each<[number, string, (sandbox: Sandbox) => unknown[]]>([
  [4001, "an unknown operation", () => [{ op: 99 }]],
  [4002, "what is not JSON", () => ["{"]],
  [4003, "a request before identifying", () => [{ op: 8, d: {} }]],
  [4004, "a wrong token", (sandbox) => [identify(sandbox, { token: "sandbox.x" })]],
  [4005, "identifying twice", (sandbox) => [identify(sandbox), identify(sandbox)]],
  [4008, "the 121st message of a minute", () => Array.from({ length: 121 }, () => ({ op: 1, d: null }))],
  [4010, "a shard outside its count", (sandbox) => [identify(sandbox, { shard: [2, 2] })]],
  [4013, "intents that do not exist", (sandbox) => [identify(sandbox, { intents: 1 << 30 })]],
])("%i answers %s", async (code, _what, messages) => {
  const sandbox = await startSandbox();
  const link = await openLink(sandbox);
  for (const message of messages(sandbox)) link.send(message);
  expect(await link.closed).toBe(code);
});

test("4012 answers a gateway version that does not exist", async () => {
  const link = await openLink(await startSandbox(), "?v=3");
  expect(await link.closed).toBe(4012);
});

test("4009 answers a client without heartbeats", async () => {
  const link = await openLink(await startSandbox({ heartbeatMs: 20 }));
  expect(await link.closed).toBe(4009);
});

test("with two shards each hears of its own guilds", async () => {
  const sandbox = await startSandbox();
  for (let number = 0; number < 6; number++) sandbox.createGuild({ name: `Guild ${number}` });
  const client = createBot(sandbox, { shards: [0, 1], shardCount: 2 });
  const ready = new Promise((resolve) => client.once("clientReady", resolve));
  await client.login(sandbox.env().DISCORD_TOKEN);
  await ready;
  expect(client.guilds.cache.size).toBe(6);
});

const everything = ["update", "update", "remove", "banAdd", "remove", "add"];
const smallCache = Options.cacheWithLimits({
  ...Options.DefaultMakeCacheSettings,
  GuildMemberManager: { maxSize: 0, keepOverLimit: (member) => member.id === member.client.user.id },
  UserManager: { maxSize: 0, keepOverLimit: (user) => user.id === user.client.user.id },
});

test.each<[string, Partial<ClientOptions>, string[]]>([
  ["a full cache tells all", { partials: [] }, everything],
  [
    "a small cache without partials loses removals and weakens updates",
    { partials: [], makeCache: smallCache },
    ["available", "available", "banAdd", "add"],
  ],
  ["a small cache with partials tells all", { makeCache: smallCache }, everything],
])("for two role changes, a leave, a ban and a join %s", async (_name, options, expected) => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [role, other] = [guild.createRole("One"), guild.createRole("Two")];
  const [ann, bob] = [sandbox.createUser("ann"), sandbox.createUser("bob")];
  guild.addMember(ann);
  guild.addMember(bob);
  const client = await startBot(sandbox, options);
  await client.guilds.cache.get(guild.id)?.members.fetch();
  const seen: string[] = [];
  client.on("guildMemberUpdate", () => seen.push("update"));
  client.on("guildMemberAvailable", () => seen.push("available"));
  client.on("guildMemberRemove", () => seen.push("remove"));
  client.on("guildBanAdd", () => seen.push("banAdd"));
  client.on("guildMemberAdd", () => seen.push("add"));
  guild.setRoles(ann, [role]);
  guild.setRoles(ann, [role, other]);
  guild.kick(ann);
  guild.ban(bob);
  guild.addMember(sandbox.createUser("late"));
  await sandbox.waitFor(() => seen.includes("add"));
  expect(seen).toEqual(expected);
});

/** A session that has lost its link, and a resume of it. */
async function lostSession(sandbox: Sandbox) {
  const link = await openLink(sandbox);
  link.send(identify(sandbox, { intents: 3 }));
  const ready = await sandbox.waitFor(() => link.messages.find(({ t }) => t === "READY"));
  link.drop();
  await sandbox.waitFor(() => sandbox.connectionCount() === 0);
  const { session_id } = ready.d as { session_id: string };
  const resume = (changes: object = {}) => ({ op: 6, d: { token: sandbox.env().DISCORD_TOKEN, session_id, seq: 1, ...changes } });
  return { resume, next: await openLink(sandbox) };
}

test("a resume from a sequence that never was is closed with 4007", async () => {
  const { resume, next } = await lostSession(await startSandbox());
  next.send(resume({ seq: 1_000_000 }));
  expect(await next.closed).toBe(4007);
});

test("a resume of an unknown session, or of one that missed too much, has to start anew on the same link", async () => {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const { resume, next } = await lostSession(sandbox);
  const refusals = () => next.messages.filter(({ op, d }) => op === 9 && d === false).length;
  next.send(resume({ session_id: "unheard-of" }));
  await sandbox.waitFor(() => refusals() === 1);
  guild.addMembers(2001);
  next.send(resume());
  await sandbox.waitFor(() => refusals() === 2);
  next.send(identify(sandbox));
  await sandbox.waitFor(() => next.messages.some(({ t }) => t === "READY"));
  next.drop();
});
