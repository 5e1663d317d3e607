import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { Level } from "../support/world.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld({ env: { CONFIRM_IN_DISCORD: "permissions", SECOND_PERSON_FOR_DANGER: "true" } });
const reason = "For this test";
const staff = (level: Level): Promise<User> => staffAtConsole(shared.world, level);

const patchUser = (by: User, to: User, overrides: object[]) =>
  shared.world.patch(`/permissions/users/${to.id}`, { overrides: overrides.map((one) => ({ reason, ...one })) }, { actor: by });
const patchRole = (by: User, role: string, body: object) => shared.world.patch(`/permissions/roles/${role}`, body, { actor: by });
const accept = (by: User, code: string) => shared.world.slash(by, "confirm accept", { code });
const entriesOf = (person: User) => shared.world.app.database.read.userPermission.findMany({ where: { userId: person.id } });
const statusOf = async (id: string) => (await shared.world.app.database.read.confirmation.findUniqueOrThrow({ where: { id } })).status;
const about = (person: User, action: string) =>
  shared.world.app.database.read.auditEntry.count({ where: { subjectUserId: person.id, action } });

test("a change of a person waits for the acting person in Discord, and is made then", async () => {
  const { world } = shared;
  const [admin, viewer] = [await staff("admin"), await world.staff("viewer")];
  const held = await patchUser(admin, viewer, [{ key: "cases.close", effect: "allow" }]);
  expect([held.status, held.body.code]).toEqual([202, "confirmation_required"]);
  expect(held.body.data).toMatchObject({
    action: "permissions.users.update",
    needs: ["acting_user"],
    summary: `Change what the user ${viewer.id} holds: allow cases.close.`,
  });
  expect(held.headers.get("location")).toBe(`/confirmations/${held.body.data.id}`);
  expect([await entriesOf(viewer), await about(viewer, "user_permissions.update")]).toEqual([[], 0]);
  expect(await accept(admin, held.body.data.code)).toContain("Done");
  expect(await entriesOf(viewer)).toMatchObject([{ permission: "cases.close", effect: "allow", createdBy: admin.id, reason }]);
  expect(await about(viewer, "user_permissions.update")).toBe(1);
  expect(world.app.access.of(viewer.id).decide("cases.close").allowed).toBe(true);
});

test("a change that gives something dangerous waits for a second person besides, who holds it", async () => {
  const { world } = shared;
  const [owner, other, viewer] = [await staff("owner"), await staff("owner"), await world.staff("viewer")];
  const admin = await staff("admin");
  const held = await patchUser(owner, viewer, [
    { key: "staff.suspend", effect: "allow" },
    { key: "blacklist.purge", effect: "allow" },
    { key: "cases.close", effect: "allow" },
  ]);
  expect(held.body.data.needs).toEqual(["acting_user", "second_person"]);
  await accept(owner, held.body.data.code);
  expect(await entriesOf(viewer)).toEqual([]);
  expect(await accept(admin, held.body.data.code)).toContain("cannot_grant_unheld");
  expect(await accept(other, held.body.data.code)).toContain("Done");
  expect((await entriesOf(viewer)).map(({ createdBy }) => createdBy)).toEqual([owner.id, owner.id, owner.id]);
  // What gives nothing dangerous needs nobody else; taking a denial of something dangerous away does.
  const [denied, cleared] = [
    { key: "staff.suspend", effect: "deny" },
    { key: "staff.suspend", effect: "clear" },
  ];
  const deny = await patchUser(owner, viewer, [denied]);
  expect(deny.body.data.needs).toEqual(["acting_user"]);
  await accept(owner, deny.body.data.code);
  expect((await patchUser(owner, viewer, [cleared])).body.data.needs).toEqual(["acting_user", "second_person"]);
});

test("what is refused is refused at once and not held", async () => {
  const { world } = shared;
  const [admin, peer, viewer] = [await staff("admin"), await world.staff("admin"), await world.staff("viewer")];
  const before = await world.app.database.read.confirmation.count();
  expect((await patchUser(admin, peer, [{ key: "cases.close", effect: "deny" }])).status).toBe(403);
  expect((await patchUser(admin, viewer, [{ key: "cases.delete", effect: "allow" }])).status).toBe(403);
  expect((await patchRole(admin, "viewer", { allow: ["cases.delete"] })).status).toBe(403);
  expect((await patchUser(admin, viewer, [{ key: "no.such", effect: "allow" }])).status).toBe(422);
  const nothing = await patchUser(admin, viewer, [{ key: "cases.close", effect: "clear" }]);
  expect([nothing.status, nothing.body.data.revision]).toEqual([200, 0]);
  expect(await world.app.database.read.confirmation.count()).toBe(before);
});

