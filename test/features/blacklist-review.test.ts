import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";

const day = 86_400;
const later = (days: number) => new Date(Date.now() + days * day * 1000).toISOString();

async function createScene(more: object = {}) {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const made = (await ground.post("/blacklist", { kind: "user", subject_id: freshId(), review_at: later(10), ...more }, { actor })).body
    .data;
  return { ground, actor, id: String(made.id), patch: (body: object) => ground.patch(`/blacklist/${made.id}`, body, { actor }) };
}

const sweep = (ground: Ground) => ground.blacklist.expireDue(systemCall("job", uuid7()));
const told = async (ground: Ground) =>
  (await ground.database.read.outboxEvent.findMany({ where: { type: "blacklist.review_due" }, orderBy: { seq: "asc" } })).map(
    ({ data }) => (data as { review_at: string }).review_at,
  );

test("that a review is due is told once, whoever sweeps how often, and changes nothing of the record", async () => {
  const { ground, actor, id } = await createScene();
  await sweep(ground);
  expect(await told(ground)).toEqual([]);
  ground.pass(11 * day);
  const before = (await ground.get(`/blacklist/${id}`, { actor })).body.data;
  await Promise.all([sweep(ground), sweep(ground)]);
  await sweep(ground);
  expect(await told(ground)).toEqual([before.review_at]);
  expect((await ground.get(`/blacklist/${id}`, { actor })).body.data).toEqual(before);
  expect(await ground.database.read.blacklistChange.count()).toBe(1);
  expect(await ground.database.read.auditEntry.count({ where: { action: "blacklist.review_due", targetId: id } })).toBe(1);
});

test("another review date is told of when it comes, and the same one is not told of again", async () => {
  const { ground, patch } = await createScene();
  ground.pass(11 * day);
  await sweep(ground);
  const [first] = await told(ground);
  await patch({ review_at: first, tags: ["seen"] });
  await sweep(ground);
  expect(await told(ground)).toHaveLength(1);
  await patch({ review_at: later(15) });
  await sweep(ground);
  expect(await told(ground)).toHaveLength(1);
  ground.pass(5 * day);
  await sweep(ground);
  expect(await told(ground)).toHaveLength(2);
});

test("a review moves the next one on by 180 days unless its date is told, and the record is not due any more", async () => {
  const { ground, actor, patch } = await createScene();
  ground.pass(11 * day);
  const due = async () => (await ground.get("/blacklist?review_due=true", { actor })).body.data.length;
  expect(await due()).toBe(1);
  const reviewed = (await patch({ reviewed: true })).body.data;
  expect(Date.parse(reviewed.review_at) - Date.parse(reviewed.last_reviewed_at)).toBe(180 * day * 1000);
  expect(await due()).toBe(0);
  const chosen = later(40);
  const again = (await patch({ reviewed: true, review_at: chosen })).body.data;
  expect(again.review_at).toBe(chosen);
  const never = (await patch({ review_at: null })).body.data;
  expect(never.review_at).toBeNull();
  expect((await patch({ reviewed: true })).body.data.review_at).toBeNull();
});

test("the reviews of records that do not count any more are not told of", async () => {
  const { ground, actor, id } = await createScene();
  await ground.post("/blacklist", { kind: "user", subject_id: freshId(), review_at: later(10), duration: "5d" }, { actor });
  await ground.delete(`/blacklist/${id}`, { reason: "A mistake." }, { actor });
  ground.pass(11 * day);
  expect(await sweep(ground)).toBe(1);
  expect(await told(ground)).toEqual([]);
});

test("of more records than one part holds all are told of", async () => {
  const { ground } = await createScene();
  const row = await ground.database.read.blacklistRecord.findFirstOrThrow();
  const copies = Array.from({ length: 250 }, (_, index) => ({ ...row, id: uuid7(), number: index + 2, activeKey: `k${index.toString()}` }));
  await ground.database.write(
    systemCall("job", uuid7()),
    async (tx) => void (await tx.db.blacklistRecord.createMany({ data: copies as never })),
  );
  ground.pass(11 * day);
  expect(await sweep(ground)).toBe(251);
  expect(await told(ground)).toHaveLength(251);
});
