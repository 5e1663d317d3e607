// @module-tag sqlite
import {
  ActionRowBuilder,
  ButtonBuilder,
  ButtonStyle,
  ModalBuilder,
  TextInputBuilder,
  TextInputStyle,
  type ChatInputCommandInteraction,
  type Interaction,
} from "discord.js";
import { expect, test } from "vitest";
import type { SandboxOptions } from "../../sandbox/index.ts";
import { startBot, startSandbox } from "./support.ts";

const commands = [
  {
    name: "staff",
    description: "Staff",
    options: [
      {
        type: 1,
        name: "access",
        description: "Show access",
        options: [
          { type: 6, name: "user", description: "Who", required: true },
          { type: 4, name: "level", description: "Level", min_value: 1, max_value: 5 },
        ],
      },
    ],
  },
  { name: "case", description: "Case", options: [{ type: 3, name: "reason", description: "Why", autocomplete: true }] },
  { name: "ban", description: "Ban", default_member_permissions: "4" },
];

/** A guild with a bot that answers by the given function, and one ordinary member. */
async function start(answer: (interaction: Interaction) => Promise<unknown>, options: SandboxOptions = {}) {
  const sandbox = await startSandbox(options);
  const guild = sandbox.createGuild({ name: "Harbour" });
  const ann = sandbox.createUser("ann");
  const bob = sandbox.createUser("bob");
  guild.addMember(ann);
  guild.addMember(bob, { nick: "Bobby" });
  const client = await startBot(sandbox);
  const errors: { code?: number | string }[] = [];
  client.on("interactionCreate", (interaction) => {
    answer(interaction).catch((error: unknown) => errors.push(error as { code?: number }));
  });
  await client.application.commands.set(commands);
  return { sandbox, guild, ann, bob, client, errors, keys: sandbox.as(ann).in(guild) };
}

const chat = (run: (interaction: ChatInputCommandInteraction) => Promise<unknown>) => async (interaction: Interaction) => {
  if (interaction.isChatInputCommand()) await run(interaction);
};

test("a slash command reaches the bot with resolved options and is answered for one pair of eyes", async () => {
  const { keys, bob, sandbox } = await start(
    chat(async (interaction) => {
      if (!interaction.inCachedGuild()) return;
      const nick = interaction.options.getMember("user")?.nickname;
      const place = `${interaction.options.getSubcommand()} ${interaction.options.getInteger("level")}`;
      await interaction.reply({ content: `${nick} ${place}`, flags: 64 });
    }),
  );
  const run = await keys.runSlashCommand("staff access", { user: bob, level: 3 });
  expect(await run.reply()).toMatchObject({ content: "Bobby access 3", ephemeral: true });
  expect(await run.acked).toMatchObject({ type: 4 });
  expect(sandbox.unhandled).toEqual([]);
});

test("a deferred answer is final only once edited, and keeps the visibility of the deferral", async () => {
  const { keys, guild } = await start(
    chat(async (interaction) => {
      await interaction.deferReply({ flags: 64 });
      await interaction.editReply("done");
      await interaction.followUp({ content: "more" });
    }),
  );
  const run = await keys.runSlashCommand("case");
  expect(await run.acked).toMatchObject({ type: 5 });
  expect(await run.reply()).toMatchObject({ content: "done", ephemeral: true, flags: 64 });
  await expect.poll(() => run.followups()).toMatchObject([{ content: "more", ephemeral: false }]);
  expect(guild.messages().map(({ content }) => content)).toEqual(["more"]);
});

test("a second first answer is refused with 40060, the first stands", async () => {
  const { keys, errors } = await start(
    chat(async (interaction) => {
      await interaction.reply("one");
      await interaction.client.rest.post(`/interactions/${interaction.id}/${interaction.token}/callback`, {
        body: { type: 4, data: { content: "two" } },
        auth: false,
      });
    }),
  );
  const run = await keys.runSlashCommand("case");
  await run.reply();
  await expect.poll(() => errors[0]?.code).toBe(40060);
  expect(run.current()?.content).toBe("one");
});

