import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { createHouse } from "./staff-house.ts";

const shared = shareWorld();
const cast: Record<"owner" | "admin" | "senior", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "senior"] as const) cast[level] = await shared.world.staff(level);
  cast.admin = await staffAtConsole(shared.world, "admin");
});

const reason = "Under review.";
const suspend = (person: User, actor: User, body: object = {}) =>
  shared.world.post(`/staff/${person.id}/suspend`, { reason, ...body }, { actor });
const reinstate = (person: User, actor: User, body: object = {}) =>
  shared.world.post(`/staff/${person.id}/reinstate`, { reason: "Nothing was found.", ...body }, { actor });
const access = async ({ id }: User) => (await shared.world.get(`/staff/${id}/access`)).body.data;
const rowsOf = ({ id }: User) => shared.world.app.database.read.userPermission.findMany({ where: { userId: id } });
const setOf = ({ id }: User) => shared.world.app.database.read.userPermissionSet.findUnique({ where: { userId: id } });
const auditAbout = async ({ id }: User) => (await shared.world.get(`/audit?subject=${id}&action_prefix=staff.`)).body.data as any[];
const eventsAbout = async ({ id }: User) => {
  const rows = await shared.world.app.database.read.outboxEvent.findMany({
    where: { type: "staff.access_changed" },
    orderBy: { seq: "asc" },
  });
  return rows.map(({ data, permission }) => ({ ...(data as any), permission })).filter((data) => data.user_id === id);
};
const file = (actor: User) =>
  shared.world.post("/workflows/investigation", { subject: { kind: "user", id: cast.owner.id }, allegation: "Nothing at all." }, { actor });

