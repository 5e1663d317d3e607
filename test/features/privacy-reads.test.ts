import pino from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { createErasures } from "../../src/features/privacy/erasures.ts";
import { createDataReads } from "../../src/features/privacy/reads.ts";
import type { Call } from "../../src/kernel/call.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import type { User } from "../../sandbox/index.ts";
import { authorize, shareWorld } from "../contract/world.ts";
import { createTestDatabase } from "../support/database.ts";
import { asPerson, cli, job } from "./privacy-ground.ts";

const hour = 3_600_000;
let now = new Date("2026-11-20T10:20:00.000Z").getTime();
const clock: Clock = { now: () => new Date(now) };

const shared = shareWorld({ clock: { now: () => new Date(Date.now() + offset) } });
let offset = 0;

describe("every route that shows somebody's information", () => {
  let person: User | undefined;
  let admin: User | undefined;
  beforeAll(async () => {
    const { world } = shared;
    [person, admin] = [world.member(), await world.staff("admin")];
    await authorize(world, person, { by: admin });
  });
  const routes = ["authorization", "servers", "matches", "timeline", "data-export"] as const;
  const kinds: Record<string, string> = { "data-export": "export" };

  test.each(routes)("leaves one row per reader and hour: %s", async (route) => {
    const { world } = shared;
    const [of, by] = [person!, admin!];
    const path = `/users/${of.id}/${route}`;
    const what = kinds[route] ?? route;
    const flushed = () => world.app.reads.flush();
    const rows = async () => {
      await flushed();
      return await world.app.database.read.dataRead.findMany({ where: { userId: of.id, what }, orderBy: { at: "asc" } });
    };
    await world.app.database.write(job(), (tx) => tx.db.dataRead.deleteMany({ where: { what } }));
    offset += 2 * hour;
    for (let time = 0; time < 3; time += 1) expect((await world.get(path, { actor: by })).status).toBe(200);
    expect(await rows()).toMatchObject([{ readerId: by.id }]);
    await world.get(path);
    expect((await rows()).map(({ readerId }) => readerId)).toEqual([by.id, ""]);
    await world.get(path, { actor: of });
    expect(await rows()).toHaveLength(2);
    offset += hour;
    await world.get(path, { actor: by });
    const [first, , last] = await rows();
    expect(last!.hour.getTime() - first!.hour.getTime()).toBe(hour);
    expect(last!.hour.getTime() % hour).toBe(0);
  });

  test("leaves none when it refuses", async () => {
    const { world } = shared;
    const viewer = await world.staff("viewer");
    const before = await world.app.database.read.dataRead.count();
    for (const route of ["servers", "matches", "data-export"])
      expect((await world.get(`/users/${person!.id}/${route}`, { actor: viewer })).status).toBe(403);
    await world.app.reads.flush();
    expect(await world.app.database.read.dataRead.count()).toBe(before);
  });
});

/** Looks on a database that counts and may refuse. */
async function createGround() {
  const { database, drop } = await createTestDatabase({ clock });
  const erasures = createErasures({ hashOf: (userId) => `hash of ${userId}`, journal: { append: () => Promise.resolve() } });
  let writes = 0;
  let isRefusing = false;
  const counted: Database = {
    ...database,
    write: (call, work) => {
      writes += 1;
      return isRefusing ? Promise.reject(new ProblemError("storage_full")) : database.write(call, work);
    },
  };
  const logger = pino({ level: "silent" });
  return {
    reads: createDataReads({ database: counted, erasures, clock, logger, maxWaiting: 100 }),
    another: createDataReads({ database, erasures, clock, logger }),
    rows: () => database.read.dataRead.findMany({ orderBy: [{ userId: "asc" }, { hour: "asc" }] }),
    writes: () => writes,
    erase: (userId: string) => database.write(job(), (tx) => erasures.note(tx, "deletion", userId)),
    refuse: (value: boolean) => (isRefusing = value),
    drop,
  };
}

const by = (readerId: string, clientId: string | null = null): Call => ({
  ...asPerson(readerId),
  via: "rest",
  client: clientId === null ? null : { id: clientId, name: clientId, allows: () => true },
});