test("an answer after the deadline is refused with 10062, and the user sees that nothing came", async () => {
  let missed = (): void => undefined;
  const deadline = new Promise<void>((resolve) => (missed = resolve));
  const { keys, errors } = await start(
    chat(async (interaction) => {
      await deadline;
      await interaction.reply("too late");
    }),
    { ackDeadlineMs: 50 },
  );
  const run = await keys.runSlashCommand("case");
  await expect(run.acked).rejects.toThrow(/did not respond/);
  await expect(run.reply()).rejects.toThrow(/did not respond/);
  missed();
  await expect.poll(() => errors[0]?.code).toBe(10062);
});

test("a token is good for fifteen minutes", async () => {
  let time = Date.now();
  const { keys, sandbox } = await start(
    chat((interaction) => interaction.reply("now")),
    { now: () => time },
  );
  const run = await keys.runSlashCommand("case");
  await run.reply();
  const edit = () =>
    fetch(`${sandbox.apiBase}/v10/webhooks/${sandbox.env().DISCORD_CLIENT_ID}/${run.interaction.token}/messages/@original`, {
      method: "PATCH",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify({ content: "later" }),
    });
  time += 15 * 60_000;
  expect((await edit()).status).toBe(200);
  time += 1;
  const refused = await edit();
  expect([refused.status, await refused.json()]).toMatchObject([401, { code: 50027 }]);
});

const approveRow = new ActionRowBuilder<ButtonBuilder>().addComponents(
  new ButtonBuilder().setCustomId("approve:1").setLabel("Approve").setStyle(ButtonStyle.Success),
  new ButtonBuilder().setCustomId("old").setLabel("Old").setStyle(ButtonStyle.Secondary).setDisabled(true),
);
const reasonModal = new ModalBuilder()
  .setCustomId("why")
  .setTitle("Reason")
  .addComponents(
    new ActionRowBuilder<TextInputBuilder>().addComponents(
      new TextInputBuilder().setCustomId("reason").setLabel("Why?").setStyle(TextInputStyle.Short).setMinLength(3),
    ),
  );

test("a button opens a modal, whose submission updates the message", async () => {
  const { keys } = await start(async (interaction) => {
    if (interaction.isChatInputCommand()) await interaction.reply({ content: "Decide", components: [approveRow] });
    if (interaction.isButton()) await interaction.showModal(reasonModal);
    if (interaction.isModalSubmit() && interaction.isFromMessage())
      await interaction.update({ content: `Because ${interaction.fields.getTextInputValue("reason")}`, components: [] });
  });
  const run = await keys.runSlashCommand("case");
  await expect(run.clickButton("Old")).rejects.toThrow(/disabled/);
  const pressed = await run.clickButton("Approve");
  await expect(pressed.reply()).rejects.toThrow(/modal/);
  await expect(pressed.submitModal({ reason: "no" })).rejects.toThrow(/too short/);
  await expect(pressed.submitModal({ reasons: "spam" })).rejects.toThrow(/no field reasons/);
  const submitted = await pressed.submitModal({ reason: "spam" });
  expect(await submitted.reply()).toMatchObject({ content: "Because spam", components: [] });
  expect(run.current()?.content).toBe("Because spam");
});

test("another member can press a button of a posted message", async () => {
  const { sandbox, guild, client, bob } = await start(async (interaction) => {
    if (interaction.isButton()) await interaction.reply(`${interaction.user.username} pressed`);
  });
  const [channel] = (await client.guilds.fetch(guild.id)).channels.cache.values();
  if (channel?.isSendable()) await channel.send({ content: "Queue", components: [approveRow] });
  const run = await sandbox.as(bob).in(guild).clickButton({ custom_id: "approve:1" });
  expect((await run.reply()).content).toBe("bob pressed");
});

