// @module-tag sqlite
import { expect, test } from "vitest";
import { GatewayIntentBits, type Interaction } from "discord.js";
import { createJudge, hasSpec } from "./openapi-judge.ts";
import { callApi, startBot, startSandbox } from "./support.ts";

const file = (name: string, text: string) => ({ name, bytes: Buffer.from(text), contentType: "text/plain" });
const label = (text: string, component: object) => ({ type: 18, label: text, component });
const modal = {
  custom_id: "m",
  title: "Evidence",
  components: [
    { type: 10, content: "Fill this in" },
    label("Kind", { type: 3, custom_id: "kind", options: [{ label: "Spam", value: "spam" }] }),
    label("Who", { type: 5, custom_id: "who" }),
    label("Role", { type: 6, custom_id: "role", required: false }),
    label("Files", { type: 19, custom_id: "files", min_values: 1, max_values: 2 }),
  ],
};
const commands = [
  { type: 2, name: "Intel profile" },
  { type: 3, name: "Save as evidence" },
  { name: "proof", description: "P", options: [{ type: 11, name: "file", description: "F", required: true }] },
  { name: "form", description: "F" },
];

async function answer(interaction: Interaction): Promise<void> {
  if (interaction.isUserContextMenuCommand()) {
    const member = interaction.inCachedGuild() ? interaction.targetMember : null;
    await interaction.reply(`${interaction.targetUser.username} ${member === null ? "outside" : "inside"}`);
  } else if (interaction.isMessageContextMenuCommand()) {
    const { content, author, attachments } = interaction.targetMessage;
    await interaction.reply({ content: `${author.username}: ${content} (${attachments.size})`, flags: 64 });
  } else if (interaction.isChatInputCommand() && interaction.commandName === "form")
    await interaction.client.rest.post(`/interactions/${interaction.id}/${interaction.token}/callback`, {
      body: { type: 9, data: modal },
      auth: false,
    });
  else if (interaction.isChatInputCommand()) {
    const { name, size, url } = interaction.options.getAttachment("file", true);
    await interaction.reply({
      content: `${name} ${size} ${await (await fetch(url)).text()}`,
      files: [{ name: "back.csv", attachment: Buffer.from("a,b") }],
      flags: 64,
    });
  } else if (interaction.isModalSubmit()) {
    const { fields } = interaction;
    const files = fields.getUploadedFiles("files", true);
    const kind = fields.getStringSelectValues("kind").join(",");
    await interaction.reply(`${kind} ${fields.getSelectedUsers("who", true).first()?.username} ${files.map(({ name }) => name).join(",")}`);
  }
}

async function start(intents: number[] = [1]) {
  const sandbox = await startSandbox();
  const guild = sandbox.createGuild({ name: "Harbour" });
  const ann = sandbox.createUser("ann");
  const bob = sandbox.createUser("bob");
  guild.addMember(ann);
  guild.addMember(bob);
  const client = await startBot(sandbox, { intents });
  client.on("interactionCreate", (interaction) => void answer(interaction));
  await client.application.commands.set(commands);
  return { sandbox, guild, ann, bob, client, keys: sandbox.as(ann).in(guild) };
}

test("a user command names its target, who need not be a member", async () => {
  const { sandbox, keys, bob } = await start();
  expect((await (await keys.runUserCommand("Intel profile", bob)).reply()).content).toBe("bob inside");
  expect((await (await keys.runUserCommand("Intel profile", sandbox.createUser("far"))).reply()).content).toBe("far outside");
  await expect(keys.runUserCommand("Save as evidence", bob)).rejects.toThrow(/no user command/);
  await expect(keys.runSlashCommand("Intel profile")).rejects.toThrow(/not registered/);
});