test("when things have moved since, a confirmed change fails and leaves nothing", async () => {
  const { world } = shared;
  const [owner, admin, viewer] = [await staff("owner"), await staff("admin"), await world.staff("viewer")];
  const allow = [{ key: "cases.close", effect: "allow" }];
  const mine = await patchUser(admin, viewer, allow);
  const other = await patchUser(owner, viewer, [{ key: "staff.read", effect: "deny" }]);
  await accept(owner, other.body.data.code);
  expect(await accept(admin, mine.body.data.code)).toContain("precondition_failed");
  expect([await statusOf(mine.body.data.id), (await entriesOf(viewer)).map(({ permission }) => permission)]).toEqual([
    "failed",
    ["staff.read"],
  ]);

  const again = await patchUser(admin, viewer, allow);
  const taken = await patchUser(owner, admin, [{ key: "cases.close", effect: "deny" }]);
  await accept(owner, taken.body.data.code);
  expect(await accept(admin, again.body.data.code)).toContain("cannot_grant_unheld");

  const third = await patchUser(admin, viewer, [{ key: "cases.read", effect: "allow" }]);
  const barred = await patchUser(owner, admin, [{ key: "permissions.users.manage", effect: "deny" }]);
  await accept(owner, barred.body.data.code);
  expect(await accept(admin, third.body.data.code)).toContain("permission_denied");
  expect(await entriesOf(viewer)).toHaveLength(1);
});

test("clearing somebody, and both ways of changing a role, are held and carried out alike", async () => {
  const { world } = shared;
  const [owner, viewer] = [await staff("owner"), await world.staff("viewer")];
  const given = await patchUser(owner, viewer, [{ key: "cases.close", effect: "allow" }]);
  await accept(owner, given.body.data.code);
  const cleared = await world.delete(`/permissions/users/${viewer.id}`, { reason }, { actor: owner });
  expect([cleared.status, cleared.body.data.summary]).toEqual([202, `Change what the user ${viewer.id} holds: clear cases.close.`]);
  await accept(owner, cleared.body.data.code);
  expect(await entriesOf(viewer)).toEqual([]);

  const role = async () => (await world.get("/permissions/roles/senior")).body.data;
  const patched = await patchRole(owner, "senior", { allow: ["audit.export"], deny: ["cases.note"] });
  expect([patched.status, patched.body.data.summary]).toEqual([
    202,
    "Change what the staff role senior holds: allow audit.export; deny cases.note.",
  ]);
  expect(await role()).toMatchObject({ allow: [], deny: [], revision: 1 });
  await accept(owner, patched.body.data.code);
  expect(await role()).toMatchObject({ allow: ["audit.export"], deny: ["cases.note"], revision: 2 });
  const replaced = await world.put("/permissions/roles/senior", { allow: ["evidence.redact"], deny: [] }, { actor: owner });
  expect(replaced.body.data).toMatchObject({
    needs: ["acting_user", "second_person"],
    summary: "Change what the staff role senior holds: allow evidence.redact; clear audit.export, cases.note.",
  });
  await accept(owner, replaced.body.data.code);
  await accept(await staff("owner"), replaced.body.data.code);
  expect(await role()).toMatchObject({ allow: ["evidence.redact"], deny: [], revision: 3 });
});

test("the person it is about is no second person", async () => {
  const { world } = shared;
  const [owner, peer, third] = [await staff("owner"), await staff("owner"), await staff("owner")];
  const held = await patchUser(owner, peer, [{ key: "staff.suspend", effect: "allow" }]);
  await accept(owner, held.body.data.code);
  expect(await accept(peer, held.body.data.code)).toContain("conflict_of_interest");
  expect(await entriesOf(peer)).toEqual([]);
  expect(await accept(third, held.body.data.code)).toContain("Done");
  expect(await world.app.database.read.userPermission.count({ where: { userId: peer.id } })).toBe(1);
});
