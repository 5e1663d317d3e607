import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { authorize, shareWorld } from "../contract/world.ts";

const shared = shareWorld({ env: { SERVER_DETAIL: "listed" } });

async function granted(person: User, by: User): Promise<User> {
  await authorize(shared.world, person, { by });
  return person;
}

const matchesOf = async (person: User, actor: User, query = "") => {
  const { status, body } = await shared.world.get(`/users/${person.id}/matches${query}`, { actor });
  expect([status, body]).toMatchObject([200, {}]);
  return body.data;
};
const reason = "Looked into it.";

test("a new record about a server finds everyone who is in it, though only keyed hashes of their servers are kept", async () => {
  const { world } = shared;
  const [owner, base, other] = [await world.staff("owner"), guild("Quiet Base"), guild("Elsewhere")];
  const people = [world.member(), world.member(), world.member()];
  for (const [n, person] of people.entries()) {
    (n < 2 ? base : other).addMember(person);
    await granted(person, owner);
  }
  const stored = await world.app.database.read.userServer.findMany({ where: { userId: { in: people.map(({ id }) => id) } } });
  expect(stored.length).toBeGreaterThanOrEqual(3);
  expect(stored.filter(({ details }) => details !== null)).toEqual([]);
  const record = { kind: "server", subject_id: base.id, grace_period: null };
  expect((await world.post("/blacklist", record, { actor: owner })).status).toBe(201);
  for (const [n, person] of people.entries()) {
    const kinds = (await matchesOf(person, owner)).map(({ kind, status }: { kind: string; status: string }) => `${kind} ${status}`);
    expect(kinds).toEqual(n < 2 ? ["server_blacklist open"] : []);
  }
  const watched = await world.post("/servers", { id: other.id, status: "watched" }, { actor: owner });
  expect(watched.status).toBe(201);
  expect(await matchesOf(people[2] ?? owner, owner)).toMatchObject([{ kind: "watch", severity: "low", record_ref: other.id }]);
});

test("a record about a person concerns their accounts as far as it says, and through which one is for those who may know", async () => {
  const { world } = shared;
  const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
  const [listed, alt, maybe, suspect] = [world.member(), world.member(), world.member(), world.member()];
  for (const person of [listed, alt, maybe, suspect]) await granted(person, owner);
  const basis = [{ type: "admission", note: "Said so in the ticket." }];
  for (const [other, confidence] of [
    [alt, "confirmed"],
    [maybe, "probable"],
    [suspect, "suspected"],
  ] as const) {
    const body = { user_id: other.id, confidence, kind: "declared_alt", basis };
    expect((await world.post(`/users/${listed.id}/links`, body, { actor: owner })).status).toBe(201);
  }
  const made = await world.post("/blacklist", { kind: "user", subject_id: listed.id, severity: "high" }, { actor: owner });
  expect(made.body.data.include_alts).toBe("confirmed");
  expect(await matchesOf(alt, owner)).toMatchObject([
    { kind: "alt_of_blacklisted", via_user_id: listed.id, confidence: 95, record_ref: made.body.data.number, severity: "high" },
  ]);
  for (const person of [maybe, suspect]) expect(await matchesOf(person, owner)).toEqual([]);
  const key = await world.makeKey(["users.matches.read"]);
  const [reduced] = (await world.get(`/users/${alt.id}/matches`, { key, actor: owner })).body.data;
  expect(reduced).toMatchObject({ kind: "alt_of_blacklisted" });
  for (const field of ["via_user_id", "record_ref"]) expect(reduced).not.toHaveProperty(field);
  const reader = await world.makeKey(["users.matches.read", "blacklist.read"]);
  const [unnamed] = (await world.get(`/users/${alt.id}/matches`, { key: reader, actor: owner })).body.data;
  expect(unnamed).toMatchObject({ kind: "alt_of_blacklisted" });
  for (const field of ["via_user_id", "record_ref"]) expect(unnamed).not.toHaveProperty(field);

  const path = `/blacklist/${made.body.data.id}`;
  expect((await world.patch(path, { include_alts: "probable" }, { actor: owner })).body.data.include_alts).toBe("probable");
  expect(await matchesOf(maybe, owner)).toMatchObject([{ kind: "alt_of_blacklisted", confidence: 60, status: "open" }]);
  expect(await matchesOf(suspect, owner)).toEqual([]);
  await world.patch(path, { include_alts: "none" }, { actor: owner });
  for (const person of [alt, maybe]) expect(await matchesOf(person, owner)).toMatchObject([{ status: "void" }]);
  const history = (await world.get(`${path}/history`, { actor: owner })).body.data;
  expect(history.map(({ record }: { record: { include_alts: string } }) => record.include_alts)).toEqual(["none", "probable", "confirmed"]);
  const wrong = await world.post("/blacklist", { kind: "server", subject_id: guild("Any").id, include_alts: "none" }, { actor: owner });
  expect([wrong.status, wrong.body.errors[0].pointer]).toEqual([422, "/include_alts"]);
  expect((await world.get(`/users/${alt.id}/matches`, { actor: viewer })).status).toBe(403);
});

