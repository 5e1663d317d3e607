// @module-tag postgres
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { expect, test } from "vitest";
import { commitment, storable } from "../../src/features/audit/record.ts";
import { createGround, type Ground } from "./workflows-ground.ts";

async function record(ground: Ground, count: number, actor = ground.staff("admin")): Promise<string> {
  for (let made = 0; made < count; made += 1) {
    await ground.database.write(ground.callOf({ actor }), async (tx) => {
      ground.audit.record(tx, {
        action: made % 2 === 0 ? "thing.create" : "thing.update",
        target: { kind: "thing", id: `thing:${made.toString()}`, reference: `T-${made.toString()}` },
        reason: `reason ${made.toString()}`,
        before: { made },
        after: { at: new Date(0), made: made + 1, gone: undefined },
      });
    });
  }
  return actor;
}

/** What an intruder with the database in hand does; the triggers are out of their way. */
async function tamper(ground: Ground, ...statements: string[]): Promise<void> {
  const isSqlite = ground.database.dialect === "sqlite";
  await ground.database.write(ground.callOf({ scopes: "system.act" }), async (tx) => {
    const triggers = isSqlite
      ? await tx.db.$queryRaw<
          { name: string }[]
        >`SELECT name FROM sqlite_master WHERE type = 'trigger' AND tbl_name IN ('audit_entries', 'audit_payloads')`
      : [];
    for (const { name } of triggers) await tx.db.$executeRaw(Prisma.raw(`DROP TRIGGER ${name}`));
    if (!isSqlite)
      for (const table of ["audit_entries", "audit_payloads"])
        await tx.db.$executeRaw(Prisma.raw(`ALTER TABLE ${table} DISABLE TRIGGER USER`));
    for (const statement of statements) await tx.db.$executeRaw(Prisma.raw(statement));
  });
}

const verify = async (ground: Ground) => (await ground.get("/audit/verify")).body.data;

test("entries are chained without gaps, and the chain verifies", async () => {
  const ground = await createGround();
  await record(ground, 12);
  expect(await verify(ground)).toEqual({ ok: true, entries: 12, checkpoints: 0 });
  const { data } = (await ground.get("/audit")).body;
  expect(data.map((entry: { seq: number }) => entry.seq)).toEqual([12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1]);
  expect(data[0].prev_hash).toBe(data[1].hash);
  expect(data[11]).toMatchObject({
    action: "thing.create",
    reason: "reason 0",
    before: { made: 0 },
    after: { made: 1, at: "1970-01-01T00:00:00.000Z" },
  });
});

test("entries of one transaction follow each other, and a rollback leaves nothing", async () => {
  const ground = await createGround();
  const call = ground.callOf({ scopes: "*,system.act" });
  await ground.database.write(call, async (tx) => {
    for (const action of ["a.one", "a.two", "a.three"]) ground.audit.record(tx, { action });
  });
  const failing = ground.database.write(call, async (tx) => {
    ground.audit.record(tx, { action: "a.lost" });
    throw new Error("no");
  });
  await expect(failing).rejects.toThrow("no");
  expect((await ground.get("/audit")).body.data.map((entry: { action: string }) => entry.action)).toEqual(["a.three", "a.two", "a.one"]);
});

test("64 parallel writers make one gapless chain", async () => {
  const ground = await createGround();
  await Promise.all(Array.from({ length: 64 }, () => record(ground, 1, "80351110224678000")));
  expect(await verify(ground)).toEqual({ ok: true, entries: 64, checkpoints: 0 });
});

test("a failed audit insert aborts the change", async () => {
  const ground = await createGround();
  await record(ground, 1);
  const entry = await ground.database.read.auditEntry.findFirstOrThrow();
  const failing = ground.database.write(ground.callOf({}), async (tx) => {
    await tx.db.setting.create({ data: { key: "changed", value: true } });
    ground.audit.record(tx, { action: "setting.create" });
    tx.beforeCommit(async () => {
      await tx.db.auditEntry.create({ data: { ...entry, id: "other" } });
    });
  });
  await expect(failing).rejects.toThrow();
  expect(await ground.database.read.setting.count({ where: { key: "changed" } })).toBe(0);
  expect(await ground.database.read.auditEntry.count()).toBe(1);
});

test.each([
  ["an edited entry", "UPDATE audit_entries SET actor_id = 'somebody' WHERE seq = 4", { first_bad_seq: 4, kind: "entry_changed" }],
  ["a re-hashed edit", "UPDATE audit_entries SET action = 'x.y', hash = 'aa' WHERE seq = 4", { first_bad_seq: 4, kind: "entry_changed" }],
  ["a deletion in the middle", "DELETE FROM audit_entries WHERE seq = 4", { first_bad_seq: 4, kind: "entry_missing" }],
  ["a deleted beginning", "DELETE FROM audit_entries WHERE seq = 1", { first_bad_seq: 1, kind: "entry_missing" }],
])("%s is found", async (_what, statement, found) => {
  const ground = await createGround();
  await record(ground, 8);
  await tamper(ground, statement);
  expect(await verify(ground)).toMatchObject({ ok: false, ...found });
});

