import { expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { Level } from "../support/world.ts";
import { everyRow, shareWorld } from "../contract/world.ts";

const shared = shareWorld();

type Lists = Partial<Record<"allow" | "deny" | "clear", string[]>>;
const patch = (by: User, key: string, body: Lists, headers: Record<string, string> = {}) =>
  shared.world.patch(`/permissions/roles/${key}`, body, { actor: by, headers });
const put = (by: User, key: string, body: Lists) => shared.world.put(`/permissions/roles/${key}`, body, { actor: by });
const mapping = async (key: string) => (await shared.world.get(`/permissions/roles/${key}`)).body.data;

/** A staff role of its own for one test, held by nobody else. */
async function freshRole(key: string, level: Level | "none", rank: number, by: User) {
  const { world } = shared;
  const role = world.guild.createRole(key);
  await world.sandbox.waitFor(() => world.app.guildState.role(world.guild.id, role.id) !== undefined);
  const discord = [{ guild_id: world.guild.id, role_id: role.id }];
  expect((await world.put(`/staffroles/${key}`, { name: key, rank, level, discord }, { actor: by })).status).toBe(200);
  const person = world.sandbox.createUser(`${key}-holder`);
  world.guild.addMember(person, { roles: [role] });
  await world.sandbox.waitFor(() => world.app.access.of(person.id).isStaff);
  return person;
}

async function expectNothing(act: () => Promise<void>): Promise<void> {
  const before = await everyRow(shared.world);
  await act();
  expect(await everyRow(shared.world)).toEqual(before);
}

test("keys are allowed, denied and cleared one by one; what is not named stays, unknown keys too", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const person = await freshRole("desk", "viewer", 20, owner);
  await put(owner, "desk", { allow: ["audit.read", "newer.thing"], deny: ["staff.read"] });
  const answer = await patch(owner, "desk", {
    allow: ["cases.read", "staff.read"],
    deny: ["audit.read", "other.newer"],
    clear: ["cases.note"],
  });
  expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"v3"']);
  expect(answer.body.data).toMatchObject({
    allow: ["cases.read", "newer.thing", "staff.read"],
    deny: ["audit.read", "other.newer"],
    unknown: ["newer.thing", "other.newer"],
    revision: 3,
  });
  expect((await world.get("/staff", { actor: person })).status).toBe(200);
  expect((await world.get("/audit", { actor: person })).body.code).toBe("permission_denied");
  const cleared = await patch(owner, "desk", { clear: ["cases.read", "staff.read", "audit.read", "newer.thing", "other.newer"] });
  expect(cleared.body.data).toMatchObject({ allow: [], deny: [], unknown: [], revision: 4 });
  await world.app.access.load();
  expect(await mapping("desk")).toEqual(cleared.body.data);
});

test("a role that holds what should not be in the same hands says so, and no level does by default", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  await freshRole("archive", "admin", 20, owner);
  expect((await mapping("archive")).conflicts).toEqual([]);
  const changed = await patch(owner, "archive", { allow: ["cases.delete"] });
  expect(changed.body.data.conflicts).toEqual([["cases.delete", "evidence.redact"]]);
  expect((await patch(owner, "archive", { deny: ["evidence.redact"] })).body.data.conflicts).toEqual([]);
  await freshRole("keepers", "owner", 30, owner);
  expect((await mapping("keepers")).conflicts).toEqual([]);
  const catalog = (await world.get("/permissions/catalog?limit=200")).body.data as { key: string; conflicts: string[] }[];
  expect(catalog.find(({ key }) => key === "evidence.redact")?.conflicts).toEqual(["blacklist.purge", "cases.delete"]);
  expect(catalog.find(({ key }) => key === "cases.delete")?.conflicts).toEqual(["evidence.redact"]);
});

test("a change is audited and told once, and one that changes nothing is neither", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  await freshRole("told", "viewer", 20, owner);
  const count = async () => [
    await world.app.database.read.auditEntry.count({ where: { action: "role_permissions.update", targetId: "told" } }),
    (await world.app.database.read.outboxEvent.findMany({ where: { type: "permission.changed" } })).filter(
      (event) => (event.data as { role_key?: string }).role_key === "told",
    ).length,
  ];
  await patch(owner, "told", { allow: ["audit.read"] });
  expect(await count()).toEqual([1, 1]);
  const same = await patch(owner, "told", { allow: ["audit.read"], clear: ["cases.read"] });
  expect([same.status, same.body.data.revision, await count()]).toEqual([200, 2, [1, 1]]);
  await put(owner, "told", { allow: ["audit.read"], deny: [] });
  expect(await count()).toEqual([1, 1]);
  await put(owner, "told", { allow: [], deny: [] });
  expect(await count()).toEqual([2, 2]);
});

