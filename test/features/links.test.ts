import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { authorize, shareWorld, staffAtConsole } from "../contract/world.ts";
import { filing } from "../contract/document.ts";
import type { Answer, AskOptions } from "../support/world.ts";
import { approve } from "./review-ground.ts";

const time = { offset: 0 };
const lines: string[] = [];
const shared = shareWorld({ clock: { now: () => new Date(Date.now() + time.offset) }, log: (line) => void lines.push(line) });

const basis = [{ type: "behaviour", note: "Came back an hour after the ban with the same jokes." }];
const about = { confidence: "probable", kind: "suspected_evasion", basis };

const post = (actor: User, from: string, to: string, more: object = {}, asked: AskOptions = {}): Promise<Answer> =>
  shared.world.post(`/users/${from}/links`, { ...about, user_id: to, ...more }, { actor, ...asked });
const read = (userId: string, actor: User, query = ""): Promise<Answer> => shared.world.get(`/users/${userId}/links${query}`, { actor });
const fresh = (): string => shared.world.member().id;
const pairOf = (a: string, b: string): string[] => [a, b].toSorted();

async function made(actor: User, from: string, to: string, more: object = {}) {
  const { status, body } = await post(actor, from, to, more);
  expect(status, JSON.stringify(body)).toBe(201);
  return body.data;
}

/** What a refused write must not have touched. */
async function traces() {
  const { read: db } = shared.world.app.database;
  return {
    links: await db.accountLink.count(),
    audit: await db.auditEntry.count({ where: { action: { startsWith: "account_link." } } }),
    events: await db.outboxEvent.count({ where: { type: "account_link.changed" } }),
  };
}

async function expectRefused(ask: () => Promise<Answer>, status: number, problem: object): Promise<Answer> {
  const before = await traces();
  const answer = await ask();
  expect([answer.status, answer.body]).toMatchObject([status, problem]);
  expect(await traces()).toEqual(before);
  return answer;
}

