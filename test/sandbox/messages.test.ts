// @module-tag sqlite
import { expect, test } from "vitest";
import { GatewayIntentBits } from "discord-api-types/v10";
import { createJudge, hasSpec } from "./openapi-judge.ts";
import { callApi, startSandbox } from "./support.ts";

const withContent = GatewayIntentBits.GuildMembers | GatewayIntentBits.MessageContent;

interface Told {
  content: string;
  attachments: { url: string }[];
}

async function start(time = { now: Date.now() }) {
  const sandbox = await startSandbox({ now: () => time.now });
  sandbox.setPrivilegedIntents(withContent);
  const guild = sandbox.createGuild({ name: "Harbour" });
  const member = sandbox.createUser("mona");
  guild.addMember(member);
  const bytes = Buffer.from("what they planned");
  const message = sandbox
    .as(member)
    .in(guild)
    .post({ content: "look", attachments: [{ name: "plan é.txt", bytes, contentType: "text/plain" }] });
  const read = async (): Promise<Told> =>
    (await callApi(sandbox, "GET", `/channels/${message.channelId}/messages/${message.id}`)).body as Told;
  return { sandbox, guild, member, message, bytes, read, time };
}

test("a member's message is read with its attachments, whose addresses serve the bytes", async () => {
  const { sandbox, member, message, bytes, read } = await start();
  const told = await read();
  expect(told).toMatchObject({ id: message.id, content: "look", author: { id: member.id } });
  const url = told.attachments[0]?.url ?? "";
  expect(told.attachments[0]).toMatchObject({ filename: "plan é.txt", size: bytes.length, content_type: "text/plain" });
  const response = await fetch(url);
  expect([response.status, Buffer.from(await response.arrayBuffer()).equals(bytes)]).toEqual([200, true]);
  expect(sandbox.downloads).toEqual([{ path: new URL(url).pathname, status: 200 }]);
  expect(sandbox.unhandled).toEqual([]);
});

test("an address that expired, was changed or lacks its signature serves nothing", async () => {
  const { read, time } = await start();
  const url = (await read()).attachments[0]?.url ?? "";
  const status = async (address: string): Promise<number> => (await fetch(address)).status;
  expect(await status(url)).toBe(200);
  expect(await status(url.replace(/hm=[0-9a-f]/, "hm=x"))).toBe(404);
  expect(await status(url.replace(/ex=\w+/, "ex=ffffffff"))).toBe(404);
  expect(await status(url.split("?")[0] ?? "")).toBe(404);
  time.now += 25 * 3_600_000;
  expect(await status(url)).toBe(404);
  expect(await status((await read()).attachments[0]?.url ?? "")).toBe(200);
});

test("without the message content intent others' messages are empty, and the bot's own are not", async () => {
  const { sandbox, message, read } = await start();
  sandbox.setPrivilegedIntents(GatewayIntentBits.GuildMembers);
  expect(await read()).toMatchObject({ content: "", attachments: [] });
  const own = await callApi(sandbox, "POST", `/channels/${message.channelId}/messages`, { content: "mine" });
  expect(own.body).toMatchObject({ content: "mine" });
});

test("a download fails by fault, a stranger does not post, and a hidden channel says so", async () => {
  const { sandbox, guild, read } = await start();
  const url = (await read()).attachments[0]?.url ?? "";
  const fault = sandbox.faults.rest({ route: "GET /attachments/:channel/:id/:name", status: 503 });
  expect((await fetch(url)).status).toBe(503);
  expect([(await fetch(url)).status, fault.hits]).toEqual([200, 1]);
  const stranger = sandbox.createUser("stranger");
  expect(() => sandbox.as(stranger).in(guild).post({ content: "x" })).toThrow("stranger is not in Harbour");
  const hidden = guild.createChannel("owners", { hiddenFrom: [guild.everyoneRole] });
  const { body } = await callApi(sandbox, "GET", `/channels/${hidden.id}`);
  expect(body).toMatchObject({ permission_overwrites: [{ id: guild.id, type: 0, allow: "0", deny: "1024" }] });
});

test.skipIf(!hasSpec)("what is told of messages, attachments and channels is what Discord documents", async () => {
  const { sandbox, guild, read } = await start();
  await read();
  await callApi(sandbox, "GET", `/channels/${guild.createChannel("owners", { hiddenFrom: [guild.everyoneRole] }).id}`);
  const { checked, bad, unknown, extra } = createJudge().check(sandbox.exchanges);
  expect({ checked, bad, unknown, extra }).toEqual({ checked: 2, bad: [], unknown: [], extra: [] });
});
