// @module-tag sqlite
import { DiscordAPIError } from "discord.js";
import { expect, test } from "vitest";
import { callApi, startBot, startSandbox } from "./support.ts";

async function start() {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const high = guild.createRole("High", { position: 300 });
  const low = guild.createRole("Low", { position: 10 });
  const boss = sandbox.createUser("boss");
  const ann = sandbox.createUser("ann");
  guild.addMember(boss, { roles: [high] });
  guild.addMember(ann, { roles: [low] });
  return { sandbox, guild, high, low, boss, ann };
}

async function codeOf(promise: Promise<unknown> | undefined): Promise<unknown> {
  const error: unknown = await promise?.catch((caught: unknown) => caught);
  return error instanceof DiscordAPIError ? error.code : error;
}

test("the bot bans, lists, finds and lifts with the real client, the reason intact", async () => {
  const { sandbox, guild, ann } = await start();
  const client = await startBot(sandbox);
  const seen = await client.guilds.fetch(guild.id);
  await seen.members.ban(ann.id, { reason: "spam: ü%", deleteMessageSeconds: 60 });
  expect(guild.member(ann)).toBeUndefined();
  expect((await seen.bans.fetch()).map(({ reason, user }) => [user.id, reason])).toEqual([[ann.id, "spam: ü%"]]);
  expect((await seen.bans.fetch(ann.id)).reason).toBe("spam: ü%");
  await seen.bans.remove(ann.id);
  expect(guild.bans()).toEqual([]);
  expect(await codeOf(seen.bans.remove(ann.id))).toBe(10026);
  expect(await codeOf(seen.bans.create("1"))).toBe(10013);
});

test("a timeout holds for whoever leaves and is back, as roles do not", async () => {
  const { sandbox, guild, ann } = await start();
  const client = await startBot(sandbox);
  guild.timeout(ann, 600);
  const until = guild.member(ann)?.timeoutUntil ?? 0;
  guild.leave(ann);
  guild.addMember(ann);
  expect(guild.member(ann)).toMatchObject({ timeoutUntil: until, roles: [] });
  const member = await client.guilds.cache.get(guild.id)?.members.fetch(ann.id);
  expect(member?.communicationDisabledUntilTimestamp).toBe(until);
});

test("roles, nicknames and timeouts change with the real client", async () => {
  const { sandbox, guild, low, ann } = await start();
  const client = await startBot(sandbox);
  const member = await client.guilds.cache.get(guild.id)?.members.fetch(ann.id);
  await member?.roles.remove(low.id);
  expect(guild.member(ann)?.roles).toEqual([]);
  await member?.roles.add(low.id);
  await member?.setNickname("Annie");
  await member?.timeout(60_000, "calm down");
  expect(guild.member(ann)).toMatchObject({ roles: [low.id], nick: "Annie" });
  expect(guild.member(ann)?.timeoutUntil).toBeGreaterThan(Date.now());
  await member?.kick();
  expect(guild.member(ann)).toBeUndefined();
});

test("nobody above the bot and no role above it can be touched", async () => {
  const { sandbox, guild, high, low, boss, ann } = await start();
  const client = await startBot(sandbox);
  const seen = client.guilds.cache.get(guild.id);
  expect(await codeOf(seen?.members.ban(boss.id))).toBe(50013);
  expect(await codeOf(seen?.members.kick(boss.id))).toBe(50013);
  expect(await codeOf(seen?.members.edit(boss.id, { nick: "x" }))).toBe(50013);
  expect(await codeOf(seen?.members.addRole({ user: ann.id, role: high.id }))).toBe(50013);
  expect(await codeOf(seen?.members.ban(guild.ownerId))).toBe(50013);
  await seen?.members.addRole({ user: boss.id, role: low.id });
  expect(guild.member(boss)?.roles).toEqual([high.id, low.id]);
});

test("a role is moved below the bot, and neither it nor any other above", async () => {
  const { sandbox, guild, low, high } = await start();
  const path = `/guilds/${guild.id}/roles`;
  const everything = [
    { id: guild.id, position: 0 },
    { id: low.id, position: 20 },
    { id: high.id, position: 300 },
  ];
  expect((await callApi(sandbox, "PATCH", path, everything)).status).toBe(200);
  expect(low.position).toBe(20);
  const refused = { status: 403, body: { code: 50013 } };
  expect(await callApi(sandbox, "PATCH", path, [{ id: low.id, position: 260 }])).toMatchObject(refused);
  expect(await callApi(sandbox, "PATCH", path, [{ id: high.id, position: 5 }])).toMatchObject(refused);
  expect([low.position, high.position]).toEqual([20, 300]);
});