describe("a link", () => {
  test("is seen from both accounts, told of, and in the audit without its notes", async () => {
    const { world } = shared;
    const [senior, a, b] = [await world.staff("senior"), fresh(), fresh()];
    const before = await traces();
    const link = await made(senior, b, a, { primary_user_id: a, reason: "Asked for by the owner." });
    expect(link).toMatchObject({
      user_ids: pairOf(a, b),
      other_user_id: a,
      confidence: "probable",
      propagates: true,
      primary_user_id: a,
      status: "active",
      review_due: false,
      basis,
      created_by: senior.id,
      ended: null,
      revision: 1,
      matches: { added: 0, changed: 0, removed: 0 },
    });
    const days = (Date.parse(link.review_at) - Date.parse(link.created_at)) / 86_400_000;
    expect(days).toBe(365);
    for (const [one, other] of [
      [a, b],
      [b, a],
    ] as const)
      expect((await read(one, senior)).body.data).toMatchObject([{ id: link.id, other_user_id: other }]);
    expect(await traces()).toEqual({ links: before.links + 1, audit: before.audit + 1, events: before.events + 1 });
    const entry = (await world.get(`/audit?action=account_link.create&subject=${b}`)).body.data[0];
    expect(entry).toMatchObject({
      target: { kind: "account_link", id: link.id },
      reason: "Asked for by the owner.",
      permission_used: "users.links.manage",
      after: { confidence: "probable", basis: ["behaviour"], status: "active" },
    });
    expect(JSON.stringify(entry)).not.toContain("jokes");
    const event = await world.app.database.read.outboxEvent.findFirst({
      where: { type: "account_link.changed" },
      orderBy: { seq: "desc" },
    });
    expect(event?.data).toEqual({ link_id: link.id, user_ids: pairOf(a, b), confidence: "probable", status: "active" });
  });

  test("is read by moderators, managed by seniors, and nothing to anybody below", async () => {
    const { world } = shared;
    const [senior, moderator, viewer] = [await world.staff("senior"), await world.staff("moderator"), await world.staff("viewer")];
    const [a, b, c] = [fresh(), fresh(), fresh()];
    const { id } = await made(senior, a, b);
    expect((await read(a, moderator)).status).toBe(200);
    expect((await world.get(`/users/${a}/links/group`, { actor: moderator })).status).toBe(200);
    for (const path of ["", "/group"])
      expect((await world.get(`/users/${a}/links${path}`, { actor: viewer })).body).toMatchObject({ required: "users.links.read" });
    // What staff thinks of an account is not for its owner.
    expect((await world.get(`/users/${a}/links`, { actor: a })).body.code).toBe("acting_user_not_staff");
    const required = { required: "users.links.manage" };
    await expectRefused(() => post(moderator, a, c), 403, required);
    await expectRefused(() => world.patch(`/users/${a}/links/${id}`, { confidence: "confirmed" }, { actor: moderator }), 403, required);
    await expectRefused(() => world.delete(`/users/${a}/links/${id}`, { reason: "No longer." }, { actor: moderator }), 403, required);
  });

  test("stands once per pair, from whichever side, and never with itself", async () => {
    const senior = await shared.world.staff("senior");
    const [a, b] = [fresh(), fresh()];
    const { id } = await made(senior, a, b);
    for (const [from, to] of [
      [a, b],
      [b, a],
    ] as const)
      await expectRefused(() => post(senior, from, to), 409, { code: "duplicate_active_record", link_id: id });
    await expectRefused(() => post(senior, a, a), 422, { errors: [{ pointer: "/user_id", code: "self_link" }] });
  });

  test("made twice with one key is made once", async () => {
    const senior = await shared.world.staff("senior");
    const [a, b] = [fresh(), fresh()];
    const asked = { headers: { "idempotency-key": "link-once-0001" } };
    const [first, second] = [await post(senior, a, b, {}, asked), await post(senior, a, b, {}, asked)];
    expect([first.status, second.status]).toEqual([201, 201]);
    expect(second.body).toEqual(first.body);
    expect((await read(a, senior, "?status=all")).body.data).toHaveLength(1);
  });

  test("made by ten people at once is made once", async () => {
    const senior = await shared.world.staff("senior");
    const [a, b] = [fresh(), fresh()];
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? post(senior, a, b) : post(senior, b, a))),
    );
    expect(answers.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([
      201,
      ...Array.from({ length: 9 }, () => 409),
    ]);
    expect((await read(a, senior, "?status=all")).body.data).toHaveLength(1);
  });

  test.each([
    ["a suspicion that propagates", { confidence: "suspected", propagates: true }, "/propagates"],
    ["a main account that is neither", { primary_user_id: "80351110224678912" }, "/primary_user_id"],
    ["a review in the past", { review_at: "2026-01-01T00:00:00.000Z" }, "/review_at"],
    ["two times for review", { review_at: "2030-01-01T00:00:00.000Z", review_after: "30d" }, "/review_after"],
    ["no grounds", { basis: [] }, "/basis"],
    ["too many grounds", { basis: Array.from({ length: 11 }, () => basis[0]) }, "/basis"],
    ["grounds of an unknown kind", { basis: [{ type: "ip_address", note: "The same one." }] }, "/basis/0/type"],
    ["grounds that say nothing", { basis: [{ type: "other", note: "x" }] }, "/basis/0/note"],
    ["a status of its own", { status: "ended" }, "/status"],
  ])("with %s is refused, by the name of the field", async (_name, more, pointer) => {
    const senior = await shared.world.staff("senior");
    await expectRefused(() => post(senior, fresh(), fresh(), more), 422, { code: "validation_failed", errors: [{ pointer }] });
  });
});

