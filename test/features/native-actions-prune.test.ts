import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { actionsOf, settled } from "./native-actions-ground.ts";

const shared = shareWorld();

const listOf = async (actor: User, query = "") =>
  (await shared.world.get(`/guilds/${shared.world.guild.id}/native-actions?limit=200${query}`, { actor })).body.data as Record<
    string,
    unknown
  >[];

test("a prune is one entry of its server without a person: who, how many, after how many days", async () => {
  const { world } = shared;
  const owner = await staffAtConsole(world, "owner");
  const mona = await world.staff("moderator");
  const gone = world.guild.addMembers(3);
  world.guild.prune(gone, { by: mona, days: 30, reason: "Nobody was here." });
  world.guild.ban(gone[0]!, { by: mona });
  await settled(world);
  const found = await listOf(owner, "&action=prune");
  expect(found).toMatchObject([
    {
      action: "prune",
      user_id: null,
      by: mona.id,
      members_removed: 3,
      inactive_days: 30,
      reason: "Nobody was here.",
      until: null,
      rule: null,
    },
  ]);
  expect((await listOf(owner)).map(({ action, user_id: user }) => [action, user])).toEqual([
    ["ban", gone[0]!.id],
    ["prune", null],
  ]);
  // It is about none of them, so it is in the history of none of them, and no kick of anybody.
  expect((await actionsOf(world, gone[0]!, owner)).map(({ action }) => action)).toEqual(["ban"]);
  expect(await actionsOf(world, gone[1]!, owner)).toEqual([]);
  expect((await world.get(`/users/${gone[1]!.id}/timeline`, { actor: owner })).body.data).toEqual([]);
  expect((await world.get(`/native-actions/${String(found[0]?.["id"])}`, { actor: owner })).status).toBe(404);

  const shown = await world.slash(owner, "intel by-hand");
  expect(shown).toContain("members removed: 3 · days inactive: 30");
  expect(shown).toContain(`<@${mona.id}>`);
  expect(shown).toContain(`<@${gone[0]!.id}>`);
  owner.locale = "de";
  expect(await world.slash(owner, "intel by-hand", { action: "prune" })).toContain("entfernte Mitglieder: 3 · Tage inaktiv: 30");
  expect(await world.slash(owner, "intel by-hand", { user: gone[1]! })).not.toContain("entfernte Mitglieder");

  const viewer = await world.staff("viewer");
  const refused = await world.get(`/guilds/${world.guild.id}/native-actions`, { actor: viewer });
  expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied", required: "cases.read" } });
});

test("what a prune does not say is not known, and what it says too much of is kept as far as it can be", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const before = (await listOf(owner, "&action=prune")).length;
  const prune = { action_type: 21, user_id: null, target_id: null };
  world.guild.writeAuditEntry(prune);
  world.guild.writeAuditEntry({ ...prune, options: { members_removed: "99999999999999", delete_member_days: "many" } });
  world.guild.writeAuditEntry({ ...prune, options: { members_removed: 4, delete_member_days: "\u0000" } });
  await settled(world);
  const found = await listOf(owner, "&action=prune");
  expect(found.slice(0, found.length - before).map((row) => [row["by"], row["members_removed"], row["inactive_days"]])).toEqual([
    [null, 4, null],
    [null, 2_147_483_647, null],
    [null, null, null],
  ]);
});

test("a timeout by AutoMod is the person's, by the rule and by nobody, and is taken for no moderator's", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const person = world.member();
  world.guild.timeoutByRule(person, "No invites", 600);
  await settled(world);
  expect(await actionsOf(world, person, owner)).toMatchObject([{ action: "timeout", by: null, rule: "No invites", until: null }]);
  const { body } = await world.get(`/users/${person.id}/timeline?kind=native_action`, { actor: owner });
  expect(body.data).toMatchObject([
    { event: "timeout", summary: `AutoMod timed them out on the server ${world.guild.id}, by the rule: No invites` },
  ]);
  expect(body.data[0]).not.toHaveProperty("actor_id");
});