test("what cannot be is refused by its field, and an outdated If-Match too; nothing changes", async () => {
  const owner = await shared.world.staff("owner");
  await freshRole("strict", "viewer", 20, owner);
  await expectNothing(async () => {
    const flaws: [Lists & { other?: string }, string, string][] = [
      [{ allow: ["cases.read"], deny: ["cases.read"] }, "/deny/0", "contradiction"],
      [{ deny: ["cases.note", "cases.read"], clear: ["cases.read"] }, "/clear/0", "contradiction"],
      [{ allow: ["cases.read"], clear: ["cases.read"] }, "/clear/0", "contradiction"],
      [{}, "/allow", "required"],
      [{ allow: [] }, "/allow", "required"],
      [{ allow: ["Not a key"] }, "/allow/0", "invalid_format"],
      [{ allow: ["cases.read"], other: "x" }, "/other", "unknown_field"],
    ];
    for (const [body, pointer, code] of flaws) {
      const answer = await patch(owner, "strict", body);
      expect([body, answer.status, answer.body.errors]).toMatchObject([body, 422, [{ pointer, code }]]);
    }
    const late = await patch(owner, "strict", { allow: ["cases.read"] }, { "if-match": '"v9"' });
    expect([late.status, late.body.current_etag]).toEqual([412, '"v1"']);
    expect((await patch(owner, "nowhere", { allow: ["cases.read"] })).status).toBe(404);
  });
});

test("nobody edits a role at or above their own rank, nor loosens what they do not hold", async () => {
  const { world } = shared;
  const [owner, admin] = [await world.staff("owner"), await world.staff("admin")];
  await freshRole("loose", "viewer", 20, owner);
  await put(owner, "loose", { allow: ["blacklist.purge"], deny: ["workflows.override", "staff.read"] });
  await world.patch(
    `/permissions/users/${admin.id}`,
    {
      overrides: [
        { key: "cases.delete", effect: "allow", expires_at: new Date(Date.now() + 3_600_000).toISOString(), reason: "for a while" },
        { key: "cases.note", effect: "deny", scope: world.guild.id, reason: "not in this guild" },
        { key: "clients.manage", effect: "allow", scope: null, reason: "network only" },
        { key: "staff.discipline", effect: "deny", reason: "not at all" },
      ],
    },
    { actor: owner },
  );
  await expectNothing(async () => {
    for (const key of ["admin", "owner"]) expect((await patch(admin, key, { deny: ["cases.read"] })).body.code).toBe("hierarchy_violation");
    const refused: [Lists, string[]][] = [
      [{ allow: ["system.settings.manage", "cases.read"] }, ["system.settings.manage"]],
      // A denial that goes may give its key to those who hold it by another role.
      [{ clear: ["workflows.override"] }, ["workflows.override"]],
      [{ allow: ["workflows.override"] }, ["workflows.override"]],
      // Held for a while only, or not in every guild: a role gives for good and everywhere.
      [{ allow: ["cases.delete"] }, ["cases.delete"]],
      [{ allow: ["cases.note"] }, ["cases.note"]],
      [{ allow: ["staff.discipline"] }, ["staff.discipline"]],
      [{ allow: ["system.act"] }, ["system.act"]],
      [{ allow: ["newer.thing"] }, ["newer.thing"]],
    ];
    for (const [body, unheld] of refused) {
      const answer = await patch(admin, "loose", body);
      expect([body, answer.status, answer.body.code, answer.body.unheld]).toEqual([body, 403, "cannot_grant_unheld", unheld]);
    }
    expect((await put(admin, "loose", { allow: ["blacklist.purge"], deny: ["staff.read"] })).body.unheld).toEqual(["workflows.override"]);
  });
  expect((await patch(admin, "loose", { allow: ["clients.manage", "staff.read"], deny: ["blacklist.purge"] })).status).toBe(200);
  expect((await patch(admin, "loose", { allow: ["blacklist.purge"] })).body.unheld).toEqual(["blacklist.purge"]);
});

test("editors at the same moment lose nothing of each other", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  await freshRole("busy", "none", 20, owner);
  const keys = ["cases.read", "cases.note", "cases.close", "cases.reopen", "cases.create", "cases.update", "audit.read", "staff.read"];
  const answers = await Promise.all(keys.map((key) => patch(owner, "busy", { allow: [key] })));
  expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 200));
  expect(await mapping("busy")).toMatchObject({ allow: keys.toSorted(), revision: 9 });
});
