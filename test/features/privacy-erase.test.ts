// @module-tag slow
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { authorize, everyRow } from "../contract/world.ts";
import { answerAtDiscord, press, visit } from "./authorization.setup.ts";
import { asPerson, cli, plant, words, write } from "./privacy-ground.ts";

/** Where an id may still stand, and why. */
const keptAlways: Record<string, string> = {
  AuditEntry: "that something was done stays, without its details",
  BlacklistRecord: "moderation has to be able to explain its records",
  BlacklistVersion: "as the record",
  ListAction: "what servers did because of a record, which is taken back with it",
  WorkflowRequest: "moderation has to be able to explain its decisions",
  WorkflowSubject: "as the request",
  Confirmation: "who asked for and who confirmed a redaction",
  OutboxEvent: "ids alone, for a few days, so that clients forget, too",
  IdempotencyRecord: "answers to repeated requests, for 48 hours",
  IdempotencySubject: "as the answers",
  UserPermissionSet: "a number that grows with every change, so that nobody takes an older one for the newest",
};
/** What a person's own deletion leaves besides: it is not theirs alone. */
const keptByDeletion: Record<string, string> = {
  AccountLink: "what staff have found out",
  GuildMember: "members who are or were staff",
  StaffProfile: "what is kept of staff",
  UserPermission: "what staff decided",
  AuditPayload: "details of what staff did",
};

/** The tables that still hold one of these texts. */
async function tablesWith(world: World, ...texts: string[]): Promise<string[]> {
  const rows = await everyRow(world);
  const found = Object.entries(rows).filter(([, lines]) => lines.some((line) => texts.some((text) => line.includes(text))));
  return found.map(([table]) => table).toSorted();
}

const verified = async (world: World) => (await world.get("/audit/verify")).body.data;
const redaction = { reason: "Asked for by the person by mail." };
const redact = (world: World, person: User, actor: User, body: object = redaction) =>
  world.post(`/users/${person.id}/redaction`, body, { actor });
const journalOf = (folder: string) => readFile(join(folder, "erasures.jsonl"), "utf8");

