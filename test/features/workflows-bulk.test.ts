import { expect, test } from "vitest";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, ownGuilds, type Ground } from "./workflows-ground.ts";

const path = "/workflows/decisions";
const word = { decision: "approve", reason: "Checked one after the other." };
const times = (count: number) => Array.from({ length: count }, (_, index) => index);

async function file(ground: Ground, count: number, actor = ground.staff("moderator")): Promise<string[]> {
  const references: string[] = [];
  for (const _ of times(count)) {
    const body = {
      user_id: freshId(),
      category: "raid",
      severity: "high",
      reason: "Led the raid of last night.",
      server_ids: [ownGuilds[0]],
    };
    references.push((await ground.post("/workflows/blacklist-user", body, { actor })).body.reference);
  }
  return references;
}

/** What is in force: the records and their people, the matches, the cases. */
async function inForce({ database: { read } }: Ground) {
  const [records, matches, cases, suspensions] = await Promise.all([
    read.blacklistRecord.findMany({ where: { status: "active" }, select: { subjectId: true } }),
    read.match.count({ where: { closedAt: null } }),
    read.case.findMany({ where: { status: { not: "closed" } }, select: { title: true } }),
    read.agreement.count({ where: { suspendedBy: { not: null } } }),
  ]);
  return { records, matches, cases, suspensions };
}

const written = async ({ database: { read } }: Ground) => ({
  steps: await read.workflowStep.count(),
  votes: await read.workflowVote.count(),
  effects: await read.workflowEffect.count(),
  entries: await read.auditEntry.count(),
  keys: await read.idempotencyRecord.count(),
});

test("many are approved in one go, in order, and reversed in another: what is in force is as before", async () => {
  const ground = await createGround();
  const [decider, reverser, second] = [ground.staff("owner"), ground.staff("owner"), ground.staff("owner")];
  const references = await file(ground, 5);
  const before = await inForce(ground);
  const approved = await ground.post(path, { references, ...word }, { actor: decider });
  expect(approved.body).toMatchObject({ success: true, decided: 5, refused: 0 });
  expect(approved.body.results.map(({ asked, status, answer }: any) => [asked, status, answer.final])).toEqual(
    references.map((reference) => [reference, "approved", true]),
  );
  expect((await inForce(ground)).records).toHaveLength(5);
  const back = { decision: "reverse", reason: "All of them were mistaken." };
  const first = await ground.post(path, { references: references.toReversed(), ...back }, { actor: reverser });
  expect(first.body.results.map(({ status, answer }: any) => [status, answer.final])).toEqual(times(5).map(() => ["approved", false]));
  // Whoever decided alone takes nothing back alone.
  expect((await ground.post(path, { references, ...back }, { actor: decider })).body).toMatchObject({ decided: 0, refused: 5 });
  const last = await ground.post(path, { references, ...back }, { actor: second });
  expect(last.body.results.map(({ status }: any) => status)).toEqual(times(5).map(() => "reversed"));
  expect(await inForce(ground)).toEqual(before);
});

test("half refused keeps the others, each with its reason", async () => {
  const ground = await createGround();
  const admin = ground.staff("admin");
  const [plain, own, held, denied] = [...(await file(ground, 1)), ...(await file(ground, 1, admin)), ...(await file(ground, 2))] as [
    string,
    string,
    string,
    string,
  ];
  await ground.post(`/workflows/blacklist-user/${held}/decision`, { decision: "hold", reason: "Waiting for more." }, { actor: admin });
  const items = [
    { id: plain.toLowerCase(), ...word },
    { id: own, ...word },
    { id: held, type: "blacklist_user", ...word },
    { id: denied, decision: "deny" },
    { id: plain.replace("BLU", "PCH"), ...word },
    { id: denied.replace(/\d$/, "9"), type: "poach", ...word },
  ];
  const { status, body } = await ground.post(path, { items }, { actor: admin });
  expect([status, body.decided, body.refused]).toEqual([200, 1, 5]);
  expect(body.results.map(({ asked, ok, problem }: any) => [asked, ok, problem?.code])).toEqual([
    [plain.toLowerCase(), true, undefined],
    [own, false, "conflict_of_interest"],
    [held, false, "invalid_transition"],
    [denied, false, "validation_failed"],
    [items[4]?.id, false, "record_not_found"],
    [items[5]?.id, false, "record_not_found"],
  ]);
  expect(body.results[3].problem).toMatchObject({ status: 422, errors: [{ pointer: "/reason", code: "required" }] });
  expect((await inForce(ground)).records).toHaveLength(1);
  await ground.audit.flushDenied();
  expect(await ground.database.read.auditEntry.findMany({ where: { outcome: "denied" }, select: { actorId: true } })).toEqual([
    { actorId: admin },
  ]);
});

test("it needs the permission for many, that of each action, and a person", async () => {
  const ground = await createGround();
  const references = await file(ground, 2);
  const before = await written(ground);
  expect((await ground.post(path, { references, ...word }, { actor: ground.staff("senior") })).body).toMatchObject({
    required: "workflows.bulk",
  });
  expect((await ground.post(path, { references, ...word }, {})).body.code).toBe("acting_user_required");
  const narrow = await ground.post(
    path,
    { references, ...word },
    { actor: ground.staff("owner"), scopes: "workflows.bulk,workflows.read" },
  );
  expect(narrow.body.results.map(({ problem }: any) => [problem.code, problem.status])).toEqual([
    ["permission_denied", 403],
    ["permission_denied", 403],
  ]);
  expect(await written(ground)).toEqual(before);
});

