import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { addPool, employ, giveCallsign, hire, plants, still } from "./roster-audit-ground.ts";

const ground = shareWorld({ env: still });
let owner: User;
beforeAll(async () => {
  owner = await staffAtConsole(ground.world, "owner");
});

const ask = (user = owner) => ground.world.sandbox.as(user).in(ground.world.guild);
const entryOf = (user: User) => ground.world.app.database.read.rosterEntry.findUnique({ where: { userId: user.id } });

describe("/roster", () => {
  test("puts somebody on it with a reason from a form, shows, changes and lists them, and tells their history", async () => {
    const { world } = ground;
    const ann = world.member("ann");
    const adding = await ask().runSlashCommand("roster add", { user: ann, department: "north" });
    await adding.modal();
    expect(await entryOf(ann)).toBeNull();
    await (await adding.submitModal({ reason: "Was chosen by the team" })).reply();
    expect(await entryOf(ann)).toMatchObject({ status: "active", department: "north" });
    expect(await world.slash(owner, "roster show", { user: ann })).toContain("north");
    const editing = await ask().runSlashCommand("roster edit", { user: ann, department: "south" });
    await editing.modal();
    await (await editing.submitModal({ reason: "Wanted to move" })).reply();
    expect(await entryOf(ann)).toMatchObject({ department: "south" });
    const listed = await world.slash(owner, "roster list", { department: "south" });
    expect(listed).toContain(`<@${ann.id}>`);
    const told = await world.slash(owner, "roster history", { user: ann });
    expect(told).toMatch(/\*\*transferred\*\*.*\*\*hired\*\*/s);
    expect(await world.slash(owner, "roster history", { user: ann, event: "promoted" })).toBe("Nothing was found.");
  });

  test("says how somebody stood on a day, as far as it was written down by then", async () => {
    const { world } = ground;
    const old = world.member("old-hand");
    const body = { user_id: old.id, department: "harbour", joined_at: "2026-11-02T00:00:00.000Z", reason: "Was there before" };
    expect((await world.post("/roster", body, { actor: owner })).status).toBe(201);
    const stood = (options: object) => world.slash(owner, "roster history", { user: old, ...options });
    expect(await stood({ on: "2026-11-03" })).toContain("stood so: active, harbour");
    expect(await stood({ on: "2026-11-01" })).toContain("was not on the roster");
    expect(await stood({ on: "2026-11-03", "known-at": "2026-11-04 12:00" })).toContain("was not on the roster");
    expect(await world.slash(owner, "roster history", { on: "2026-11-03" })).toContain(
      "`on` (`2026-11-03`): Name the person or the callsign",
    );
  });

  test("comes whole as files, and not to those who may not see it", async () => {
    const { world } = ground;
    const here = await hire(world, "viewer");
    const file = await (await ask().runSlashCommand("roster export")).reply();
    expect(file.attachments.map(({ name }) => name)).toEqual(["roster-export.csv", "roster-export.json"]);
    const entries = JSON.parse(file.attachments[1]?.text ?? "[]");
    expect(entries.map((entry: { user: { id: string } }) => entry.user.id)).toContain(here.id);
    expect(file.attachments[0]?.text).toContain(here.id);
    const nobody = world.member();
    world.guild.setRoles(nobody, [world.guild.createRole("keys", { permissions: ["Administrator"] })]);
    const refused = await (await ask(nobody).runSlashCommand("roster export")).reply();
    expect(refused.content).toContain("acting_user_not_staff");
    expect(refused.attachments).toEqual([]);
    expect(refused.content).not.toContain(here.id);
  });
});