test("a message command gives the message in full, without the message content intent", async () => {
  const { sandbox, guild, keys, bob } = await start();
  const place = guild.createChannel("talk");
  const message = sandbox
    .as(bob)
    .in(guild)
    .post({ content: "buy", attachments: [file("a.txt", "A")], channel: place });
  const run = await keys.runMessageCommand("Save as evidence", message);
  expect((await run.reply()).content).toBe("bob: buy (1)");
  expect(run.interaction.channel.id).toBe(place.id);
  expect((await callApi(sandbox, "GET", `/channels/${place.id}/messages/${message.id}`)).body).toMatchObject({
    content: "",
    attachments: [],
  });
});

test("an attachment option travels with its file, and the bot's own file comes back with its name and bytes", async () => {
  const { keys, sandbox } = await start();
  const run = await keys.runSlashCommand("proof", { file: file("plan.txt", "what they planned") });
  const reply = await run.reply();
  expect(reply).toMatchObject({ content: "plan.txt 17 what they planned", ephemeral: true });
  expect(reply.attachments).toMatchObject([{ name: "back.csv", size: 3, text: "a,b" }]);
  expect(await (await fetch(reply.attachments[0]?.url ?? "")).text()).toBe("a,b");
  await expect(keys.runSlashCommand("proof", { file: "plan.txt" })).rejects.toThrow(/option file takes a file/);
  expect(sandbox.unhandled).toEqual([]);
});

test("a modal takes choices, people and files; what does not fit is not sent", async () => {
  const { keys, bob } = await start();
  const run = await keys.runSlashCommand("form");
  const submitted = await run.submitModal({ Kind: ["spam"], who: bob, files: [file("1.png", "1"), file("2.png", "2")] });
  expect((await submitted.reply()).content).toBe("spam bob 1.png,2.png");
  expect(submitted.interaction.data).toMatchObject({ resolved: { users: { [bob.id]: { username: "bob" } }, members: { [bob.id]: {} } } });
  const good = { kind: "spam", who: bob.id, files: [file("1.png", "1")] };
  expect((await (await run.submitModal(good)).reply()).content).toBe("spam bob 1.png");
  for (const [flaw, message] of [
    [{ kind: "ham" }, /no choice ham/],
    [{ who: "nobody" }, /no choice nobody/],
    [{ files: [] }, /“Files” needs a choice/],
    [{ files: "1.png" }, /does not fit/],
    [{ files: [1, 2, 3].map((n) => file(`${n}`, "x")) }, /at most 2/],
    [{ extra: "x" }, /no field extra/],
  ] as const)
    await expect(run.submitModal({ ...good, ...(flaw as object) })).rejects.toThrow(message);
});

test("files of the bot are kept, replaced and dropped as `attachments` says", async () => {
  const { client, guild } = await start();
  const [channel] = (await client.guilds.fetch(guild.id)).channels.cache.values();
  if (!channel?.isSendable()) throw new Error("no channel");
  const sent = await channel.send({
    files: [
      { name: "a.txt", attachment: Buffer.from("A") },
      { name: "b.txt", attachment: Buffer.from("B") },
    ],
  });
  expect(sent.attachments.map(({ name, size }) => `${name} ${size}`)).toEqual(["a.txt 1", "b.txt 1"]);
  const edited = await sent.edit({
    attachments: [[...sent.attachments.values()][1]!],
    files: [{ name: "c.txt", attachment: Buffer.from("C") }],
  });
  expect(edited.attachments.map(({ name }) => name)).toEqual(["b.txt", "c.txt"]);
  expect(guild.messages()[0]?.attachments.map(({ bytes }) => bytes.toString())).toEqual(["B", "C"]);
});