describe("nothing that tells one machine from another is stored", () => {
  test.each([
    "Both from 203.0.113.7 last night.",
    "Both used 203[.]0[.]113[.]7:8080",
    "seen at 203 (dot) 0 (dot) 113 (dot) 7",
    "network 198.51.100.0/24",
    "address ２０３.０.１１３.７",
    "address 203.0.\u200b113.7",
    "address 2001:db8::8a2e:370:7334, twice",
    "2001:0db8:85a3:0000:0000:8a2e:0370:7334.",
    "fe80::1%eth0 in both logs",
    "card 00:1A:2B:3C:4D:5E",
    "card 00-1a-2b-3c-4d-5e",
    "card 001a.2b3c.4d5e",
    "Mozilla/5.0 (X11; Linux x86_64) in both",
    "same Chrome/126.0.0.0",
    "okhttp/4.9.2 both times",
    "canvas d41d8cd98f00b204e9800998ecf8427e",
    "visitor 9f86d081884c7d65",
    "key AA:BB:CC:DD:EE:FF:00:11:22:33",
  ])("%s", async (note) => {
    const senior = await shared.world.staff("senior");
    const [a, b] = [fresh(), fresh()];
    lines.length = 0;
    const problem = (pointer: string) => ({ code: "validation_failed", errors: [{ pointer, code: "identifying_data" }] });
    const grounds = [...basis, { type: "other", note }];
    const answer = await expectRefused(() => post(senior, a, b, { basis: grounds }), 422, problem("/basis/1/note"));
    await expectRefused(() => post(senior, a, b, { reason: note }), 422, problem("/reason"));
    const { id } = await made(senior, a, b);
    const path = `/users/${a}/links/${id}`;
    const actor = senior;
    await expectRefused(
      () => shared.world.patch(path, { add_basis: [{ type: "other", note }] }, { actor }),
      422,
      problem("/add_basis/0/note"),
    );
    await expectRefused(() => shared.world.delete(path, { reason: note }, { actor }), 422, problem("/reason"));
    expect(JSON.stringify(answer.body)).not.toContain(note);
    expect(lines.length).toBeGreaterThan(0);
    expect(lines.filter((line) => line.includes(note))).toEqual([]);
  });

  test.each([
    "Said at 12:30:45 that 80351110224678912 is theirs.",
    "Version 1.2.3 of the same mod, see ALT-REQ-000012 and BL-000001.",
    "On 2026-11-20: same phrases; never online together.",
    "Both show the Steam account Café::Bär on their profile.",
    "Record 0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f says the same.",
    "decade facade added a bed :: dead face",
    "10/10 sure. Ratio 3.5.",
  ])("plain words are fine: %s", async (note) => {
    const senior = await shared.world.staff("senior");
    expect((await made(senior, fresh(), fresh(), { basis: [{ type: "other", note }] })).basis).toEqual([{ type: "other", note }]);
  });
});

describe("nobody", () => {
  test("links or unlinks accounts of staff of their rank or above", async () => {
    const { world } = shared;
    const [senior, peer, admin] = [await world.staff("senior"), await world.staff("senior"), await world.staff("admin")];
    const [moderator, a] = [await world.staff("moderator"), fresh()];
    for (const staff of [peer, admin]) {
      await expectRefused(() => post(senior, staff.id, a), 403, { code: "hierarchy_violation" });
      await expectRefused(() => post(senior, a, staff.id), 403, { code: "hierarchy_violation" });
    }
    const { id } = await made(admin, peer.id, a);
    const path = `/users/${a}/links/${id}`;
    await expectRefused(() => world.patch(path, { confidence: "confirmed" }, { actor: senior }), 403, { code: "hierarchy_violation" });
    await expectRefused(() => world.delete(path, { reason: "Not true." }, { actor: senior }), 403, { code: "hierarchy_violation" });
    expect((await post(senior, moderator.id, a)).status).toBe(201);
  });

  test("links or unlinks accounts of their own, not even those that are theirs by a link", async () => {
    const { world } = shared;
    const [owner, senior, alt, other] = [await world.staff("owner"), await world.staff("senior"), fresh(), fresh()];
    const conflict = { code: "conflict_of_interest" };
    await expectRefused(() => post(senior, senior.id, alt), 403, conflict);
    await expectRefused(() => post(senior, alt, senior.id), 403, conflict);
    await expectRefused(() => post(owner, owner.id, alt), 403, conflict);
    const { id } = await made(owner, senior.id, alt, { confidence: "confirmed" });
    await expectRefused(() => post(senior, alt, other), 403, conflict);
    const path = `/users/${alt}/links/${id}`;
    await expectRefused(() => world.patch(path, { propagates: false }, { actor: senior }), 403, conflict);
    await expectRefused(() => world.delete(path, { reason: "Not mine." }, { actor: senior }), 403, conflict);
  });
});

