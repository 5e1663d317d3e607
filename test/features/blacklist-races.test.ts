// @module-tag postgres
// @module-tag slow
import { describe, expect, inject, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createGround, freshId, type Answer, type Ground } from "./workflows-ground.ts";

const limit = { timeout: 120_000 };
/** Rounds of two writers of one instance, and of one writer each of two. */
const rounds = { one: 200, two: 60 } as const;
/** Subjects that are fought for at the same time. */
const atOnce = 10;
const times = (count: number) => Array.from({ length: count }, (_, index) => index);
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status).toSorted((a, b) => a - b);

/** What every history of the room has in common, however it came about. */
async function expectSound({ database, get }: Ground): Promise<void> {
  const rows = await database.read.blacklistRecord.findMany();
  const numbers = rows.map(({ number }) => number).toSorted((a, b) => a - b);
  expect(numbers).toEqual(times(rows.length).map((index) => index + 1));
  for (const { status, activeKey } of rows) expect(activeKey !== null).toBe(status === "active" || status === "scheduled");
  const steps = rows.reduce((sum, { revision }) => sum + revision, 0);
  const [versions, changes] = [await database.read.blacklistVersion.count(), await database.read.blacklistChange.findMany()];
  const entries = await database.read.auditEntry.count({ where: { targetKind: "blacklist" } });
  const events = await database.read.outboxEvent.count({ where: { type: { startsWith: "blacklist." } } });
  expect([versions, changes.length, entries, events]).toEqual([steps, steps, steps, steps]);
  expect(changes.map(({ seq }) => seq).toSorted((a, b) => a - b)).toEqual(times(steps).map((index) => index + 1));
  expect((await get("/audit/verify")).body.data.ok).toBe(true);
}

/** Two writers list the same subject at the same instant, again and again: one is told that it is listed, the other that it is already. */
async function race(first: Ground, second: Ground, actors: readonly [string, string]): Promise<void> {
  const count = first === second ? rounds.one : rounds.two;
  const duel = async (round: number): Promise<void> => {
    const body = { kind: round % 2 === 0 ? "user" : "server", subject_id: freshId(), scope: "network" };
    const answers = await Promise.all([
      first.post("/blacklist", body, { actor: actors[0] }),
      second.post("/blacklist", body, { actor: actors[1] }),
    ]);
    expect(statuses(answers)).toEqual([201, 409]);
    const [made, refused] = answers.toSorted((a, b) => a.status - b.status);
    expect(refused?.body).toMatchObject({ code: "duplicate_active_record", reference: made?.body.data.number });
  };
  for (let round = 0; round < count; round += atOnce) await Promise.all(times(atOnce).map((index) => duel(round + index)));
  const { read } = first.database;
  expect(await read.blacklistRecord.count()).toBe(count);
  expect(await read.auditEntry.count({ where: { action: "blacklist.create" } })).toBe(count);
  expect(await read.auditEntry.count()).toBe(count);
  await expectSound(first);
}

describe("two writers who list the same subject at the same instant make one record, every time", () => {
  test("through one instance", limit, async () => {
    const ground = await createGround();
    await race(ground, ground, [ground.staff("admin"), ground.staff("admin")]);
  });

  test.runIf(inject("dialect") === "postgres")("through two instances", limit, async () => {
    const first = await createGround();
    const second = await createGround({ url: first.url });
    await race(first, second, [first.staff("admin"), second.staff("admin")]);
  });
});

/** What is done at once to a subject that is listed, and what each of it may be answered. */
const deeds: Record<
  string,
  { codes: readonly number[]; run(ground: Ground, actor: string, id: string, subject: string): Promise<Answer> }
> = {
  create: {
    codes: [201, 409],
    run: (ground, actor, _id, subject) => ground.post("/blacklist", { kind: "user", subject_id: subject }, { actor }),
  },
  revoke: { codes: [200, 404, 409], run: (ground, actor, id) => ground.delete(`/blacklist/${id}`, { reason: "A mistake." }, { actor }) },
  update: { codes: [200, 404, 409], run: (ground, actor, id) => ground.patch(`/blacklist/${id}`, { tags: [uuid7()] }, { actor }) },
  expire: {
    codes: [200],
    run: async (ground) => {
      await ground.blacklist.expireDue(systemCall("job", uuid7()));
      return { status: 200, headers: new Headers(), body: undefined };
    },
  },
};

async function tumble(grounds: readonly Ground[], count: number): Promise<void> {
  const [first = await createGround()] = grounds;
  const actors = new Map(grounds.map((ground) => [ground, ground.staff("owner")]));
  for (const round of times(count)) {
    const subject = freshId();
    const isEnding = round % 2 === 0;
    const body = { kind: "user", subject_id: subject, ...(isEnding && { duration: "1m" }) };
    const { id } = (await first.post("/blacklist", body, { actor: actors.get(first) ?? "" })).body.data;
    if (isEnding) for (const ground of grounds) ground.pass(120);
    const done = Object.entries(deeds).flatMap(([name, { codes, run }]) =>
      grounds.map(async (ground) => ({ name, codes, answer: await run(ground, actors.get(ground) ?? "", id, subject) })),
    );
    for (const { name, codes, answer } of await Promise.all(done)) expect(codes, name).toContain(answer.status);
    const access = await first.database.read.blacklistRecord.count({ where: { subjectId: subject, activeKey: { not: null } } });
    expect(access).toBeLessThanOrEqual(1);
  }
  await first.blacklist.expireDue(systemCall("job", uuid7()));
  await expectSound(first);
}

describe("listing, changing, revoking and expiring at once leaves a sound history", () => {
  test("in one instance", limit, async () => {
    await tumble([await createGround()], 15);
  });

  test.runIf(inject("dialect") === "postgres")("in two instances", limit, async () => {
    const first = await createGround();
    await tumble([first, await createGround({ url: first.url })], 8);
  });
});
