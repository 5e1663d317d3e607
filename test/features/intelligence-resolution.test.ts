import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type Answer, type World } from "./authorization.setup.ts";

const staff = "100000000000000001";
const day = 86_400;
const job = systemCall("job", "sweep");

async function createMatch() {
  const world = await createWorld();
  const ann = world.sandbox.createUser("ann");
  const base = world.sandbox.createGuild({ name: "Raid Base", withBot: false });
  base.addMember(ann);
  await world.grant(ann);
  const { id: recordId } = await world.record({ kind: "server", subjectId: base.id, severity: "medium" });
  const match = (await world.get(`/users/${ann.id}/matches`)).body.data[0];
  return { world, ann, base, recordId, path: `/users/${ann.id}/matches/${match.id}/resolution`, match };
}

type Scene = Awaited<ReturnType<typeof createMatch>>;
const resolve = ({ world, path }: Pick<Scene, "world" | "path">, body: object, headers = {}): Promise<Answer> =>
  world.post(path, { reason: "Looked into it.", ...body }, { actor: staff, headers });
const only = async ({ world, ann }: Pick<Scene, "world" | "ann">) => (await world.get(`/users/${ann.id}/matches`)).body.data[0];
const events = async (world: World, type: string) =>
  (await world.database.read.outboxEvent.findMany({ where: { type }, orderBy: { seq: "asc" } })).map((event) => event.data);
const decisions = (world: World) => world.database.read.auditEntry.count({ where: { action: "match.resolve" } });

const table: [status: string, first: string | null, allowed: string[]][] = [
  ["open", null, ["acknowledge", "confirm", "dismiss", "exempt"]],
  ["acknowledged", "acknowledge", ["confirm", "dismiss", "exempt", "reopen"]],
  ["confirmed", "confirm", ["dismiss", "exempt", "reopen"]],
  ["dismissed", "dismiss", ["reopen"]],
  ["exempt", "exempt", ["reopen"]],
];
const outcomes = { acknowledge: "acknowledged", confirm: "confirmed", dismiss: "dismissed", exempt: "exempt", reopen: "open" };

