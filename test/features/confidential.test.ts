import { beforeAll, describe, expect, test } from "vitest";
import { findPeople } from "../../src/features/privacy/privacy.service.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { filing, freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer, Level } from "../support/world.ts";
import { acted, openCase } from "./cases-actions.setup.ts";

const shared = shareWorld();
const people = new Map<Level, User>();
const staff = (level: Level): User => {
  const person = people.get(level);
  if (person === undefined) throw new Error("the people are made before the tests");
  return person;
};

beforeAll(async () => {
  for (const level of ["owner", "admin", "senior"] as const) people.set(level, await shared.world.staff(level));
});

const addText = async (path: string, actor: User, more: object = {}): Promise<string> => {
  const body = { kind: "text", note: "Three people saw it.", ...more };
  const { status, body: told } = await shared.world.post(`${path}/evidence`, body, { actor });
  if (status !== 201) throw new Error(JSON.stringify(told));
  return told.data.id;
};
const redact = (id: string, actor: User): Promise<Answer> =>
  shared.world.post(`/evidence/${id}/redact`, { reason: "It never happened." }, { actor });
const isWhole = async (id: string): Promise<boolean> =>
  (await shared.world.get(`/evidence/${id}`, { actor: staff("owner") })).body.data.redacted_at === null;

describe("evidence is redacted by nobody", () => {
  test("whose own case it speaks in, and by nobody the person it is about outranks or equals", async () => {
    const { world } = shared;
    const [admin, peer] = [staff("admin"), await world.staff("admin")];
    const own = await addText(`/cases/${(await openCase(world, staff("owner"), { about: [admin.id] })).id}`, staff("owner"));
    expect((await redact(own, admin)).body.code).toBe("conflict_of_interest");
    expect((await redact(own, peer)).body.code).toBe("hierarchy_violation");
    expect(await isWhole(own)).toBe(true);
    expect(await world.app.database.read.auditEntry.count({ where: { action: "evidence.redact", outcome: "ok" } })).toBe(0);
    expect((await redact(own, staff("owner"))).status).toBe(200);
  });

  test("who is listed by the record, and by nobody of the rank of who is", async () => {
    const { world } = shared;
    const [admin, peer] = [staff("admin"), await world.staff("admin")];
    const { body } = await world.post("/blacklist", { kind: "user", subject_id: admin.id }, { actor: staff("owner") });
    const id = await addText(`/blacklist/${body.data.id as string}`, staff("owner"));
    expect((await redact(id, admin)).body.code).toBe("conflict_of_interest");
    expect((await redact(id, peer)).body.code).toBe("hierarchy_violation");
    expect(await isWhole(id)).toBe(true);
    await world.delete(`/blacklist/${body.data.id as string}`, { reason: "Only for this test." }, { actor: staff("owner") });
  });

  test("a refusal names the record in the audit, not the piece", async () => {
    const { world } = shared;
    const admin = await world.staff("admin");
    const { id } = await openCase(world, staff("owner"), { about: [admin.id] });
    const piece = await addText(`/cases/${id}`, staff("owner"));
    expect((await redact(piece, admin)).status).toBe(403);
    await world.app.audit.flushDenied();
    const where = { outcome: "denied", actorId: admin.id };
    expect(await world.app.database.read.auditEntry.findMany({ where, select: { targetKind: true, targetId: true } })).toEqual([
      { targetKind: "case", targetId: id },
    ]);
  });
});

test("confidential evidence of an open case is in no count, no timeline and no event for those who may not read it", async () => {
  const { world } = shared;
  const { id } = await openCase(world, staff("senior"), { about: [freshId()] });
  const open = await addText(`/cases/${id}`, staff("admin"));
  const secret = await addText(`/cases/${id}`, staff("admin"), { confidential: true });
  const seenBy = async (actor: User) => {
    const { body } = await world.get(`/cases/${id}/timeline?count=true`, { actor });
    const pieces = body.data.flatMap((entry: { evidence_id?: string }) => entry.evidence_id ?? []);
    const count = (await world.get(`/cases/${id}`, { actor })).body.data.evidence_count;
    return { pieces, total: body.page.total, count, listed: (await world.get(`/cases`, { actor })).body.data[0].evidence_count };
  };
  expect(await seenBy(staff("senior"))).toEqual({ pieces: [open], total: 2, count: 1, listed: 1 });
  expect(await seenBy(staff("admin"))).toEqual({ pieces: [secret, open], total: 3, count: 2, listed: 2 });
  const events = await world.app.database.read.outboxEvent.findMany({ orderBy: { seq: "desc" }, take: 2 });
  expect(events.map(({ permission }) => permission)).toEqual(["cases.confidential", "cases.read_all"]);
});

