// @module-tag sqlite
// @module-tag slow
import { ActionRowBuilder, ButtonBuilder, ButtonStyle, ModalBuilder, TextInputBuilder, TextInputStyle, type Interaction } from "discord.js";
import { describe, expect, test } from "vitest";
import { startBot, startSandbox } from "../sandbox/support.ts";
import { flawsOf, lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();

const command = {
  name: "request",
  description: "Ask",
  options: [
    {
      type: 1,
      name: "file",
      description: "File one",
      options: [
        { type: 6, name: "subject", description: "Who", required: true },
        { type: 3, name: "kind", description: "Kind", required: true, choices: [{ name: "Spam", value: "spam" }] },
        { type: 3, name: "place", description: "Where", autocomplete: true },
        { type: 11, name: "proof", description: "Proof" },
      ],
    },
  ],
};
const button = new ActionRowBuilder<ButtonBuilder>().addComponents(
  new ButtonBuilder().setCustomId("decide").setLabel("Decide").setStyle(ButtonStyle.Success),
);
const modal = new ModalBuilder()
  .setCustomId("why")
  .setTitle("Why?")
  .addComponents(
    new ActionRowBuilder<TextInputBuilder>().addComponents(
      new TextInputBuilder().setCustomId("reason").setLabel("Reason").setStyle(TextInputStyle.Short),
    ),
  );

async function answer(interaction: Interaction): Promise<void> {
  if (interaction.isAutocomplete()) await interaction.respond([{ name: `${interaction.options.getFocused()} harbour`, value: "harbour" }]);
  if (interaction.isChatInputCommand()) {
    const { options } = interaction;
    const proof = options.getAttachment("proof");
    await interaction.reply({
      content: `**${options.getUser("subject", true).username}** ${options.getString("kind")} ${proof?.name ?? "no proof"} <script>`,
      embeds: [{ title: "State", color: 0x00aa00 }],
      components: [button],
      flags: 64,
    });
  }
  if (interaction.isButton()) await interaction.showModal(modal);
  if (interaction.isModalSubmit() && interaction.isFromMessage())
    await interaction.update({ content: `Decided: ${interaction.fields.getTextInputValue("reason")}`, components: [] });
}

async function start() {
  const sandbox = await startSandbox({ seed: "small" });
  const client = await startBot(sandbox);
  client.on("interactionCreate", (interaction) => void answer(interaction));
  await client.application.commands.set([command]);
  const visitor = await chromium.visitor();
  const { harbour } = sandbox.seeded.guilds;
  await visitor.page.goto(`${sandbox.controlRoom}?guild=${harbour.id}&as=${sandbox.seeded.users.mona.id}`);
  return { sandbox, harbour, visitor, page: visitor.page, ...sandbox.seeded };
}

describe.skipIf(lacksChromium)("the control room in a real browser", () => {
  test("a command is run, its button pressed, its form filled in and its answer edited, by mouse", async () => {
    const { page, sandbox, visitor } = await start();
    await page.getByLabel("subject (required)").fill("rogue");
    await page.getByLabel("kind (required)").selectOption("spam");
    await page.getByLabel("proof").setInputFiles({ name: "proof.txt", mimeType: "text/plain", buffer: Buffer.from("x") });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const answers = page.locator("#answers");
    await answers.getByText("rogue spam proof.txt <script>").waitFor();
    expect(await answers.getByText("only you can see this").count()).toBe(1);
    await answers.getByRole("button", { name: "Decide" }).click();
    const form = page.getByRole("dialog", { name: "Why?" });
    await form.getByLabel("Reason").fill("because");
    await form.getByRole("button", { name: "Submit" }).click();
    // The answer to the command and the answer to the form are one message, shown once.
    await answers.getByText("Decided: because").waitFor();
    expect([await form.count(), await answers.getByRole("button", { name: "Decide" }).count()]).toEqual([0, 0]);
    expect([visitor.problems, sandbox.unhandled]).toEqual([[], []]);
  });

  test("a box changes roles at once, a suggestion comes from the application, and a refusal is said", async () => {
    const { page, sandbox, harbour, users, roles, visitor } = await start();
    await page.getByRole("checkbox", { name: "Helper for victor" }).click();
    await page.getByText("victor has Helper").waitFor();
    expect(harbour.member(users.victor)?.roles.toSorted()).toEqual([roles.helper.id, roles.viewer.id].toSorted());
    await page.getByLabel("place").fill("old");
    await page.getByRole("option", { name: "old harbour" }).click();
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.getByText("/request needs the option subject").waitFor();
    expect(await page.getByLabel("place").inputValue()).toBe("old harbour");
    await page.getByLabel("subject (required)").fill("rogue");
    await page.getByLabel("kind (required)").selectOption("spam");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("#answers").getByText("rogue spam no proof").waitFor();
    const sent = sandbox.gatewayLog.filter(({ t, d }) => t === "INTERACTION_CREATE" && (d as { type: number }).type === 2);
    expect(JSON.stringify(sent.at(-1)?.d)).toContain('"name":"place","type":3,"value":"harbour"');
    await page.getByRole("button", { name: "kick helen" }).click();
    await page.getByText("helen is kicked").waitFor();
    expect(harbour.member(users.helen)).toBeUndefined();
    expect(visitor.problems.filter((problem) => !problem.includes("400"))).toEqual([]);
  });

  test("everything can be reached and done by keyboard, and what is typed survives the page's own refreshing", async () => {
    const { page, sandbox, harbour, users } = await start();
    await page.getByLabel("Message to #general").focus();
    await page.keyboard.type("typed ");
    const before = sandbox.exchanges.length;
    sandbox.as(users.sara).in(harbour).post({ content: "meanwhile" });
    await page.locator("#channels").getByText("meanwhile").waitFor();
    await page.keyboard.type("by hand");
    await page.keyboard.press("Enter");
    await page.locator("#channels").getByText("typed by hand").waitFor();
    expect(sandbox.exchanges).toHaveLength(before);
    await page.locator("article", { hasText: "typed by hand" }).locator("+ details summary").focus();
    await page.keyboard.press("Enter");
    await page.locator("details[open]").getByRole("button", { name: "Delete" }).focus();
    await page.keyboard.press("Enter");
    await page.getByText("typed by hand").waitFor({ state: "detached" });
  });

  test("texts can be read, controls hit and named, on a wide and on a narrow screen", async () => {
    const { page, visitor } = await start();
    await page.getByRole("checkbox", { name: "Helper for victor" }).waitFor();
    const script = "script or inline style";
    expect((await flawsOf(visitor)).filter((flaw) => flaw !== script)).toEqual([]);
    await page.setViewportSize({ width: 360, height: 700 });
    expect((await flawsOf(visitor)).filter((flaw) => flaw !== script)).toEqual([]);
    expect(await page.evaluate("document.querySelectorAll('[style], [onclick], script:not([src])').length")).toBe(0);
  });
});