describe("deciding about a match", () => {
  test.each(table)("of status %s takes only what is possible then", async (status, first, allowed) => {
    const scene = await createMatch();
    for (const [outcome, next] of Object.entries(outcomes)) {
      await scene.world.database.write(job, (tx) => tx.db.match.deleteMany());
      await scene.world.database.write(job, (tx) => scene.world.rooms.matches.recomputeUser(tx, scene.ann.id));
      const fresh = { ...scene, path: `/users/${scene.ann.id}/matches/${(await only(scene)).id}/resolution` };
      if (first !== null) expect((await resolve(fresh, { outcome: first })).status).toBe(200);
      const before = await only(scene);
      const told = await decisions(scene.world);
      expect(before.status).toBe(status);
      const answer = await resolve(fresh, { outcome });
      if (allowed.includes(outcome)) {
        expect([outcome, answer.status, answer.body.data?.status]).toEqual([outcome, 200, next]);
        expect(await only(scene)).toEqual(answer.body.data);
        expect(await decisions(scene.world)).toBe(told + 1);
      } else {
        expect([answer.status, answer.body]).toMatchObject([409, { code: "invalid_transition", from: status, action: outcome, allowed }]);
        expect(await only(scene)).toEqual(before);
        expect(await decisions(scene.world)).toBe(told);
      }
    }
  });

  test("shows the server's name, and keeps none for when the request is repeated", async () => {
    const scene = await createMatch();
    const headers = { "idempotency-key": "a-decision-once-0001" };
    const first = await resolve(scene, { outcome: "confirm" }, headers);
    expect(first.body.data.server.name_snapshot).toBe("Raid Base");
    const kept = await scene.world.database.read.idempotencyRecord.findMany();
    expect(kept).toHaveLength(1);
    expect(JSON.stringify(kept)).not.toContain("Raid Base");
    const again = await resolve(scene, { outcome: "confirm" }, headers);
    expect([again.headers.get("idempotency-replayed"), again.body]).toEqual(["true", first.body]);
    expect(await decisions(scene.world)).toBe(1);
  });

  test("is told in the audit and, where a match starts or stops asking for attention, to those who follow", async () => {
    const scene = await createMatch();
    const { world, ann, match } = scene;
    expect(await events(world, "match.opened")).toEqual([
      { match_id: match.id, user_id: ann.id, kind: "server_blacklist", status: "open" },
    ]);
    const answer = await resolve(scene, { outcome: "acknowledge" });
    expect(answer.body.data.resolution).toEqual({ outcome: "acknowledge", by: staff, at: expect.any(String), reason: "Looked into it." });
    expect(await events(world, "match.closed")).toEqual([]);
    await resolve(scene, { outcome: "dismiss" });
    expect(await events(world, "match.closed")).toEqual([
      { match_id: match.id, user_id: ann.id, kind: "server_blacklist", status: "dismissed" },
    ]);
    const reopened = await resolve(scene, { outcome: "reopen" });
    expect(reopened.body.data).toMatchObject({ status: "open", resolution: null });
    expect(await events(world, "match.opened")).toHaveLength(2);
    const entries = await world.database.read.auditEntry.findMany({ where: { action: "match.resolve" }, orderBy: { seq: "asc" } });
    expect(entries).toMatchObject([1, 2, 3].map(() => ({ subjectUserId: ann.id, targetId: match.id, actorId: staff, outcome: "ok" })));
    const payloads = await world.database.read.auditPayload.findMany({
      where: { seq: { in: entries.map(({ seq }) => seq) } },
      orderBy: { seq: "asc" },
    });
    expect(payloads.map(({ payload }) => payload)).toMatchObject([
      { before: { status: "open" }, after: { status: "acknowledged", outcome: "acknowledge" } },
      { before: { status: "acknowledged" }, after: { status: "dismissed", outcome: "dismiss" } },
      { before: { status: "dismissed" }, after: { status: "open", outcome: "reopen" } },
    ]);
  });

  test("holds for the revision that was looked at, by header or by body", async () => {
    const scene = await createMatch();
    const stale = await resolve(scene, { outcome: "confirm" }, { "if-match": '"v7"' });
    expect([stale.status, stale.body]).toMatchObject([412, { code: "precondition_failed", current_etag: '"v1"' }]);
    expect((await resolve(scene, { outcome: "confirm", revision: 7 })).status).toBe(412);
    expect((await only(scene)).revision).toBe(1);
    const fine = await resolve(scene, { outcome: "confirm", revision: 1 });
    expect([fine.status, fine.headers.get("etag"), fine.body.data.revision]).toEqual([200, '"v2"', 2]);
    expect((await resolve(scene, { outcome: "dismiss" }, { "if-match": '"v2"' })).status).toBe(200);
  });

  test("of somebody else's match is the same as of one that is not there", async () => {
    const { world, match } = await createMatch();
    const bob = world.sandbox.createUser("bob");
    await world.grant(bob);
    const path = (id: string) => `/users/${bob.id}/matches/${id}/resolution`;
    const [other, none] = [
      await resolve({ world, path: path(match.id) }, { outcome: "dismiss" }),
      await resolve({ world, path: path("none") }, { outcome: "dismiss" }),
    ];
    const bodies = [other, none].map(({ status, body }) => ({ status, ...body, request_id: "", instance: "" }));
    expect(bodies[0]).toMatchObject({ status: 404, code: "record_not_found" });
    expect(bodies[0]).toEqual(bodies[1]);
    expect(await decisions(world)).toBe(0);
    const stranger = world.sandbox.createUser("carl");
    expect((await resolve({ world, path: `/users/${stranger.id}/matches/${match.id}/resolution` }, { outcome: "dismiss" })).body.code).toBe(
      "authorization_required",
    );
  });

  test("needs a reason, and an end that makes sense", async () => {
    const scene = await createMatch();
    const at = (seconds: number): string => new Date(scene.world.clock.now().getTime() + seconds * 1000).toISOString();
    const wrong: [object, string][] = [
      [{ outcome: "dismiss", reason: "  x " }, "/reason"],
      [{ outcome: "ignore" }, "/outcome"],
      [{ outcome: "dismiss", until: at(day) }, "/until"],
      [{ outcome: "exempt", until: at(-60) }, "/until"],
      [{ outcome: "exempt", until: at(366 * day) }, "/until"],
      [{ outcome: "exempt", until: "soon" }, "/until"],
    ];
    for (const [body, pointer] of wrong) {
      const answer = await resolve(scene, body);
      expect([answer.status, answer.body.errors[0].pointer]).toEqual([422, pointer]);
    }
    expect((await only(scene)).revision).toBe(1);
    expect(await decisions(scene.world)).toBe(0);
    const until = at(364 * day);
    expect((await resolve(scene, { outcome: "exempt", until })).body.data.resolution).toMatchObject({ outcome: "exempt", until });
  });

  test("a dismissal is remembered through changes of the record, a refresh and a way out and back, until the severity rises", async () => {
    const scene = await createMatch();
    const { world, ann, base, recordId } = scene;
    await resolve(scene, { outcome: "dismiss" });
    const change = (severity: "low" | "medium" | "high", more = {}) =>
      world.record({ id: recordId, kind: "server", subjectId: base.id, severity, ...more });
    expect((await change("low")).changes.added).toBe(0);
    expect((await change("medium")).changes.added).toBe(0);
    base.kick(ann);
    await world.post(`/users/${ann.id}/refresh`, { force: true }, { actor: staff });
    expect(await only(scene)).toMatchObject({ status: "dismissed", closed_at: expect.any(String) });
    expect((await resolve(scene, { outcome: "reopen" })).body).toMatchObject({ code: "invalid_transition", allowed: [] });
    base.addMember(ann);
    await world.post(`/users/${ann.id}/refresh`, { force: true }, { actor: staff });
    expect(await only(scene)).toMatchObject({ status: "dismissed", closed_at: null });
    expect((await change("medium", { status: "revoked" })).changes.removed).toBe(0);
    expect(await only(scene)).toMatchObject({ status: "dismissed", closed_at: expect.any(String) });
    expect((await change("high")).changes).toEqual({ added: 1, changed: 0, removed: 0 });
    expect(await only(scene)).toMatchObject({ status: "open", severity: "high", closed_at: null, resolution: null });
  });
});