test("a pin is listed at both addresses and told, and needs the permission", async () => {
  const { client, guild, sandbox } = await start([1, 512]);
  const [channel] = (await client.guilds.fetch(guild.id)).channels.cache.values();
  if (!channel?.isSendable()) throw new Error("no channel");
  const message = await channel.send("board");
  const told = new Promise((resolve) => client.once("channelPinsUpdate", resolve));
  await message.pin();
  await told;
  expect(await callApi(sandbox, "GET", `/channels/${channel.id}/messages/pins`)).toMatchObject({
    body: { items: [{ message: { id: message.id, pinned: true } }], has_more: false },
  });
  expect((await callApi(sandbox, "GET", `/channels/${channel.id}/pins`)).body).toHaveLength(1);
  expect((await callApi(sandbox, "DELETE", `/channels/${channel.id}/pins/${message.id}`)).status).toBe(204);
  expect((await callApi(sandbox, "GET", `/channels/${channel.id}/pins`)).body).toEqual([]);
  guild.setRolePermissions(guild.botRole!, ["SendMessages"]);
  expect(await callApi(sandbox, "PUT", `/channels/${channel.id}/messages/pins/${message.id}`)).toMatchObject({
    status: 403,
    body: { code: 50013 },
  });
});

test.each([
  ["with", [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMessages], 1],
  ["without", [GatewayIntentBits.Guilds], 0],
])("a moderator deletes the bot's message, which a bot %s the intent hears of accordingly", async (_word, intents, expected) => {
  const { client, guild, sandbox, ann, bob, keys } = await start(intents);
  const channel = await client.channels.fetch(guild.createChannel("cards").id);
  if (!channel?.isSendable()) throw new Error("no channel");
  await channel.send("card");
  const [card] = guild.messages();
  expect(() => keys.deleteMessage(card!)).toThrow(/may not delete/);
  guild.setRoles(bob, [guild.createRole("Mods", { permissions: ["ManageMessages"] })]);
  sandbox.as(bob).in(guild).deleteMessage(card!);
  expect(guild.messages()).toEqual([]);
  guild.setNick(ann, "later");
  guild.rename("Later");
  await sandbox.waitFor(() => sandbox.gatewayLog.some(({ t }) => t === "GUILD_UPDATE"));
  expect(sandbox.gatewayLog.filter(({ t }) => t === "MESSAGE_DELETE")).toHaveLength(expected);
});

test("what others wrote the bot neither edits nor, without the permission, deletes", async () => {
  const { sandbox, guild, ann } = await start();
  const message = sandbox.as(ann).in(guild).post({ content: "mine" });
  const path = `/channels/${message.channelId}/messages/${message.id}`;
  expect(await callApi(sandbox, "PATCH", path, { content: "x" })).toMatchObject({ status: 403, body: { code: 50005 } });
  expect(await callApi(sandbox, "DELETE", path)).toMatchObject({ status: 403, body: { code: 50013 } });
  guild.setRolePermissions(guild.botRole!, ["ManageMessages"]);
  expect((await callApi(sandbox, "DELETE", path)).status).toBe(204);
});

test.skipIf(!hasSpec)("menus, files, modals and pins fit Discord's OpenAPI document", async () => {
  const { sandbox, guild, keys, bob, client } = await start();
  const message = sandbox.as(bob).in(guild).post({ content: "buy" });
  await (await keys.runUserCommand("Intel profile", bob)).reply();
  await (await keys.runMessageCommand("Save as evidence", message)).reply();
  await (await keys.runSlashCommand("proof", { file: file("a", "b") })).reply();
  await (await (await keys.runSlashCommand("form")).submitModal({ kind: "spam", who: bob, files: [file("a", "b")] })).reply();
  const channel = client.channels.cache.get(message.channelId);
  if (channel?.isSendable()) await (await channel.send("board")).pin();
  await callApi(sandbox, "GET", `/channels/${message.channelId}/messages/pins`);
  await callApi(sandbox, "GET", `/channels/${message.channelId}/pins`);
  const { bad, unknown, checked } = createJudge().check(sandbox.exchanges);
  expect({ bad, unknown }).toEqual({ bad: [], unknown: [] });
  expect(checked).toBeGreaterThan(9);
  expect(sandbox.unhandled).toEqual([]);
});
