// @module-tag sqlite
import { ActionRowBuilder, ButtonBuilder, ButtonStyle, EmbedBuilder, StringSelectMenuBuilder, type Interaction } from "discord.js";
import { describe, expect, test } from "vitest";
import { getAsUser, startBackend } from "./oauth-backend.ts";
import { createJudge, hasSpec, specPath, type WireExchange } from "./openapi-judge.ts";
import { callApi, startBot, startSandbox } from "./support.ts";

const commands = [
  {
    name: "case",
    description: "Cases",
    default_member_permissions: "2",
    options: [
      { type: 1, name: "open", description: "Open", options: [{ type: 6, name: "user", description: "Who", required: true }] },
      {
        type: 2,
        name: "note",
        description: "Notes",
        options: [
          {
            type: 1,
            name: "add",
            description: "Add",
            options: [{ type: 3, name: "kind", description: "Kind", choices: [{ name: "Good", value: "good" }] }],
          },
        ],
      },
    ],
  },
  { name: "plain", description: "Plain" },
];

const rows = [
  new ActionRowBuilder<ButtonBuilder>().addComponents(
    new ButtonBuilder().setCustomId("ok").setLabel("OK").setStyle(ButtonStyle.Primary),
    new ButtonBuilder().setURL("https://example.org").setLabel("Link").setStyle(ButtonStyle.Link),
  ),
  new ActionRowBuilder<StringSelectMenuBuilder>().addComponents(
    new StringSelectMenuBuilder().setCustomId("pick").addOptions({ label: "One", value: "1" }),
  ),
];

async function answer(interaction: Interaction): Promise<void> {
  if (interaction.isChatInputCommand() && interaction.commandName === "plain") {
    const embed = new EmbedBuilder().setTitle("T").addFields({ name: "a", value: "b" }).setFooter({ text: "f" });
    await interaction.reply({ content: "hi", embeds: [embed], components: rows, withResponse: true });
  } else if (interaction.isChatInputCommand()) {
    await interaction.deferReply({ flags: 64 });
    await interaction.editReply({ content: "edited" });
    await interaction.fetchReply();
    await interaction.followUp({ content: "more", flags: 64 });
    await interaction.deleteReply();
  } else if (interaction.isButton()) await interaction.update({ content: "pressed", components: [] });
  else if (interaction.isStringSelectMenu()) await interaction.deferUpdate();
}

/** One run through everything the sandbox offers, recorded. */
async function recordedRun() {
  const sandbox = await startSandbox({ seed: "small" });
  const { guilds, users, roles } = sandbox.seeded;
  const { harbour } = guilds;
  const client = await startBot(sandbox);
  client.on("interactionCreate", (interaction) => void answer(interaction));
  const guild = await client.guilds.fetch({ guild: harbour.id, force: true, withCounts: true });
  await client.application.fetch();
  await client.application.commands.set(commands);
  await client.application.commands.set(commands.slice(1), harbour.id);
  await client.application.commands.fetch();
  const extra = await client.application.commands.create({ name: "extra", description: "Extra" });
  await extra.edit({ description: "More" });
  await extra.delete();
  await guild.members.list({ limit: 100 });
  await guild.members.search({ query: "res", limit: 5 });
  const member = await guild.members.fetch({ user: users.rogue.id, force: true });
  await member.roles.add(roles.viewer.id, "why");
  await member.edit({ nick: "N", communicationDisabledUntil: new Date(Date.now() + 60_000) });
  await guild.members.me?.setNickname("Bot");
  const role = await guild.roles.create({ name: "New", permissions: ["KickMembers"] });
  await role.edit({ name: "Newer" });
  await guild.roles.fetch();
  await role.setPosition(3);
  await role.delete();
  await guild.members.ban(users.rogue.id, { reason: "r", deleteMessageSeconds: 1 });
  await guild.bans.fetch();
  await guild.bans.fetch(users.rogue.id);
  await guild.bans.remove(users.rogue.id);
  await guild.members.kick(users.helen.id);
  await client.users.fetch(users.adam.id, { force: true });
  await client.users.send(users.adam.id, "dm");
  const [channel] = (await guild.channels.fetch()).values();
  if (!channel?.isSendable()) throw new Error("no channel to send to");
  const message = await channel.send({ content: "log", components: rows });
  await message.edit("log 2");
  await channel.messages.fetch({ limit: 5 });
  await message.delete();
  for (const path of ["/gateway", "/oauth2/applications/@me", "/users/@me", `/guilds/${harbour.id}/roles/member-counts`, "/nowhere-else"])
    await callApi(sandbox, "GET", path);
  for (const code of [harbour.createInvite(), "nowhere"]) await callApi(sandbox, "GET", `/invites/${code}`);
  await callApi(sandbox, "GET", `/guilds/${harbour.id}/members/1`);
  await callApi(sandbox, "GET", `/guilds/${harbour.id}/members?limit=0`);

  const keys = sandbox.as(users.adam).in(harbour);
  const plain = await keys.runSlashCommand("plain");
  const picked = await plain.select("pick", ["1"]);
  await picked.acked;
  const pressed = await plain.clickButton("OK");
  await pressed.reply();
  const opened = await keys.runSlashCommand("case open", { user: users.mona });
  await expect.poll(() => [opened.followups().length, opened.current()]).toEqual([1, undefined]);

  const backend = await startBackend(sandbox);
  await sandbox.as(users.mona).authorize(backend.consentUrl, { approve: true });
  const token = backend.results[0]?.access_token;
  for (const path of ["/users/@me", "/users/@me/guilds?with_counts=true&limit=2", `/users/@me/guilds/${harbour.id}/member`, "/oauth2/@me"])
    await getAsUser(sandbox, path, token);
  await client.guilds.cache.get(guilds.quarry.id)?.leave();
  return sandbox;
}

