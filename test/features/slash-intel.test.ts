import { beforeAll, describe, expect, test } from "vitest";
import { authorize, staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

describe("/intel", () => {
  let world: World;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    return () => end();
  });

  /** Somebody who is on a server that is listed, and has granted to see that. */
  async function matched() {
    const admin = await staffAtConsole(world, "admin");
    const person = world.member();
    const base = world.sandbox.createGuild({ name: "Raid *Base*", withBot: false });
    base.addMember(person);
    await world.post(
      "/blacklist",
      { kind: "server", subject_id: base.id, category: "raiding", severity: "high", member_policy: "flag" },
      { actor: admin },
    );
    await authorize(world, person, { by: admin });
    const matches = async () => (await world.get(`/users/${person.id}/matches`, { actor: admin })).body.data;
    return { admin, person, base, matches, ask: world.sandbox.as(admin).in(world.guild) };
  }

  test("the link that asks for access is given to the asker alone", async () => {
    const admin = await staffAtConsole(world, "admin");
    const person = world.member();
    const reply = await (await world.sandbox.as(admin).in(world.guild).runSlashCommand("intel authorize", { user: person })).reply();
    expect(reply.ephemeral).toBe(true);
    const url = /<(http[^>]+)>/.exec(reply.content)?.[1] ?? "";
    const end = await world.sandbox.as(person).authorize(url, { approve: true });
    expect(new URL(end.redirectedTo).pathname).toBe("/authorize/result/done");
    const status = await world.slash(admin, "intel status", { user: person });
    expect(status).toContain("Grant: active");
  });

  test("a match is dismissed at a press with a reason, and a second press about the old state changes nothing", async () => {
    const { person, admin, ask, matches } = await matched();
    const run = await ask.runSlashCommand("intel matches", { user: person });
    const shown = await run.reply();
    expect(JSON.stringify(shown.embeds)).toContain("Raid \\\\*Base\\\\*");
    const pressed = await run.clickButton("Dismiss · Raid *Base*");
    const form = await pressed.modal();
    expect(form.title.length).toBeLessThanOrEqual(45);
    const decided = await pressed.submitModal({ reason: "Left it long ago" });
    expect(JSON.stringify((await decided.reply()).embeds)).toContain("dismissed");
    expect((await matches())[0]).toMatchObject({ status: "dismissed", resolution: { by: admin.id, reason: "Left it long ago" } });
    const stale = await run.clickButton("Acknowledge · Raid *Base*");
    const refused = await (await stale.submitModal({ reason: "Looked into it" })).reply();
    expect(refused.content).toContain("precondition_failed");
    expect((await matches())[0].status).toBe("dismissed");
  });

  test("a profile says what each reader may see, and no more", async () => {
    const { person, ask } = await matched();
    const whole = JSON.stringify((await (await ask.runSlashCommand("intel profile", { user: person })).reply()).embeds);
    expect(whole).toContain("Open matches");
    expect(whole).toContain("Raid \\\\*Base");
    const viewer = await staffAtConsole(world, "viewer");
    const said = await world.slash(viewer, "intel profile", { user: person });
    expect(said).not.toContain("Raid");
  });

  test("servers are listed with how the person stands to them, and a refresh keeps its pause", async () => {
    const { person, admin, base } = await matched();
    const servers = await world.slash(admin, "intel servers", { user: person });
    expect(servers).toContain(base.id);
    await world.slash(admin, "intel refresh", { user: person });
    const again = await world.slash(admin, "intel refresh", { user: person });
    expect(again).toContain("refresh_cooldown");
  });

  test("a grant ends after a reason and a yes, and its servers with it", async () => {
    const { person, admin, ask } = await matched();
    const run = await ask.runSlashCommand("intel revoke", { user: person, reason: "They asked us to" });
    expect((await run.reply()).content).toContain(`<@${person.id}>`);
    const status = async () => (await world.get(`/users/${person.id}/authorization`, { actor: admin })).body.data.status;
    expect(await status()).toBe("active");
    await run.clickButton("Yes, do it");
    await expect.poll(status).toBe("revoked");
    expect(await world.slash(admin, "intel servers", { user: person })).toContain("authorization_required");
  });
});
