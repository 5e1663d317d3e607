// @module-tag sqlite
import { AuditLogEvent, type APIAuditLog, type APIAuditLogEntry } from "discord-api-types/v10";
import { GatewayIntentBits, type Guild } from "discord.js";
import { expect, test } from "vitest";
import { createJudge, hasSpec } from "./openapi-judge.ts";
import { callApi, startBot, startSandbox } from "./support.ts";

const day = 86_400_000;

async function start(time = { now: Date.now() }) {
  const sandbox = await startSandbox({ now: () => time.now });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const [mona, ann] = [sandbox.createUser("mona"), sandbox.createUser("ann")];
  const robot = sandbox.createUser("robot", { bot: true });
  guild.addMember(mona);
  guild.addMember(ann);
  const page = async (query = "") => {
    const { status, body } = await callApi(sandbox, "GET", `/guilds/${guild.id}/audit-logs${query}`);
    expect(status).toBe(200);
    return body as APIAuditLog;
  };
  return { sandbox, guild, mona, ann, robot, page, time };
}

const briefly = ({ action_type, user_id, target_id, reason }: APIAuditLogEntry) => [action_type, user_id, target_id, reason];

/** What is done by hand, by another bot and by our own bot: six entries. */
async function moderate({ sandbox, guild, mona, ann, robot }: Awaited<ReturnType<typeof start>>): Promise<Guild> {
  const client = await startBot(sandbox);
  const seen = await client.guilds.fetch(guild.id);
  guild.timeout(ann, 60, { by: mona, reason: "calm down" });
  guild.timeout(ann, 0);
  guild.kick(ann, { by: robot, reason: "raid" });
  guild.ban(ann, { by: mona, reason: "spam: ü%" });
  guild.unban(ann, { by: mona });
  await seen.members.ban(ann.id, { reason: "ours: ü%" });
  return seen;
}

test("who did what to whom and why stands in the log, by hand, by another bot and over REST", async () => {
  const world = await start();
  const { sandbox, guild, mona, ann, robot, page } = world;
  const seen = await moderate(world);
  const { audit_log_entries: newest, users } = await page();
  expect(newest.map(briefly)).toEqual([
    [AuditLogEvent.MemberBanAdd, sandbox.bot.id, ann.id, "ours: ü%"],
    [AuditLogEvent.MemberBanRemove, mona.id, ann.id, undefined],
    [AuditLogEvent.MemberBanAdd, mona.id, ann.id, "spam: ü%"],
    [AuditLogEvent.MemberKick, robot.id, ann.id, "raid"],
    [AuditLogEvent.MemberUpdate, guild.ownerId, ann.id, undefined],
    [AuditLogEvent.MemberUpdate, mona.id, ann.id, "calm down"],
  ]);
  expect(new Set(users.map(({ id }) => id))).toEqual(new Set([sandbox.bot.id, ann.id, mona.id, robot.id, guild.ownerId]));
  const [given] = newest.at(-1)?.changes ?? [];
  expect(given).toEqual({ key: "communication_disabled_until", new_value: expect.any(String) as string });
  expect(newest.at(-2)?.changes).toEqual([{ key: "communication_disabled_until", old_value: given?.new_value }]);
  const fetched = await seen.fetchAuditLogs({ type: AuditLogEvent.MemberKick });
  expect(fetched.entries.map(({ executor, target, reason }) => [executor?.id, target?.id, reason])).toEqual([[robot.id, ann.id, "raid"]]);
  if (hasSpec) expect(createJudge().check(sandbox.exchanges)).toMatchObject({ bad: [], unknown: [] });
});

