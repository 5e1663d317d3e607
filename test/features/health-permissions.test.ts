import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import type { Role } from "../../sandbox/index.ts";
import { createWorld } from "../support/world.ts";

test("GET /health names what the bot lacks of what a server is set up for, and nothing else", async () => {
  const world = await createWorld({ furtherGuilds: ["Quay"] });
  const { guild } = world;
  const owner = await staffAtConsole(world, "owner");
  const check = async () => (await world.get("/health")).body.checks.discord_permissions;
  const own = guild.botRole as Role;

  // Nothing is set up, so nothing is needed.
  guild.setRolePermissions(own, ["ViewChannel"]);
  expect(await check()).toEqual({ status: "pass" });

  const rules = { warning: { level: "admin" }, kick: { level: "admin" }, ban: { level: "admin" } };
  expect((await world.put(`/guilds/${guild.id}/direct`, rules, { actor: owner })).status).toBe(200);
  expect(await check()).toEqual({
    status: "warn",
    reason: "In Harbour I don't have what is needed there: Kick Members, Ban Members. Give it to my role under Server Settings → Roles.",
  });
  guild.setRolePermissions(own, ["ViewChannel", "KickMembers", "BanMembers"]);
  expect(await check()).toEqual({ status: "pass" });

  // A rule about listed people gives a role, which then moves above the bot's.
  const jail = guild.createRole("Jail");
  const stance = { rules: [{ category: "any", stance: "apply", action: "role", role_id: jail.id }] };
  const put = await world.put(`/guilds/${guild.id}/stance`, stance, { actor: owner });
  expect(put.status, JSON.stringify(put.body)).toBe(200);
  expect(await check()).toMatchObject({ status: "warn", reason: expect.stringContaining("needed there: Manage Roles.") });
  guild.setRolePermissions(own, ["ManageRoles", "KickMembers", "BanMembers"]);
  expect(await check()).toEqual({ status: "pass" });
  guild.moveRole(jail, 400);
  expect(await check()).toMatchObject({
    status: "warn",
    reason: `I can't give them the role Jail in Harbour: my highest role, ${own.name}, is below it. Move ${own.name} above it under Server Settings → Roles.`,
  });
  // Somebody without the right to see it learns that something is wrong, and not what.
  expect((await world.get("/health", { key: null })).body.checks.discord_permissions).toEqual({ status: "warn" });
});
