import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { createJudgedWorld, shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld();
let owner: User;
beforeAll(async () => {
  owner = await shared.world.staff("owner");
});

const access = async ({ id }: User) => (await shared.world.get(`/staff/${id}/access`)).body.data;
const rowOf = ({ id }: User) => shared.world.app.database.read.staffProfile.findUnique({ where: { userId: id } });

describe("the commands of staff", () => {
  test("take and end leave as HTTP does, with the same refusals", async () => {
    const { world } = shared;
    const [boss, person] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "viewer")];
    const other = await world.staff("moderator");
    expect(await world.slash(person, "staff loa start", { reason: "Off to *sea*", until: "5d" })).toMatch(
      /leave from <t:\d+:f> until <t:\d+:f>: Off to \\\*sea\\\*; status: on leave/,
    );
    expect(await access(person)).toMatchObject({ status: "loa" });
    expect(await world.slash(person, "staff loa start", { reason: "Again" })).toContain("invalid_transition");
    expect(await world.slash(person, "staff loa start", { reason: "Away", user: other })).toContain("permission_denied");
    expect(await world.slash(boss, "staff loa start", { reason: "Away", user: owner })).toContain("hierarchy_violation");
    expect(await world.slash(boss, "staff loa start", { reason: "Away", user: other, until: "whenever" })).toContain("validation_failed");
    expect(await rowOf(other)).toBeNull();
    expect(await world.slash(person, "staff loa end")).toContain("is not on leave; status: active");
  });

  test("set quiet hours and take them back", async () => {
    const { world } = shared;
    const [person, other] = [await staffAtConsole(world, "viewer"), await world.staff("moderator")];
    expect(
      await world.slash(person, "staff quiet-hours", { from: "22:00", to: "07:00", days: "6,0", timezone: "Europe/Berlin" }),
    ).toContain("22:00–07:00 on Sun, Sat (Europe/Berlin)");
    expect(await rowOf(person)).toMatchObject({ timezone: "Europe/Berlin", quietHours: [{ days: [0, 6], from: "22:00", to: "07:00" }] });
    for (const wrong of [
      { from: "22:00" },
      { from: "9", to: "10:00" },
      { from: "22:00", to: "07:00", days: "0,x" },
      { from: "22:00", to: "07:00", timezone: "Mars" },
    ]) {
      expect(await world.slash(person, "staff quiet-hours", wrong)).toContain("validation_failed");
    }
    expect(await world.slash(person, "staff quiet-hours", { none: true, user: other })).toContain("permission_denied");
    expect(await world.slash(person, "staff quiet-hours", { none: true })).toContain("has no quiet hours");
    expect(await rowOf(person)).toMatchObject({ quietHours: [] });
  });

  test("show profiles and lists as far as HTTP does, and names as plain text", async () => {
    const { world } = shared;
    const [boss, person] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "viewer")];
    const other = await world.staff("moderator", "*Mo* <@1>");
    const own = await world.slash(person, "staff profile");
    expect(own).toMatch(/Level: viewer · rank 10 · status: active · available/);
    expect(own).not.toContain("30 days");
    const told = await world.slash(boss, "staff profile", { user: other });
    expect(told).toContain("30 days: 0 filed");
    expect(told).toContain("\\*Mo\\*");
    expect(told).not.toContain("*Mo* <@1>");
    expect(await world.slash(boss, "staff profile", { user: world.member() })).toContain("record_not_found");
    const listed = await world.slash(person, "staff list", { role: "moderator", available: true });
    expect(listed).toContain(`<@${other.id}> · moderator · active`);
    expect(await world.slash(person, "staff list", { role: "nobody-has-it" })).toBe("Nobody.");
  });

  test("page through lists of any length", async () => {
    const world = await createJudgedWorld();
    const viewer = await staffAtConsole(world, "viewer");
    const many = world.guild.addMembers(23, { roles: [world.roles.moderator] });
    for (const { id } of many) await world.sandbox.waitFor(() => world.app.access.of(id).isStaff);
    const run = await world.sandbox.as(viewer).in(world.guild).runSlashCommand("staff list");
    await run.reply();
    const ids = [];
    for (const page of [1, 2, 3]) {
      if (page > 1) await run.clickButton("▶");
      await world.sandbox.waitFor(() => JSON.stringify(run.current()?.embeds).includes(`Page ${page.toString()}`));
      ids.push([...JSON.stringify(run.current()?.embeds).matchAll(/<@(\d+)>/g)].map(([, id]) => id));
    }
    expect(ids.map(({ length }) => length)).toEqual([10, 10, 4]);
    expect(new Set(ids.flat())).toEqual(new Set([...many, viewer].map(({ id }) => id)));
    await run.clickButton("⏮");
    await world.sandbox.waitFor(() => JSON.stringify(run.current()?.embeds).includes("Page 1"));
  });

  test("ask before somebody is suspended, with what they hold, and do it after a yes", async () => {
    const { world } = shared;
    const [boss, person] = [await staffAtConsole(world, "admin"), await world.staff("moderator")];
    const ask = world.sandbox.as(boss).in(world.guild);
    const options = { user: person, reason: "Under *review*", until: "7d" };
    const run = await ask.runSlashCommand("staff suspend", options);
    const asked = await run.reply();
    expect(asked.content).toContain("holds a Discord role that stands for the staff role **moderator**");
    expect(asked.content).toContain("`blacklist.read`");
    await run.clickButton("Cancel");
    await world.sandbox.waitFor(() => run.current()?.content === "Nothing was done.");
    expect(await access(person)).toMatchObject({ allowed: true });
    const again = await ask.runSlashCommand("staff suspend", options);
    await again.reply();
    await again.clickButton("Yes, do it");
    await world.sandbox.waitFor(() => again.current()?.content.includes("is **suspended** until") === true);
    expect(again.current()?.content).toContain("Under \\*review\\*");
    expect(await access(person)).toMatchObject({ allowed: false, status: "suspended" });
    expect(await world.slash(boss, "staff reinstate", { user: person, reason: "It is over" })).toContain("is not suspended any more");
    expect(await access(person)).toMatchObject({ allowed: true });
  });

  test("refuse a suspension before any question, and take the reason from a form", async () => {
    const { world } = shared;
    const [viewer, boss, person] = [
      await staffAtConsole(world, "viewer"),
      await staffAtConsole(world, "admin"),
      await world.staff("viewer"),
    ];
    expect(await world.slash(viewer, "staff suspend", { user: person, reason: "Because" })).toContain("permission_denied");
    const run = await world.sandbox.as(boss).in(world.guild).runSlashCommand("staff suspend", { user: person });
    await run.modal();
    const sent = await run.submitModal({ reason: "Told in a form" });
    expect((await sent.reply()).content).toContain("Suspend <@");
    expect(await access(person)).toMatchObject({ allowed: true });
  });

  test("change a profile as far as HTTP does", async () => {
    const { world } = shared;
    const [boss, person] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "viewer")];
    expect(await world.slash(boss, "staff edit", { user: person, department: "North *" })).toContain("Department: North \\*");
    expect(await world.slash(person, "staff edit", { department: "South" })).toContain("permission_denied");
    expect(await world.slash(person, "staff edit", { availability: "unavailable" })).toContain("unavailable");
    expect(await rowOf(person)).toMatchObject({ department: "North *" });
  });
});

describe("/mydata", () => {
  test("is seen by everybody, and gives all that is stored as a file, to oneself alone", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    const run = await world.sandbox.as(person).in(world.guild).runSlashCommand("mydata");
    const reply = await run.reply();
    expect(reply.ephemeral).toBe(true);
    expect(reply.content).toContain("This is stored about you:");
    expect(reply.content).toContain("/privacy");
    expect(reply.attachments.map(({ name }) => name)).toEqual(["mydata.json"]);
    const stranger = await (await world.sandbox.as(world.member()).in(world.guild).runSlashCommand("mydata")).reply();
    expect(stranger.content).toContain("Nothing is stored about you.");
    expect(stranger.attachments).toEqual([]);
  });
});
