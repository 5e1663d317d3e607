import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";
import { keep, rowOf } from "./workflows-rows.ts";

const hour = 3600;
const day = 24 * hour;
const job = () => systemCall("job", uuid7());
const remind = ({ workflows }: Ground) => workflows.remind(job());

interface Told {
  reference: string;
  reminder: string;
  status: string;
}

async function told({ database }: Ground): Promise<string[]> {
  const events = await database.read.outboxEvent.findMany({ where: { type: "workflow.overdue" }, orderBy: { seq: "asc" } });
  return events.map(({ data }) => data as unknown as Told).map(({ reference, reminder }) => `${reference} ${reminder}`);
}

async function file(
  ground: Ground,
  kind = "punishment",
): Promise<{ reference: string; act(body: object, actor: string): Promise<void>; requester: string }> {
  const requester = ground.staff("moderator");
  const bodies: Record<string, object> = {
    punishment: { user_id: freshId(), action: "note", reason: "Insulted two newcomers." },
    investigation: { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", confidential: true },
  };
  const { body } = await ground.post(`/workflows/${kind}`, bodies[kind], { actor: requester });
  const act = async (decision: object, actor: string): Promise<void> => {
    const answer = await ground.post(`/workflows/${kind}/${body.reference}/decision`, decision, { actor });
    expect([decision, answer.status, answer.body.detail]).toEqual([decision, 200, answer.body.detail]);
  };
  return { reference: body.reference, act, requester };
}

test("an untouched request is told of once for its first look, its decision and its end, in that order", async () => {
  const ground = await createGround();
  const { reference } = await file(ground);
  const before = await ground.database.read.auditEntry.count();
  ground.pass(12 * hour - 5);
  expect([await remind(ground), await told(ground)]).toEqual([0, []]);
  ground.pass(10);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  ground.pass(60 * hour);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  ground.pass(26 * day);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  expect(await told(ground)).toEqual([`${reference} first_touch`, `${reference} decision`, `${reference} expiring`]);
  const row = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { reference } });
  expect([row.remindAt, row.revision, await ground.database.read.auditEntry.count()]).toEqual([null, 1, before]);
  ground.pass(day);
  expect([await remind(ground), await ground.workflows.expireDue(job())]).toEqual([0, 1]);
  expect(await told(ground)).toHaveLength(3);
});

test("what was touched, decided or is over is not told of", async () => {
  const ground = await createGround();
  const [touched, decided, over] = [await file(ground), await file(ground), await file(ground)];
  await touched.act({ decision: "claim" }, ground.staff("senior"));
  await decided.act({ decision: "deny", reason: "There is nothing to it." }, ground.staff("senior"));
  ground.pass(13 * hour);
  expect(await remind(ground)).toBe(1);
  expect(await told(ground)).toEqual([`${over.reference} first_touch`]);
  ground.pass(40 * day);
  expect([await remind(ground), await told(ground)]).toEqual([0, [`${over.reference} first_touch`]]);
});

test("a hold is told of once after 24 hours, and another hold again; questions likewise, while the clocks stand still", async () => {
  const ground = await createGround();
  const senior = ground.staff("senior");
  const { reference, act, requester } = await file(ground);
  const held = () => act({ decision: "hold", reason: "Waits for the team." }, senior);
  await held();
  ground.pass(day + 5);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  ground.pass(day);
  expect(await remind(ground)).toBe(0);
  await act({ decision: "release", reason: "The team is here." }, senior);
  await held();
  ground.pass(23 * hour);
  expect(await remind(ground)).toBe(0);
  ground.pass(hour + 5);
  expect([await remind(ground), await remind(ground)]).toEqual([2, 0]);
  expect(await told(ground)).toEqual([`${reference} held`, `${reference} decision`, `${reference} held`]);
  await act({ decision: "request_info", questions: ["Where was that?"] }, senior);
  ground.pass(72 * hour + 5);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  await act({ decision: "provide_info", answer: "In the lounge." }, requester);
  await act({ decision: "request_info", questions: ["And when?"] }, senior);
  ground.pass(72 * hour + 5);
  expect([await remind(ground), await remind(ground)]).toEqual([1, 0]);
  expect((await told(ground)).slice(3)).toEqual([`${reference} info`, `${reference} info`]);
});

test("a confidential request is told of to those who may know, and the job is the service's own", async () => {
  const ground = await createGround();
  const { reference } = await file(ground, "investigation");
  ground.pass(12 * hour + 5);
  await expect(ground.workflows.remind(ground.callOf({ actor: ground.staff("owner"), scopes: "workflows.*" }))).rejects.toMatchObject({
    code: "permission_denied",
  });
  expect(await remind(ground)).toBe(1);
  const [event] = await ground.database.read.outboxEvent.findMany({ where: { type: "workflow.overdue" } });
  expect(event).toMatchObject({
    permission: "cases.confidential",
    data: { reference, type: "investigation", status: "pending", reminder: "first_touch" },
  });
});

test("two instances at once tell of each request once, and of more than one part of them", async () => {
  const ground = await createGround();
  // SQLite is one instance's alone.
  const other = ground.database.dialect === "postgres" ? await createGround({ url: ground.url }) : ground;
  const due = new Date(Date.now() - 1000);
  await keep(
    ground,
    Array.from({ length: 250 }, () => rowOf({ dueFirstTouchAt: due, remindAt: due })),
  );
  const given = await Promise.all([remind(ground), remind(other), remind(ground)]);
  expect(given.reduce((sum, one) => sum + one, 0)).toBe(250);
  const all = await told(ground);
  expect([all.length, new Set(all).size]).toEqual([250, 250]);
});
