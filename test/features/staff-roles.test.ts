import { expect, test } from "vitest";
import { catalog } from "../../src/kernel/permissions.ts";
import { createHouse } from "./staff-house.ts";

const role = { name: "Helper", rank: 5, level: "viewer", discord: [] as { guild_id: string; role_id: string }[] };

test("a staff role is created, read, replaced and kept in step with Discord", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const helper = house.guild.createRole("helper");
  const person = house.sandbox.createUser("hana");
  house.guild.addMember(person, { roles: [helper] });
  await house.sandbox.waitFor(() => house.guildState.role(house.guild.id, helper.id) !== undefined);
  const discord = [{ guild_id: house.guild.id, role_id: helper.id }];
  const made = await house.put("/staffroles/helper", { ...role, discord }, { actor: owner });
  expect([made.status, made.headers.get("etag")]).toEqual([200, '"v1"']);
  expect(made.body.data).toMatchObject({
    key: "helper",
    discord: [{ role_id: helper.id, name: "helper", missing: false }],
    hoist: false,
    self_assignable: false,
    capacity: null,
  });
  await house.sandbox.waitFor(() => house.access.of(person.id).isStaff);
  expect((await house.get("/staffroles/helper")).body.data).toMatchObject({ members_count: 1, permissions_count: 15 });
  const renamed = await house.put(
    "/staffroles/helper",
    { ...role, discord, name: "Aide" },
    { actor: owner, headers: { "if-match": '"v1"' } },
  );
  expect(renamed.body.data).toMatchObject({ name: "Aide", revision: 2 });
  const same = await house.put("/staffroles/helper", { ...role, discord, name: "Aide" }, { actor: owner });
  expect(same.body.data.revision).toBe(2);
  house.guild.hoistRole(helper, true);
  await house.sandbox.waitFor(() => house.guildState.role(house.guild.id, helper.id)?.hoist === true);
  expect((await house.get("/staffroles/helper")).body.data).toMatchObject({ hoist: true, revision: 2 });
  const stored = await house.database.read.guildRole.findFirst({ where: { id: helper.id } });
  expect(stored).toMatchObject({ hoist: true });
  house.guild.deleteRole(helper);
  await house.sandbox.waitFor(() => house.guildState.role(house.guild.id, helper.id) === undefined);
  expect((await house.get("/staffroles/helper")).body.data.discord).toEqual([
    { guild_id: house.guild.id, role_id: helper.id, name: null, missing: true },
  ]);
  const actions = await house.database.read.auditEntry.findMany({ where: { targetId: "helper", via: "rest" }, orderBy: { seq: "asc" } });
  expect(actions.map(({ action, actorId }) => [action, actorId])).toEqual([
    ["staff_role.create", owner.id],
    ["staff_role.update", owner.id],
  ]);
});

test("an outdated If-Match changes nothing", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const before = await house.auditCount();
  for (const path of ["/staffroles/viewer", "/permissions/roles/viewer"]) {
    const body = path.startsWith("/staff") ? role : { allow: [], deny: ["staff.read"] };
    const answer = await house.put(path, body, { actor: owner, headers: { "if-match": '"v9"' } });
    expect([answer.status, answer.body.code, answer.body.current_etag]).toEqual([412, "precondition_failed", '"v1"']);
  }
  expect((await house.put("/staffroles/none", role, { actor: owner, headers: { "if-match": '"v1"' } })).status).toBe(412);
  expect(await house.auditCount()).toBe(before);
});

test("what cannot stand for a staff role is refused where it stands", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const [guild_id, role_id] = [house.guild.id, house.roles.viewer.id];
  const put = async (discord: { guild_id: string; role_id: string }[]) =>
    (await house.put("/staffroles/x", { ...role, discord }, { actor: owner })).body;
  const wrong = (pointer: string, code: string) => ({ code: "validation_failed", errors: [{ in: "body", pointer, code }] });
  expect(await put([{ guild_id, role_id: "80351110224678912" }])).toMatchObject(wrong("/discord/0/role_id", "unknown_role"));
  expect(await put([{ guild_id: "80351110224678912", role_id }])).toMatchObject(wrong("/discord/0/guild_id", "unknown_guild"));
  expect(await put([{ guild_id, role_id: guild_id }])).toMatchObject(wrong("/discord/0/role_id", "everyone_role"));
  expect(
    await put([
      { guild_id, role_id },
      { guild_id, role_id },
    ]),
  ).toMatchObject(wrong("/discord/1/role_id", "repeated"));
  expect(await put([{ guild_id, role_id }])).toMatchObject({ code: "duplicate_active_record", staff_role: "viewer" });
  expect(await house.database.read.staffRole.findUnique({ where: { key: "x" } })).toBeNull();
});

test("nobody but an owner touches what stands at or above them, or climbs by a role", async () => {
  const house = await createHouse();
  const [admin, owner] = [await house.person("admin"), await house.person("owner")];
  const before = await house.auditCount();
  const put = async (key: string, body: object) =>
    (await house.put(`/staffroles/${key}`, { ...role, ...body }, { actor: admin })).body.code;
  expect(await put("admin", { rank: 1 })).toBe("hierarchy_violation");
  expect(await put("owner", { rank: 1 })).toBe("hierarchy_violation");
  expect(await put("x", { rank: 80 })).toBe("hierarchy_violation");
  expect(await put("x", { rank: 1, level: "owner" })).toBe("hierarchy_violation");
  const grant = async (key: string, allow: string[]) =>
    (await house.put(`/permissions/roles/${key}`, { allow, deny: [] }, { actor: admin })).body.code;
  expect(await grant("admin", ["cases.delete"])).toBe("hierarchy_violation");
  expect(await grant("viewer", ["cases.delete"])).toBe("cannot_grant_unheld");
  expect(await grant("viewer", ["system.act"])).toBe("cannot_grant_unheld");
  expect(await house.auditCount()).toBe(before);
  expect((await house.put("/staffroles/x", { ...role, rank: 90, level: "owner" }, { actor: owner })).status).toBe(200);
});

