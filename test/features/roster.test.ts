import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { shareWorld } from "../contract/world.ts";

const day = 86_400_000;
const shared = shareWorld({ env: { ROSTER_FOLLOWS_DISCORD: "false" } });
const cast: Record<"owner" | "admin" | "senior" | "moderator" | "viewer", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "admin", "senior", "moderator", "viewer"] as const) cast[level] = await shared.world.staff(level);
});

const reason = "As the team decided.";
const since = (days: number): string => new Date(Date.now() + days * day).toISOString();
const join = (person: User, body: object = {}, actor: User = cast.owner) =>
  shared.world.post("/roster", { user_id: person.id, reason, ...body }, { actor });
const read = (id: string, actor: User = cast.owner) => shared.world.get(`/roster/${id}`, { actor });
const change = (person: User, body: object, actor: User = cast.owner, headers: Record<string, string> = {}) =>
  shared.world.patch(`/roster/${person.id}`, body, { actor, headers });
const list = async (query: string, actor: User = cast.owner): Promise<any[]> =>
  (await shared.world.get(`/roster?limit=200&${query}`, { actor })).body.data;
const idsIn = (views: readonly any[]): string[] => views.map(({ user }) => user.id);
const eventsOf = async ({ id }: User) =>
  (await shared.world.app.database.read.rosterEvent.findMany({ where: { userId: id }, orderBy: { id: "asc" } })).map(({ event }) => event);
const actionsOf = async ({ id }: User) =>
  (
    await shared.world.app.database.read.auditEntry.findMany({
      where: { subjectUserId: id, outcome: { not: "denied" }, action: { startsWith: "roster." } },
      orderBy: { seq: "asc" },
    })
  ).map(({ action }) => action);