test("what is not understood is refused as a whole: nothing, both forms, too many, one twice", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const references = await file(ground, 1);
  const [reference = ""] = references;
  const { id } = await ground.database.read.workflowRequest.findFirstOrThrow();
  const before = await written(ground);
  const wrong: [object, string][] = [
    [{}, "/references"],
    [{ references, items: [{ id: reference, ...word }] }, "/items"],
    [{ items: [{ id: reference, decision: "approve" }], reason: "For all of them." }, "/reason"],
    [{ references: times(101).map((index) => `BLU-REQ-${index.toString()}`), ...word }, "/references"],
    [{ references: [], ...word }, "/references"],
    [{ items: [{ decision: "approve" }] }, "/items/0/id"],
    [{ references: [reference, reference.toLowerCase()], ...word }, "/references/1"],
    [
      {
        items: [
          { id: reference, ...word },
          { id, ...word },
        ],
      },
      "/items/1/id",
    ],
    [{ references: ["X-1", "x-1"], ...word }, "/references/1"],
    [{ references, ...word, nonsense: true }, "/nonsense"],
  ];
  for (const [body, pointer] of wrong) {
    const answer = await ground.post(path, body, { actor });
    expect([body, answer.status, answer.body.errors?.map((error: any) => error.pointer)]).toEqual([body, 422, [pointer]]);
  }
  expect(await written(ground)).toEqual(before);
});

test("a dry run shows what would come of each and writes nothing", async () => {
  const ground = await createGround();
  const admin = ground.staff("admin");
  const references = [...(await file(ground, 2)), ...(await file(ground, 1, admin))];
  const before = await written(ground);
  const headers = { "idempotency-key": "a-dry-run-of-many" };
  const { status, body } = await ground.post(`${path}?dry_run=true`, { references, ...word }, { actor: admin, headers });
  expect([status, body.dry_run, body.decided, body.refused]).toEqual([200, true, 2, 1]);
  expect(body.results[0].answer).toMatchObject({ dry_run: true, status: "approved", blockers: [] });
  expect(body.results[2].answer.blockers).toMatchObject([{ code: "conflict_of_interest" }]);
  expect(await written(ground)).toEqual(before);
});

test("under one key the whole answer is kept; after a stop in the middle the same decisions are answered as replayed", async () => {
  const ground = await createGround();
  const actor = ground.staff("admin");
  const references = await file(ground, 4);
  const ask = (key: string, body: object = { references, ...word }) =>
    ground.post(path, body, { actor, headers: { "idempotency-key": key } });
  // What a service that stopped in the middle had done.
  for (const reference of references.slice(0, 2)) await ground.post(`/workflows/blacklist-user/${reference}/decision`, word, { actor });
  const first = await ask("many-at-once-0001");
  expect(first.body.results.map(({ ok, answer }: any) => [ok, answer.status, answer.replayed])).toEqual([
    [true, "approved", true],
    [true, "approved", true],
    [true, "approved", undefined],
    [true, "approved", undefined],
  ]);
  const before = await written(ground);
  const again = await ask("many-at-once-0001");
  expect(again.body).toEqual(first.body);
  expect((await ask("many-at-once-0001", { references, decision: "deny", reason: "Another thing altogether." })).body.code).toBe(
    "idempotency_key_reused",
  );
  expect(await written(ground)).toEqual(before);
  expect((await inForce(ground)).records).toHaveLength(4);
});

test("what is hidden is not found, whatever is decided about it", async () => {
  const ground = await createGround();
  const [filer, owner] = [ground.staff("moderator"), ground.staff("owner")];
  const body = { subject: { kind: "user", id: owner }, allegation: "Shared internal screenshots.", confidential: true };
  const { reference, id } = (await ground.post("/workflows/investigation", body, { actor: filer })).body;
  // Whoever it is about learns neither that it is there nor that two names are one.
  const answer = await ground.post(path, { references: [reference, id, uuid7()], decision: "approve" }, { actor: owner });
  expect(answer.body.results.map(({ asked: _, ...rest }: any) => rest)).toEqual(
    times(3).map(() => answer.body.results[0] && withoutAsked(answer.body.results[0])),
  );
  expect(answer.body.results[0].problem.code).toBe("record_not_found");
});

function withoutAsked({ asked: _, ...rest }: any) {
  return rest;
}

test("two about the same at once, in opposite order, both come to an end, and each request is decided once", async () => {
  const ground = await createGround();
  const references = await file(ground, 12);
  const deciders = [ground.staff("owner"), ground.staff("owner")];
  const answers = await Promise.all([
    ground.post(path, { references, ...word }, { actor: deciders[0] ?? "" }),
    ground.post(path, { references: references.toReversed(), ...word }, { actor: deciders[1] ?? "" }),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  expect(answers[0]?.body.decided + answers[1]?.body.decided).toBe(12);
  const codes = answers.flatMap(({ body }) => body.results.filter(({ ok }: any) => !ok).map(({ problem }: any) => problem.code));
  expect(new Set(codes)).toEqual(new Set(["already_decided"]));
  expect((await inForce(ground)).records).toHaveLength(12);
  expect(await ground.database.read.workflowStep.count({ where: { action: "approve" } })).toBe(12);
});