describe("what time does to matches", () => {
  const sweep = (world: World) => world.rooms.matches.sweep(job);

  test("a grace period that is over opens the match, once, with an event and an entry in the audit", async () => {
    const scene = await createMatch();
    const { world, ann, base, recordId } = scene;
    await world.record({ id: recordId, kind: "server", subjectId: base.id, gracePeriodSeconds: 3600 });
    const before = await only(scene);
    expect(before.status).toBe("grace");
    expect(await sweep(world)).toBe(0);
    world.clock.forward(3601);
    expect(await sweep(world)).toBe(1);
    expect(await sweep(world)).toBe(0);
    expect(await only(scene)).toMatchObject({ status: "open", revision: before.revision + 1 });
    const opened = await events(world, "match.opened");
    expect(opened.at(-1)).toEqual({ match_id: before.id, user_id: ann.id, kind: "server_blacklist", status: "open" });
    expect(opened).toHaveLength(2);
    expect((await world.actions()).filter((action) => action === "match.open")).toHaveLength(1);
  });

  test("an exemption ends at its time, and what was closed is forgotten after ninety days", async () => {
    const scene = await createMatch();
    const { world, base, recordId } = scene;
    const until = new Date(world.clock.now().getTime() + 5 * day * 1000).toISOString();
    await resolve(scene, { outcome: "exempt", until });
    world.clock.forward(4 * day);
    await sweep(world);
    expect((await world.database.read.match.findMany())[0]).toMatchObject({ status: "exempt" });
    world.clock.forward(day + 1);
    await sweep(world);
    expect((await world.database.read.match.findMany())[0]).toMatchObject({ status: "open", resolution: null, exemptUntil: null });
    await world.record({ id: recordId, kind: "server", subjectId: base.id, status: "revoked" });
    world.clock.forward(89 * day);
    await sweep(world);
    expect(await world.database.read.match.count({ where: { status: "void" } })).toBe(1);
    world.clock.forward(day);
    expect(await sweep(world)).toBe(1);
    expect(await world.database.read.match.count()).toBe(0);
  });

  test("an earlier denial counts for 180 days, unless a later application was approved", async () => {
    const world = await createWorld();
    const [ann, bob] = [world.sandbox.createUser("ann"), world.sandbox.createUser("bob")];
    const began = world.clock.now();
    for (const person of [ann, bob]) await world.grant(person);
    await decide(world, ann, "denied", began);
    await decide(world, bob, "denied", began);
    await decide(world, bob, "approved", new Date(began.getTime() + 1000));
    const compare = (person: User) => world.database.write(job, (tx) => world.rooms.matches.recomputeUser(tx, person.id));
    expect(await compare(ann)).toMatchObject({ added: 1 });
    expect(await compare(bob)).toMatchObject({ added: 0 });
    const [match] = (await world.get(`/users/${ann.id}/matches?kind=prior_denial`)).body.data;
    expect(match).toMatchObject({ severity: "low", status: "open", why: [{ rule: "recruitment_denied" }], record_ref: "REC-REQ-1-denied" });
    world.clock.forward(179 * day);
    await sweep(world);
    expect(await world.database.read.match.findMany()).toMatchObject([{ status: "open" }]);
    world.clock.forward(day + 1);
    await sweep(world);
    expect(await world.database.read.match.findMany()).toMatchObject([{ status: "expired" }]);
  });

  test("a record of another process is found by who comes later, and by those who came before it was known here", async () => {
    const { world, ann, base } = await createMatch();
    const other = world.sandbox.createGuild({ name: "Second Base", withBot: false });
    other.addMember(ann);
    await world.post(`/users/${ann.id}/refresh`, { force: true }, { actor: staff });
    const first = await world.database.read.blacklistRecord.findFirstOrThrow({ where: { subjectId: base.id } });
    const subjectHash = world.rooms.hashOf(other.id);
    const { id: _id, ...rest } = first;
    const copy = { ...rest, number: 700_000, subjectId: other.id, subjectHash, updatedAt: world.clock.now() };
    await world.database.write(job, (tx) =>
      tx.db.blacklistRecord.create({ data: { ...copy, serverIds: [], exemptUserIds: [], evidence: [], tags: [], approvedBy: [] } }),
    );
    expect(await world.database.read.match.count()).toBe(1);
    expect(await sweep(world)).toBe(1);
    expect(await world.database.read.match.count({ where: { serverId: other.id, status: "open" } })).toBe(1);
    expect(await sweep(world)).toBe(0);
  });
});

let requests = 0;

async function decide(world: World, person: User, status: string, at: Date): Promise<void> {
  requests += 1;
  await world.database.write(job, (tx) =>
    tx.db.workflowRequest.create({
      data: {
        reference: `REC-REQ-${requests.toString()}-${status}`,
        type: "recruitment",
        status,
        priority: "normal",
        urgent: false,
        title: "Application",
        summary: "",
        payload: {},
        extra: {},
        requestedVia: "rest",
        evidence: [],
        related: [],
        approvalsRequired: 1,
        links: {},
        createdAt: at,
        updatedAt: at,
        decidedAt: at,
        subjects: { create: [{ kind: "user", subjectId: person.id }] },
      },
    }),
  );
}
