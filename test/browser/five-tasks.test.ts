// @module-tag sqlite
// @module-tag slow
import { InteractionType } from "discord-api-types/v10";
import type { Locator, Page } from "playwright-core";
import { describe, expect, onTestFinished, test } from "vitest";
import { createStage, type Stage } from "../../sandbox/demo/stage.ts";
import { isUp, setUpStaffRoles } from "../../sandbox/demo/steps.ts";
import type { User } from "../../sandbox/index.ts";
import { lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();
/** The most that a usual task may take. */
const limit = 4;

/** The seeded community with its staff, and a person's hand in the control room. */
async function start() {
  const stage = await createStage(() => undefined, 0, 30_000);
  onTestFinished(() => stage.close());
  await isUp(stage);
  await setUpStaffRoles(stage);
  const { sandbox } = stage;
  await sandbox.waitFor(() => sandbox.exchanges.some(({ method, path }) => method === "PUT" && path.endsWith("/commands")));
  const visitor = await chromium.visitor({ viewport: { width: 1280, height: 900 } });
  visitor.page.setDefaultTimeout(60_000);
  const openAs = async (person: User): Promise<void> => {
    await visitor.page.goto(`${sandbox.controlRoom}?guild=${sandbox.seeded.guilds.harbour.id}&as=${person.id}`);
    await visitor.page.locator("#command option").first().waitFor({ state: "attached" });
  };
  return { stage, openAs, ...visitor, ...sandbox.seeded };
}

/**
 * What the bot received: each command, button, choice in a menu and form that was sent is one interaction.
 * Suggestions while something is typed are none, for they decide nothing.
 */
function interactionsOf({ sandbox }: Stage): number {
  return sandbox.gatewayLog.filter(
    ({ direction, t, d }) =>
      direction === "out" && t === "INTERACTION_CREATE" && (d as { type: number }).type !== InteractionType.ApplicationCommandAutocomplete,
  ).length;
}

const answersOf = (page: Page): Locator => page.locator("#answers");

/** Opens the context menu of a person and chooses in it. */
async function useOn(page: Page, person: User, menu: string): Promise<void> {
  await page.getByLabel(`Apps for ${person.username}`, { exact: true }).click();
  await page
    .locator("#members")
    .getByRole("button", { name: `${menu} ${person.username}` })
    .click();
}

async function chooseCommand(page: Page, words: string): Promise<void> {
  await page.getByLabel("Command", { exact: true }).selectOption({ label: words });
  await page.locator("#fields p").first().waitFor();
}

async function run(page: Page): Promise<void> {
  await page.getByRole("button", { name: "Run", exact: true }).click();
}

async function sendForm(page: Page, fields: Readonly<Record<string, string>>): Promise<void> {
  const form = page.getByRole("dialog");
  for (const [name, text] of Object.entries(fields)) await form.locator(`[name="v:${name}"]`).fill(text);
  await form.getByRole("button", { name: "Submit" }).click();
  await form.waitFor({ state: "hidden" });
}

/** Approves a request, from the queue on: by its menu, and where it has none, by the command that shows one request. */
async function approveFromQueue(page: Page, reference: string): Promise<void> {
  const answers = answersOf(page);
  await chooseCommand(page, "/review queue");
  await run(page);
  await answers.getByText(reference).first().waitFor();
  const menu = answers.locator("details.menu");
  if ((await menu.count()) > 0) {
    await menu.locator("summary").first().click();
    await menu.getByRole("button", { name: reference }).click();
  } else {
    await chooseCommand(page, "/review show");
    await page.getByLabel("reference (required)").click();
    await page.getByRole("option", { name: reference }).click();
    await run(page);
  }
  const approve = answers.getByRole("button", { name: /^Approve/ });
  await approve.click();
  // What is asked then: a form that is filled in with the words of the request, or a question with a second button.
  const form = page.getByRole("dialog");
  await form.or(approve.nth(1)).first().waitFor();
  if (await form.isVisible()) await sendForm(page, {});
  else await approve.first().click();
}

describe.skipIf(lacksChromium)("a moderator's five usual tasks, by mouse", () => {
  test("none takes more than four interactions, and each is done", async () => {
    const { stage, openAs, page, problems, users, residents } = await start();
    const { mona, sara, olivia, rogue } = users;
    const [raider] = residents;
    if (raider === undefined) throw new Error("the seed has no residents");
    const counts: Record<string, number> = {};
    async function task(name: string, work: () => Promise<void>): Promise<void> {
      const before = interactionsOf(stage);
      await work();
      counts[name] = interactionsOf(stage) - before;
    }
    const requestOf = async (reference: string) => {
      const path = { type: reference.startsWith("PUN") ? "punishment" : "blacklist-user", id: reference };
      return (await stage.as(olivia).GET("/workflows/{type}/{id}", { params: { path } })).data.data;
    };
    const record = {
      kind: "user",
      subject_id: rogue.id,
      category: "raid",
      severity: "low",
      reason_public: "Led a raid.",
      reason_internal: "Led the raid.",
    } as const;
    const { data: answer } = await stage.as(olivia).POST("/blacklist", { body: record });
    const listed = "code" in answer ? expect.unreachable() : answer.data;

    await openAs(mona);
    await task("check a person", async () => {
      await useOn(page, rogue, "Blacklist check");
      await answersOf(page).getByText(listed.number).first().waitFor();
    });

    await task("warn", async () => {
      await useOn(page, rogue, "Request punishment");
      await page.getByRole("dialog").locator('[name="v:action"]').selectOption("warning");
      await sendForm(page, { reason: "Spam in the trade channel." });
      await answersOf(page).getByText("PUN-REQ-000001").first().waitFor();
    });
    expect(await requestOf("PUN-REQ-000001")).toMatchObject({
      status: "pending",
      requester: { id: mona.id },
      payload: { action: "warning" },
    });

    await task("file a blacklist request", async () => {
      await chooseCommand(page, "/request blacklist-user");
      await page.getByLabel("user (required)").fill("resident");
      await page.getByRole("option", { name: `(${raider.username})` }).click();
      await page.getByLabel("category (required)").selectOption("raid");
      await page.getByLabel("severity (required)").selectOption("high");
      await run(page);
      await sendForm(page, { reason: "Led the raid of last night." });
      await answersOf(page).getByText("BLU-REQ-000001").first().waitFor();
    });
    expect(await requestOf("BLU-REQ-000001")).toMatchObject({ status: "pending", payload: { user_id: raider.id, severity: "high" } });

    await openAs(sara);
    await task("approve one", async () => {
      await approveFromQueue(page, "PUN-REQ-000001");
      await stage.until(async () => (await requestOf("PUN-REQ-000001")).status === "approved", 30_000, "the approval");
    });
    expect((await requestOf("PUN-REQ-000001")).decision).toMatchObject({ by: sara.id });
    await stage.sandbox.waitFor(() => stage.sandbox.directMessages(rogue).length > 0);

    await openAs(mona);
    await task("look up a history", async () => {
      await useOn(page, rogue, "Case timeline");
      await answersOf(page).getByText("PUN-REQ-000001").first().waitFor();
    });
    const timeline = (await stage.as(mona).GET("/users/{discord_user_id}/timeline", { params: { path: { discord_user_id: rogue.id } } }))
      .data.data;
    expect(timeline.map(({ reference }) => reference)).toContain("PUN-REQ-000001");

    process.stderr.write(`Interactions of a moderator's usual tasks: ${JSON.stringify(counts)}\n`);
    expect(Object.values(counts)).toHaveLength(5);
    expect(Object.entries(counts).filter(([, count]) => count < 1 || count > limit)).toEqual([]);
    expect([problems, stage.sandbox.unhandled]).toEqual([[], []]);
  });
});