test("an inserted entry is found", async () => {
  const ground = await createGround();
  await record(ground, 4);
  await tamper(
    ground,
    "INSERT INTO audit_entries SELECT seq + 1, 'forged', at, action, outcome, actor_id, client_id, via, target_kind, target_id, target_reference, subject_user_id, guild_id, request_id, permission_used, break_glass, payload_commitment, 'ff', 'ee', NULL FROM audit_entries WHERE seq = 4",
  );
  expect(await verify(ground)).toMatchObject({ ok: false, first_bad_seq: 5, kind: "entry_inserted" });
});

test("two entries that changed places are found", async () => {
  const ground = await createGround();
  await record(ground, 6);
  await tamper(
    ground,
    "UPDATE audit_entries SET seq = 100 WHERE seq = 3",
    "UPDATE audit_entries SET seq = 3 WHERE seq = 4",
    "UPDATE audit_entries SET seq = 4 WHERE seq = 100",
  );
  expect(await verify(ground)).toMatchObject({ ok: false, first_bad_seq: 3, kind: "order_changed" });
});

test("a changed payload is found, an erased one is not held against the chain", async () => {
  const ground = await createGround();
  await record(ground, 5);
  await ground.database.write(ground.callOf({}), (tx) => ground.audit.erase(tx, { targetId: "thing:1" }, { action: "thing.purge" }));
  expect(await verify(ground)).toMatchObject({ ok: true, entries: 6 });
  expect((await ground.get("/audit?target=thing:1")).body.data[0]).not.toHaveProperty("reason");
  await tamper(ground, `UPDATE audit_payloads SET payload = '{"reason":"another","before":null,"after":null}' WHERE seq = 3`);
  expect(await verify(ground)).toMatchObject({ ok: false, first_bad_seq: 3, kind: "payload_changed" });
});

test("a long chain is verified in slices that let other work through", async () => {
  const ground = await createGround();
  await ground.database.write(ground.callOf({}), async (tx) => {
    for (let made = 0; made < 1600; made += 1) ground.audit.record(tx, { action: "bulk.create" });
  });
  let ticks = 0;
  const timer = setInterval(() => (ticks += 1), 1);
  const answer = await ground.audit.verify(ground.callOf({}));
  clearInterval(timer);
  expect(answer).toMatchObject({ ok: true, entries: 1600 });
  expect(ticks).toBeGreaterThanOrEqual(2);
});

test("filters narrow the list, and pages hang together", async () => {
  const ground = await createGround();
  const first = await record(ground, 3);
  const second = await record(ground, 4);
  const count = async (query: string) => (await ground.get(`/audit?${query}`)).body.data.length;
  expect(await count(`actor=${first}`)).toBe(3);
  expect(await count("action=thing.update")).toBe(3);
  expect(await count("action=thing.update,thing.create")).toBe(7);
  expect(await count("action_prefix=thing.cr")).toBe(4);
  expect(await count("target=thing:thing:0")).toBe(2);
  expect(await count("target=thing:2")).toBe(2);
  expect(await count("target=t-3")).toBe(1);
  expect(await count("via=slash")).toBe(0);
  expect(await count(`actor=${second}&client=client&outcome=ok&via=rest&from=2020-01-01T00:00:00.000Z&to=2100-01-01T00:00:00.000Z`)).toBe(
    4,
  );
  const page = (await ground.get("/audit?limit=5")).body;
  const rest = (await ground.get(`/audit?limit=5&cursor=${page.page.next_cursor}`)).body;
  expect([...page.data, ...rest.data].map((entry: { seq: number }) => entry.seq)).toEqual([7, 6, 5, 4, 3, 2, 1]);
  expect((await ground.get(`/audit?limit=5&via=rest&cursor=${page.page.next_cursor}`)).body.code).toBe("invalid_cursor");
  expect((await ground.get("/audit?acotr=1")).body.code).toBe("unknown_parameter");
});

test("a moderator reads no audit", async () => {
  const ground = await createGround();
  const actor = ground.staff("moderator");
  expect((await ground.get("/audit", { actor })).body).toMatchObject({ status: 403, required: "audit.read" });
  expect((await ground.get("/audit/verify", { actor })).status).toBe(403);
});

test("details are bound as every database gives them back", () => {
  const hostile = storable({ text: "a\0b\uD800c", at: new Date(0), n: [1.5, undefined], "k\0": 1 });
  expect(hostile).toEqual({ text: "a\uFFFDb\uFFFDc", at: "1970-01-01T00:00:00.000Z", n: [1.5, null], "k\uFFFD": 1 });
  expect(commitment("salt", { a: 1, b: [{ d: 1, c: 2 }] })).toBe(commitment("salt", { b: [{ c: 2, d: 1 }], a: 1 }));
  expect(commitment("salt", { a: 1 })).not.toBe(commitment("other", { a: 1 }));
});