describe("a link changes", () => {
  test("in confidence, grounds and reach; each step raises its revision, and nothing changed writes nothing", async () => {
    const { world } = shared;
    const [senior, a, b] = [await world.staff("senior"), fresh(), fresh()];
    const { id, review_at: review } = await made(senior, a, b, { confidence: "suspected" });
    const path = `/users/${b}/links/${id}`;
    const patch = (body: object, headers = {}) => world.patch(path, body, { actor: senior, headers });
    expect((Date.parse(review) - Date.now()) / 86_400_000).toBeCloseTo(90, 1);
    await expectRefused(() => patch({ propagates: true }), 422, { errors: [{ pointer: "/propagates" }] });
    const raised = await patch(
      { confidence: "confirmed", add_basis: [{ type: "admission", note: "Said so in a ticket." }] },
      { "if-match": '"v1"' },
    );
    expect(raised.status, JSON.stringify(raised.body)).toBe(200);
    expect(raised.body.data).toMatchObject({ confidence: "confirmed", propagates: true, revision: 2, other_user_id: a });
    expect(raised.body.data.basis).toHaveLength(2);
    expect((Date.parse(raised.body.data.review_at) - Date.now()) / 86_400_000).toBeCloseTo(365, 1);
    expect(raised.headers.get("etag")).toBe('"v2"');
    await expectRefused(() => patch({ propagates: false }, { "if-match": '"v1"' }), 412, { current_etag: '"v2"' });
    await expectRefused(() => patch({ confidence: "confirmed", propagates: true, primary_user_id: null, reason: "So it is." }), 200, {
      data: { revision: 2 },
    });
    expect((await patch({ confidence: "suspected" })).body.data).toMatchObject({ confidence: "suspected", propagates: false, revision: 3 });
    const { data } = (await world.get(`/audit?action=account_link.update&target=${id}`)).body;
    expect(data).toMatchObject([
      { before: { confidence: "confirmed" }, after: { confidence: "suspected", propagates: false }, subject_user_id: b },
      { before: { confidence: "suspected" }, after: { confidence: "confirmed", propagates: true, basis: ["behaviour", "admission"] } },
    ]);
  });

  test("up to twenty grounds", async () => {
    const [senior, a, b] = [await shared.world.staff("senior"), fresh(), fresh()];
    const { id } = await made(senior, a, b, { basis: Array.from({ length: 10 }, () => basis[0]) });
    const add = (count: number) =>
      shared.world.patch(`/users/${a}/links/${id}`, { add_basis: Array.from({ length: count }, () => basis[0]) }, { actor: senior });
    expect((await add(9)).body.data.basis).toHaveLength(19);
    await expectRefused(() => add(2), 422, { errors: [{ pointer: "/add_basis", code: "too_many" }] });
  });

  test("only where it belongs: of another person it is not there, nor under an id that is none", async () => {
    const { world } = shared;
    const [senior, a, b, stranger] = [await world.staff("senior"), fresh(), fresh(), fresh()];
    const { id } = await made(senior, a, b);
    for (const [userId, linkId] of [
      [stranger, id],
      [a, "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f"],
    ] as const) {
      const path = `/users/${userId}/links/${linkId}`;
      await expectRefused(() => world.patch(path, { propagates: false }, { actor: senior }), 404, { code: "record_not_found" });
      await expectRefused(() => world.delete(path, { reason: "Not true." }, { actor: senior }), 404, { code: "record_not_found" });
    }
    const path = `/users/${a}/links/none`;
    await expectRefused(() => world.delete(path, { reason: "Not true." }, { actor: senior }), 422, {
      errors: [{ in: "path", pointer: "/link_id" }],
    });
  });

  test("ends with a reason, in the body or in the address, stays readable, and makes room for another", async () => {
    const { world } = shared;
    const [senior, a, b] = [await world.staff("senior"), fresh(), fresh()];
    const first = await made(senior, a, b);
    const path = `/users/${a}/links/${first.id}`;
    await expectRefused(() => world.delete(path, undefined, { actor: senior }), 422, {
      errors: [{ pointer: "/reason", code: "required" }],
    });
    const ended = await world.delete(path, { reason: "They are two people." }, { actor: senior });
    expect([ended.status, ended.body.data]).toMatchObject([
      200,
      { status: "ended", ended: { by: senior.id, reason: "They are two people." }, review_due: false },
    ]);
    const over = { code: "invalid_transition", from: "ended" };
    await expectRefused(() => world.delete(path, { reason: "Once more." }, { actor: senior }), 409, over);
    await expectRefused(() => world.patch(path, { propagates: false }, { actor: senior }), 409, over);
    const second = await made(senior, b, a, { confidence: "suspected" });
    const byAddress = await world.delete(`/users/${b}/links/${second.id}?reason=Seen+at+once.`, undefined, { actor: senior });
    expect(byAddress.body.data.ended.reason).toBe("Seen at once.");
    const third = await made(senior, a, b, { confidence: "confirmed" });
    const listed = async (query: string): Promise<string[]> =>
      (await read(a, senior, query)).body.data.map((link: { id: string }) => link.id);
    expect(await listed("")).toEqual([third.id]);
    expect(await listed("?status=ended")).toEqual([second.id, first.id]);
    expect(await listed("?status=all")).toEqual([third.id, second.id, first.id]);
    expect(await listed("?status=all&confidence=suspected")).toEqual([second.id]);
    const page = (await read(a, senior, "?status=all&limit=2&count=true")).body.page;
    expect(page).toMatchObject({ total: 3, has_more: true });
    expect(await listed(`?status=all&limit=2&cursor=${encodeURIComponent(page.next_cursor)}`)).toEqual([first.id]);
    expect((await read(b, senior, `?status=all&cursor=${encodeURIComponent(page.next_cursor)}`)).body.code).toBe("invalid_cursor");
  });
});