describe("a confidential case", () => {
  test("is not named where the audit tells of a link to it", async () => {
    const { world } = shared;
    const secret = await openCase(world, staff("owner"), { about: [freshId()], confidential: true });
    const open = await openCase(world, staff("senior"), { about: [freshId()] });
    const link = { rel: "related", reference: secret.number };
    const { body } = await world.post(`/cases/${open.id}/links`, link, { actor: staff("admin") });
    const other = { rel: "related", reference: (await openCase(world, staff("senior"), { about: [freshId()] })).number };
    expect((await world.post(`/cases/${open.id}/links`, other, { actor: staff("admin") })).status).toBe(201);
    await world.delete(`/cases/${open.id}/links/${body.data.id as string}`, undefined, { actor: staff("admin") });
    const told = await world.get(`/audit?target=${open.id}`, { actor: staff("senior") });
    expect(told.body.data.slice(0, 3).map(({ before, after }: any) => (before ?? after).reference)).toEqual([
      "(hidden)",
      other.reference,
      "(hidden)",
    ]);
    expect(JSON.stringify(told.body)).not.toContain(secret.number);
  });

  test("leaves nothing of its outcome in the audit", async () => {
    const { world } = shared;
    const { id } = await openCase(world, staff("owner"), { about: [freshId()], confidential: true });
    const closed = { outcome: "resolved", reason: "It was the treasurer." };
    expect((await world.post(`/cases/${id}/close`, closed, { actor: staff("owner") })).body.data.outcome_reason).toBe(closed.reason);
    const { body } = await world.get(`/audit?target=${id}`, { actor: staff("owner") });
    expect(body.data[0].action).toBe("case.close");
    expect(JSON.stringify(body)).not.toContain("treasurer");
  });

  test("tips the scale of strikes for those alone who may know of it", async () => {
    const { world } = shared;
    const userId = freshId();
    const secret = await openCase(world, staff("owner"), { about: [userId], confidential: true });
    await acted(world, staff("owner"), secret.id, { points: 2 });
    const open = await openCase(world, staff("senior"), { about: [userId] });
    await acted(world, staff("senior"), open.id, { points: 1 });
    const drafts = async (actor: User): Promise<any[]> =>
      (await world.get(`/workflows/drafts?subject=${userId}&status=all`, { actor })).body.data;
    expect(await drafts(staff("senior"))).toEqual([]);
    const [tipped] = await drafts(staff("admin"));
    expect(tipped).toMatchObject({ cause_reference: secret.number, cause: "3 points are in force; from 3 on, probation is suggested." });
    expect(tipped.payload).not.toHaveProperty("case_reference");
    await acted(world, staff("senior"), open.id, { points: 5 });
    expect(await drafts(staff("senior"))).toMatchObject([
      { cause_reference: open.number, cause: "6 points are in force; from 6 on, suspension is suggested." },
    ]);
  });

  test("is not betrayed to a person by their export", async () => {
    const { world } = shared;
    const member = world.member();
    const secret = await openCase(world, staff("owner"), { about: [member.id], confidential: true });
    await acted(world, staff("owner"), secret.id, { points: 3 });
    const { body } = await world.get(`/users/${member.id}/data-export`, { actor: staff("owner") });
    expect(body.data.audit.entries).toEqual([]);
    const other = world.member();
    const open = await openCase(world, staff("owner"), { about: [other.id] });
    await acted(world, staff("owner"), open.id, { points: 3 });
    const told = await world.get(`/users/${other.id}/data-export`, { actor: staff("owner") });
    expect(told.body.data.audit.entries.map(({ action }: { action: string }) => action)).toContain("request_draft.suggest");
  });

  test("whose subject was erased is found again when a backup brings the name back", async () => {
    const { world } = shared;
    const userId = freshId();
    await openCase(world, staff("owner"), { about: [userId], confidential: true });
    expect(await findPeople(world.app.database.read, new Set([userId]), (id) => id)).toEqual(new Map([[userId, userId]]));
  });
});