test("mapping a Discord role to a staff role cannot give what its author lacks", async () => {
  const house = await createHouse();
  const [admin, owner] = [await house.person("admin"), await house.person("owner")];
  await house.put("/permissions/roles/viewer", { allow: ["cases.delete"], deny: [] }, { actor: owner });
  const extra = house.guild.createRole("extra");
  await house.sandbox.waitFor(() => house.guildState.role(house.guild.id, extra.id) !== undefined);
  const ref = (id: string) => ({ guild_id: house.guild.id, role_id: id });
  const body = { name: "viewer", rank: 10, level: "viewer", discord: [ref(house.roles.viewer.id), ref(extra.id)] };
  expect((await house.put("/staffroles/viewer", body, { actor: admin })).body).toMatchObject({
    code: "cannot_grant_unheld",
    unheld: ["cases.delete"],
  });
  expect(
    (await house.put("/staffroles/viewer", { ...body, discord: [ref(house.roles.viewer.id)], name: "Viewers" }, { actor: admin })).status,
  ).toBe(200);
});

test("the last owner stays", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const put = (body: object) =>
    house.put("/staffroles/owner", { name: "owner", rank: 100, level: "owner", discord: [], ...body }, { actor: owner });
  expect((await put({})).body.code).toBe("last_owner");
  expect((await put({ level: "admin", discord: [{ guild_id: house.guild.id, role_id: house.roles.owner.id }] })).body.code).toBe(
    "last_owner",
  );
  expect(await house.access.resolve(owner.id)).toMatchObject({ isOwner: true });
});

test("role permissions are replaced as a set, effective at once, with unknown keys kept", async () => {
  const house = await createHouse();
  const [owner, viewer] = [await house.person("owner"), await house.person("viewer")];
  const body = { allow: ["audit.read", "newer.thing"], deny: ["staff.read"] };
  const answer = await house.put("/permissions/roles/viewer", body, { actor: owner });
  expect(answer.body.data).toMatchObject({ role_key: "viewer", level: "viewer", ...body, unknown: ["newer.thing"], revision: 2 });
  expect(answer.body.data.effective).toContain("audit.read");
  expect(answer.body.data.effective).not.toContain("staff.read");
  expect((await house.get("/staff", { actor: viewer })).body).toMatchObject({ code: "permission_denied", required: "staff.read" });
  expect((await house.get(`/staff/${viewer.id}/access`)).body.data).toMatchObject({ denied: ["staff.read"] });
  await house.access.load();
  expect((await house.get("/permissions/roles/viewer")).body.data).toEqual(answer.body.data);
  const listed = (await house.get("/permissions/roles")).body.data;
  expect(listed.map((one: { role_key: string }) => one.role_key)).toEqual(["admin", "moderator", "owner", "senior", "viewer"]);
  const both = await house.put("/permissions/roles/viewer", { allow: ["audit.read"], deny: ["audit.read"] }, { actor: owner });
  expect([both.status, both.body.errors]).toMatchObject([422, [{ pointer: "/allow/0", code: "contradiction" }]]);
  expect((await house.put("/permissions/roles/none", body, { actor: owner })).status).toBe(404);
});

test("a repeated write with the same idempotency key has one effect and the same answer", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const asked = { actor: owner, headers: { "idempotency-key": "once-and-only-once" } };
  const first = await house.put("/staffroles/x", role, asked);
  const before = await house.auditCount();
  const second = await house.put("/staffroles/x", role, asked);
  expect([second.status, second.body, second.headers.get("idempotency-replayed")]).toEqual([first.status, first.body, "true"]);
  expect(await house.auditCount()).toBe(before);
});

test("parallel writers of one Discord role leave it with one staff role", async () => {
  const house = await createHouse();
  const owner = await house.person("owner");
  const extra = house.guild.createRole("extra");
  await house.sandbox.waitFor(() => house.guildState.role(house.guild.id, extra.id) !== undefined);
  const discord = [{ guild_id: house.guild.id, role_id: extra.id }];
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_, index) => house.put(`/staffroles/r${index.toString()}`, { ...role, discord }, { actor: owner })),
  );
  expect(answers.map((answer) => answer.status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409, 409, 409]);
});

test("the catalog is listed in pages", async () => {
  const house = await createHouse();
  const first = (await house.get("/permissions/catalog?limit=100")).body;
  const second = (await house.get(`/permissions/catalog?limit=100&cursor=${first.page.next_cursor}`)).body;
  expect([first.data.length, second.data.length, second.page.has_more]).toEqual([100, catalog.length - 100, false]);
  expect(first.data.find((entry: { key: string }) => entry.key === "staffroles.manage")).toMatchObject({
    default_level: "admin",
    danger: true,
    group: "staffroles",
  });
});