test("the group is who belongs together over confirmed links, with those who probably do, and suspicions count for nothing", async () => {
  const { world } = shared;
  const senior = await world.staff("senior");
  const [a, b, c, probable, suspected, beyond] = [fresh(), fresh(), fresh(), fresh(), fresh(), fresh()];
  await made(senior, a, b, { confidence: "confirmed", primary_user_id: b, propagates: false });
  await made(senior, b, c, { confidence: "confirmed" });
  await made(senior, c, probable);
  await made(senior, probable, beyond);
  await made(senior, a, suspected, { confidence: "suspected" });
  const group = async (userId: string) => (await world.get(`/users/${userId}/links/group`, { actor: senior })).body.data;
  const confirmed = (...ids: string[]) => ids.toSorted().map((id) => ({ user_id: id, confidence: "confirmed" }));
  expect(await group(a)).toEqual({
    user_id: a,
    members: [...confirmed(b, c), { user_id: probable, confidence: "probable" }],
    primary_user_id: b,
  });
  expect((await group(suspected)).members).toEqual([]);
  expect((await group(probable)).members.map((one: { user_id: string }) => one.user_id)).toEqual([c, beyond].toSorted());
});

test("records about one account become matches of the other, as far as the link reaches, and end with it", async () => {
  const { world } = shared;
  const owner = await world.staff("owner");
  const [member, listed] = [world.member(), fresh()];
  await authorize(world, member, { by: owner });
  const record = await world.post("/blacklist", { kind: "user", subject_id: listed, severity: "low" }, { actor: owner });
  expect(record.status).toBe(201);
  const access = async () => {
    const { body } = await world.get(`/users/${member.id}/matches?status=open`, { actor: owner });
    return body.data.map((match: { kind: string }) => match.kind);
  };
  const suspicion = await made(owner, listed, member.id, { confidence: "suspected" });
  expect([suspicion.matches, await access()]).toEqual([{ added: 0, changed: 0, removed: 0 }, []]);
  const path = `/users/${listed}/links/${suspicion.id}`;
  const raised = (await world.patch(path, { confidence: "confirmed" }, { actor: owner })).body.data;
  expect([raised.matches, await access()]).toEqual([{ added: 1, changed: 0, removed: 0 }, ["alt_of_blacklisted"]]);
  const kept = (await world.patch(path, { propagates: false }, { actor: owner })).body.data;
  expect([kept.matches, await access()]).toEqual([{ added: 0, changed: 0, removed: 1 }, []]);
  expect((await world.patch(path, { propagates: true }, { actor: owner })).body.data.matches.added).toBe(1);
  const ended = (await world.delete(path, { reason: "They are two people." }, { actor: owner })).body.data;
  expect([ended.matches, await access()]).toEqual([{ added: 0, changed: 0, removed: 1 }, []]);
});

