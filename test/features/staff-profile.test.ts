import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { filing, freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer, AskOptions } from "../support/world.ts";

const shared = shareWorld();
const cast: Record<"owner" | "admin" | "senior" | "viewer", User> = {} as never;
beforeAll(async () => {
  for (const level of ["owner", "admin", "senior", "viewer"] as const) cast[level] = await shared.world.staff(level);
});

const profile = async (person: User, asked: AskOptions = {}) => (await shared.world.get(`/staff/${person.id}/profile`, asked)).body.data;
const patch = (person: User | string, body: unknown, asked: AskOptions) =>
  shared.world.patch(`/staff/${typeof person === "string" ? person : person.id}`, body, asked);
const rowOf = ({ id }: User) => shared.world.app.database.read.staffProfile.findUnique({ where: { userId: id } });
const auditAbout = async ({ id }: User) => (await shared.world.get(`/audit?subject=${id}`)).body.data as any[];
const withoutRequest = ({ status, body }: Answer) => ({ status, body: { ...body, request_id: "", instance: "" } });

describe("what of a profile is shown", () => {
  const parts = ["quiet_hours", "guilds", "role_history", "activity", "discipline", "redacted"];
  const shownTo = async (person: User, asked: AskOptions) => {
    const view = await profile(person, asked);
    return parts.filter((part) => part in view);
  };

  test.each([
    ["a holder of staff.profile.read alone", ["staff.profile.read"], ["quiet_hours", "guilds", "role_history"]],
    ["a holder of statistics", ["staff.profile.read", "staff.stats"], ["quiet_hours", "guilds", "role_history", "activity"]],
    ["a holder of discipline", ["staff.profile.read", "staff.discipline"], ["quiet_hours", "guilds", "role_history", "discipline"]],
    ["everybody who holds all", ["*"], ["quiet_hours", "guilds", "role_history", "activity", "discipline"]],
    ["who is told what is left out", ["staff.profile.read", "audit.see_redactions"], ["quiet_hours", "guilds", "role_history", "redacted"]],
  ])("to %s", async (_name, scopes, expected) => {
    const key = await shared.world.makeKey(scopes, "none");
    expect(await shownTo(cast.viewer, { key })).toEqual(expected);
  });

  test("is named only to those who may know, and nothing of it is said", async () => {
    const key = await shared.world.makeKey(["staff.profile.read", "audit.see_redactions"], "none");
    expect((await profile(cast.viewer, { key })).redacted).toEqual(["activity", "discipline"]);
    const holder = await shared.world.makeKey(["*"], "none");
    expect(await profile(cast.viewer, { key: holder })).not.toHaveProperty("redacted");
  });

  test("about oneself is the own part, without statistics and discipline", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    await world.put("/permissions/roles/viewer", { allow: [], deny: ["staff.profile.read"] }, { actor: cast.owner });
    await world.post(`/staff/${person.id}/loa`, { reason: "Exams.", duration: "5d" }, { actor: person });
    const own = await profile(person, { actor: person });
    expect(own).toMatchObject({ status: "loa", leave: { reason: "Exams.", until: expect.any(String) }, quiet_hours: [] });
    for (const part of ["guilds", "role_history", "activity", "discipline", "redacted"]) expect(own).not.toHaveProperty(part);
    expect((await world.get(`/staff/${cast.viewer.id}/profile`, { actor: person })).body.code).toBe("permission_denied");
    await world.put("/permissions/roles/viewer", { allow: [], deny: [] }, { actor: cast.owner });
    expect(await profile(person, { actor: person })).toHaveProperty("guilds");
  });

  test("never tells a stranger from an unknown id", async () => {
    const { world } = shared;
    const [stranger, unknown] = [world.member(), freshId()];
    for (const ask of [
      (id: string) => world.get(`/staff/${id}/profile`, { actor: cast.viewer }),
      (id: string) => world.patch(`/staff/${id}`, { timezone: "UTC" }, { actor: cast.admin }),
      (id: string) => world.post(`/staff/${id}/suspend`, { reason: "Whatever." }, { actor: cast.admin }),
      (id: string) => world.post(`/staff/${id}/reinstate`, { reason: "Whatever." }, { actor: cast.admin }),
      (id: string) => world.post(`/staff/${id}/loa`, { reason: "Whatever." }, { actor: cast.admin }),
      (id: string) => world.delete(`/staff/${id}/loa`, undefined, { actor: cast.admin }),
    ]) {
      const [about, none] = [withoutRequest(await ask(stranger.id)), withoutRequest(await ask(unknown))];
      expect(about.body).toMatchObject({ status: 404, code: "record_not_found" });
      expect(JSON.stringify(about)).toBe(JSON.stringify(none));
    }
    const read = async (id: string) => (await world.get(`/staff/${id}/access`, { actor: cast.viewer })).body.data;
    const [about, none] = [await read(stranger.id), await read(unknown)];
    expect(Object.keys(about)).toEqual(Object.keys(none));
    expect(await rowOf(stranger)).toBeNull();
  });
});

