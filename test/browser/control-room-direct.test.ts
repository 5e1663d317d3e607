// @module-tag sqlite
// @module-tag slow
import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { lacksChromium, useChromium } from "./chromium.ts";

const chromium = useChromium();

describe.skipIf(lacksChromium)("moderation in one step in the control room", () => {
  test("/ban by mouse is one interaction: the person is told, banned and in a case; another admin takes it back", async () => {
    const world = await createWorld();
    const { sandbox, guild } = world;
    const [admin, other, owner] = [
      await staffAtConsole(world, "admin"),
      await staffAtConsole(world, "admin"),
      await staffAtConsole(world, "owner"),
    ];
    const raider = world.member("raider");
    await world.put(`/guilds/${guild.id}/direct`, { ban: { level: "admin" } }, { actor: owner });
    const { page, problems } = await chromium.visitor();
    page.setDefaultTimeout(60_000);
    const answers = page.locator("#answers");
    const interactions = () => sandbox.gatewayLog.filter(({ t, d }) => t === "INTERACTION_CREATE" && (d as { type: number }).type !== 4);
    const before = interactions().length;

    await page.goto(`${sandbox.controlRoom}?guild=${guild.id}&as=${admin.id}`);
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/ban" });
    await page.getByText(/\d+ more options/).click();
    await page.getByLabel("user", { exact: true }).fill(raider.username);
    await page.getByLabel("reason (required)").fill("Raided #general with three accounts.");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await answers.getByText("Banned").first().waitFor();
    expect(interactions().length - before).toBe(1);
    await sandbox.waitFor(() => guild.bans().some(({ user }) => user.id === raider.id));
    expect(sandbox.directMessages(raider).map(({ content }) => content)).toEqual([expect.stringContaining("**Harbour** banned you")]);

    await answers.getByRole("button", { name: "Show" }).click();
    await answers.getByText("Ban for").first().waitFor();
    const { data } = (await world.get("/workflows/punishment/PUN-REQ-000001", { actor: other })).body;
    expect(data).toMatchObject({ direct: true, status: "approved", decision: { by: admin.id } });
    const audit = (await world.get("/audit?target=PUN-REQ-000001", { actor: other })).body.data as { action: string }[];
    expect(audit.map(({ action }) => action)).toEqual(expect.arrayContaining(["workflow.create", "workflow.approve"]));

    await page.goto(`${sandbox.controlRoom}?guild=${guild.id}&as=${other.id}`);
    await page.getByLabel("Command", { exact: true }).selectOption({ label: "/review reverse" });
    await page.getByLabel("reference (required)").fill("PUN-REQ-000001");
    await page.getByLabel("reason", { exact: true }).fill("It was somebody else.");
    await page.getByRole("button", { name: "Run", exact: true }).click();
    await answers.getByText("is reversed").first().waitFor();
    await sandbox.waitFor(() => guild.bans().length === 0);
    expect([problems, sandbox.unhandled]).toEqual([[], []]);
  });
});
