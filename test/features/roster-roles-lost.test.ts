import { beforeAll, describe, expect, test } from "vitest";
import type { Role, User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";
import { soonBack } from "../support/pauses.ts";
import { createWorld, type World } from "../support/world.ts";
import { change, findingOf, ok, run } from "./roster-audit-ground.ts";
import { alone, createMovedClock, enlist, entryOf, job, until } from "./roster-sync-ground.ts";

const clock = createMovedClock();
const shared = shareWorld({ env: { ROSTER_FOLLOWS_DISCORD: "true" }, clock, pauses: { discord: soonBack } });
let world: World;
let owner: User;
beforeAll(async () => {
  ({ world } = shared);
  owner = await world.staff("owner");
});

/** A staff role of its own, and somebody who came on the roster by its Discord role. */
async function hired(key: string): Promise<{ user: User; role: Role }> {
  clock.pass(3_600_000);
  const role = world.guild.createRole(key);
  const discord = [{ guild_id: world.guild.id, role_id: role.id }];
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id) !== undefined);
  await world.app.staff.roles.put(job(), key, { name: key, rank: 20, level: "viewer", discord });
  const user = world.member(key);
  world.guild.setRoles(user, [role]);
  await until(
    () => entryOf(world, user),
    (entry) => entry?.staffRole === key,
  );
  return { user, role };
}

/** What else stands for a staff role is seen by the job, and so is whose last role is gone. */
async function isStripped(user: User): Promise<void> {
  await until(
    async () => {
      await world.app.runJobs();
      return entryOf(world, user);
    },
    (entry) => entry?.staffRole === null && JSON.stringify(entry.heldRoles) === "[]",
    100_000,
  );
  await world.app.runJobs();
}

const shown = async ({ id }: User) => ok(await world.get(`/roster/${id}`, { actor: owner })).data;
const report = async ({ id }: User) => ok(await world.post("/roster/sync-member", { discord_user_id: id }, { actor: owner })).data;
const found = async ({ id }: User) =>
  (await run(world, owner, { checks: ["left_guild", "missing_role"] })).findings.filter((one: any) => one.user.id === id);

const losses: Record<string, (one: { user: User; role: Role }) => Promise<void> | void> = {
  "their last role is taken": ({ user }) => world.guild.setRoles(user, []),
  "their last role is deleted in Discord": ({ role }) => world.guild.deleteRole(role),
  "their last role is taken during an outage": ({ user }) => {
    world.sandbox.faults.invalidateSessions();
    world.guild.setRoles(user, []);
  },
  "no Discord role stands for their staff role any more": async ({ role }) => {
    await world.app.staff.roles.put(job(), role.name, { name: role.name, rank: 20, level: "viewer", discord: [] });
  },
};

