import { beforeAll, describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

describe("/alts", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    return () => end();
  });

  test("accounts are linked, shown as a tree with how sure it is, and unlinked after a yes", async () => {
    const admin = await staffAtConsole(world, "admin");
    const ask = world.sandbox.as(admin).in(world.guild);
    const [ann, bea, cleo] = [world.member(), world.member(), world.member()];
    const given = { user: ann, other: bea, confidence: "confirmed", kind: "declared_alt", main: ann, reason: "Said so in a ticket" };
    for (const more of [{}, { other: cleo, confidence: "probable" }]) {
      const added = await ask.runSlashCommand("alts add", { ...given, ...more });
      expect((await added.reply()).content).toContain("What is known:");
      await (await added.clickButton("Yes, do it")).reply();
    }
    const tree = JSON.stringify((await (await ask.runSlashCommand("alts show", { user: ann })).reply()).embeds);
    expect(tree).toContain("★ main account");
    expect(tree).toMatch(new RegExp(`├─ <@${bea.id}>.*confirmed.*└─ <@${cleo.id}>.*probable`));
    const other = world.member();
    const none = await (await ask.runSlashCommand("alts unlink", { user: ann, other, reason: "Two people" })).reply();
    expect(none.content).toContain("There is no link between these accounts");
    const run = await ask.runSlashCommand("alts unlink", { user: ann, other: bea, reason: "They are two people" });
    expect((await run.reply()).content).toContain(`<@${bea.id}>`);
    const links = async () => (await world.get(`/users/${ann.id}/links`, { actor: admin })).body.data;
    expect(await links()).toHaveLength(2);
    await run.clickButton("Yes, do it");
    await expect.poll(links).toHaveLength(1);
  });

  test("linking files a request, and links nothing yet", async () => {
    const admin = await staffAtConsole(world, "admin");
    const ask = world.sandbox.as(admin).in(world.guild);
    const [ann, bea] = [world.member(), world.member()];
    const run = await ask.runSlashCommand("alts link", { user: ann, other: bea, confidence: "probable", kind: "suspected_evasion" });
    const sent = await run.submitModal({ reason: "Came back an hour after the ban" });
    expect((await sent.reply()).content).toMatch(/ALT\\-REQ\\-\d+/);
    expect((await world.get(`/users/${ann.id}/links`, { actor: admin })).body.data).toEqual([]);
    expect(await world.app.database.read.workflowRequest.count()).toBe(1);
  });

  test("who may not see links learns nothing of them", async () => {
    const viewer = await staffAtConsole(world, "viewer");
    const said = await world.slash(viewer, "alts show", { user: world.member() });
    expect(said).toContain("permission_denied");
    expect(said).not.toContain("No linked accounts");
  });
});