describe.skipIf(!hasSpec)(hasSpec ? "against Discord's OpenAPI document" : `not checked: there is no document at ${specPath}`, () => {
  test("everything that goes over the wire fits the document", async () => {
    const sandbox = await recordedRun();
    const verdict = createJudge().check(sandbox.exchanges);
    expect(verdict.bad).toEqual([]);
    expect(verdict.unknown.toSorted()).toEqual(["GET /oauth2/authorize", "GET ?", "POST /oauth2/authorize", "POST /oauth2/token"]);
    expect(verdict.checked).toBeGreaterThan(50);
    // The first is known to discord-api-types only, the rest are habits of discord.js.
    expect(verdict.extra).toEqual([
      "GET /guilds/{guild_id} answers hub_type",
      "PATCH /guilds/{guild_id}/members/{user_id} sends communicationDisabledUntil",
      "PATCH /channels/{channel_id}/messages/{message_id} sends tts",
      "PATCH /channels/{channel_id}/messages/{message_id} sends enforce_nonce",
      "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original sends tts",
      "PATCH /webhooks/{webhook_id}/{webhook_token}/messages/@original sends enforce_nonce",
      "POST /webhooks/{webhook_id}/{webhook_token} sends enforce_nonce",
    ]);
    expect(sandbox.unhandled).toEqual([{ method: "GET", path: "/api/v10/nowhere-else" }]);
  });

  const sound: WireExchange = {
    method: "GET",
    route: "/gateway",
    query: {},
    requestBody: undefined,
    status: 200,
    responseBody: { url: "ws://127.0.0.1:1" },
  };
  const command = { ...sound, method: "POST", route: "/applications/{application_id}/commands", status: 201 };
  const callback = {
    ...sound,
    method: "POST",
    route: "/interactions/{interaction_id}/{interaction_token}/callback",
    status: 204,
    responseBody: undefined,
  };
  const members = { ...sound, route: "/guilds/{guild_id}/members", responseBody: [] };
  const member = { ...sound, route: "/guilds/{guild_id}/members/{user_id}" };
  const good = {
    name: "x",
    description: "x",
    id: "1",
    application_id: "1",
    version: "1",
    type: 1,
    default_member_permissions: null,
  };

  test.each<[string, WireExchange, string]>([
    ["a command without a name", { ...command, requestBody: { description: "x" }, responseBody: good }, "request"],
    ["a command name that is too long", { ...command, requestBody: { name: "x".repeat(33) }, responseBody: good }, "request"],
    [
      "an option type that does not exist",
      { ...command, requestBody: { name: "x", options: [{ type: 77, name: "a", description: "b" }] }, responseBody: good },
      "request",
    ],
    ["a callback type that does not exist", { ...callback, requestBody: { type: 99, data: {} } }, "request"],
    ["a callback without its body", callback, "request"],
    ["an answer of 3,000 characters", { ...callback, requestBody: { type: 4, data: { content: "x".repeat(3000) } } }, "request"],
    ["a member limit above 1,000", { ...members, query: { limit: "1001" } }, "query"],
    ["a member limit that is no number", { ...members, query: { limit: "many" } }, "query"],
    ["a query parameter that does not exist", { ...members, query: { page: "1" } }, "query"],
    ["roles that are numbers", { ...member, responseBody: { roles: [1] } }, "response"],
    ["a member without a user", { ...member, responseBody: { roles: [], nick: null } }, "response"],
    ["a guild whose name is null", { ...sound, route: "/guilds/{guild_id}", responseBody: { id: "1", name: null } }, "response"],
    ["a gateway without an address", { ...sound, responseBody: {} }, "response"],
    [
      "a role permission that is a number",
      { ...sound, route: "/guilds/{guild_id}/roles", responseBody: [{ id: "1", permissions: 8 }] },
      "response",
    ],
    ["a status Discord does not give", { ...sound, status: 201 }, "status"],
  ])("the judge catches %s", (_name, exchange, part) => {
    const { bad } = createJudge().check([exchange]);
    expect(bad.map((finding) => finding.part)).toEqual([part]);
  });

  test("the judge passes a sound exchange, and names properties nobody knows", () => {
    const verdict = createJudge().check([{ ...sound, responseBody: { url: "ws://127.0.0.1:1", adress: 1 } }]);
    expect(verdict).toEqual({ checked: 1, bad: [], unknown: [], extra: ["GET /gateway answers adress"] });
  });

  test("members, roles, guilds and messages on the gateway have the shape REST gives them", async () => {
    const sandbox = await startSandbox({ seed: "small" });
    const { guilds, users, residents } = sandbox.seeded;
    const client = await startBot(sandbox, { intents: [1, 2, 4, 512] });
    const { harbour } = guilds;
    await client.guilds.cache.get(harbour.id)?.members.fetch();
    const role = harbour.createRole("New");
    harbour.setRoles(users.victor, [role]);
    harbour.addMember(sandbox.createUser("new"));
    harbour.rename("Port");
    if (residents[0]) harbour.ban(residents[0]);
    const [channel] = client.guilds.cache.get(harbour.id)?.channels.cache.values() ?? [];
    if (channel?.isSendable()) await channel.send("x");
    await sandbox.waitFor(() => sandbox.gatewayLog.some(({ t }) => t === "MESSAGE_CREATE"));
    const judge = createJudge();
    const problems: string[] = [];
    const counts: Record<string, number> = {};
    const hold = (t: string, schema: string, value: unknown) => {
      counts[t] = (counts[t] ?? 0) + 1;
      const problem = judge.problem(schema, value);
      if (problem !== undefined) problems.push(`${t}: ${problem}`);
    };
    for (const { direction, t, d } of sandbox.gatewayLog) {
      if (direction !== "out" || t === null) continue;
      const data = d as Record<string, unknown>;
      if (t === "GUILD_MEMBERS_CHUNK") for (const member of data["members"] as unknown[]) hold(t, "GuildMemberResponse", member);
      if (t === "GUILD_MEMBER_ADD" || t === "GUILD_MEMBER_UPDATE") hold(t, "GuildMemberResponse", data);
      if (t === "GUILD_ROLE_CREATE") hold(t, "GuildRoleResponse", data["role"]);
      if (t === "GUILD_CREATE" || t === "GUILD_UPDATE") hold(t, "GuildResponse", data);
      if (t === "GUILD_CREATE") for (const channel of data["channels"] as unknown[]) hold(`${t} channel`, "GuildChannelResponse", channel);
      if (t === "GUILD_BAN_ADD" || t === "GUILD_MEMBER_REMOVE" || t === "READY") hold(t, "UserResponse", data["user"]);
      if (t === "MESSAGE_CREATE") hold(t, "MessageResponse", data);
    }
    expect(problems).toEqual([]);
    expect(counts).toEqual({
      READY: 1,
      GUILD_CREATE: 3,
      "GUILD_CREATE channel": 3,
      GUILD_MEMBERS_CHUNK: 61,
      GUILD_ROLE_CREATE: 1,
      GUILD_MEMBER_UPDATE: 1,
      GUILD_MEMBER_ADD: 1,
      GUILD_UPDATE: 1,
      GUILD_BAN_ADD: 1,
      GUILD_MEMBER_REMOVE: 1,
      MESSAGE_CREATE: 1,
    });
    expect(judge.problem("GuildMemberResponse", { roles: [] })).toBeDefined();
  });
});