test("lists answer however many confidential records there are", async () => {
  const { world } = shared;
  const [userId, many] = [freshId(), 1100];
  const texts = { title: "A secret", priority: "normal", status: "open" };
  const json = { payload: {}, extra: {}, evidence: [], related: [], links: [] };
  await world.app.database.write(systemCall("job", uuid7()), async ({ db, now }) => {
    const times = { createdAt: now, updatedAt: now };
    for (let from = 0; from < many; from += 50) {
      const numbers = Array.from({ length: 50 }, (_, index) => 500_000 + from + index);
      const cases = numbers.map((number) => ({
        id: uuid7(),
        number,
        type: "general",
        ...texts,
        policies: [],
        isConfidential: true,
        ...times,
      }));
      await db.case.createMany({ data: cases });
      const requests = numbers.map((number) => {
        const id = uuid7();
        const filed = { urgent: false, summary: "", requestedVia: "rest", approvalsRequired: 1 };
        return {
          id,
          reference: `INV-REQ-${number.toString()}`,
          type: "investigation",
          isRestricted: true,
          ...texts,
          ...json,
          ...filed,
          ...times,
        };
      });
      await db.workflowRequest.createMany({ data: requests });
      const restricted = requests.map(({ id }) => ({ requestId: id, kind: "restricted", subjectId: "*" }));
      await db.workflowSubject.createMany({ data: restricted });
    }
  });
  const { id } = await openCase(world, staff("senior"), { about: [userId] });
  await acted(world, staff("senior"), id, { points: 3 });
  const ask = (path: string, level: Level = "senior"): Promise<Answer> => world.get(path, { actor: staff(level) });
  const { body } = await ask(`/audit?subject=${userId}&count=true`);
  expect(body.data.map(({ action }: { action: string }) => action)).toEqual(["request_draft.suggest", "case.action", "case.open"]);
  expect(body.page.total).toBe(3);
  const paths = [
    `/users/${userId}/timeline`,
    `/workflows/drafts?subject=${userId}`,
    "/audit?q=case.open",
    "/audit/mine",
    "/audit?count=true",
  ];
  for (const path of paths) {
    const { status, body: told } = await ask(path);
    expect([path, status, told.data.length > 0]).toEqual([path, 200, true]);
  }
  const { status, body: exported } = await ask(`/users/${userId}/data-export`, "owner");
  expect([status, exported.data.audit.entries.length]).toEqual([200, 3]);
});

describe("nobody", () => {
  /** What a stream from the beginning says, up to an event that names this. */
  async function toldUpTo(actor: User, last: string): Promise<string> {
    const { world } = shared;
    const stop = new AbortController();
    const headers = { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id };
    const answer = await fetch(`${world.url}/events?after=0&types=case.*`, { headers, signal: stop.signal });
    let said = "";
    for await (const part of answer.body ?? []) {
      said += new TextDecoder().decode(part);
      if (said.includes(last)) break;
    }
    stop.abort();
    return said;
  }

  test("is told by an event of a confidential case about themselves", async () => {
    const { world } = shared;
    const [subject, colleague] = [await world.staff("admin"), await world.staff("admin")];
    const secret = await openCase(world, staff("owner"), { about: [subject.id], confidential: true });
    const plain = await openCase(world, staff("owner"), { about: [freshId()] });
    expect(await toldUpTo(colleague, plain.id)).toContain(secret.id);
    expect(await toldUpTo(subject, plain.id)).not.toContain(secret.id);
  });

  test("takes the record of an account of their own back, or changes it", async () => {
    const { world } = shared;
    const [admin, other] = [await world.staff("admin"), freshId()];
    const basis = [{ type: "admission", note: "Said so." }];
    const link = { user_id: other, confidence: "confirmed", kind: "declared_alt", basis };
    expect((await world.post(`/users/${admin.id}/links`, link, { actor: staff("owner") })).status).toBe(201);
    const record = (await world.post("/blacklist", { kind: "user", subject_id: other }, { actor: staff("owner") })).body.data;
    const path = `/blacklist/${record.id as string}`;
    expect((await world.delete(path, { reason: "It was nothing." }, { actor: admin })).body.code).toBe("conflict_of_interest");
    expect((await world.patch(path, { severity: "low" }, { actor: admin })).body.code).toBe("conflict_of_interest");
    expect((await world.get(path, { actor: staff("owner") })).body.data).toMatchObject({ status: "active", revision: 1 });
    expect((await world.delete(path, { reason: "It was nothing." }, { actor: await world.staff("admin") })).status).toBe(200);
  });

  test("redacts what is kept on a request that they are partial in", async () => {
    const { world } = shared;
    const [requester, uninvolved] = [await world.staff("admin"), await world.staff("admin")];
    const filed = await world.post("/workflows/punishment", filing("punishment"), { actor: requester });
    const id = await addText(`/workflows/punishment/${filed.body.reference as string}`, requester);
    expect((await redact(id, requester)).body.code).toBe("conflict_of_interest");
    expect(await isWhole(id)).toBe(true);
    expect((await redact(id, uninvolved)).status).toBe(200);
  });
});