/** A world whose journal a test can read. */
async function createGround() {
  const folder = await mkdtemp(join(tmpdir(), "provost-erase-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const world = await createWorld({ env: { ERASURE_JOURNAL: join(folder, "erasures.jsonl") } });
  return { world, folder, ...(await plant(world)) };
}

describe("a person who deletes what they shared", () => {
  test("leaves no row of it, no token and no name of a server, and the audit still verifies", async () => {
    const { world, folder, person, other, moderator } = await createGround();
    const { read } = world.app.database;
    await world.get(`/users/${person.id}/servers`, { actor: moderator });
    expect((await verified(world)).ok).toBe(true);
    const entries = await read.auditEntry.count();
    const details = await read.auditEntry.findMany({ where: { subjectUserId: person.id, action: { startsWith: "authorization" } } });
    expect(details.length).toBeGreaterThan(1);

    const view = await world.app.privacy.erase(asPerson(person.id), person.id);
    expect(view).toMatchObject({ kind: "deletion", suppressed: false });
    expect(view.deleted).toMatchObject({
      authorization: 1,
      sessions: 2,
      servers: 2,
      matches: 2,
      sign_ins: 1,
      links: 0,
      staff: 0,
      names: 0,
    });
    expect(view.deleted.audit_details).toBe(details.length);
    expect(view.kept.join(" ")).toMatch(/Blacklist records, cases, requests and the decisions/);

    const kept = { ...keptAlways, ...keptByDeletion };
    expect((await tablesWith(world, person.id)).filter((table) => !(table in kept))).toEqual([]);
    expect(await tablesWith(world, words.server)).toEqual([]);
    expect(await read.authorization.count({ where: { userId: person.id } })).toBe(0);
    expect(await read.authorization.count({ where: { userId: other.id } })).toBe(1);
    expect(await read.userServer.count({ where: { userId: other.id } })).toBe(2);
    expect(await read.auditPayload.count({ where: { seq: { in: details.map(({ seq }) => seq) } } })).toBe(0);

    expect(await verified(world)).toMatchObject({ ok: true });
    expect(await read.auditEntry.count()).toBe(entries + 3);
    const [entry] = (await world.get("/audit?action=user.erase")).body.data;
    expect(entry).toMatchObject({ via: "web", actor: { id: person.id }, subject_user_id: person.id });
    const { details_erased: erased, ranges } = entry.after;
    expect(erased).toBe(details.length);
    const listed = (ranges as [number, number][]).flatMap(([from, to]) =>
      Array.from({ length: to - from + 1 }, (_, index) => from + index),
    );
    expect(listed).toEqual(details.map(({ seq }) => seq).toSorted((a, b) => a - b));
    expect(await read.outboxEvent.findMany({ where: { type: "user.erased" } })).toMatchObject([
      { data: { user_id: person.id, kind: "deletion" } },
    ]);

    const [line] = (await journalOf(folder)).trim().split("\n").slice(-1);
    const [row] = await read.erasure.findMany({ where: { kind: "deletion" } });
    expect(JSON.parse(line ?? "")).toEqual({ v: 1, id: row?.id, kind: "deletion", subject: row?.subjectHash, at: row?.at.toISOString() });
    expect(line).not.toContain(person.id);
    expect((await stat(join(folder, "erasures.jsonl"))).mode & 0o777).toBe(0o600);
    // Discord was told that the grant is over, and the person can be asked again.
    await world.sandbox.waitFor(() => world.sandbox.exchanges.some(({ path }) => path.endsWith("/oauth2/token/revoke")));
    const again = await authorize(world, person, { by: moderator });
    expect(new URL(again.redirectedTo).pathname).toMatch(/\/authorize\/result\/done/);
  });

  test("ends the way to a grant that is being walked: nothing is stored afterwards", async () => {
    const { world, person, moderator } = await createGround();
    const { url } = (await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: moderator })).body;
    const begun = await press(url, "start");
    await world.app.privacy.erase(asPerson(person.id), person.id);
    const back = await visit(await answerAtDiscord(begun.location, person), begun.cookie);
    expect(back.location).not.toMatch(/done/);
    const { read } = world.app.database;
    const where = { userId: person.id };
    expect([await read.authorization.count({ where }), await read.userServer.count({ where })]).toEqual([0, 0]);
    expect(await read.authorizationSession.count({ where })).toBe(0);
  });

  test("is told of looks again from the next one on, within the same hour, too", async () => {
    const { world, person, moderator } = await createGround();
    const looks = async () => {
      await world.app.reads.flush();
      return await world.app.database.read.dataRead.findMany({ where: { userId: person.id }, select: { what: true, readerId: true } });
    };
    await world.get(`/users/${person.id}/servers`, { actor: moderator });
    expect(await looks()).toEqual([{ what: "servers", readerId: moderator.id }]);
    await world.app.privacy.erase(asPerson(person.id), person.id);
    expect(await looks()).toEqual([]);
    await authorize(world, person, { by: moderator });
    await world.get(`/users/${person.id}/servers`, { actor: moderator });
    expect(await looks()).toEqual([{ what: "servers", readerId: moderator.id }]);
  });

  test("is told by the page of a consent that was taken back what of the hits stays", async () => {
    const { world, person } = await createGround();
    const where = { userId: person.id };
    await world.app.authorization.revoke(asPerson(person.id), person.id, {});
    const { read } = world.app.database;
    expect(await read.match.count({ where: { ...where, closedAt: null } })).toBe(0);
    expect(await read.match.count({ where })).toBe(2);
    const page = await (await fetch(`${world.url}/privacy/result/revoked`)).text();
    expect(page).toContain("kept for 90 days");
    await world.app.privacy.erase(asPerson(person.id), person.id);
    expect(await read.match.count({ where })).toBe(0);
  });

  test("is the only one who can ask for it", async () => {
    const { world, person, owner } = await createGround();
    const before = await everyRow(world);
    const ownerCall = { ...asPerson(owner.id), actor: world.app.access.of(owner.id) };
    await expect(world.app.privacy.erase(ownerCall, person.id)).rejects.toMatchObject({ code: "permission_denied" });
    await expect(world.app.privacy.erase(asPerson("80351110224678912"), person.id)).rejects.toMatchObject({
      code: "acting_user_not_staff",
    });
    expect(await everyRow(world)).toEqual(before);
  });
});