test("pages go back from the newest, or with `after` forward from the oldest, and are filtered", async () => {
  const world = await start();
  const { ann, mona, page } = world;
  await moderate(world);
  const ids = async (query: string) => (await page(query)).audit_log_entries.map(({ id }) => id);
  const all = await ids("");
  expect(await ids("?limit=2")).toEqual(all.slice(0, 2));
  expect(await ids(`?limit=2&before=${all[1]}`)).toEqual(all.slice(2, 4));
  expect(await ids("?after=0")).toEqual(all.toReversed());
  expect(await ids(`?after=${all[3]}&limit=2`)).toEqual([all[2], all[1]]);
  expect(await ids(`?user_id=${mona.id}`)).toHaveLength(3);
  expect(await ids(`?action_type=${AuditLogEvent.MemberBanAdd}&user_id=${mona.id}`)).toHaveLength(1);
  expect(await ids(`?target_id=${ann.id}`)).toHaveLength(6);
  expect(await ids(`?target_id=${mona.id}`)).toEqual([]);
});

test("an entry is forgotten after 45 days", async () => {
  const { guild, ann, page, time } = await start();
  guild.kick(ann);
  time.now += 44 * day;
  expect((await page()).audit_log_entries).toHaveLength(1);
  time.now += 2 * day;
  expect((await page()).audit_log_entries).toEqual([]);
});

test("what changes nothing, and a member who leaves or only gets a role, writes nothing", async () => {
  const { guild, ann, mona, page } = await start();
  guild.setRoles(ann, [guild.createRole("Mod")]);
  guild.timeout(ann, 0);
  guild.leave(ann);
  guild.ban(ann);
  guild.ban(ann, { by: mona });
  guild.unban(mona);
  expect((await page()).audit_log_entries.map(({ action_type }) => action_type)).toEqual([AuditLogEvent.MemberBanAdd]);
});

test.each([
  ["wrong limit", "?limit=101", 400, 50035],
  ["id that is none", "?after=x", 400, 50035],
  ["kind that is none", "?action_type=ban", 400, 50035],
])("a %s is refused", async (_name, query, status, code) => {
  const { sandbox, guild } = await start();
  expect(await callApi(sandbox, "GET", `/guilds/${guild.id}/audit-logs${query}`)).toMatchObject({ status, body: { code } });
});

test("the gateway tells an entry to a bot that has the intent and may view the log, in the shape of the document", async () => {
  const { sandbox, guild, ann, mona } = await start();
  const [moderating] = [await startBot(sandbox), await startBot(sandbox, { intents: [GatewayIntentBits.Guilds] })];
  const heard: string[] = [];
  moderating.on("guildAuditLogEntryCreate", ({ executorId, reason }) => void heard.push(`${executorId} ${reason}`));
  guild.ban(ann, { by: mona, reason: "one" });
  const { botRole } = guild;
  if (botRole) guild.setRolePermissions(botRole, ["BanMembers"]);
  guild.unban(ann, { by: mona, reason: "two" });
  if (botRole) guild.setRolePermissions(botRole, ["ViewAuditLog"]);
  guild.ban(ann, { by: mona, reason: "three" });
  await sandbox.waitFor(() => heard.length === 2);
  await sandbox.caughtUp();
  expect(heard).toEqual([`${mona.id} one`, `${mona.id} three`]);
  const told = sandbox.gatewayLog.filter(({ t }) => t === "GUILD_AUDIT_LOG_ENTRY_CREATE");
  expect(told).toHaveLength(2);
  for (const { d } of told) {
    expect(d).toMatchObject({ guild_id: guild.id, target_id: ann.id });
    if (hasSpec) expect(createJudge().problem("AuditLogEntryResponse", d)).toBeUndefined();
  }
  const names = sandbox.gatewayLog.map(({ t }) => t);
  expect(names.indexOf("GUILD_BAN_ADD")).toBeLessThan(names.indexOf("GUILD_AUDIT_LOG_ENTRY_CREATE"));
});

test("without View Audit Log the log is refused", async () => {
  const { sandbox, guild } = await start();
  if (guild.botRole) guild.setRolePermissions(guild.botRole, ["BanMembers"]);
  expect(await callApi(sandbox, "GET", `/guilds/${guild.id}/audit-logs`)).toMatchObject({ status: 403, body: { code: 50013 } });
});