describe("a suspension", () => {
  test("takes every permission away at once, through both doors, and gives it back", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "senior");
    expect(await world.slash(person, "staff access", { user: cast.owner })).toContain("has access");
    expect((await file(person)).status).toBe(201);
    const { etag } = Object.fromEntries((await world.get(`/staff/${person.id}/access`)).headers) as { etag: string };

    const answer = await suspend(person, cast.admin, { duration: "7d" });
    expect([answer.status, answer.headers.get("etag")]).toEqual([200, '"v1"']);
    const { suspension } = answer.body.data;
    expect(answer.body.data).toMatchObject({ user_id: person.id, status: "suspended", revision: 1 });
    expect(suspension).toMatchObject({ reason, by: cast.admin.id });
    expect(Date.parse(suspension.until) - Date.parse(suspension.at)).toBe(7 * 86_400_000);

    const fresh = await world.get(`/staff/${person.id}/access`, { headers: { "if-none-match": etag } });
    expect(fresh.body.data).toMatchObject({
      allowed: false,
      level: "senior",
      status: "suspended",
      permissions: [],
      denied: ["*"],
      reasons: [{ code: "suspension", ref: suspension.id }, { code: "role_mapping" }],
      expires_at: suspension.until,
    });
    expect((await file(person)).body).toMatchObject({ code: "permission_denied", missing_in: "acting_user" });
    expect((await world.get("/staff", { actor: person })).body.code).toBe("permission_denied");
    expect(await world.slash(person, "staff access", { user: cast.owner })).toContain("permission_denied");
    expect(await world.slash(person, "staff quiet-hours", { none: true })).toContain("permission_denied");
    expect(await world.slash(person, "staff suspend", { user: await world.staff("viewer"), reason })).toContain("permission_denied");

    const back = await reinstate(person, cast.admin);
    expect(back.body.data).toEqual({ user_id: person.id, status: "active", suspension: null, revision: 2, keys: [] });
    expect(await access(person)).toMatchObject({ allowed: true, status: "active", denied: [], expires_at: null });
    expect((await world.get("/staff", { actor: person })).status).toBe(200);
    expect([await rowsOf(person), (await setOf(person))?.revision]).toEqual([[], 2]);
    const [ended, begun] = await auditAbout(person);
    expect(begun).toMatchObject({ action: "staff.suspend", reason, after: { status: "suspended", until: suspension.until } });
    expect(ended).toMatchObject({
      action: "staff.reinstate",
      before: { suspension: { id: suspension.id, reason } },
      after: { status: "active" },
    });
    expect(await eventsAbout(person)).toEqual([
      { user_id: person.id, change: "suspend", permission: "staff.access.read" },
      { user_id: person.id, change: "reinstate", permission: "staff.access.read" },
    ]);
  });

  test("does not touch what somebody is personally given and denied, and survives a reload", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    await world.app.database.write(jobCall(), async ({ db, now }) => {
      const entry = { userId: person.id, effect: "allow", reason: "test", createdAt: now };
      await db.userPermission.create({ data: { ...entry, permission: "audit.read" } });
      await db.userPermissionSet.create({ data: { userId: person.id, updatedAt: now } });
    });
    await world.app.access.load();
    expect((await suspend(person, cast.admin)).body.data).toMatchObject({ revision: 2, suspension: { until: null } });
    await world.app.access.load();
    expect(await access(person)).toMatchObject({ allowed: false, status: "suspended", expires_at: null });
    expect((await reinstate(person, cast.admin)).body.data).toMatchObject({ revision: 3 });
    expect((await rowsOf(person)).map(({ permission }) => permission)).toEqual(["audit.read"]);
    expect((await access(person)).permissions).toContain("audit.read");
  });

  test("is for ranks above only, and never for owners or oneself", async () => {
    const { world } = shared;
    const [equal, below] = [await world.staff("admin"), await world.staff("moderator")];
    const refused = async (person: User, actor: User) => {
      const { body } = await suspend(person, actor);
      expect([await rowsOf(person), await setOf(person), await auditAbout(person)]).toEqual([[], null, []]);
      return body;
    };
    expect(await refused(equal, cast.admin)).toMatchObject({ status: 403, code: "hierarchy_violation" });
    expect(await refused(cast.admin, cast.admin)).toMatchObject({
      code: "hierarchy_violation",
      detail: expect.stringContaining("themselves"),
    });
    expect(await refused(cast.owner, cast.admin)).toMatchObject({ code: "hierarchy_violation", detail: expect.stringContaining("Owners") });
    expect(await refused(cast.owner, await world.staff("owner"))).toMatchObject({ code: "hierarchy_violation" });
    expect(await refused(cast.owner, cast.owner)).toMatchObject({ code: "hierarchy_violation" });
    expect(await refused(below, cast.senior)).toMatchObject({ code: "permission_denied", required: "staff.suspend" });
    const acting = await world.makeKey(["*", "system.act"], "none");
    expect((await world.post(`/staff/${cast.owner.id}/suspend`, { reason }, { key: acting })).body.code).toBe("hierarchy_violation");
    expect((await world.post(`/staff/${below.id}/suspend`, { reason }, { key: acting })).body.data.suspension.by).toBeNull();
    expect((await reinstate(below, equal)).status).toBe(200);
  });

  test("cannot be doubled, nor ended where there is none; who runs into it is told which one runs", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    expect((await reinstate(person, cast.admin)).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
      from: "active",
      allowed: ["suspend"],
    });
    const first = (await suspend(person, cast.admin)).body.data.suspension;
    const second = await suspend(person, cast.admin, { reason: "Once more.", duration: "1d" });
    expect(second.body).toMatchObject({
      status: 409,
      code: "invalid_transition",
      from: "suspended",
      allowed: ["reinstate"],
      suspension: first,
    });
    expect(await rowsOf(person)).toHaveLength(1);
    const answers = await Promise.all(Array.from({ length: 4 }, () => reinstate(person, cast.admin)));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    const doubled = await Promise.all(Array.from({ length: 4 }, () => suspend(person, cast.admin)));
    expect(doubled.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 409, 409, 409]);
    expect([await rowsOf(person), (await setOf(person))?.revision]).toMatchObject([[{ permission: "*" }], 3]);
  });

  test("has a reason, and an end that lies ahead", async () => {
    const person = await shared.world.staff("moderator");
    for (const [body, pointer] of [
      [{ reason: "ab" }, "/reason"],
      [{ reason: undefined }, "/reason"],
      [{ until: "2020-01-01T00:00:00Z" }, "/until"],
      [{ until: "tomorrow" }, "/until"],
      [{ duration: "0d" }, "/duration"],
      [{ until: "2099-01-01T00:00:00Z", duration: "1d" }, "/duration"],
      [{ permission: "*" }, "/permission"],
    ] as const) {
      const answer = await suspend(person, cast.admin, body);
      expect([answer.status, answer.body.errors[0]]).toMatchObject([422, { in: "body", pointer }]);
    }
    expect([await rowsOf(person), await setOf(person)]).toEqual([[], null]);
  });

  test("keeps somebody out who was staff when they come back", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    world.guild.setRoles(person, []);
    await world.sandbox.waitFor(() => !world.app.access.of(person.id).isStaff);
    expect((await suspend(person, cast.admin)).body.data).toMatchObject({ status: "former", suspension: { reason } });
    world.guild.setRoles(person, [world.roles.moderator]);
    await world.sandbox.waitFor(() => world.app.access.of(person.id).isStaff);
    expect(await access(person)).toMatchObject({ allowed: false, status: "suspended" });
  });

  test("is given and ended by a command as by HTTP, with the same refusals", async () => {
    const { world } = shared;
    const [person, boss] = [await world.staff("moderator"), cast.admin];
    /** Says yes to the question, where there is one. */
    const suspend = async (options: Parameters<typeof world.slash>[2]): Promise<string> => {
      const run = await world.sandbox.as(boss).in(world.guild).runSlashCommand("staff suspend", options);
      const asked = await run.reply();
      if (asked.components.length === 0) return asked.content;
      const pressed = await run.clickButton("Yes, do it");
      await world.sandbox.waitFor(() => pressed.followups().length > 0 || run.current()?.content !== asked.content);
      return pressed.followups()[0]?.content ?? run.current()?.content ?? "";
    };
    const hostile = "**@everyone** <#1> `x`";
    const given = await suspend({ user: person, reason: hostile, until: "3d" });
    expect(given).toMatch(/is \*\*suspended\*\* until <t:\d+:f>/);
    expect(given).toContain("\\*\\*\\@everyone\\*\\* \\<\\#1\\> \\`x\\`");
    expect(await access(person)).toMatchObject({ allowed: false, status: "suspended" });
    expect(await suspend({ user: person, reason })).toContain("invalid_transition");
    expect(await suspend({ user: cast.owner, reason })).toContain("hierarchy_violation");
    expect(await suspend({ user: boss, reason })).toContain("hierarchy_violation");
    expect(await suspend({ user: world.member(), reason })).toContain("record_not_found");
    expect(await suspend({ user: cast.senior, reason, until: "yesterday" })).toContain("validation_failed");
    expect(await rowsOf(cast.senior)).toEqual([]);
    expect(await world.slash(boss, "staff reinstate", { user: person, reason: "Nothing found." })).toContain("not suspended any more");
    expect(await access(person)).toMatchObject({ allowed: true });
    expect((await auditAbout(person)).map(({ action, via }) => [action, via])).toEqual([
      ["staff.reinstate", "slash"],
      ["staff.suspend", "slash"],
    ]);
  });
});

