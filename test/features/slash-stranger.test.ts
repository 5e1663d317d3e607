import { describe, expect, test, vi } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

const shared = shareWorld();

describe("what somebody new to it meets in Discord", () => {
  test("whoever may not at all is refused before a form is shown to them, by command and by menu", async () => {
    const { world } = shared;
    const ask = world.sandbox.as(await staffAtConsole(world, "viewer")).in(world.guild);
    const subject = world.member();
    for (const run of [
      await ask.runSlashCommand("request punishment", { user: subject, action: "warning" }),
      await ask.runUserCommand("Request punishment", subject),
    ])
      expect((await run.reply()).content).toContain("permission_denied");
    const mine = world.sandbox.as(await staffAtConsole(world, "moderator")).in(world.guild);
    expect(await (await mine.runUserCommand("Request punishment", subject)).modal()).toBeDefined();
  });

  test("a report whose message could not be kept says why", async () => {
    const { world } = shared;
    const ask = world.sandbox.as(await staffAtConsole(world, "admin")).in(world.guild);
    const said = world.sandbox.as(world.member()).in(world.guild).post({ content: "Come over" });
    const run = await ask.runMessageCommand("Report poaching", said);
    const sent = await run.submitModal({ "offending-server": world.guild.id, reason: "Offers places in another server" });
    expect((await sent.reply()).content).toContain("Message Content Intent");
  });

  test("before an approval its effects are told as a trial, and a length on the card as people write it", async () => {
    const { world } = shared;
    const owner = await staffAtConsole(world, "owner");
    const reviews = world.guild.createChannel("reviews");
    await world.put(`/channels/${world.guild.id}`, { review: reviews.id }, { actor: owner });
    const reference = await filePunishment(world, await world.staff("moderator"));
    const run = await world.sandbox
      .as(await staffAtConsole(world, "admin"))
      .in(world.guild)
      .runSlashCommand("review approve", { reference });
    expect((await run.reply()).content).toMatch(/Tried without doing it, an approval comes to this:\n- A case was opened/);
    const posted = () => world.guild.messages().find(({ embeds }) => JSON.stringify(embeds).includes(reference));
    await vi.waitFor(() => expect(posted()).toBeDefined(), 60_000);
    expect(posted()?.embeds[0]?.fields).toContainEqual(
      expect.objectContaining({ name: "Appeal until", value: "30 days from the decision" }),
    );
  });

  test("a signed position comes whole, with its entry and its signature, so that it can be kept elsewhere", async () => {
    const { world } = shared;
    const owner = await staffAtConsole(world, "owner");
    await world.app.audit.signHead(systemCall("cli", uuid7()));
    const { data } = (await world.get("/audit/checkpoint", { actor: owner })).body;
    const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("audit checkpoint");
    const [file] = (await run.reply()).attachments;
    expect(JSON.parse(file?.text ?? "null")).toEqual(data.checkpoint);
    expect(data.checkpoint).not.toBeNull();
  });

  test("a menu of the guide is called as the role it is for", async () => {
    const world = await createWorld();
    const owner = await staffAtConsole(world, "owner");
    const role = world.app.access.roles().find(({ level }) => level === "viewer");
    await world.patch(`/staffroles/${role?.key ?? ""}`, { name: "Watchers" }, { actor: owner });
    const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("setup wizard");
    expect(JSON.stringify((await run.reply()).components)).toContain("Discord roles for: Watchers");
  });
});