describe("a redaction", () => {
  test("waits for a second person who is neither the one who asked nor the one it is about, and then leaves no trace but records", async () => {
    const { world, folder, person, confirmed, owner, admin } = await createGround();
    const { read } = world.app.database;
    const second = await world.staff("owner");
    const before = await everyRow(world);
    const held = await redact(world, person, owner);
    expect(held.status).toBe(202);
    expect(held.body.data).toMatchObject({ action: "users.redact", needs: ["second_person"], status: "pending" });
    const { Confirmation: _c, AuditEntry: _e, AuditPayload: _p, OutboxEvent: _o, Counter: _n, ...rest } = await everyRow(world);
    expect(rest).toEqual(Object.fromEntries(Object.keys(rest).map((table) => [table, before[table]])));

    const confirm = (actor: User) => world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor });
    expect((await confirm(owner)).body).toMatchObject({ status: 403, code: "conflict_of_interest" });
    expect((await confirm(admin)).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect(await read.authorization.count({ where: { userId: person.id } })).toBe(1);

    const done = await confirm(second);
    expect([done.status, done.body.data.status]).toEqual([200, "applied"]);
    expect((await tablesWith(world, person.id)).filter((table) => !(table in keptAlways))).toEqual([]);
    expect(await tablesWith(world, words.name, words.server, words.staffNote, words.permission)).toEqual([]);
    expect(await read.accountLink.count({ where: { OR: [{ userA: confirmed.id }, { userB: confirmed.id }] } })).toBe(0);
    expect(await read.blacklistRecord.findFirst({ where: { subjectId: person.id } })).toMatchObject({
      status: "active",
      subjectName: null,
    });
    expect(await read.workflowRequest.findFirst({ where: { requesterId: person.id } })).toMatchObject({ requesterName: null });
    expect(await verified(world)).toMatchObject({ ok: true });
    const about = await read.auditEntry.findMany({ where: { subjectUserId: person.id }, orderBy: { seq: "asc" } });
    const left = await read.auditPayload.findMany({ where: { seq: { in: about.map(({ seq }) => seq) } } });
    const named = about.filter(({ seq }) => left.some((payload) => payload.seq === seq)).map(({ action }) => action);
    expect(named.toSorted()).toEqual(["authorization.revoke", "authorization_session.cancel", "confirmation.accept", "user.redact"]);
    const kinds = (await journalOf(folder))
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line).kind as string);
    expect(kinds.toSorted()).toEqual(["redaction", "suppression"]);
  });

  test("leaves neither names nor texts about the person in kept answers and in changes that were confirmed", async () => {
    const { world, person, owner, admin, moderator } = await createGround();
    const second = await world.staff("owner");
    const { read } = world.app.database;
    const listing = { kind: "user", subject_id: person.id, subject_name: words.name, category: "scam", severity: "low" };
    const key = { "idempotency-key": "the-key-of-a-listing" };
    const scoped = { ...listing, scope: "servers", server_ids: [world.guild.id] };
    expect(await world.post("/blacklist", scoped, { actor: admin, headers: key })).toMatchObject({ status: 201 });
    const about = { discord_user_id: "80351110224678912" };
    const unrelated = { "idempotency-key": "a-key-of-somebody" };
    expect((await world.post("/authorize/sessions", about, { actor: moderator, headers: unrelated })).status).toBe(201);
    expect(await read.idempotencyRecord.count()).toBe(2);
    await write(world, ({ db, now }) =>
      db.confirmation.create({
        data: {
          code: "ABC234",
          action: "permissions.users.update",
          input: { user_id: person.id, reason: words.staffNote },
          summary: "Change what somebody may do",
          permission: "permissions.users.manage",
          needs: [],
          keys: [],
          subjectUserId: person.id,
          rank: 0,
          actorId: admin.id,
          status: "applied",
          answers: [],
          createdAt: now,
          expiresAt: now,
        },
      }),
    );
    const held = await redact(world, person, owner);
    expect((await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: second })).body.data.status).toBe(
      "applied",
    );
    expect(await tablesWith(world, words.name, words.server, words.staffNote, words.permission)).toEqual([]);
    expect(await read.idempotencyRecord.count()).toBe(1);
  });

  test("keeps the person from being asked again until the operator lifts that", async () => {
    const { world, person, owner, moderator } = await createGround();
    const second = await world.staff("owner");
    const held = await redact(world, person, owner);
    expect((await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: second })).status).toBe(200);
    const ask = () => world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: moderator });
    expect((await ask()).body).toMatchObject({ status: 409, code: "invalid_transition", from: "redacted" });
    await world.app.privacy.unsuppress(cli(), person.id);
    expect((await ask()).status).toBe(201);
    await expect(world.app.privacy.unsuppress(cli(), person.id)).rejects.toMatchObject({
      code: "invalid_transition",
    });
  });

  test("without the wish to suppress leaves no tombstone", async () => {
    const { world, person, owner, moderator } = await createGround();
    const second = await world.staff("owner");
    const held = await redact(world, person, owner, { ...redaction, suppress: false });
    await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: second });
    expect(await world.app.database.read.erasure.findMany({ select: { kind: true } })).toEqual([{ kind: "redaction" }]);
    expect((await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: moderator })).status).toBe(201);
  });

  test("is not for the person it is about to confirm, even when they have become an owner since", async () => {
    const { world, person, owner } = await createGround();
    const held = await redact(world, person, owner);
    await world.app.permissions.owners.add(cli(), person.id);
    const answer = await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: person });
    expect(answer.body).toMatchObject({ status: 403, code: "conflict_of_interest" });
    const second = await world.staff("owner");
    expect((await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: second })).body).toMatchObject({
      code: "hierarchy_violation",
    });
    expect(await world.app.database.read.authorization.count({ where: { userId: person.id } })).toBe(1);
  });

  test("of staff, of owners, without a reason or without the right is refused, and nothing changes", async () => {
    const { world, person, owner, admin, moderator } = await createGround();
    const second = await world.staff("owner");
    const before = await everyRow(world);
    expect((await redact(world, moderator, owner)).body).toMatchObject({ status: 409, code: "invalid_transition", from: "staff" });
    expect((await redact(world, second, owner)).body).toMatchObject({ status: 403, code: "hierarchy_violation" });
    expect((await redact(world, person, admin)).body).toMatchObject({ status: 403, code: "permission_denied" });
    expect((await redact(world, person, owner, {})).body).toMatchObject({ status: 422, errors: [{ pointer: "/reason" }] });
    expect((await redact(world, person, owner, { ...redaction, force: true })).body).toMatchObject({ status: 422 });
    expect((await world.post(`/users/${person.id}/redaction`, redaction)).body).toMatchObject({ code: "acting_user_required" });
    expect(await everyRow(world)).toEqual(before);
    world.guild.setRoles(second, []);
    await world.sandbox.waitFor(() => !world.app.access.of(second.id).isStaff);
    await expect(world.app.privacy.redact(cli(), owner.id, redaction)).rejects.toMatchObject({ code: "last_owner" });
  });

  test("compares others again who were linked with the person", async () => {
    const { world, person, confirmed, owner } = await createGround();
    const { read } = world.app.database;
    const [match] = await read.match.findMany({ where: { userId: person.id } });
    const derived = { ...match!, id: "00000000-0000-7000-8000-000000000001", userId: confirmed.id, viaUserId: person.id, resolution: {} };
    await write(world, (tx) => tx.db.match.create({ data: { ...derived, kind: "alt_of_blacklisted", why: [] } }));
    const held = await redact(world, person, owner);
    await world.post(`/confirmations/${held.body.data.code}/confirm`, {}, { signed: true, actor: await world.staff("owner") });
    expect(await read.match.count({ where: { OR: [{ userId: confirmed.id }, { viaUserId: person.id }] } })).toBe(0);
  });
});