test("when its time for review passes, a suspicion ends by itself; what is surer only waits to be looked at", async () => {
  const { world } = shared;
  const [senior, a, b, c, d] = [await world.staff("senior"), fresh(), fresh(), fresh(), fresh()];
  const suspicion = await made(senior, a, b, { confidence: "suspected", review_after: "30d" });
  await made(senior, a, c, { confidence: "probable", review_after: "30d" });
  await made(senior, a, d, { confidence: "confirmed", review_after: "30d" });
  const job = systemCall("job", "test");
  expect(await world.app.links.expireDue(job)).toBe(0);
  time.offset = 31 * 86_400_000;
  try {
    const before = await traces();
    expect(await world.app.links.expireDue(job)).toBe(1);
    expect(await world.app.links.expireDue(job)).toBe(0);
    expect(await traces()).toEqual({ ...before, audit: before.audit + 1, events: before.events + 1 });
    const { data } = (await read(a, senior, "?status=all")).body;
    const states = data.map((link: Record<string, unknown>) => [link["confidence"], link["status"], link["review_due"]]);
    expect(states).toEqual([
      ["confirmed", "active", true],
      ["probable", "active", true],
      ["suspected", "ended", false],
    ]);
    expect((await world.get(`/audit?action=account_link.expire`)).body.data).toMatchObject([
      { target: { id: suspicion.id }, via: "job", before: { status: "active" }, after: { status: "ended" } },
    ]);
  } finally {
    time.offset = 0;
  }
});

describe("whoever is partial with one account is partial with all of them", () => {
  const approval = { decision: "approve", reason: "Clear enough." };

  /** A moderator's request about somebody, and two seniors at their consoles: one linked as told, one with nothing to do with it. */
  async function filed(end: "requester" | "subject", more: object) {
    const { world } = shared;
    const [owner, requester, subject] = [await world.staff("owner"), await world.staff("moderator"), fresh()];
    const [linked, other] = [await staffAtConsole(world, "senior"), await staffAtConsole(world, "senior")];
    await made(owner, end === "requester" ? requester.id : subject, linked.id, more);
    const body = { ...filing("punishment"), user_id: subject };
    const { reference } = (await world.post("/workflows/punishment", body, { actor: requester })).body;
    const decide = (actor: User) => world.post(`/workflows/punishment/${reference}/decision`, approval, { actor });
    const votes = () => world.app.database.read.workflowVote.count({ where: { request: { reference } } });
    return { linked, other, reference, decide, votes };
  }

  test.each(["requester", "subject"] as const)("in a request of or about the account of the %s: over HTTP and in Discord", async (end) => {
    const { world } = shared;
    const { linked, other, reference, decide, votes } = await filed(end, { confidence: "confirmed", propagates: false });
    const refused = await decide(linked);
    expect([refused.status, refused.body.code]).toEqual([403, "conflict_of_interest"]);
    expect(JSON.stringify(refused.body)).not.toMatch(/\d{17}/);
    expect(await world.slash(linked, "review approve", { reference })).toContain("conflict_of_interest");
    expect(await votes()).toBe(0);
    const view = (actor: User) => world.get(`/workflows/punishment/${reference}`, { actor });
    expect((await view(linked)).body.data.allowed_actions).toEqual([]);
    expect((await view(other)).body.data.allowed_actions).toEqual(expect.arrayContaining(["approve", "deny"]));
    expect(await approve(world, other, reference)).toContain("is approved");
  });

  test("over several links, too", async () => {
    const { world } = shared;
    const { linked, decide, reference } = await filed("subject", { confidence: "probable" });
    const subject = (await world.app.database.read.workflowRequest.findUniqueOrThrow({ where: { reference }, include: { subjects: true } }))
      .subjects[0]?.subjectId;
    const [owner, between] = [await world.staff("owner"), fresh()];
    await made(owner, linked.id, between, { confidence: "confirmed" });
    await made(owner, between, subject ?? "", { confidence: "confirmed" });
    expect((await decide(linked)).body.code).toBe("conflict_of_interest");
  });

  test.each(["suspected", "probable"])("but a link that is only %s bars nobody", async (confidence) => {
    const { linked, decide, votes } = await filed("requester", { confidence });
    expect((await decide(linked)).status).toBe(200);
    expect(await votes()).toBe(1);
  });
});