test("nobody decides about themselves, an account of theirs, or who stands at or above them", async () => {
  const { world } = shared;
  const [owner, senior, peer] = [await world.staff("owner"), await world.staff("senior"), await world.staff("senior")];
  const [alt, moderator, stranger] = [world.member(), await world.staff("moderator"), world.member()];
  const base = guild("Common Base");
  const ids = new Map<User, string>();
  for (const person of [senior, peer, alt, moderator, stranger]) {
    base.addMember(person);
    await granted(person, owner);
  }
  await world.post("/blacklist", { kind: "server", subject_id: base.id }, { actor: owner });
  for (const person of [senior, peer, alt, moderator, stranger])
    ids.set(person, (await matchesOf(person, owner, "?kind=server_blacklist"))[0].id);
  const basis = [{ type: "admission", note: "Said so in the ticket." }];
  const link = { user_id: alt.id, confidence: "confirmed", kind: "declared_alt", basis, propagates: false };
  expect((await world.post(`/users/${senior.id}/links`, link, { actor: owner })).status).toBe(201);

  const decide = (person: User, actor: User, headers = {}) =>
    world.post(`/users/${person.id}/matches/${ids.get(person) ?? ""}/resolution`, { outcome: "dismiss", reason }, { actor, headers });
  const before = await world.app.database.read.match.findMany({ orderBy: { id: "asc" } });
  const refused: [User, User, string][] = [
    [senior, senior, "conflict_of_interest"],
    [alt, senior, "conflict_of_interest"],
    [peer, senior, "hierarchy_violation"],
    [stranger, moderator, "permission_denied"],
  ];
  for (const [person, actor, code] of refused) expect((await decide(person, actor)).body).toMatchObject({ status: 403, code });
  expect(await world.app.database.read.match.findMany({ orderBy: { id: "asc" } })).toEqual(before);
  expect(await world.app.database.read.auditEntry.count({ where: { action: "match.resolve", outcome: "ok" } })).toBe(0);

  const once = { "idempotency-key": "resolve-once" };
  const [first, again] = [await decide(stranger, senior, once), await decide(stranger, senior, once)];
  expect([first.status, first.body.data.status]).toEqual([200, "dismissed"]);
  expect(again.headers.get("idempotency-replayed")).toBe("true");
  expect(again.body).toEqual(first.body);
  expect((await decide(moderator, senior)).status).toBe(200);
  expect(await world.app.database.read.auditEntry.count({ where: { action: "match.resolve", outcome: "ok" } })).toBe(2);
});

function guild(name: string) {
  return shared.world.sandbox.createGuild({ name, withBot: false });
}

test("a denied application is known the moment it is denied, and approving a later one takes it back", async () => {
  const { world } = shared;
  const [owner, moderator, admin] = [await world.staff("owner"), await world.staff("moderator"), await world.staff("admin")];
  const person = await granted(world.member(), owner);
  const apply = async (decision: string): Promise<void> => {
    const body = { user_id: person.id, position: "moderator" };
    const { reference } = (await world.post("/workflows/recruitment", body, { actor: moderator })).body;
    const word = { decision, reason: "Talked about it at length." };
    expect((await world.post(`/workflows/recruitment/${reference}/decision`, word, { actor: admin })).body.final).toBe(true);
  };
  await apply("deny");
  expect(await matchesOf(person, owner)).toMatchObject([{ kind: "prior_denial", status: "open" }]);
  await world.app.database.write(systemCall("job", "cool"), (tx) =>
    tx.db.workflowRequest.updateMany({ where: { status: "denied" }, data: { decidedAt: new Date(Date.now() - 40 * 86_400_000) } }),
  );
  await apply("approve");
  expect(await matchesOf(person, owner)).toMatchObject([{ kind: "prior_denial", closed_at: expect.any(String) }]);
});