describe("the notes of looks", () => {
  test("share a transaction, and a look that is repeated within the hour costs no statement", async () => {
    const ground = await createGround();
    for (let index = 0; index < 50; index += 1) ground.reads.note(by("reader"), `person-${index.toString()}`, "servers");
    await ground.reads.flush();
    expect(await ground.rows()).toHaveLength(50);
    expect(ground.writes()).toBe(1);
    for (let index = 0; index < 50; index += 1) ground.reads.note(by("reader"), `person-${index.toString()}`, "servers");
    await ground.reads.flush();
    expect(ground.writes()).toBe(1);
    now += hour;
    ground.reads.note(by("reader"), "person-0", "servers");
    await ground.reads.flush();
    expect(ground.writes()).toBe(2);
    expect((await ground.rows()).filter(({ userId }) => userId === "person-0")).toHaveLength(2);
    await ground.drop();
  });

  test("of two processes are one row, and what differs is another row", async () => {
    const ground = await createGround();
    const looks = [by("reader"), by("reader", "key"), { ...by("reader", "key"), actor: null }, by("other")];
    for (const reads of [ground.reads, ground.another]) {
      for (const call of looks) for (const what of ["servers", "matches"] as const) reads.note(call, "person", what);
      await reads.flush();
    }
    expect(await ground.rows()).toHaveLength(looks.length * 2);
    await ground.drop();
  });

  test("leave out the person, jobs and the operator's command line", async () => {
    const ground = await createGround();
    for (const call of [by("person"), by("person", "key"), job(), cli()]) ground.reads.note(call, "person", "servers");
    await ground.reads.flush();
    expect(await ground.rows()).toEqual([]);
    expect(ground.writes()).toBe(0);
    await ground.drop();
  });

  test("wait in memory while the database refuses, without asking it at every look, and are not lost", async () => {
    const ground = await createGround();
    ground.refuse(true);
    ground.reads.note(by("reader"), "first", "servers");
    await ground.reads.flush();
    for (let index = 0; index < 20; index += 1) ground.reads.note(by("reader"), `later-${index.toString()}`, "servers");
    await new Promise(setImmediate);
    expect(ground.writes()).toBe(1);
    expect(await ground.rows()).toEqual([]);
    ground.refuse(false);
    await ground.reads.flush();
    expect(await ground.rows()).toHaveLength(21);
    await ground.drop();
  });

  test("of somebody who deleted everything meanwhile are not written any more, later ones are", async () => {
    const ground = await createGround();
    ground.refuse(true);
    for (const person of ["person", "other"]) ground.reads.note(by("reader"), person, "servers");
    await ground.reads.flush();
    await ground.erase("person");
    ground.refuse(false);
    await ground.reads.flush();
    expect((await ground.rows()).map(({ userId }) => userId)).toEqual(["other"]);
    now += 1000;
    ground.reads.forget("person");
    ground.reads.note(by("reader"), "person", "servers");
    await ground.reads.flush();
    expect((await ground.rows()).map(({ userId }) => userId)).toEqual(["other", "person"]);
    await ground.drop();
  });

  test("are bounded: the oldest of too many that wait go first", async () => {
    const ground = await createGround();
    ground.refuse(true);
    ground.reads.note(by("reader"), "oldest", "servers");
    await ground.reads.flush();
    for (let index = 0; index < 100; index += 1) ground.reads.note(by("reader"), `p${index.toString().padStart(5, "0")}`, "servers");
    ground.refuse(false);
    await ground.reads.close();
    const rows = await ground.rows();
    expect(rows).toHaveLength(100);
    expect(rows.some(({ userId }) => userId === "oldest")).toBe(false);
    await ground.drop();
  });

  test("are written when the service stops", async () => {
    const ground = await createGround();
    ground.reads.note(by("reader"), "person", "servers");
    await ground.reads.close();
    expect(await ground.rows()).toHaveLength(1);
    await ground.drop();
  });
});

test("looks that are older than 90 days go, younger ones stay", async () => {
  const { world } = shared;
  const day = 86_400_000;
  const at = (days: number) => new Date(Date.now() + offset - days * day);
  const rows = [89, 91, 400].map((days) => ({
    userId: "aged",
    what: "servers",
    readerId: "x",
    clientId: "",
    hour: at(days),
    at: at(days),
  }));
  await world.app.database.write(job(), (tx) => tx.db.dataRead.createMany({ data: rows }));
  expect(await world.app.privacy.sweep(job())).toBeGreaterThanOrEqual(2);
  expect(await world.app.database.read.dataRead.findMany({ where: { userId: "aged" } })).toHaveLength(1);
});
