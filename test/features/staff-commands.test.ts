import { beforeAll, describe, expect, test } from "vitest";
import type { User } from "../../src/sandbox/index.ts";
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
      /leave from <t:\d+:f> until <t:\d+:f>: Off to \\\*sea\\\*; status: loa/,
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
    const total = (await world.get("/staff?role=moderator&available=true&count=true")).body.page.total as number;
    expect(listed).toContain(`Page 1 of 1 · ${total.toString()} in all`);
    expect(await world.slash(person, "staff list", { role: "moderator", page: 2 })).toContain("There is no page 2");
    expect(await world.slash(person, "staff list", { role: "nobody-has-it" })).toBe("Nobody.");
  });

  test("page through lists of any length", async () => {
    const world = await createJudgedWorld();
    const viewer = await staffAtConsole(world, "viewer");
    const many = world.guild.addMembers(60, { roles: [world.roles.moderator] });
    for (const { id } of many) await world.sandbox.waitFor(() => world.app.standing.of(id).isStaff);
    const pages = [];
    for (const page of [1, 2, 3]) pages.push(await world.slash(viewer, "staff list", { page }));
    const ids = pages.flatMap((text) => [...text.matchAll(/<@(\d+)>/g)].map(([, id]) => id));
    expect(pages.map((text) => text.split("\n").length)).toEqual([26, 26, 12]);
    expect(new Set(ids)).toEqual(new Set([...many, viewer].map(({ id }) => id)));
    expect(pages[2]).toContain("Page 3 of 3 · 61 in all");
  });
});
