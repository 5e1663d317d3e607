// @module-tag sqlite
// @module-tag slow
import { ButtonStyle, ComponentType, type APIModalInteractionResponseCallbackData, type Interaction } from "discord.js";
import { describe, expect, test } from "vitest";
import type { Sandbox } from "../../sandbox/index.ts";
import { startBot, startSandbox } from "../sandbox/support.ts";
import { flawsOf, lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();

const commands = [
  { name: "report", description: "Tell the staff", description_localizations: { de: "Sag es dem Team" } },
  { name: "menus", description: "Show menus" },
  { name: "say", description: "Say it in the channel" },
  { type: 2, name: "Look up" },
];

const reportForm: APIModalInteractionResponseCallbackData = {
  custom_id: "report",
  title: "Report",
  components: [
    {
      type: ComponentType.Label,
      label: "Kind",
      component: {
        type: ComponentType.StringSelect,
        custom_id: "kind",
        options: [
          { label: "Spam", value: "spam", description: "Unwanted advertising" },
          { label: "Raid", value: "raid" },
        ],
      },
    },
    {
      type: ComponentType.Label,
      label: "Reason",
      description: "The person reads this",
      component: { type: ComponentType.TextInput, custom_id: "reason", style: 2, min_length: 10 },
    },
    { type: ComponentType.Label, label: "Who", component: { type: ComponentType.UserSelect, custom_id: "who" } },
    { type: ComponentType.Label, label: "Proof", component: { type: ComponentType.FileUpload, custom_id: "proof", required: false } },
  ],
};

const menus = [
  {
    type: ComponentType.ActionRow,
    components: [
      {
        type: ComponentType.StringSelect,
        custom_id: "one",
        placeholder: "One colour",
        options: [
          { label: "Red", value: "red", description: "Like a rose" },
          { label: "Blue", value: "blue" },
        ],
      },
    ],
  },
  {
    type: ComponentType.ActionRow,
    components: [{ type: ComponentType.UserSelect, custom_id: "person", placeholder: "A person" }],
  },
  {
    type: ComponentType.ActionRow,
    components: [
      {
        type: ComponentType.StringSelect,
        custom_id: "several",
        placeholder: "Several",
        min_values: 0,
        max_values: 2,
        options: [
          { label: "Left", value: "left" },
          { label: "Right", value: "right" },
        ],
      },
    ],
  },
] as const;

async function answer(interaction: Interaction): Promise<void> {
  if (interaction.isUserContextMenuCommand())
    await interaction.reply({ content: `Looked up ${interaction.targetUser.username}`, flags: 64 });
  if (interaction.isChatInputCommand() && interaction.commandName === "report") await interaction.showModal(reportForm);
  if (interaction.isChatInputCommand() && interaction.commandName === "menus")
    await interaction.reply({ content: "Choose", components: menus, flags: 64 });
  if (interaction.isChatInputCommand() && interaction.commandName === "say")
    await interaction.reply({
      content: "Said to all",
      components: [
        {
          type: ComponentType.ActionRow,
          components: [{ type: ComponentType.Button, style: ButtonStyle.Primary, custom_id: "form", label: "Report this" }],
        },
      ],
    });
  if (interaction.isButton()) await interaction.showModal(reportForm);
  if (interaction.isAnySelectMenu()) await interaction.reply({ content: `Chosen: ${interaction.values.join(" ")}`, flags: 64 });
  if (interaction.isModalSubmit()) {
    const { fields } = interaction;
    const [who] = [...(fields.getSelectedUsers("who")?.values() ?? [])];
    const [file] = [...(fields.getUploadedFiles("proof")?.values() ?? [])];
    const kind = fields.getStringSelectValues("kind").join();
    await interaction.reply({
      content: `${kind} by ${who?.username ?? ""} (${file?.name ?? ""}): ${fields.getTextInputValue("reason")}`,
      flags: 64,
    });
  }
}

async function start() {
  const sandbox = await startSandbox({ seed: "small", ackDeadlineMs: 30_000 });
  const client = await startBot(sandbox);
  client.on("interactionCreate", (interaction) => void answer(interaction));
  await client.application.commands.set(commands);
  const visitor = await chromium.visitor();
  const { page } = visitor;
  page.setDefaultTimeout(60_000);
  await page.clock.install();
  const { guilds, users } = sandbox.seeded;
  const openAs = (person = users.mona) => page.goto(`${sandbox.controlRoom}?guild=${guilds.harbour.id}&as=${person.id}`);
  await openAs();
  const run = async (command: string): Promise<void> => {
    await page.getByLabel("Command", { exact: true }).selectOption({ label: command });
    await page.getByRole("button", { name: "Run", exact: true }).click();
  };
  return {
    sandbox,
    run,
    openAs,
    form: page.getByRole("dialog"),
    answers: page.locator("#answers"),
    visitor,
    ...visitor,
    ...sandbox.seeded,
  };
}

/** The page has asked the sandbox again, twice to be sure that it began after this. */
async function polled({ controlRoom }: Sandbox, page: Awaited<ReturnType<typeof start>>["page"]): Promise<void> {
  const isPoll = (address: string): boolean => address.startsWith(`${controlRoom}/api/view`);
  for (let count = 0; count < 2; count++)
    await Promise.all([page.waitForResponse((response) => isPoll(response.url())), page.clock.fastForward(1000)]);
}

describe.skipIf(lacksChromium)("forms, menus and messages in the control room", () => {
  test("a form that was left stays closed, also when the page asks again or is loaded anew, and no older one takes its place", async () => {
    const { page, run, form, sandbox, openAs } = await start();
    await run("/say");
    const button = page.locator("#channels").getByRole("button", { name: "Report this" });
    await button.click();
    await form.waitFor();
    await page.keyboard.press("Escape");
    await form.waitFor({ state: "hidden" });
    await button.click();
    await form.waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
    await form.waitFor({ state: "hidden" });
    await polled(sandbox, page);
    expect(await form.count()).toBe(0);
    await openAs();
    await polled(sandbox, page);
    expect(await form.count()).toBe(0);
  });

  test("two forms that were opened before the page knew of the first leave none behind once the second is closed", async () => {
    const { page, run, form, sandbox, guilds, users } = await start();
    const press = () => {
      const body = new FormData();
      const [message] = guilds.harbour.messages();
      for (const [name, value] of Object.entries({
        guild: guilds.harbour.id,
        as: users.mona.id,
        message: message?.id ?? "",
        channel: message?.channelId ?? "",
        custom: "form",
        words: "Report this",
      }))
        body.set(name, value);
      return fetch(`${sandbox.controlRoom}/api/acts/press`, { method: "POST", body, headers: { "x-sandbox-room": "1" } });
    };
    await run("/say");
    await sandbox.waitFor(() => guilds.harbour.messages().length === 1);
    await press();
    await press();
    await form.waitFor();
    await form.getByRole("button", { name: "Cancel" }).click();
    await form.waitFor({ state: "hidden" });
    await polled(sandbox, page);
    expect(await form.count()).toBe(0);
  });

  test("a form keeps what is typed while the page asks again, says in it what is wrong, and is gone once it is sent", async () => {
    const { page, run, form, sandbox, answers, openAs, problems } = await start();
    await run("/report");
    await form.getByText("The person reads this").waitFor();
    await form.getByLabel("Reason").fill("short");
    await polled(sandbox, page);
    expect(await form.getByLabel("Reason").inputValue()).toBe("short");
    await form.getByRole("button", { name: "Submit" }).click();
    await form.getByRole("alert").getByText("“Kind” needs a choice.").waitFor();
    await form.getByLabel("Kind").selectOption("spam");
    await form.getByRole("button", { name: "Submit" }).click();
    await form.getByText("“Reason” is too short: write at least 10 characters.").waitFor();
    expect(await form.getByLabel("Reason").inputValue()).toBe("short");
    await form.getByLabel("Reason").fill("Long enough by now.");
    await form.getByLabel("Who").fill("rog");
    await form.getByRole("option", { name: "Rogue (rogue)" }).click();
    await form.getByLabel("Proof").setInputFiles({ name: "proof.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
    await form.getByRole("button", { name: "Submit" }).click();
    await answers.getByText("spam by rogue (proof.txt): Long enough by now.").waitFor();
    await openAs();
    await polled(sandbox, page);
    expect(await form.count()).toBe(0);
    expect([problems.filter((problem) => !problem.includes("400")), sandbox.unhandled]).toEqual([[], []]);
  });

  test("a choice in a menu is sent with its click and shows its description, people are found by typing, and several are ticked", async () => {
    const { page, run, answers, users } = await start();
    await run("/menus");
    await answers.getByText("One colour").click();
    await answers.getByRole("button", { name: "Red Like a rose" }).click();
    await answers.getByText("Chosen: red").waitFor();
    await answers.getByLabel("A person").fill("SAR");
    await page.getByRole("option", { name: "Sara (sara)" }).click();
    await answers.getByText(`Chosen: ${users.sara.id}`).waitFor();
    const several = answers.locator('form[data-custom="several"]');
    await answers.locator("summary", { hasText: "Several" }).click();
    await several.getByLabel("Left").check();
    await several.getByLabel("Right").check();
    await several.getByRole("button", { name: "Choose" }).click();
    await answers.getByText("Chosen: left right").waitFor();
  });

  test("by keyboard a suggestion is chosen with the arrows, and Escape closes the list and not the form", async () => {
    const { page, run, form } = await start();
    const suggestion = form.locator("[role=option]").first();
    await run("/report");
    await form.getByLabel("Who").focus();
    await page.keyboard.type("rog");
    await suggestion.waitFor();
    await page.keyboard.press("Escape");
    await suggestion.waitFor({ state: "detached" });
    expect(await form.isVisible()).toBe(true);
    await page.keyboard.press("ArrowDown");
    await suggestion.waitFor();
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    expect(await form.getByLabel("Who").inputValue()).toBe("Rogue (rogue)");
  });

  test("menus, suggestions and a form with an error can be read, hit and named on a narrow screen", async () => {
    const { page, run, form, answers, visitor } = await start();
    const flaws = async () => (await flawsOf(visitor)).filter((flaw) => flaw !== "script or inline style");
    await page.setViewportSize({ width: 360, height: 700 });
    await run("/menus");
    for (const menu of ["One colour", "Several"]) await answers.locator("summary", { hasText: menu }).click();
    await answers.getByLabel("A person").fill("SAR");
    await answers.locator("[role=option]").first().waitFor();
    expect(await flaws()).toEqual([]);
    await run("/report");
    await form.getByRole("button", { name: "Submit" }).click();
    await form.getByText("“Kind” needs a choice.").waitFor();
    expect(await flaws()).toEqual([]);
  });

  test("a message stands on the page once: a public answer in its channel, a private one among the answers", async () => {
    const { page, run, answers } = await start();
    await run("/say");
    await answers.getByText("The answer is in #general.").waitFor();
    await page.locator("#channels").getByText("Said to all").waitFor();
    expect(await page.locator("article", { hasText: "Said to all" }).count()).toBe(1);
  });

  test("a person sees the commands that Discord shows them, with their descriptions in their language, and learns when there are none", async () => {
    const { page, guilds, roles, openAs, users } = await start();
    guilds.harbour.allowCommands([roles.moderator], "report");
    guilds.harbour.allowCommands([], "Look up");
    const commands = page.locator("#command option");
    await page.locator("#fields").getByText("Tell the staff").waitFor();
    await page.getByLabel("Language").selectOption("de");
    await page.locator("#fields").getByText("Sag es dem Team").waitFor();
    await openAs(users.rogue);
    await commands.getByText("/menus").waitFor({ state: "attached" });
    expect(await commands.allInnerTexts()).toEqual(["/menus", "/say"]);
    expect(await page.getByRole("button", { name: "Look up", includeHidden: true }).count()).toBe(0);
    for (const command of ["menus", "say"]) guilds.harbour.allowCommands([roles.moderator], command);
    await commands.getByText("None: Discord shows rogue no command here").waitFor({ state: "attached" });
  });
});
