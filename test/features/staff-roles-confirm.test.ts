import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "permissions", SECOND_PERSON_FOR_DANGER: "true" } });
const accept = (by: User, code: string) => shared.world.slash(by, "confirm accept", { code });
const roleRow = (key: string) => shared.world.app.database.read.staffRole.findUnique({ where: { key }, include: { discord: true } });
const audited = (key: string) =>
  shared.world.app.database.read.auditEntry.count({ where: { targetId: key, action: { startsWith: "staff_role." } } });

async function freshRole() {
  const { world } = shared;
  const role = world.guild.createRole("fresh");
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id));
  return { guild_id: world.guild.id, role_id: role.id };
}

test("a Discord role that is to stand for a dangerous staff role waits for two people", async () => {
  const { world } = shared;
  const [owner, other] = [await staffAtConsole(world, "owner"), await staffAtConsole(world, "owner")];
  const mapping = await freshRole();
  const holder = world.member();
  const body = { name: "Deputies", rank: 50, level: "admin", discord: [mapping] };
  const held = await world.put("/staffroles/deputies", body, { actor: owner });
  expect([held.status, held.body.code]).toEqual([202, "confirmation_required"]);
  expect(held.body.data).toMatchObject({
    action: "staffroles.change",
    needs: ["acting_user", "second_person"],
    summary: "Create the staff role deputies: level admin, rank 50, 1 Discord role.",
  });
  expect([await roleRow("deputies"), await audited("deputies"), world.app.access.role("deputies")]).toEqual([null, 0, undefined]);
  await accept(owner, held.body.data.code);
  expect(await roleRow("deputies")).toBeNull();
  expect(await accept(other, held.body.data.code)).toContain("Done");
  expect(await roleRow("deputies")).toMatchObject({ level: "admin", rank: 50, discord: [{ roleId: mapping.role_id }] });
  expect(await audited("deputies")).toBe(1);
  world.guild.setRoles(holder, [{ id: mapping.role_id } as never]);
  await world.sandbox.waitFor(() => world.app.access.of(holder.id).level === "admin");
});

test("a name or a number waits for nobody; a level, a rank, a mapping and a deletion wait", async () => {
  const { world } = shared;
  const owner = await staffAtConsole(world, "owner");
  const patch = (body: object) => world.patch("/staffroles/viewer", body, { actor: owner });
  expect((await patch({ name: "Viewers", capacity: 9 })).status).toBe(200);
  expect((await roleRow("viewer"))?.name).toBe("Viewers");
  for (const body of [{ level: "none" }, { rank: 11 }, { discord: [] }, { level: "moderator", name: "Up" }])
    expect((await patch(body)).body.data).toMatchObject({ status: "pending", needs: ["acting_user"] });
  const removal = await world.delete("/staffroles/viewer", undefined, { actor: owner });
  expect(removal.body.data).toMatchObject({ needs: ["acting_user"], summary: "Delete the staff role viewer." });
  expect(await roleRow("viewer")).toMatchObject({ name: "Viewers", level: "viewer", rank: 10 });
  expect(await accept(owner, removal.body.data.code)).toContain("Done");
  expect(await roleRow("viewer")).toBeNull();
});

test("what has changed meanwhile is not changed by an older word", async () => {
  const { world } = shared;
  const owner = await staffAtConsole(world, "owner");
  const held = await world.patch("/staffroles/moderator", { rank: 41 }, { actor: owner });
  expect((await world.patch("/staffroles/moderator", { name: "Mods" }, { actor: owner })).status).toBe(200);
  expect(await accept(owner, held.body.data.code)).toContain("precondition_failed");
  expect(await roleRow("moderator")).toMatchObject({ name: "Mods", rank: 40 });
  const { body } = await world.get(`/confirmations/${held.body.data.id}`, { actor: owner });
  expect(body.data).toMatchObject({ status: "failed", failure: "precondition_failed" });
});

test("whoever makes people staff holds what waits for them in their own entries", async () => {
  const { world } = shared;
  const [owner, admin] = [await staffAtConsole(world, "owner"), await staffAtConsole(world, "admin")];
  const mapping = await freshRole();
  const stranger = world.member();
  const grant = { overrides: [{ key: "cases.delete", effect: "allow", reason: "for later" }] };
  const held = await world.patch(`/permissions/users/${stranger.id}`, grant, { actor: owner });
  const codes = [held.body.data.code];
  for (const code of codes) await accept(owner, code);
  await accept(await staffAtConsole(world, "owner"), held.body.data.code);
  expect(await world.app.database.read.userPermission.count({ where: { userId: stranger.id } })).toBe(1);
  world.guild.setRoles(stranger, [{ id: mapping.role_id } as never]);
  await world.sandbox.waitFor(() => world.app.guildState.members(stranger.id).some(({ roleIds }) => roleIds.includes(mapping.role_id)));
  const body = { name: "Helpers", rank: 5, level: "viewer", discord: [mapping] };
  const refused = await world.put("/staffroles/helpers", body, { actor: admin });
  expect(refused.body).toMatchObject({ status: 403, code: "cannot_grant_unheld", unheld: ["cases.delete"] });
  expect(await roleRow("helpers")).toBeNull();
});