test("the grounds of a request to link accounts hold no address either", async () => {
  const { world } = shared;
  const ground = (note: string) => ({ user_ids: [fresh(), fresh()], confidence: "suspected", basis: [{ type: "other", note }] });
  const moderator = await world.staff("moderator");
  const refused = await world.post("/workflows/alt-request", ground("Both from 203.0.113.7"), { actor: moderator });
  expect(refused.body).toMatchObject({ status: 422, errors: [{ pointer: "/basis/0/note", code: "identifying_data" }] });
  expect(JSON.stringify(refused.body)).not.toContain("203.0.113.7");
  expect((await world.post("/workflows/alt-request", ground("Both say the same jokes."), { actor: moderator })).status).toBe(201);
});

test("an approved request links every two of its accounts, strengthens the links there are, and is named as their origin", async () => {
  const { world } = shared;
  const [moderator, senior, other] = [await world.staff("moderator"), await world.staff("senior"), await world.staff("senior")];
  const [a, b, c] = [fresh(), fresh(), fresh()];
  const known = await made(senior, a, b, { confidence: "suspected" });
  const body = {
    user_ids: [a, b, c],
    confidence: "confirmed",
    basis: [{ type: "admission", note: "Said so." }],
    propagate: { matches: true },
  };
  const filed = await world.post("/workflows/alt-request", body, { actor: moderator });
  expect(filed.body.effects_preview).toMatchObject([{ key: "account_link.create" }]);
  const { reference } = filed.body;
  const decide = (actor: User) =>
    world.post(`/workflows/alt-request/${reference}/decision`, { decision: "approve", reason: "Clear enough." }, { actor });
  expect((await decide(senior)).body).toMatchObject({ final: false, effects: [] });
  expect(await shared.world.app.database.read.accountLink.count({ where: { OR: [{ userA: c }, { userB: c }] } })).toBe(0);
  const { effects } = (await decide(other)).body;
  expect(effects.map(({ key }: { key: string }) => key)).toEqual([
    "account_link.merge",
    "account_link.create",
    "account_link.create",
    "notice.requester",
  ]);
  const links = (await world.get(`/users/${a}/links`, { actor: senior })).body.data;
  expect(links).toHaveLength(2);
  for (const link of links) expect(link).toMatchObject({ confidence: "confirmed", propagates: true, origin_reference: reference });
  expect(links.map(({ id }: { id: string }) => id)).toContain(known.id);
  const group = (await world.get(`/users/${c}/links/group`, { actor: senior })).body.data;
  expect(group.members.map(({ user_id }: { user_id: string }) => user_id).toSorted()).toEqual([a, b].toSorted());
});
