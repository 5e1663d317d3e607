// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();

describe.skipIf(lacksChromium)("the service in the control room", () => {
  test("a request is filed by command, approved by the button of its card, and stands approved over HTTP, all by mouse", async () => {
    const world = await createWorld();
    const { sandbox, guild } = world;
    const [author, admin] = [await staffAtConsole(world, "moderator"), await staffAtConsole(world, "admin")];
    const subject = world.member("raider");
    const reviews = guild.createChannel("reviews");
    await world.put(`/channels/${guild.id}`, { review: reviews.id }, { actor: await world.staff("owner") });
    await sandbox.waitFor(() => sandbox.exchanges.some(({ method, path }) => method === "PUT" && path.endsWith("/commands")));
    const { page, problems } = await chromium.visitor();
    page.setDefaultTimeout(60_000);

    await page.goto(`${sandbox.controlRoom}?guild=${guild.id}&as=${author.id}`);
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/request punishment" });
    await page.getByLabel("user (required)").fill(subject.username);
    await page.getByLabel("action (required)").selectOption("warning");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    const form = page.getByRole("dialog");
    await form.getByLabel("The reason, for those who decide").fill("Led the raid of last night.");
    await form.getByRole("button", { name: "Submit" }).click();
    await page.locator("#answers").getByText("000001 is filed").first().waitFor();

    await page.goto(`${sandbox.controlRoom}?guild=${guild.id}&as=${admin.id}`);
    const card = page.locator("#channels article", { hasText: "PUN-REQ-000001" });
    await card.getByRole("button", { name: "Approve" }).click();
    const answers = page.locator("#answers");
    await answers.getByRole("button", { name: "Continue …" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Submit" }).click();
    await answers.getByText("is approved").first().waitFor();

    const read = await world.get("/workflows/punishment/PUN-REQ-000001", { actor: admin });
    expect(read.body.data).toMatchObject({ status: "approved", decision: { by: admin.id } });
    await card.getByRole("button", { name: "Approve" }).waitFor({ state: "detached" });
    expect([problems, sandbox.unhandled]).toEqual([[], []]);
  });
});