describe("/roster sync", () => {
  test("tells what differs, changes nothing by that, and lets either side follow by a button", async () => {
    const { world } = ground;
    const mover = await hire(world, "viewer");
    world.guild.setRoles(mover, [world.roles.moderator]);
    await world.sandbox.waitFor(() => world.app.access.of(mover.id).rank === 40, 60_000);
    const run = await ask().runSlashCommand("roster sync member", { user: mover });
    const report = await run.reply();
    expect(report.content).toContain("differ");
    expect(await entryOf(mover)).toMatchObject({ staffRole: "viewer" });
    const followed = await (await run.clickButton("The roster follows Discord")).reply();
    expect(JSON.stringify(followed.embeds)).toContain("done");
    expect(await entryOf(mover)).toMatchObject({ staffRole: "moderator" });
    expect(await world.slash(owner, "roster sync member", { user: mover })).toContain("agree");
    expect(await world.slash(owner, "roster sync status")).toContain("Still to be looked at");
  });

  test("shows the plan of everybody and applies that very plan, once", async () => {
    const { world } = ground;
    const late = await world.staff("viewer");
    const run = await ask().runSlashCommand("roster sync all");
    const plan = await run.reply();
    expect(JSON.stringify(plan.embeds)).toContain(`<@${late.id}>`);
    expect(await entryOf(late)).toBeNull();
    const applied = await (await run.clickButton("Apply this plan")).reply();
    expect(applied.content).toContain("people were changed");
    expect(await entryOf(late)).toMatchObject({ staffRole: "viewer" });
    const audited = await world.app.database.read.auditEntry.count();
    expect((await (await run.clickButton("Apply this plan")).reply()).content).toMatch(/-# \w+$/);
    expect(await world.app.database.read.auditEntry.count()).toBe(audited);
  });
});

describe("/roster audit", () => {
  test("reports findings, of which one is put right and another lived with, each by a menu and a reason", async () => {
    const { world } = ground;
    const overdue = (await plants["trial_overdue"]?.(world)) ?? expect.fail("nobody");
    const run = await ask().runSlashCommand("roster audit run", { check: "trial_overdue" });
    expect((await run.reply()).content).toContain("1 findings, 1 of them new");
    const [report] = (await world.get("/roster/audits", { actor: owner })).body.data;
    const [{ id }] = (await world.get(`/roster/audits/${report.id}/findings`, { actor: owner })).body.data;

    const known = await run.select("do:rk", [id]);
    await known.modal();
    expect((await (await known.submitModal({ reason: "Made longer by word" })).reply()).content).toContain("accepted");
    expect(await world.app.database.read.rosterEntry.findUnique({ where: { userId: overdue } })).toMatchObject({ status: "trial" });

    const page = await ask().runSlashCommand("roster audit findings", { audit: report.id });
    const shown = await page.reply();
    expect(JSON.stringify(shown.embeds)).toContain("accepted: Made longer by word");
    expect(JSON.stringify(shown.components)).not.toContain("do:rk");
    const withdrawn = await page.select("do:rw", [id]);
    await withdrawn.modal();
    expect((await (await withdrawn.submitModal({})).reply()).content).toContain("taken back");

    const fixed = await run.select("do:rx", [id]);
    await fixed.modal();
    expect((await (await fixed.submitModal({ reason: "The trial went well" })).reply()).content).toContain("put right");
    expect(await world.app.database.read.rosterEntry.findUnique({ where: { userId: overdue } })).toMatchObject({ status: "active" });
  });

  test("lists its runs, of which one is read again, and shows nothing of a run that is not there", async () => {
    const list = await ask().runSlashCommand("roster audit list");
    expect(JSON.stringify((await list.reply()).embeds)).toContain("findings");
    const [{ id }] = (await ground.world.get("/roster/audits", { actor: owner })).body.data;
    expect((await (await list.select("do:rt", [id])).reply()).content).toContain("findings");
    const absent = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
    expect(await ground.world.slash(owner, "roster audit show", { audit: absent })).toBe("Nothing was found.");
    expect(await ground.world.slash(owner, "roster audit show", { audit: "x" })).toContain("validation_failed");
  });

  test("lets nobody fix who may not, and says so before anything is looked at", async () => {
    const moderator = await staffAtConsole(ground.world, "moderator");
    const count = () => ground.world.app.database.read.rosterEvent.count();
    const before = await count();
    const run = await ask(moderator).runSlashCommand("roster audit fix", {
      finding: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
      reason: "Because I can",
    });
    expect((await run.reply()).content).toContain("permission_denied");
    expect(await count()).toBe(before);
  });
});

test("names of people, pools and departments are shown without their formatting", async () => {
  const { world } = ground;
  await addPool(world, "marks", null, "M*{n:03}*");
  const ann = world.member("ann-marks");
  await employ(world, ann, "viewer");
  const callsign = await giveCallsign(world, ann, "marks");
  const said = await world.slash(owner, "roster list", { name: ann.id });
  expect(said).toContain("M\\\\*");
  expect(said).not.toContain(`**${callsign}**`);
});