test("a missing permission is 50013 and changes nothing", async () => {
  const { sandbox, guild, ann } = await start();
  const { botRole } = guild;
  if (botRole) guild.setRolePermissions(botRole, ["ViewChannel"]);
  const path = `/guilds/${guild.id}`;
  const refused = { status: 403, body: { code: 50013 } };
  expect(await callApi(sandbox, "PUT", `${path}/bans/${ann.id}`, {})).toMatchObject(refused);
  expect(await callApi(sandbox, "DELETE", `${path}/members/${ann.id}`)).toMatchObject(refused);
  expect(await callApi(sandbox, "PATCH", `${path}/members/${ann.id}`, { roles: [] })).toMatchObject(refused);
  expect(await callApi(sandbox, "POST", `${path}/roles`, { name: "x" })).toMatchObject(refused);
  expect(guild.member(ann)).toMatchObject({ nick: null });
  expect(guild.member(ann)?.roles).toHaveLength(1);
});

test.each([
  ["guild", "GET", "/guilds/1", 404, 10004],
  ["member", "GET", "/guilds/GUILD/members/STRANGER", 404, 10007],
  ["user", "GET", "/users/1", 404, 10013],
  ["role", "PUT", "/guilds/GUILD/members/ANN/roles/1", 404, 10011],
  ["channel", "GET", "/channels/1", 404, 10003],
  ["ban", "GET", "/guilds/GUILD/bans/ANN", 404, 10026],
  ["command", "DELETE", "/applications/APP/commands/1", 404, 10063],
  ["page limit above 1,000", "GET", "/guilds/GUILD/members?limit=1001", 400, 50035],
  ["page limit that is no number", "GET", "/guilds/GUILD/members?limit=x", 400, 50035],
  ["guild without the bot", "GET", "/guilds/FOREIGN", 403, 50001],
])("an unknown or wrong %s is answered with Discord's own code", async (_name, method, path, status, code) => {
  const { sandbox, guild, ann } = await start();
  const foreign = sandbox.createGuild({ name: "Foreign", withBot: false });
  const ids: Record<string, string> = {
    GUILD: guild.id,
    ANN: ann.id,
    STRANGER: sandbox.createUser("stranger").id,
    APP: sandbox.env().DISCORD_CLIENT_ID,
    FOREIGN: foreign.id,
  };
  const real = path.replace(/[A-Z]{2,}/g, (word) => ids[word] ?? word);
  expect(await callApi(sandbox, method, real)).toMatchObject({ status, body: { code } });
  expect(sandbox.unhandled).toEqual([]);
});

test("an unknown address is 404 and noted", async () => {
  const sandbox = await startSandbox();
  expect(await callApi(sandbox, "GET", "/nowhere")).toEqual({ status: 404, body: { message: "404: Not Found", code: 0 } });
  expect(sandbox.unhandled).toEqual([{ method: "GET", path: "/api/v10/nowhere" }]);
});

test("member pages follow each other by id and miss nobody who stays", async () => {
  const { sandbox, guild } = await start();
  guild.addMembers(1500);
  const seen: string[] = [];
  for (let after = "0"; ;) {
    const page = (await callApi(sandbox, "GET", `/guilds/${guild.id}/members?limit=1000&after=${after}`)).body as {
      user: { id: string };
    }[];
    seen.push(...page.map(({ user }) => user.id));
    if (page.length < 1000) break;
    after = page.at(-1)?.user.id ?? "";
  }
  expect(seen).toHaveLength(guild.memberCount);
  expect(new Set(seen).size).toBe(seen.length);
});

test("the member list needs the privileged intent", async () => {
  const { sandbox, guild } = await start();
  sandbox.setPrivilegedIntents(0);
  expect(await callApi(sandbox, "GET", `/guilds/${guild.id}/members?limit=10`)).toMatchObject({ status: 403, body: { code: 50001 } });
});

test("wrong commands are refused whole", async () => {
  const { sandbox } = await start();
  const path = `/applications/${sandbox.env().DISCORD_CLIENT_ID}/commands`;
  const good = { name: "good", description: "Good" };
  const bad = [
    { name: "Bad", description: "Upper case" },
    { name: "none" },
    { name: "long", description: "x".repeat(101) },
    { name: "many", description: "x", options: Array.from({ length: 26 }, (_, n) => ({ type: 3, name: `o${n}`, description: "x" })) },
    {
      name: "order",
      description: "x",
      options: [
        { type: 3, name: "a", description: "x" },
        { type: 3, name: "b", description: "x", required: true },
      ],
    },
    {
      name: "mixed",
      description: "x",
      options: [
        { type: 1, name: "a", description: "x" },
        { type: 3, name: "b", description: "x" },
      ],
    },
    good,
  ];
  for (const command of bad)
    expect(await callApi(sandbox, "PUT", path, [good, command]), JSON.stringify(command)).toMatchObject({
      status: 400,
      body: { code: 50035 },
    });
  expect((await callApi(sandbox, "GET", path)).body).toEqual([]);
});