test("autocomplete gets the typed text and gives choices", async () => {
  const { sandbox, keys, ann } = await start(async (interaction) => {
    if (interaction.isAutocomplete()) {
      const typed = interaction.options.getFocused();
      await interaction.respond([{ name: `${typed}son`, value: "reason" }]);
    }
  });
  const choices = [{ name: "reason", value: "reason" }];
  expect(await keys.autocomplete("case", { focused: "reason", value: "rea" })).toEqual(choices);
  expect(await sandbox.as(ann).autocomplete("case", "rea")).toEqual(choices);
  await expect(keys.autocomplete("staff access", "x")).rejects.toThrow(/completes no such option/);
});

test("stopping the sandbox ends a wait for an answer that never comes", async () => {
  const { keys, sandbox } = await start(async () => undefined);
  const run = await keys.runSlashCommand("case");
  const ended = expect(run.reply()).rejects.toThrow(/has stopped/);
  await sandbox.stop();
  await ended;
  await expect(run.acked).rejects.toThrow(/has stopped/);
});

test("what Discord's own client would not send does not reach the bot", async () => {
  const { keys, sandbox, guild, bob } = await start(chat((interaction) => interaction.reply("x")));
  const stranger = sandbox.as(sandbox.createUser("stranger")).in(guild);
  await expect(keys.runSlashCommand("nothing")).rejects.toThrow(/not registered/);
  await expect(keys.runSlashCommand("staff")).rejects.toThrow(/sub-command has to be chosen/);
  await expect(keys.runSlashCommand("staff access")).rejects.toThrow(/needs the option user/);
  await expect(keys.runSlashCommand("staff access", { user: bob, extra: 1 })).rejects.toThrow(/no option extra/);
  await expect(keys.runSlashCommand("staff access", { user: bob, level: 6 })).rejects.toThrow(/option level takes at most 5$/);
  await expect(keys.runSlashCommand("staff access", { user: "bob" })).rejects.toThrow(/option user takes a person/);
  await expect(keys.runSlashCommand("ban")).rejects.toThrow(/default_member_permissions/);
  await expect(stranger.runSlashCommand("case")).rejects.toThrow(/is not in/);
  guild.timeout(bob, 60);
  await expect(sandbox.as(bob).in(guild).runSlashCommand("case")).rejects.toThrow(/may not use/);
});

test("a server shows all commands to a role, or one command to other roles than the rest, and administrators see every command", async () => {
  const { sandbox, guild, ann, bob } = await start(chat((interaction) => interaction.reply("x")));
  const [helper, boss] = [guild.createRole("Helper"), guild.createRole("Boss", { permissions: ["Administrator"] })];
  const isShown = async (user: typeof ann, command: string): Promise<boolean> => {
    try {
      await sandbox.as(user).in(guild).runSlashCommand(command);
      return true;
    } catch (error) {
      if (String(error).includes("may not use")) return false;
      throw error;
    }
  };
  const seenBy = async (user: typeof ann) => ({ ban: await isShown(user, "ban"), case: await isShown(user, "case") });
  guild.setRoles(ann, [helper]);
  expect(await seenBy(ann)).toEqual({ ban: false, case: true });
  guild.allowCommands([helper]);
  expect([await seenBy(ann), await seenBy(bob)]).toEqual([
    { ban: true, case: true },
    { ban: false, case: true },
  ]);
  guild.allowCommands([], "ban");
  guild.allowCommands([guild.createRole("Other")], "case");
  expect([await seenBy(ann), await seenBy(bob)]).toEqual([
    { ban: false, case: false },
    { ban: false, case: false },
  ]);
  guild.setRoles(bob, [boss]);
  expect(await seenBy(bob)).toEqual({ ban: true, case: true });
  guild.allowCommands([guild.everyoneRole], "case");
  expect(await seenBy(ann)).toEqual({ ban: false, case: true });
});