describe("joining without a request", () => {
  test("makes an entry, its history, one audit entry and one event, and answers it whole", async () => {
    const person = shared.world.member();
    const answer = await join(person, {
      trial_days: 30,
      staff_role: "viewer",
      department: "north",
      supervisor_id: cast.senior.id,
      notes: "Calm.",
    });
    expect([answer.status, answer.headers.get("etag")]).toEqual([201, expect.stringMatching(/^"v2-/)]);
    const view = answer.body.data;
    expect(view).toMatchObject({
      state: "present",
      user: { id: person.id, in_community: true },
      status: "trial",
      staff_role: "viewer",
      rank: 10,
      department: "north",
      callsigns: [],
      loa: null,
      last_seen_at: null,
      supervisor: { id: cast.senior.id },
      discord: { in_guild: true, role_ids: [], drift: ["missing_role"] },
      notes: "Calm.",
      origin_reference: null,
    });
    expect(Date.parse(view.trial_ends_at) - Date.parse(view.joined_at)).toBe(30 * day);
    expect(view.allowed_moves).toContain("active");
    expect(view.allowed_moves).not.toContain("loa");
    expect(await eventsOf(person)).toEqual(["hired", "trial_started"]);
    expect(await actionsOf(person)).toEqual(["roster.hired", "roster.noted"]);
    expect((await read(view.id)).body.data).toEqual((await read(person.id)).body.data);
    const inList = (await list("department=north")).find(({ id }) => id === view.id);
    expect(inList.discord).toMatchObject({ in_guild: false, drift: ["missing_role"] });
    const again = await join(person);
    expect(again.body).toMatchObject({ status: 409, code: "invalid_transition", from: "trial" });
    expect(await eventsOf(person)).toHaveLength(2);
  });

  test("is refused for roles at or above one's own, unknown roles and supervisors, and for a day to come", async () => {
    const person = shared.world.member();
    expect((await join(person, { staff_role: "senior" }, cast.senior)).body.code).toBe("hierarchy_violation");
    expect((await join(cast.admin, {}, cast.senior)).body.code).toBe("hierarchy_violation");
    expect((await join(cast.senior, {}, cast.senior)).body.code).toBe("hierarchy_violation");
    expect((await join(person, {}, cast.moderator)).body).toMatchObject({ code: "permission_denied", required: "roster.edit" });
    for (const [body, pointer] of [
      [{ staff_role: "captain" }, "/staff_role"],
      [{ supervisor_id: shared.world.member().id }, "/supervisor_id"],
      [{ supervisor_id: person.id }, "/supervisor_id"],
      [{ joined_at: since(1) }, "/joined_at"],
      [{ rank: 1 }, "/rank"],
    ] as const)
      expect((await join(person, body)).body).toMatchObject({ status: 422, errors: [{ pointer }] });
    expect((await read(person.id)).body.data).toEqual({ state: "absent", id: person.id });
    expect(await actionsOf(person)).toEqual([]);
  });

  test("brings somebody back with their history; who was terminated only at the hands of who may put entries right", async () => {
    const person = shared.world.member();
    const { id } = (await join(person, { joined_at: since(-50) })).body.data;
    await change(person, { status: "resigned", reason });
    expect((await join(person, { joined_at: since(-10) })).body.errors).toMatchObject([{ pointer: "/joined_at", code: "too_early" }]);
    expect((await join(person, { trial_days: 5 })).body.data).toMatchObject({ id, status: "trial", ended_at: null });
    await change(person, { status: "terminated", reason });
    expect((await join(person, {}, cast.senior)).body).toMatchObject({ status: 409, from: "terminated" });
    expect((await change(person, { status: "trial", reason }, cast.senior)).body).toMatchObject({ status: 409, from: "terminated" });
    expect((await join(person, {}, cast.admin)).status).toBe(201);
    expect(await eventsOf(person)).toEqual(["hired", "resigned", "rehired", "terminated", "rehired"]);
  });
});

describe("changing an entry", () => {
  test("names what happened after the change", async () => {
    const person = shared.world.member();
    await join(person, { trial_days: 10, staff_role: "viewer" });
    const steps: [object, string[]][] = [
      [{ status: "active", staff_role: "moderator", reason }, ["promoted"]],
      [{ staff_role: "viewer", reason }, ["demoted"]],
      [{ department: "south" }, ["transferred"]],
      [{ supervisor_id: cast.admin.id }, ["corrected"]],
      [{ status: "inactive", reason }, ["corrected"]],
      [{ status: "active", reason }, ["corrected"]],
      [{ status: "probation", suspended_until: since(5), reason }, ["suspended"]],
      [{ status: "suspended", suspended_until: since(9), reason }, ["suspended"]],
      [{ suspended_until: since(20) }, ["corrected"]],
      [{ status: "active", reason }, ["reinstated"]],
      [{ status: "retired", reason }, ["resigned"]],
      [{ status: "trial", trial_ends_at: since(7), reason }, ["rehired"]],
      [{ status: "transferred", reason }, ["transferred"]],
    ];
    let written = (await eventsOf(person)).length;
    for (const [body, events] of steps) {
      const answer = await change(person, body);
      expect([answer.status, JSON.stringify(body)]).toEqual([200, JSON.stringify(body)]);
      const { reason: _, ...wanted } = body as Record<string, unknown>;
      const { supervisor_id: supervisor, ...rest } = wanted;
      expect(answer.body.data).toMatchObject({ ...rest, ...(supervisor !== undefined && { supervisor: { id: supervisor } }) });
      expect((await eventsOf(person)).slice(written)).toEqual(events);
      written += events.length;
    }
    expect((await read(person.id)).body.data).toMatchObject({ status_before: null, suspended_until: null });
  });

  test("follows the table of moves, says where else it leads, and sends leaves to where they are taken", async () => {
    const person = shared.world.member();
    const { allowed_moves: moves } = (await join(person)).body.data;
    expect(moves).toEqual(["probation", "suspended", "inactive", "resigned", "retired", "terminated", "transferred"]);
    const wrong = await change(person, { status: "applicant", reason });
    expect(wrong.body).toMatchObject({ status: 409, code: "invalid_transition", from: "active", action: "applicant", allowed: moves });
    expect((await change(person, { status: "loa", reason })).body).toMatchObject({ status: 409, detail: expect.stringContaining("/loa") });
    await change(person, { status: "resigned", reason });
    expect((await change(person, { staff_role: "viewer", reason })).body).toMatchObject({
      status: 409,
      from: "resigned",
      action: "promoted",
    });
    expect((await change(person, { department: "x" })).body).toMatchObject({ status: 409, action: "transferred" });
    expect(await eventsOf(person)).toEqual(["hired", "resigned"]);
  });

  test("needs a reason where it matters, an end only where something ends, and a person who is on the roster", async () => {
    const person = shared.world.member();
    await join(person);
    for (const [body, pointer] of [
      [{ status: "resigned" }, "/reason"],
      [{ staff_role: "viewer" }, "/reason"],
      [{ correction: true, department: "x" }, "/reason"],
      [{ trial_ends_at: since(3) }, "/trial_ends_at"],
      [{ suspended_until: since(3) }, "/suspended_until"],
      [{ status: "suspended", suspended_until: since(-1), reason }, "/suspended_until"],
      [{ joined_at: since(-3) }, "/joined_at"],
    ] as const)
      expect((await change(person, body)).body, pointer).toMatchObject({ status: 422, errors: [{ pointer }] });
    const nobody = await change(shared.world.member(), { department: "x" });
    expect(nobody.body).toMatchObject({ status: 422, errors: [{ pointer: "/id", in: "path", code: "unknown_entry" }] });
    expect((await read("history-of-nobody")).status).toBe(422);
    expect(await actionsOf(person)).toEqual(["roster.hired"]);
  });

  test("holds the caller to what they read, and writes nothing where nothing changes", async () => {
    const person = shared.world.member();
    const { revision } = (await join(person, { department: "north" })).body.data;
    const same = await change(person, { department: "north" }, cast.owner, { "if-match": `"v${String(revision)}"` });
    expect([same.status, same.body.data.revision]).toEqual([200, revision]);
    const stale = await change(person, { department: "south" }, cast.owner, { "if-match": '"v9"' });
    expect(stale.body).toMatchObject({ status: 412, code: "precondition_failed", current_etag: `"v${String(revision)}"` });
    expect(await eventsOf(person)).toEqual(["hired"]);
  });

  test("is for those above: of the person, of the role they have on the roster, and of the role they get", async () => {
    const [above, lower] = [shared.world.member(), shared.world.member()];
    await join(above, { staff_role: "admin" });
    await join(lower, { staff_role: "viewer" });
    for (const [person, body] of [
      [above, { department: "x" }],
      [lower, { staff_role: "senior", reason }],
    ] as const)
      expect((await change(person, body, cast.senior)).body.code).toBe("hierarchy_violation");
    await join(cast.senior);
    expect((await change(cast.senior, { notes: "Fine." }, cast.senior)).body.code).toBe("hierarchy_violation");
    expect((await change(lower, { staff_role: "moderator", reason }, cast.senior)).status).toBe(200);
    expect((await read(above.id, cast.senior)).body.data.allowed_moves).toEqual([]);
    expect((await read(lower.id, cast.viewer)).body.data.allowed_moves).toEqual([]);
    expect(await eventsOf(above)).toEqual(["hired"]);
  });

  test("lets the callsigns of who leaves rest", async () => {
    const person = shared.world.member();
    await join(person);
    const { app } = shared.world;
    await app.database.write(systemCall("job", uuid7()), async (tx) => {
      const times = { createdAt: tx.now, updatedAt: tx.now };
      const pool = { key: "ships", name: "Ships", template: "S-{n:03}", ranges: [[1, 9]], reserved: [], skip: [], rankBands: {} };
      await tx.db.callsignPool.create({ data: { ...pool, ...times } });
      await app.callsigns.allocateInTx(tx, { pool: "ships", userId: person.id, causeReference: null, permission: "system.act" });
    });
    expect((await read(person.id)).body.data.callsigns).toEqual([{ callsign: "S-001", pool: "ships" }]);
    expect((await change(person, { status: "resigned", reason })).body.data.callsigns).toEqual([]);
    expect(await app.database.read.callsignSlot.findFirst({ where: { userId: person.id } })).toMatchObject({ state: "held" });
    expect(await eventsOf(person)).toEqual(["hired", "callsign_assigned", "resigned", "callsign_released"]);
  });
});

describe("reading", () => {
  test("shows notes to who edits the roster, and never to the person themself", async () => {
    const person = await shared.world.staff("viewer");
    await join(person, { notes: "Late twice.", staff_role: "viewer" });
    await join(cast.admin, { notes: "Quick." });
    expect((await read(person.id, cast.senior)).body.data.notes).toBe("Late twice.");
    for (const reader of [cast.moderator, person]) expect((await read(person.id, reader)).body.data).not.toHaveProperty("notes");
    expect((await read("@me", cast.admin)).body.data).toMatchObject({ user: { id: cast.admin.id } });
    expect((await read("@me", cast.admin)).body.data).not.toHaveProperty("notes");
    expect((await change(person, { notes: null })).body.data.notes).toBeNull();
    expect(await eventsOf(person)).toEqual(["hired"]);
    const details = await shared.world.app.database.read.auditPayload.findMany();
    expect(JSON.stringify(details)).not.toContain("Late twice.");
  });

  test("shows what Discord says otherwise, and only roles that stand for staff roles", async () => {
    const person = await shared.world.staff("moderator");
    const { world } = shared;
    const other = world.guild.createRole("gardener");
    world.guild.setRoles(person, [world.roles.moderator, other]);
    await join(person, { staff_role: "viewer" });
    const { discord } = (await read(person.id)).body.data;
    expect(discord).toMatchObject({ in_guild: true, role_ids: [world.roles.moderator.id], drift: ["missing_role", "extra_role"] });
    expect(JSON.stringify(discord)).not.toContain(other.id);
  });

  test("lists who has not left, by status, role, department, supervisor, name and page", async () => {
    const [anna, ben, gone] = ["Annabel", "Benedikt", "Gone"].map((name) => shared.world.member(name)) as [User, User, User];
    const team = { department: "list-test" };
    await join(anna, { ...team, staff_role: "viewer", supervisor_id: cast.senior.id });
    await join(ben, { ...team, trial_days: 4 });
    await join(gone, team);
    await change(gone, { status: "resigned", reason });
    const listed = async (query: string) => idsIn(await list(`department=list-test&${query}`));
    expect(await listed("")).toEqual([ben.id, anna.id]);
    expect(await listed("sort=created_at&include_left=true")).toEqual([anna.id, ben.id, gone.id]);
    expect((await listed("sort=-updated_at&include_left=true"))[0]).toBe(gone.id);
    expect(await listed("status=resigned")).toEqual([gone.id]);
    expect(await listed("status=trial")).toEqual([ben.id]);
    expect(await listed("staff_role=viewer")).toEqual([anna.id]);
    expect(await listed(`supervisor_id=${cast.senior.id}`)).toEqual([anna.id]);
    expect(await listed(`q=${ben.id}`)).toEqual([ben.id]);
    expect(await listed("q=nobody-of-that-name")).toEqual([]);
    const first = await shared.world.get("/roster?department=list-test&limit=1&count=true", { actor: cast.owner });
    expect([idsIn(first.body.data), first.body.page]).toMatchObject([[ben.id], { has_more: true, total: 2 }]);
    const rest = await shared.world.get(`/roster?department=list-test&limit=1&cursor=${first.body.page.next_cursor}`, {
      actor: cast.owner,
    });
    expect([idsIn(rest.body.data), rest.body.page.has_more]).toEqual([[anna.id], false]);
    expect((await shared.world.get("/roster?colour=red", { actor: cast.owner })).body.code).toBe("unknown_parameter");
  });

  test("finds staff by the beginning of their present name, and tells when they last did something", async () => {
    const person = await shared.world.staff("moderator", "Quintessa");
    await join(person, { staff_role: "moderator" });
    expect(idsIn(await list("q=quint"))).toEqual([person.id]);
    const filed = await shared.world.post(
      "/workflows/recruitment",
      { discord_user_id: shared.world.member().id, position: "viewer", reason: "Helps out every evening." },
      { actor: person },
    );
    if (filed.status === 201) expect((await read(person.id)).body.data.last_seen_at).toBe(`${since(0).slice(0, 10)}T00:00:00.000Z`);
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  });
});

test("erasing a person forgets their names and what was noted, and keeps their history as that of an id", async () => {
  const { app } = shared.world;
  const person = shared.world.member("Rosalind");
  await join(person, { notes: "Rosalind is a friend of mine." });
  const [shownBefore, shownAfter] = [{ nickname: "Rosalind" }, { nickname: "Rosa" }];
  await app.database.write(systemCall("job", uuid7()), async (tx) => {
    const entry = await app.roster.find(tx.db, person.id);
    if (entry === null) throw new Error("no entry");
    await tx.db.rosterEntry.update({ where: { id: entry.id }, data: { nickname: "Rosa" } });
    const line = { entryId: entry.id, userId: person.id, event: "renamed", before: shownBefore, after: shownAfter } as const;
    await app.roster.lines(tx, [line], { causeReference: null });
  });
  await change(person, { status: "resigned", reason });
  await app.privacy.redact(systemCall("cli", uuid7()), person.id, { reason: "Asked for it.", suppress: false });
  const entry = await app.roster.find(app.database.read, person.id);
  expect(entry).toMatchObject({ status: "resigned", nickname: null, notes: null });
  const lines = await app.database.read.rosterEvent.findMany({ where: { userId: person.id }, orderBy: { id: "asc" } });
  expect(lines.map(({ event }) => event)).toEqual(["hired", "renamed", "resigned"]);
  expect(JSON.stringify([entry, lines])).not.toContain("Rosa");
});