test("a command set again under its name keeps its id, and what is left out goes", async () => {
  const { sandbox } = await start();
  const path = `/applications/${sandbox.env().DISCORD_CLIENT_ID}/commands`;
  const set = async (...names: string[]) =>
    (
      await callApi(
        sandbox,
        "PUT",
        path,
        names.map((name) => ({ name, description: "x" })),
      )
    ).body as { id: string; name: string }[];
  const [first] = await set("keep", "drop");
  const after = await set("keep");
  expect(after.map(({ id }) => id)).toEqual([first?.id]);
});

test("direct messages reach open users of a common guild and no others", async () => {
  const { sandbox, ann } = await start();
  const client = await startBot(sandbox);
  const stranger = sandbox.createUser("stranger");
  const message = await client.users.send(ann.id, "hello");
  expect(message.content).toBe("hello");
  expect(await codeOf(client.users.send(stranger.id, "hello"))).toBe(50007);
  sandbox.setDirectMessages(ann, false);
  expect(await codeOf(client.users.send(ann.id, "hello"))).toBe(50007);
});

test("messages keep Discord's limits", async () => {
  const { sandbox, guild } = await start();
  const channel = guild.createChannel("log");
  const post = (body: object) => callApi(sandbox, "POST", `/channels/${channel.id}/messages`, body);
  expect(await post({})).toMatchObject({ status: 400, body: { code: 50006 } });
  expect(await post({ content: "x".repeat(2001) })).toMatchObject({ status: 400, body: { code: 50035 } });
  expect(await post({ embeds: [{ description: "x".repeat(4097) }] })).toMatchObject({ status: 400 });
  const button = { type: 2, style: 1, label: "x", custom_id: "same" };
  expect(await post({ content: "x", components: [{ type: 1, components: [button, button] }] })).toMatchObject({ status: 400 });
  expect(guild.messages()).toEqual([]);
});

test("a nonce that is enforced makes one message of two for minutes, in one channel", async () => {
  const time = { now: Date.now() };
  const sandbox = await startSandbox({ now: () => time.now });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [log, other] = [guild.createChannel("log"), guild.createChannel("other")];
  const post = async (channel: { id: string }, nonce: string, isEnforced = true): Promise<string> => {
    const body = { content: "x", nonce, enforce_nonce: isEnforced };
    return ((await callApi(sandbox, "POST", `/channels/${channel.id}/messages`, body)).body as { id: string }).id;
  };
  const first = await post(log, "a");
  expect(await post(log, "a")).toBe(first);
  const rest = [await post(log, "b"), await post(other, "a"), await post(log, "a", false)];
  time.now += 600_000;
  rest.push(await post(log, "a"));
  expect(new Set([first, ...rest]).size).toBe(5);
  expect(guild.messages()).toHaveLength(5);
});

test("a message says whom it alerts, which is only whom it may", async () => {
  const { sandbox, guild, low, ann } = await start();
  const channel = guild.createChannel("log");
  const content = `@everyone <@${ann.id}> <@!${ann.id}> <@&${low.id}>`;
  const post = async (allowed_mentions?: object) =>
    (await callApi(sandbox, "POST", `/channels/${channel.id}/messages`, { content, ...(allowed_mentions && { allowed_mentions }) })).body;
  const everybody = { mention_everyone: true, mentions: [{ id: ann.id }], mention_roles: [low.id] };
  expect(await post()).toMatchObject(everybody);
  expect(await post({ parse: [] })).toMatchObject({ mention_everyone: false, mentions: [], mention_roles: [] });
  expect(await post({ users: [ann.id] })).toMatchObject({ mention_everyone: false, mentions: [{ id: ann.id }], mention_roles: [] });
});

test("direct messages can be asked for, and robots get none", async () => {
  const { sandbox, guild, ann, boss } = await start();
  const robot = sandbox.createUser("robot", { bot: true });
  guild.addMember(robot);
  const write = async (recipient_id: string) => {
    const { id } = (await callApi(sandbox, "POST", "/users/@me/channels", { recipient_id })).body as { id: string };
    return callApi(sandbox, "POST", `/channels/${id}/messages`, { content: "hello" });
  };
  expect(await write(ann.id)).toMatchObject({ status: 200 });
  expect(await write(robot.id)).toMatchObject({ status: 403, body: { code: 50007 } });
  expect(sandbox.directMessages(ann).map(({ content }) => content)).toEqual(["hello"]);
  expect([sandbox.directMessages(boss), sandbox.directMessages(robot), guild.messages()]).toEqual([[], [], []]);
});