test("a suspension ends by itself at its time", async () => {
  const time = { now: new Date() };
  const house = await createHouse({ clock: { now: () => time.now } });
  const [admin, person] = [await house.person("admin"), await house.person("viewer")];
  const asked = { actor: admin };
  const answer = await house.ask("POST", `/staff/${person.id}/suspend`, { reason, duration: "1h" }, asked);
  expect(answer.body.data.suspension.until).toBe(new Date(time.now.getTime() + 3_600_000).toISOString());
  expect(house.access.of(person.id)).toMatchObject({ status: "suspended", isBarred: true });
  time.now = new Date(time.now.getTime() + 3_600_000);
  expect((await house.get(`/staff/${person.id}/access`)).body.data).toMatchObject({ allowed: true, status: "active" });
  expect((await house.ask("POST", `/staff/${person.id}/reinstate`, { reason }, asked)).body.code).toBe("invalid_transition");
  const again = await house.ask("POST", `/staff/${person.id}/suspend`, { reason }, asked);
  expect(again.body.data).toMatchObject({ status: "suspended", suspension: { until: null } });
});

test("entries of one guild count for access in that guild alone", async () => {
  const { world } = shared;
  const person = await world.staff("moderator");
  const entries = [
    { permission: "audit.read", effect: "allow" },
    { permission: "cases.read", effect: "deny" },
  ];
  await world.app.database.write(jobCall(), async ({ db, now }) => {
    for (const entry of entries)
      await db.userPermission.create({ data: { ...entry, userId: person.id, guildId: world.guild.id, reason: "test", createdAt: now } });
  });
  await world.app.access.load();
  const ask = async (query: string) => (await world.get(`/staff/${person.id}/access?${query}`)).body;
  const [everywhere, here] = [(await ask("")).data, (await ask(`guild_id=${world.guild.id}`)).data];
  expect(everywhere).not.toHaveProperty("guild_id");
  expect([everywhere.permissions.includes("audit.read"), everywhere.permissions.includes("cases.read"), everywhere.denied]).toEqual([
    false,
    true,
    [],
  ]);
  expect(here.guild_id).toBe(world.guild.id);
  expect([here.permissions.includes("audit.read"), here.permissions.includes("cases.read"), here.denied]).toEqual([
    true,
    false,
    ["cases.read"],
  ]);
  const decided = (await ask(`permission=audit.read,cases.read&guild_id=${world.guild.id}`)).data;
  expect(decided.decisions).toMatchObject([
    { allowed: true, reasons: [{ code: "user_allow", source: `user@${world.guild.id}` }] },
    { allowed: false, reasons: [{ code: "user_deny", source: `user@${world.guild.id}` }, { code: "role_mapping" }] },
  ]);
  expect((await ask("permission=cases.read")).data).toMatchObject({ allowed: true });
  const wrong = (code: string) => ({ status: 422, errors: [{ in: "query", pointer: "/guild_id", code }] });
  expect(await ask("guild_id=nowhere")).toMatchObject(wrong("invalid_snowflake"));
  expect(await ask("guild_id=80351110224678912")).toMatchObject(wrong("unknown_guild"));
});

function jobCall() {
  return systemCall("job", uuid7());
}
