import { beforeAll, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { worded } from "../../src/kit/say.ts";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { authorize, everyRow, shareWorld, staffAtConsole } from "../contract/world.ts";
import { asPerson, cli } from "./privacy-ground.ts";

const time = { offset: 0 };
const shared = shareWorld({ clock: { now: () => new Date(Date.now() + time.offset) } });
const day = 86_400_000;
const cast: Record<"author" | "decider" | "second", User> = {} as never;
let partner: GuildHandle;

/** What is only known because the person let the service read their servers. */
const known = {
  no_poach: "An agreement between servers keeps us from recruiting them.",
  matches: "Open matches: 1, of them grave: 1.",
  authorization: "Their authorization is in force and fresh.",
};
const consentKeys = Object.keys(known);
const ended = "Ended with the consent it rested on.";

const decide = (kind: string, reference: string, body: object, actor: User) =>
  shared.world.post(`/workflows/${kind}/${reference}/decision`, body, { actor });

beforeAll(async () => {
  const { world } = shared;
  cast.author = await world.staff("senior");
  cast.decider = await staffAtConsole(world, "owner");
  cast.second = await world.staff("owner");
  partner = world.sandbox.createGuild({ name: "The Partner Place", withBot: false });
  const parties = { kind: "agreement", party_server_ids: [partner.id, world.guild.id], covers: "both", cooling_off_days: 10 };
  const { reference } = (await world.post("/workflows/poach", parties, { actor: cast.decider })).body;
  for (const actor of [cast.second, await world.staff("owner"), await world.staff("owner")])
    await decide("poach", reference, { decision: "approve", reason: "They asked for it." }, actor);
  expect(await world.app.database.read.agreement.count({ where: { status: "active" } })).toBe(1);
  const listing = { kind: "server", subject_id: partner.id, category: "raiding", severity: "critical", member_policy: "flag" };
  expect((await world.post("/blacklist", listing, { actor: cast.decider })).status).toBe(201);
});

/** A person of the partner who lets the service read their servers, and a recruitment of them. */
async function candidate() {
  const { world } = shared;
  const person = world.member();
  partner.addMember(person);
  await authorize(world, person, { by: cast.author });
  const body = { user_id: person.id, position: "viewer", timezone: "Europe/Berlin" };
  const filed = await world.post("/workflows/recruitment", body, { actor: cast.author });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  return { person, reference: filed.body.reference as string };
}

const viewOf = async (reference: string) =>
  (await shared.world.get(`/workflows/recruitment/${reference}`, { actor: cast.decider })).body.data;
const shown = async (reference: string) => (await shared.world.slash(cast.decider, "review show", { reference })).replaceAll("\\", "");
const exportOf = async (person: User) => (await shared.world.app.privacy.export(asPerson(person.id), person.id)).requests.entries;
const foundIn = (text: string) => Object.values(known).filter((detail) => text.includes(detail));
const job = () => systemCall("job", uuid7());

const ways: Readonly<Record<string, (person: User) => Promise<unknown>>> = {
  "the person takes their consent back": (person) => shared.world.app.authorization.revoke(asPerson(person.id), person.id, {}),
  "staff end the grant": ({ id }) =>
    shared.world.delete(`/users/${id}/authorization`, { reason: "It is not needed any more." }, { actor: cast.decider }),
  "the person deletes what they shared": ({ id }) => shared.world.app.privacy.erase(asPerson(id), id),
  "the person is redacted": ({ id }) => shared.world.app.privacy.redact(cli(), id, { reason: "Asked for by the person by mail." }),
  async "nobody refreshed the grant for its whole time"() {
    time.offset += 31 * day;
    await shared.world.app.authorization.sweep(job());
  },
};

test.each(Object.entries(ways))("a check that rests on a person's consent is gone when %s", async (_way, end) => {
  const { world } = shared;
  const [{ person, reference }, other] = [await candidate(), await candidate()];
  const before = await viewOf(reference);
  const consented = before.checks.filter(({ key }: any) => consentKeys.includes(key));
  expect(new Map(consented.map(({ key, detail }: any) => [key, detail]))).toEqual(new Map(Object.entries(known)));
  expect(before.checks.map(({ consent_of: of }: any) => of ?? null)).toEqual(
    before.checks.map(({ key }: any) => (consentKeys.includes(key) ? person.id : null)),
  );
  expect(foundIn(await shown(reference))).toEqual(Object.values(known));
  const [told] = await exportOf(person);
  expect(new Map(told?.checks.map(({ key, detail }) => [key, worded(detail)]))).toEqual(new Map(Object.entries(known)));
  const claim = { headers: { "idempotency-key": `claim-${person.id}` }, actor: cast.decider };
  expect((await world.post(`/workflows/recruitment/${reference}/decision`, { decision: "claim" }, claim)).status).toBe(200);
  const claimed = await viewOf(reference);

  await end(person);

  const after = await viewOf(reference);
  expect(after.checks.map(({ key }: any) => key)).toEqual(before.checks.map(({ key }: any) => key));
  for (const { key, result, detail, consent_of: of } of after.checks)
    expect([key, result === "ended", detail === ended, of]).toEqual(
      consentKeys.includes(key) ? [key, true, true, undefined] : [key, false, false, undefined],
    );
  expect(after.revision).toBeGreaterThan(claimed.revision);
  const card = await shown(reference);
  expect([foundIn(card), card.includes(ended)]).toEqual([[], true]);
  expect((await exportOf(person))[0]?.checks ?? []).toEqual([]);
  const { WorkflowRequest: requests = [], IdempotencyRecord: answers = [], ...rest } = await everyRow(world);
  expect(requests.filter((row) => row.includes(reference)).flatMap(foundIn)).toEqual([]);
  expect(answers.filter((row) => row.includes(reference))).toEqual([]);
  expect(foundIn(JSON.stringify(rest))).toEqual([]);
  const updates = await world.app.database.read.outboxEvent.findMany({ where: { type: "workflow.updated" } });
  expect(updates.map(({ data }) => data)).toContainEqual({
    request_id: after.id,
    reference,
    type: "recruitment",
    status: after.status,
    action: "end_checks",
  });
  // Somebody else's consent ends with time alone.
  const untouched = (await viewOf(other.reference)).checks.filter(({ result }: any) => result === "ended").length;
  expect(untouched).toBe(end === ways["nobody refreshed the grant for its whole time"] ? consentKeys.length : 0);
});

test("a check that counts a match through another account is not in the person's own export", async () => {
  const { world } = shared;
  const { person } = await candidate();
  const other = world.member();
  await world.app.database.write(job(), async ({ db }) => {
    const match = await db.match.findFirstOrThrow({ where: { userId: person.id, kind: "server_blacklist" } });
    const more = { id: uuid7(), kind: "alt_of_blacklisted", viaUserId: other.id, recordId: uuid7(), why: [], resolution: {} };
    await db.match.create({ data: { ...match, ...more } });
    await db.workflowRequest.updateMany({ where: { subjects: { some: { subjectId: person.id } } }, data: { status: "withdrawn" } });
  });
  const body = { user_id: person.id, position: "viewer", timezone: "Europe/Berlin" };
  const { reference } = (await world.post("/workflows/recruitment", body, { actor: cast.author })).body;
  const counted = (await viewOf(reference)).checks.find(({ key }: any) => key === "matches");
  expect(counted).toMatchObject({ detail: "Open matches: 2, of them grave: 2.", through_accounts: true });
  const told = (await exportOf(person)).find((one) => one.reference === reference);
  expect(told?.checks.map(({ key }) => key).toSorted()).toEqual(["authorization", "no_poach"]);
});

test("who never granted anything has no check that rests on a consent", async () => {
  const { world } = shared;
  const body = { user_id: world.member().id, position: "viewer", timezone: "Europe/Berlin" };
  const { reference } = (await world.post("/workflows/recruitment", body, { actor: cast.author })).body;
  const { checks } = await viewOf(reference);
  expect(checks.flatMap(({ consent_of: of }: any) => of ?? [])).toEqual([]);
  expect(checks.find(({ key }: any) => key === "authorization").detail).toBe("They never let us read their servers.");
});

test("what staff wrote in the audit about a match goes when the person deletes what they shared", async () => {
  const { world } = shared;
  const { person } = await candidate();
  const { id } = await world.app.database.read.match.findFirstOrThrow({ where: { userId: person.id, kind: "server_blacklist" } });
  const decided = { outcome: "acknowledge", reason: "Seen in the Partner Place by three of us." };
  const answer = await world.post(`/users/${person.id}/matches/${id}/resolution`, decided, { actor: cast.decider });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  const tables = async () =>
    Object.entries(await everyRow(world)).flatMap(([table, rows]) => (JSON.stringify(rows).includes(decided.reason) ? [table] : []));
  expect(await tables()).toEqual(["Match", "AuditPayload"]);
  await world.app.privacy.erase(asPerson(person.id), person.id);
  expect(await tables()).toEqual([]);
  expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
});

test("an audit of the roster forgets with a revoked consent what it found in it, and nothing else", async () => {
  const { world } = shared;
  const [{ person }, { person: other }] = [await candidate(), await candidate()];
  const finding = { position: 0, severity: "warning", detail: "Found.", facts: {}, isNew: true, since: new Date() };
  const codes = ["open_match_on_staff", "stale_authorization", "trial_overdue"];
  await world.app.database.write(job(), async ({ db, now }) => {
    const audit = { scope: {}, checks: [], comparison: "", status: "done", trigger: "request", startedAt: now, summary: {} };
    const { id: auditId } = await db.rosterAudit.create({ data: audit });
    const found = [person, other].flatMap(({ id: userId }) =>
      codes.map((code) => ({ ...finding, auditId, userId, code, key: `${code}:${userId}` })),
    );
    await db.rosterFinding.createMany({ data: found });
  });
  await world.app.authorization.revoke(asPerson(person.id), person.id, {});
  const left = async ({ id: userId }: User) =>
    (await world.app.database.read.rosterFinding.findMany({ where: { userId } })).map(({ code }) => code).toSorted();
  expect([await left(person), await left(other)]).toEqual([["trial_overdue"], codes]);
});

test("a restored backup loses the checks that rest on a consent that was deleted after it, and keeps those of a newer consent", async () => {
  const { world } = shared;
  const { person, reference } = await candidate();
  const where = { reference };
  const { checks: old } = await world.app.database.read.workflowRequest.findUniqueOrThrow({ where });
  await world.app.privacy.erase(asPerson(person.id), person.id);
  const younger = { key: "no_poach", result: "fail", detail: "Found later.", at: new Date(Date.now() + time.offset + day).toISOString() };
  await world.app.database.write(job(), async ({ db }) => {
    const checks = [...(old as object[]), { ...younger, consent_of: person.id }];
    await db.workflowRequest.update({ where, data: { checks: checks as never } });
    await db.erasure.deleteMany();
  });
  expect(await world.app.privacy.catchUp(job())).toBeGreaterThan(0);
  const { checks } = await viewOf(reference);
  expect(foundIn(JSON.stringify(checks))).toEqual([]);
  expect(checks.at(-1)).toMatchObject(younger);
});

test("that a consent was taken back is forgotten by checks when it is forgotten itself", async () => {
  const { world } = shared;
  const person = world.member();
  await authorize(world, person, { by: cast.author });
  await world.app.authorization.revoke(asPerson(person.id), person.id, {});
  const body = { user_id: person.id, position: "viewer", timezone: "Europe/Berlin" };
  const { reference } = (await world.post("/workflows/recruitment", body, { actor: cast.author })).body;
  const check = async () => (await viewOf(reference)).checks.find(({ key }: any) => key === "authorization");
  expect(await check()).toMatchObject({ detail: "Their authorization has ended: revoked.", consent_of: person.id });
  time.offset += 31 * day;
  await world.app.authorization.sweep(job());
  expect(await world.app.database.read.authorization.count({ where: { userId: person.id } })).toBe(0);
  expect(await check()).toMatchObject({ result: "ended", detail: ended });
});