test("a profile says how somebody stands on the roster, with their callsigns, and to colleagues how their staff role changed", async () => {
  const { world } = shared;
  const person = await world.staff("moderator");
  const { body } = await world.post("/callsigns/next", { user_id: person.id }, { actor: cast.owner });
  const wanted = { user_id: person.id, department: "north", trial_days: 30, reason: "Was chosen by the team." };
  const employed = await world.post("/roster", wanted, { actor: cast.owner });
  expect(employed.status, JSON.stringify(employed.body)).toBe(201);
  const { status, staff_role: role, trial_ends_at: end } = employed.body.data;
  await world.patch(`/roster/${person.id}`, { staff_role: "viewer", reason: "Asked for it." }, { actor: cast.owner });
  const seen = await profile(person, { actor: cast.viewer });
  expect(role).toBeNull();
  expect(seen.callsigns).toEqual([body.callsign ?? body.data?.callsign]);
  expect(seen.roster).toMatchObject({ status, staff_role: "viewer", department: "north", trial_ends_at: end });
  expect(seen.role_history).toMatchObject([{ event: "promoted", from: null, to: "viewer", by: cast.owner.id }]);
});

describe("statistics and discipline", () => {
  const approve = async (type: string, reference: string, actor: User) => {
    const answer = await shared.world.post(`/workflows/${type}/${reference}/decision`, { decision: "approve" }, { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  };
  const file = async (type: string, body: object, actor: User) => {
    const answer = await shared.world.post(`/workflows/${type}`, { ...filing(type), ...body }, { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    return answer.body;
  };

  test("count what somebody filed, voted and decided, and never an investigation", async () => {
    const { world } = shared;
    const [requester, decider] = [await world.staff("moderator"), await world.staff("admin")];
    const made = await file("punishment", {}, requester);
    const listing = await file("blacklist-user", { severity: "critical" }, requester);
    const open = { subject: { kind: "user", id: freshId() } };
    const investigations = [
      await file("investigation", open, requester),
      await file(
        "investigation",
        { ...open, subject: { kind: "user", id: freshId() }, confidential: true, team_user_ids: [decider.id] },
        requester,
      ),
    ];
    await approve("punishment", made.reference, decider);
    await approve("blacklist-user", listing.reference, decider);
    for (const { reference } of investigations) await approve("investigation", reference, decider);
    const ofBoth = await file("blacklist-user", { user_id: freshId(), severity: "critical" }, requester);
    for (const voter of [decider, await world.staff("admin")]) await approve("blacklist-user", ofBoth.reference, voter);
    const span = (last: number) => ({ last_7_days: last, last_30_days: last });
    expect((await profile(requester)).activity).toEqual({
      requests_filed: span(3),
      requests_decided: span(0),
      votes: span(0),
      median_decision_seconds: null,
      reversal_rate: null,
      open_overdue: 0,
    });
    const { activity } = await profile(decider);
    expect(activity).toMatchObject({
      requests_filed: span(0),
      requests_decided: span(1),
      votes: span(3),
      reversal_rate: 0,
      open_overdue: 0,
    });
    expect(activity.median_decision_seconds).toBeLessThan(60);
  });

  test("mind the days, the pace, what was reversed and what is overdue", async () => {
    const { world } = shared;
    const [requester, decider] = [await world.staff("moderator"), await world.staff("admin")];
    const ago = (days: number, seconds = 0) => new Date(Date.now() - days * 86_400_000 + seconds * 1000);
    const references: string[] = [];
    for (let index = 0; index < 4; index += 1) references.push((await file("punishment", { user_id: freshId() }, requester)).reference);
    for (const reference of references) await approve("punishment", reference, decider);
    const listing = await file("blacklist-user", { user_id: freshId(), severity: "critical" }, requester);
    await approve("blacklist-user", listing.reference, decider);
    const seconds = [100, 200, 400, 4000];
    await world.app.database.write(jobCall(), async ({ db }) => {
      for (const [index, reference] of references.entries()) {
        const at = ago(index === 3 ? 20 : index === 0 ? 40 : 2);
        const createdAt = new Date(at.getTime() - (seconds[index] ?? 0) * 1000);
        const data = { createdAt, decidedAt: at, ...(index === 1 && { status: "reversed" }) };
        const { id } = await db.workflowRequest.update({ where: { reference }, data });
        await db.workflowVote.updateMany({ where: { requestId: id }, data: { at } });
      }
      await db.workflowRequest.update({ where: { reference: listing.reference }, data: { dueDecisionAt: ago(0, -60) } });
    });
    // The first one lies 40 days back: 200, 400 and 4000 seconds are left, of which the first was reversed.
    expect((await profile(decider)).activity).toEqual({
      requests_filed: { last_7_days: 0, last_30_days: 0 },
      requests_decided: { last_7_days: 2, last_30_days: 3 },
      votes: { last_7_days: 3, last_30_days: 4 },
      median_decision_seconds: 400,
      reversal_rate: 1 / 3,
      open_overdue: 1,
    });
    expect((await profile(requester)).activity.requests_filed).toEqual({ last_7_days: 3, last_30_days: 4 });
  });

  test("list approved punishments and the suspension that runs, and no other request", async () => {
    const { world } = shared;
    const [person, requester, decider] = [await world.staff("viewer"), await world.staff("moderator"), await world.staff("owner")];
    const approved = await file("punishment", { user_id: person.id, action: "strike", points: 2 }, requester);
    await approve("punishment", approved.reference, decider);
    await file("punishment", { user_id: freshId(), action: "warning" }, requester);
    const open = await file("punishment", { user_id: person.id, action: "note" }, requester);
    const hidden = await file("investigation", { subject: { kind: "user", id: person.id }, confidential: true }, requester);
    expect((await profile(person)).discipline).toEqual({
      suspension: null,
      punishments: [{ reference: approved.reference, action: "strike", points: 2, decided_at: expect.any(String) }],
    });
    await world.post(`/staff/${person.id}/suspend`, { reason: "Under review.", duration: "1d" }, { actor: decider });
    const shown = await profile(person);
    expect(shown).toMatchObject({ status: "suspended", discipline: { suspension: { reason: "Under review.", by: decider.id } } });
    for (const { reference } of [hidden, open]) expect(JSON.stringify(shown)).not.toContain(reference);
    expect((await profile(requester)).discipline).toEqual({ suspension: null, punishments: [] });
  });
});

describe("changing a profile", () => {
  test("keeps what was not sent, counts revisions, and is told", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    const asked = { actor: cast.senior };
    expect((await profile(person)).revision).toBe(0);
    const hours = [{ days: [6, 0, 6], from: "22:00", to: "07:00" }];
    const first = await patch(person, { department: "Traffic", timezone: "Europe/Berlin", quiet_hours: hours }, asked);
    expect([first.status, first.headers.get("etag")]).toEqual([200, '"v1"']);
    expect(first.body.data).toMatchObject({
      department: "Traffic",
      availability: "available",
      quiet_hours: [{ days: [0, 6], from: "22:00" }],
    });
    const second = await patch(person, { availability: "unavailable" }, { ...asked, headers: { "if-match": '"v1"' } });
    expect(second.body.data).toMatchObject({ department: "Traffic", timezone: "Europe/Berlin", availability: "unavailable", revision: 2 });
    const same = await patch(person, { availability: "unavailable" }, asked);
    expect(same.body.data.revision).toBe(2);
    expect((await patch(person, { timezone: null }, { ...asked, headers: { "if-match": '"v1"' } })).body).toMatchObject({
      code: "precondition_failed",
      current_etag: '"v2"',
    });
    const cleared = await patch(person, { quiet_hours: null, department: null }, asked);
    expect(cleared.body.data).toMatchObject({ quiet_hours: [], department: null, timezone: "Europe/Berlin", revision: 3 });
    const entries = (await auditAbout(person)).filter(({ action }) => action === "staff_profile.update");
    expect(entries).toHaveLength(3);
    expect(entries[1]).toMatchObject({ before: { availability: "available" }, after: { availability: "unavailable" } });
    const events = await world.app.database.read.outboxEvent.findMany({ where: { type: "staff.profile_changed" } });
    expect(events.map(({ data }) => data as any).filter(({ user_id }) => user_id === person.id)).toHaveLength(3);
  });

  test("refuses what is no zone, no time, too much or nothing, and changes nothing", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    const hours = { from: "22:00", to: "07:00" };
    for (const [body, pointer] of [
      [{}, ""],
      [{ timezone: "Europe/Nowhere" }, "/timezone"],
      [{ timezone: "+02:00" }, "/timezone"],
      [{ quiet_hours: [{ ...hours, from: "24:00" }] }, "/quiet_hours/0/from"],
      [{ quiet_hours: [{ ...hours, days: [7] }] }, "/quiet_hours/0/days/0"],
      [{ quiet_hours: Array.from({ length: 8 }, () => hours) }, "/quiet_hours"],
      [{ availability: "asleep" }, "/availability"],
      [{ department: "" }, "/department"],
      [{ status: "active" }, "/status"],
      [{ leave_from: null }, "/leave_from"],
    ] as const) {
      const answer = await patch(person, body, { actor: cast.admin });
      expect([answer.status, answer.body.errors[0]]).toMatchObject([422, { in: "body", pointer }]);
    }
    expect(await rowOf(person)).toBeNull();
    expect(await auditAbout(person)).toEqual([]);
  });

  test("is for ranks above, and about oneself without the department", async () => {
    const { world } = shared;
    const person = await world.staff("viewer");
    const code = async (target: User, body: object, actor: User) => (await patch(target, body, { actor })).body;
    expect(await code(cast.senior, { timezone: "UTC" }, await world.staff("senior"))).toMatchObject({ code: "hierarchy_violation" });
    expect(await code(cast.admin, { timezone: "UTC" }, cast.senior)).toMatchObject({ code: "hierarchy_violation" });
    expect(await code(cast.owner, { availability: "unavailable" }, cast.admin)).toMatchObject({ code: "hierarchy_violation" });
    expect(await code(cast.viewer, { timezone: "UTC" }, person)).toMatchObject({ code: "permission_denied", required: "staff.manage" });
    expect(await code(person, { department: "Own" }, person)).toMatchObject({ code: "permission_denied", required: "staff.manage" });
    expect(await code(cast.senior, { department: "Own" }, cast.senior)).toMatchObject({ code: "hierarchy_violation" });
    expect([await rowOf(cast.admin), await rowOf(cast.senior), await rowOf(person)]).toEqual([null, null, null]);
    const own = await patch(person, { timezone: "Asia/Tokyo", availability: "unavailable" }, { actor: person });
    expect(own.body.data).toMatchObject({ timezone: "Asia/Tokyo", revision: 1 });
    expect(own.body.data).not.toHaveProperty("activity");
    expect((await patch(cast.owner, { department: "Own" }, { actor: cast.owner })).body.data).toMatchObject({ department: "Own" });
    const narrow = await world.makeKey(["staff.read"]);
    expect((await patch(person, { timezone: "UTC" }, { actor: person, key: narrow })).body).toMatchObject({ missing_in: "key" });
  });

  test("needs access even about oneself: who is suspended or was staff changes nothing", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    await world.post(`/staff/${person.id}/suspend`, { reason: "Under review." }, { actor: cast.admin });
    expect((await patch(person, { timezone: "UTC" }, { actor: person })).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect((await world.post(`/staff/${person.id}/loa`, { reason: "Away." }, { actor: person })).body.code).toBe("permission_denied");
    await world.post(`/staff/${person.id}/reinstate`, { reason: "Nothing found." }, { actor: cast.admin });
    world.guild.setRoles(person, []);
    await world.sandbox.waitFor(() => !world.app.access.of(person.id).isStaff);
    expect((await patch(person, { timezone: "UTC" }, { actor: person })).body.code).toBe("acting_user_not_staff");
    expect(await rowOf(person)).toBeNull();
  });

  test("happens once for a repeated Idempotency-Key, and the stored answer shows no more than the first", async () => {
    const { world } = shared;
    const person = await world.staff("moderator");
    const asked = { actor: person, headers: { "idempotency-key": `profile-${person.id}` } };
    const body = { timezone: "UTC" };
    const [first, second] = [await patch(person, body, asked), await patch(person, body, asked)];
    expect([second.status, second.body, second.headers.get("idempotency-replayed")]).toEqual([200, first.body, "true"]);
    expect((await rowOf(person))?.revision).toBe(1);
  });
});

describe("the list of staff", () => {
  const ids = async (query: string): Promise<string[]> =>
    (await shared.world.get(`/staff?limit=200&${query}`)).body.data.map(({ user }: any) => user.id);

  test("is filtered by department, by who can be asked, and counted", async () => {
    const { world } = shared;
    const department = "Filtered & counted";
    const people = [];
    for (let index = 0; index < 6; index += 1) people.push(await world.staff("moderator"));
    const [free, unavailable, quiet, elsewhere, away, suspended] = people as [User, User, User, User, User, User];
    for (const person of people) await patch(person, { department, timezone: "UTC" }, { actor: cast.admin });
    const now = new Date();
    const time = (offset: number) => new Date(now.getTime() + offset * 3_600_000).toISOString().slice(11, 16);
    await patch(unavailable, { availability: "unavailable" }, { actor: unavailable });
    await patch(quiet, { quiet_hours: [{ from: time(-2), to: time(2) }] }, { actor: quiet });
    // The same hours, but half a day apart on the clock of another zone.
    await patch(elsewhere, { timezone: "Etc/GMT+10", quiet_hours: [{ from: time(-2), to: time(2) }] }, { actor: elsewhere });
    await world.post(`/staff/${away.id}/loa`, { reason: "Holidays." }, { actor: away });
    await world.post(`/staff/${suspended.id}/suspend`, { reason: "Under review." }, { actor: cast.admin });
    const query = `department=${encodeURIComponent(department)}`;
    const sorted = (...some: User[]) => some.map(({ id }) => id).toSorted();
    expect((await ids(query)).toSorted()).toEqual(sorted(...people));
    expect((await ids(`${query}&available=true`)).toSorted()).toEqual(sorted(free, elsewhere));
    expect((await ids(`${query}&available=false`)).toSorted()).toEqual(sorted(unavailable, quiet, away, suspended));
    expect(await ids(`${query}&status=loa`)).toEqual([away.id]);
    expect(await ids(`${query}&status=suspended`)).toEqual([suspended.id]);
    expect(await ids(`${query}&status=loa&available=true`)).toEqual([]);
    const counted = (await world.get(`/staff?${query}&available=false&limit=1&count=true`)).body;
    expect(counted.page).toMatchObject({ total: 4, has_more: true });
    const shown = (await world.get(`/staff?${query}&limit=200`)).body.data;
    expect(
      shown
        .filter((one: any) => one.available)
        .map(({ user }: any) => user.id)
        .toSorted(),
    ).toEqual(sorted(free, elsewhere));
    world.guild.setRoles(free, []);
    await world.sandbox.waitFor(() => !world.app.access.of(free.id).isStaff);
    for (const value of ["true", "false"]) {
      expect(await ids(`${query}&available=${value}`)).not.toContain(free.id);
      expect(await ids(`${query}&status=former&available=${value}`)).toEqual([]);
    }
    expect(await ids(`${query}&status=former`)).toEqual([free.id]);
  });

  test("refuses a filter that is none", async () => {
    for (const query of ["available=maybe", "status=asleep", "nonsense=1"]) {
      expect([400, 422]).toContain((await shared.world.get(`/staff?${query}`)).status);
    }
  });
});

function jobCall() {
  return systemCall("job", uuid7());
}
