// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();

async function start() {
  const world = await createWorld();
  const owner = await staffAtConsole(world, "owner");
  await world.sandbox.waitFor(() => world.sandbox.exchanges.some(({ method, path }) => method === "PUT" && path.endsWith("/commands")));
  const visitor = await chromium.visitor();
  visitor.page.setDefaultTimeout(60_000);
  const open = (person = owner) => visitor.page.goto(`${world.sandbox.controlRoom}?guild=${world.guild.id}&as=${person.id}`);
  await open();
  return { world, owner, open, ...visitor };
}

describe.skipIf(lacksChromium)("what the control room shows as in Discord", () => {
  test("what the guide has stored is chosen in its menus, so that choosing one more takes nothing away, and mentions have names", async () => {
    const { world, page } = await start();
    const more = world.guild.createRole("Trainee");
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/setup wizard" });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const form = page.locator('#answers form[data-custom="sw:act:roles:moderator"]');
    const menu = page.locator("#answers details", { has: page.locator('form[data-custom="sw:act:roles:moderator"]') });
    await menu.locator("summary").getByText(world.roles.moderator.name, { exact: true }).click();
    const chosen = form.getByRole("checkbox", { checked: true });
    expect([await chosen.count(), await form.getByLabel(world.roles.moderator.name).isChecked()]).toEqual([1, true]);
    expect(await page.locator("#answers").innerText()).toContain(`@${world.roles.moderator.name}`);
    await form.getByLabel(more.name).check();
    await form.getByRole("button", { name: "Choose" }).click();
    await page.locator("#answers").getByText("@Trainee").first().waitFor();
    expect(await page.locator("#answers").innerText()).toContain(`@${world.roles.moderator.name}`);
    expect(await page.locator("#answers").innerText()).not.toContain("<@&");
  });

  test("a role is let see the commands by its box, and somebody who holds it can run one", async () => {
    const { world, page, open } = await start();
    const moderator = await world.staff("moderator");
    await open(moderator);
    const shown = page.locator("#command option");
    await shown.getByText("/mydata").first().waitFor({ state: "attached" });
    expect(await shown.getByText("/request").count()).toBe(0);
    await page.locator("#members tbody tr").nth(1).waitFor();
    expect(await page.getByRole("button", { name: "Blacklist check", includeHidden: true }).count()).toBe(0);
    await page.getByRole("checkbox", { name: `Commands for ${world.roles.moderator.name}` }).click();
    await shown.getByText("/request mine").waitFor({ state: "attached" });
    expect(await page.getByRole("button", { name: "Blacklist check", includeHidden: true }).count()).toBeGreaterThan(0);
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/request mine" });
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await page.locator("#answers").getByText("Nothing was found.").waitFor();
  });

  test("a person reads what is answered in the language of their Discord", async () => {
    const { page } = await start();
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/request mine" });
    for (const [language, words] of [
      ["Deutsch", "Nichts gefunden."],
      ["English", "Nothing was found."],
    ] as const) {
      await page.getByLabel("Language").selectOption({ label: language });
      await page.getByRole("button", { name: "Run", exact: true }).click();
      await page.locator("#answers").getByText(words).first().waitFor();
    }
  });

  test("names stay in one piece on a narrow screen, and what came of a click is in sight wherever it was made", async () => {
    const { world, page } = await start();
    world.guild.addMembers(200);
    await page.setViewportSize({ width: 400, height: 800 });
    const last = page.getByRole("checkbox", { name: /^moderator for / }).last();
    await last.waitFor();
    expect((await page.locator("#members tbody th").nth(1).boundingBox())?.width).toBeGreaterThan(60);
    await last.click();
    await page.locator("#said").getByText("has moderator").waitFor();
    const said = await page.locator("#said").boundingBox();
    expect([(said?.y ?? -1) >= 0, (said?.y ?? 800) + (said?.height ?? 0) <= 800]).toEqual([true, true]);
  });
});