test("a record is no longer found by the name of a redacted person, and still by the rest of it", async () => {
  const world = await createWorld();
  const [owner, { id }] = [await world.staff("owner"), world.member()];
  const listing = { kind: "user", subject_id: id, subject_name: "Zorromund", reason_public: "Sold things." };
  expect((await world.post("/blacklist", listing, { actor: owner })).status).toBe(201);
  const found = async (q: string): Promise<number> => (await world.get(`/blacklist?q=${q}`, { actor: owner })).body.data.length;
  expect([await found("zorromund"), await found("sold")]).toEqual([1, 1]);
  await world.app.privacy.redact(systemCall("cli", uuid7()), id, { reason: "Asked for by the person." });
  expect([await found("zorromund"), await found("sold")]).toEqual([0, 1]);
  expect(await world.app.database.read.blacklistWord.count({ where: { word: "zorromund" } })).toBe(0);
});

test("a redacted former colleague is not written again when Discord tells of them", async () => {
  const world = await createWorld();
  const { read } = world.app.database;
  const former = await world.staff("moderator");
  await world.staff("owner");
  world.guild.setRoles(former, []);
  await world.sandbox.waitFor(() => !world.app.access.of(former.id).isStaff);
  expect(await read.guildMember.count({ where: { userId: former.id } })).toBe(1);
  await world.app.privacy.redact(cli(), former.id, { reason: "Asked for by the person by mail." });
  expect(world.app.access.of(former.id).status).toBeNull();
  const witness = await world.staff("viewer");
  world.guild.setRoles(former, [world.guild.createRole("plain")]);
  world.guild.setRoles(witness, [world.roles.admin]);
  await world.sandbox.waitFor(() => world.app.access.of(witness.id).level === "admin");
  expect(await read.guildMember.count({ where: { userId: former.id } })).toBe(0);
});

test("a change that waits for a word about a redacted person comes to nothing", async () => {
  const world = await createWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" } });
  const { read } = world.app.database;
  const [owner, admin, person] = [await world.staff("owner"), await world.staff("admin"), world.member()];
  const grave = { key: "staff.suspend", effect: "allow", reason: "Helps out while we are few." };
  const held = await world.patch(`/permissions/users/${person.id}`, { overrides: [grave] }, { actor: owner });
  expect(held.status).toBe(202);
  await world.app.privacy.redact(cli(), person.id, { reason: "Asked for by the person by mail." });
  expect(await read.confirmation.findMany()).toMatchObject([{ status: "expired", input: {} }]);
  const late = await world.post(`/confirmations/${held.body.data.id}/confirm`, {}, { signed: true, actor: admin });
  expect(late.status).not.toBe(200);
  expect(await read.userPermission.count()).toBe(0);
});
