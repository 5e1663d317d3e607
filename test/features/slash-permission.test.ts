import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";

describe("/permission", () => {
  let world: World;
  let owner: User;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createWorld({ onEnd: (way) => (end = way) });
    owner = await staffAtConsole(world, "owner");
    return () => end();
  });

  const entriesOf = async ({ id }: User) => (await world.get(`/permissions/users/${id}`, { actor: owner })).body.data.overrides;
  const may = async ({ id }: User, key: string) =>
    (await world.get(`/staff/${id}/access?permission=${key}`, { actor: owner })).body.data.decisions[0].allowed as boolean;

  test("grants with an end, explains which rule decides, denies and clears", async () => {
    const person = await world.staff("viewer");
    const about = { user: person, permission: "cases.note", reason: "Covers for *Ann*" };
    const said = await world.slash(owner, "permission grant", { ...about, until: "7d" });
    expect(said).toMatch(/✓ \*Write case notes\* \(`cases\.note`\) · until <t:\d+:f> · Covers for \\\*Ann\\\*/);
    const [entry] = await entriesOf(person);
    expect(entry).toMatchObject({ key: "cases.note", effect: "allow", scope: null });
    const days = (Date.parse(entry.expires_at) - Date.now()) / 86_400_000;
    expect(Math.abs(days - 7)).toBeLessThan(0.01);
    const why = await world.slash(owner, "permission explain", { user: person, permission: "cases.note" });
    expect(why).toMatch(/\*\*can\*\* write case notes \(`cases\.note`\)/);
    expect(why.match(/← this decides/g)).toHaveLength(1);
    expect(why).toMatch(/\*\*1\. ✓ Allowed personally: .*\*\* ← this decides/);
    await world.slash(owner, "permission deny", about);
    expect(await may(person, "cases.note")).toBe(false);
    await world.slash(owner, "permission clear", about);
    expect(await entriesOf(person)).toEqual([]);
  });

  test("limits an entry to the server where that is told", async () => {
    const person = await world.staff("viewer");
    await world.slash(owner, "permission grant", { user: person, permission: "cases.note", here: true, reason: "Only here" });
    expect(await entriesOf(person)).toMatchObject([{ scope: world.guild.id }]);
    expect(await world.slash(owner, "permission explain", { user: person, permission: "cases.note" })).toContain(
      "**can't** write case notes (`cases.note`)",
    );
    expect(await world.slash(owner, "permission explain", { user: person, permission: "cases.note", here: true })).toContain(
      "**can** write case notes (`cases.note`)",
    );
  });

  test("takes all entries away only after a question that shows them", async () => {
    const person = await world.staff("viewer");
    for (const permission of ["cases.note", "cases.read"])
      await world.slash(owner, "permission grant", { user: person, permission, reason: "For a while" });
    const run = await world.sandbox
      .as(owner)
      .in(world.guild)
      .runSlashCommand("permission clear-all", { user: person, reason: "It is over" });
    const asked = await run.reply();
    expect(asked.content).toContain("`cases.note`");
    expect(await entriesOf(person)).toHaveLength(2);
    await run.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => run.current()?.content.includes("no personal entries") === true);
    expect(await entriesOf(person)).toEqual([]);
  });

  test("changes what a role holds, and tells beforehand who would gain", async () => {
    const moderator = await world.staff("moderator");
    const role = { role: "moderator" };
    const told = await world.slash(owner, "permission simulate", { ...role, allow: "audit.read, staff.stats" });
    expect(told).toContain("Nothing was changed.");
    expect(told).toMatch(/\+\*Read the audit\* \(`audit\.read`\), \+\*[^*]+\* \(`staff\.stats`\)/);
    expect(await may(moderator, "audit.read")).toBe(false);
    expect(await world.slash(owner, "permission role allow", { ...role, permission: "audit.read" })).toContain(
      "Allows: *Read the audit* (`audit.read`)",
    );
    expect(await may(moderator, "audit.read")).toBe(true);
    expect(await world.slash(owner, "permission role clear", { ...role, permission: "audit.read" })).toContain("Allows: none");
    expect(await may(moderator, "audit.read")).toBe(false);
  });

  test("refuses as HTTP does, and writes nothing", async () => {
    const [admin, viewer, other] = [
      await staffAtConsole(world, "admin"),
      await staffAtConsole(world, "viewer"),
      await world.staff("viewer"),
    ];
    const about = { user: other, permission: "cases.note", reason: "Please" };
    expect(await world.slash(viewer, "permission grant", about)).toContain("permission_denied");
    expect(await world.slash(viewer, "permission clear-all", { user: other, reason: "Please" })).toContain("permission_denied");
    expect(await world.slash(admin, "permission grant", { ...about, permission: "blacklist.purge" })).toContain("cannot_grant_unheld");
    expect(await world.slash(admin, "permission grant", { ...about, user: owner })).toContain("hierarchy_violation");
    expect(await world.slash(admin, "permission grant", { ...about, until: "someday" })).toMatch(/^`until` \(`someday`\): /);
    expect(await world.slash(admin, "permission simulate", { allow: "cases.note" })).toContain("validation_failed");
    expect(await world.slash(viewer, "permission explain", { user: other, permission: "cases.note" })).toContain("permission_denied");
    expect(await entriesOf(other)).toEqual([]);
  });

  test("shows the catalog in pages, and completes keys by what is typed", async () => {
    const run = await world.sandbox.as(owner).in(world.guild).runSlashCommand("permission catalog");
    expect(JSON.stringify((await run.reply()).embeds)).toContain("audit.export");
    const choices = await world.sandbox.as(owner).in(world.guild).autocomplete("permission explain", "cases.no");
    expect(choices.map(({ value }) => value)).toEqual(["cases.note"]);
  });
});