describe("who stays on the roster without any staff role", () => {
  test.each(Object.keys(losses).map((name, index) => [name, index] as const))(
    "because %s is shown by the entry, by the comparison and by an audit, which can end the entry",
    async (name, index) => {
      const one = await hired(`lost-${index.toString()}`);
      const { user } = one;
      expect(await shown(user)).toMatchObject({ status: "active", discord: { drift: [] } });
      await losses[name]?.(one);
      await isStripped(user);
      expect(await shown(user)).toMatchObject({ status: "active", staff_role: null, discord: { drift: ["missing_role"] } });
      expect(await report(user)).toMatchObject({
        in_sync: false,
        changes: [{ field: "entry", discord: null, roster: "active", action: "none", applied: false, reason: expect.any(String) }],
      });
      const [finding, ...others] = await found(user);
      expect(others).toEqual([]);
      expect(finding).toMatchObject({ code: "missing_role", severity: "warning", fix: { action: "resign" } });
      const fix = { findings: [finding.id], reason: "No role any more" };
      const planned = ok(await world.post("/roster/audit/fixes", { ...fix, dry_run: true }, { actor: owner })).data.results;
      expect(planned).toMatchObject([{ outcome: "planned", detail: finding.fix.detail }]);
      expect(ok(await world.post("/roster/audit/fixes", fix, { actor: owner })).data.results).toMatchObject([{ outcome: "fixed" }]);
      expect(await shown(user)).toMatchObject({ status: "resigned", discord: { drift: [] } });
      expect(await found(user)).toEqual([]);
    },
    120_000,
  );

  test("is not ended by a fix that was to give the role back, nor by one after they got a role again", async () => {
    const quiet = await createWorld({ env: alone });
    const admin = await quiet.staff("owner");
    const user = quiet.member("between");
    await enlist(quiet, user, "viewer");
    await quiet.app.runJobs();
    const audited = async () => findingOf(await run(quiet, admin, { checks: ["missing_role"] }), "missing_role", user.id);
    const fix = async ({ id }: { id: string }) =>
      ok(await quiet.post("/roster/audit/fixes", { findings: [id], reason: "as planned" }, { actor: admin })).data.results;
    const before = await audited();
    expect(before.fix.action).toBe("sync_roles");
    ok(await quiet.post("/roster/sync-member", { discord_user_id: user.id, direction: "from_discord" }, { actor: admin }));
    await quiet.app.runJobs();
    expect(await fix(before)).toMatchObject([{ outcome: "gone" }]);
    const after = await audited();
    quiet.guild.setRoles(user, [quiet.roles.viewer]);
    await quiet.sandbox.waitFor(() => quiet.app.access.of(user.id).held.length > 0);
    expect(await fix(after)).toMatchObject([{ outcome: "gone" }]);
    expect((await entryOf(quiet, user))?.status).toBe("active");
  });

  test("because they have left the guild is found as that alone", async () => {
    const { user } = await hired("gone");
    world.guild.kick(user);
    await isStripped(user);
    expect((await shown(user)).discord.drift).toEqual(["left_guild"]);
    expect(await report(user)).toMatchObject({ in_sync: false, changes: [{ field: "entry", roster: "active" }] });
    expect((await found(user)).map(({ code }: any) => code)).toEqual(["left_guild"]);
  });

  test("because a comparison took over what Discord shows is found, also where the roster does not follow", async () => {
    clock.pass(3_600_000);
    const quiet = await createWorld({ env: alone });
    const admin = await quiet.staff("owner");
    const user = quiet.member("compared");
    await enlist(quiet, user, "viewer");
    const asked = { discord_user_id: user.id, direction: "from_discord" };
    ok(await quiet.post("/roster/sync-member", asked, { actor: admin }));
    await quiet.app.runJobs();
    // Whoever comes to be known of is read from Discord first.
    const entry = await until(
      async () => ok(await quiet.get(`/roster/${user.id}`, { actor: admin })).data,
      ({ discord }: any) => discord.drift.length > 0,
    );
    expect(entry).toMatchObject({ staff_role: null, discord: { drift: ["missing_role"] } });
    findingOf(await run(quiet, admin, { checks: ["missing_role"] }), "missing_role", user.id);
  });

  test("is found no more once they hold one again, and never where they never held one or are suspended", async () => {
    const { user, role } = await hired("back");
    world.guild.setRoles(user, []);
    await isStripped(user);
    expect(await found(user)).toHaveLength(1);
    await change(world, user, { status: "suspended" });
    expect(await found(user)).toEqual([]);
    await change(world, user, { status: "active" });
    world.guild.setRoles(user, [role]);
    await until(
      () => entryOf(world, user),
      (entry) => entry?.staffRole === "back",
    );
    expect(await found(user)).toEqual([]);
    expect((await shown(user)).discord.drift).toEqual([]);
    const never = world.member("never");
    await enlist(world, never, null);
    await world.app.runJobs();
    expect(await found(never)).toEqual([]);
    expect((await report(never)).changes.map(({ field }: any) => field)).not.toContain("entry");
    expect((await shown(never)).discord.drift).toEqual([]);
  });
});
