import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { cellsFor, columns } from "../../src/features/blacklist/cells.ts";
import { readCsv } from "../../src/features/blacklist/csv.ts";
import { createExport, readJsonArray, readNdjson } from "../../src/features/blacklist/import/import.service.ts";
import type { SourceLine } from "../../src/features/blacklist/import-lines.ts";
import { rowOf } from "../../src/features/blacklist/records.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { worded } from "../../src/kit/say.ts";
import { createWorld } from "../support/world.ts";
import { shareWorld } from "../contract/world.ts";
import { runsOf } from "../support/size.ts";

const shared = shareWorld();

async function all<T>(source: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const one of source) found.push(one);
  return found;
}

/** A text cut at given places, as it may come from a file. */
function pieces(text: string, cuts: readonly number[]): string[] {
  const places = [0, ...cuts.map((cut) => cut % (text.length + 1)).toSorted((a, b) => a - b), text.length];
  return places.slice(1).map((end, index) => text.slice(places[index], end));
}

const names = Object.keys(columns);
const quoted = (cells: readonly string[]): string => cells.map((cell) => `"${cell.replaceAll('"', '""')}"`).join(",");
const texts = fc
  .string({ minLength: 1, maxLength: 30, unit: fc.constantFrom(...Array.from("ab=+-@'\",;\t\r\n [{é😀＝")) })
  .filter((text) => text.trim() === text);

describe("CSV", () => {
  test("what is written is read again as it was, wherever the text is cut", async () => {
    const record = fc.record({
      kind: fc.constantFrom("user", "server"),
      subject_id: texts,
      reason_public: texts,
      tags: fc.array(
        texts.filter((text) => !/^\s|\s$/.test(text)),
        { minLength: 1, maxLength: 4 },
      ),
      recommended_action: fc.constantFrom("ban", null),
      evidence: fc.array(fc.record({ kind: fc.constant("text"), note: texts }), { minLength: 1, maxLength: 2 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(record, { maxLength: 5 }), fc.array(fc.nat(), { maxLength: 5 }), async (records, cuts) => {
        const text = [names, ...records.map((one) => cellsFor(one, names))].map(quoted).join("\r\n");
        const lines = await all(readCsv(pieces(text, cuts)));
        expect(lines.map(({ value, errors }) => errors ?? value)).toEqual(records);
      }),
      { numRuns: runsOf(300) },
    );
  });

  test("no cell begins like a formula", () => {
    fc.assert(
      fc.property(texts, (text) => {
        const [cell = ""] = cellsFor({ reason_public: text }, ["reason_public"]);
        expect(cell).not.toMatch(/^[=+\-@\t\r＝＋－＠]/);
      }),
    );
  });

  const told = (lines: SourceLine[]) =>
    lines.map(({ line, value, errors }) => [
      line,
      value === undefined ? worded(errors?.[0]?.detail ?? "") : Object.values(value as object),
    ]);

  test("columns in any order, line ends of any system, a mark in front, semicolons and blank lines", async () => {
    for (const end of ["\n", "\r\n", "\r"]) {
      const text = ["\ufeffSubject_ID;KIND;reason_public", "1;user;a,b", "", '2;user;"two', 'lines"', "3;user;"].join(end);
      expect(told(await all(readCsv(pieces(text, [5, 40, 41, 42, 43, 44, 45]))))).toEqual([
        [2, ["1", "user", "a,b"]],
        [4, ["2", "user", `two${end}lines`]],
        [6, ["3", "user"]],
      ]);
    }
  });

  test("a quotation mark out of place costs its own line alone", async () => {
    const text = [
      "kind,subject_id,reason_public",
      'user,1,"open',
      "user,2,x",
      'user,3,"closed"',
      'user,4,"bad" end',
      "user,5,y",
      'user,6,"never',
    ];
    const sick = "A quotation mark is missing or out of place.";
    expect(told(await all(readCsv([text.join("\n")])))).toEqual([
      [2, sick],
      [3, ["user", "2", "x"]],
      [4, ["user", "3", "closed"]],
      [5, sick],
      [6, ["user", "5", "y"]],
      [7, sick],
    ]);
  });

  test("a line without an end is passed over and not kept", async () => {
    async function* endless() {
      yield "kind,subject_id\nuser,1\nuser,";
      for (let part = 0; part < 200; part += 1) yield "9".repeat(64 * 1024);
      yield "\nuser,2\n";
    }
    expect(told(await all(readCsv(endless())))).toEqual([
      [2, ["user", "1"]],
      [3, "The line is longer than 256 KiB."],
      [4, ["user", "2"]],
    ]);
  });
});

describe("JSON", () => {
  const values = fc.array(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 }), { maxLength: 5 });

  test("a list is cut into its records wherever its text is cut", async () => {
    await fc.assert(
      fc.asyncProperty(
        values,
        fc.boolean(),
        fc.constantFrom(0, 1),
        fc.array(fc.nat(), { maxLength: 5 }),
        async (records, isWrapped, space, cuts) => {
          const text = JSON.stringify(isWrapped ? { records } : records, null, space);
          const lines = await all(readJsonArray(pieces(text, cuts)));
          expect(lines).toEqual(records.map((value, index) => ({ line: index + 1, value: JSON.parse(JSON.stringify(value)) as unknown })));
        },
      ),
    );
  });

  test("what is no list, and a list that breaks off, are named", async () => {
    for (const text of ["", "{}", '"a"', '{"users": [{}]}', "null"])
      expect(await all(readJsonArray([text]))).toMatchObject([{ errors: [{ code: "malformed" }] }]);
    expect(await all(readJsonArray(['[{"a": 1}, {"b": ']))).toMatchObject([
      { line: 1, value: { a: 1 } },
      { line: 2, errors: [{ code: "malformed" }] },
    ]);
    expect(await all(readJsonArray(["[1, x, 3]"]))).toMatchObject([{ value: 1 }, { line: 2, errors: [{}] }, { line: 3, value: 3 }]);
  });

  test("of lines of JSON the wrong ones are named by their place", async () => {
    expect(await all(readNdjson(['\ufeff{"a":1}\r\n\r\n{"b"', ":2\n", '{"c":3}']))).toMatchObject([
      { line: 1, value: { a: 1 } },
      { line: 3, errors: [{ code: "malformed" }] },
      { line: 4, value: { c: 3 } },
    ]);
  });
});

const record = (subject_id: string, more: object = {}) => ({ kind: "user", subject_id, ...more });
let last = 710_000_000_000_000_000n;
const freshId = (): string => (last += 7n).toString();

test.each(["csv", "ndjson"])("an export goes into another installation unchanged (%s)", async (format) => {
  const other = await createWorld();
  const [here, there] = [shared.world, other].map((world) => ({ world, read: world.app.database.read }));
  if (here === undefined || there === undefined) throw new Error("two worlds");
  const actor = await here.world.staff("admin");
  const [awkward, server, gone, plain] = [freshId(), freshId(), freshId(), freshId()];
  const made = [
    record(awkward, {
      subject_name: "'=cmd|calc",
      reason_public: '=HYPERLINK("x"), "quoted"\r\nsecond line',
      reason_internal: "+1; -2",
      tags: ["a b", "c;d", "[e]"],
      evidence: [{ kind: "link", url: "https://example.org/a,b", note: "@all" }],
      exempt_user_ids: [freshId(), freshId()],
      expires_at: "2040-01-01T00:00:00.000Z",
      recommended_action: null,
      review_at: null,
      include_alts: "probable",
    }),
    {
      kind: "server",
      subject_id: server,
      category: "raiding",
      scope: "servers",
      server_ids: [freshId()],
      grace_period: "P3D",
      member_policy: null,
    },
    record(gone),
    record(plain),
  ];
  for (const one of made) expect((await here.world.post("/blacklist", one, { actor })).status).toBe(201);
  const [{ number } = { number: 0 }] = await here.read.blacklistRecord.findMany({ where: { subjectId: gone } });
  const address = `/blacklist/BL-${number.toString().padStart(6, "0")}`;
  expect((await here.world.delete(address, { reason: "A mistake." }, { actor })).status).toBe(200);

  const file = await here.world.get(`/blacklist/export?format=${format}`, { actor });
  expect(file.headers.get("content-disposition")).toBe(`attachment; filename="blacklist.${format}"`);
  const text = file.body as string;
  const entry = await here.read.auditEntry.findFirst({ where: { action: "blacklist.export" }, orderBy: { seq: "desc" } });
  const { payload } = await here.read.auditPayload.findUniqueOrThrow({ where: { seq: entry?.seq ?? 0 } });
  expect(payload).toMatchObject({ after: { format, filters: {}, count: await here.read.blacklistRecord.count() } });

  const boss = await there.world.staff("admin");
  const send = async (world: typeof other, as: typeof boss) => {
    if (format === "csv") return await world.post("/blacklist/import", text, { actor: as, headers: { "content-type": "text/csv" } });
    const records = text
      .trimEnd()
      .split("\n")
      .map((one) => JSON.parse(one) as unknown);
    return await world.post("/blacklist/import", { records }, { actor: as });
  };
  const arrived = await send(there.world, boss);
  expect(arrived.body.data.counts).toMatchObject({ refused: 0, failed: 0, unchanged: 0 });
  expect((await send(here.world, actor)).body.data.counts).toMatchObject({ created: 0, refused: 0 });

  const told = async ({ read }: typeof here, subjectId: string) => {
    const {
      id: _,
      number: __,
      createdBy: _by,
      createdAt: _at,
      updatedAt: _up,
      source: _s,
      subjectHash: _h,
      ...rest
    } = await read.blacklistRecord.findFirstOrThrow({
      where: { subjectId },
    });
    return rest;
  };
  for (const id of [awkward, server, plain]) expect(await told(there, id)).toEqual(await told(here, id));
  expect(await there.read.blacklistRecord.count({ where: { subjectId: gone } })).toBe(0);
});

describe("an export", () => {
  test("leaves out what is confidential for callers who may not read it, and obeys the filters", async () => {
    const { world } = shared;
    const [owner, key] = [await world.staff("owner"), await world.makeKey(["blacklist.export", "blacklist.read"])];
    const [mine, other] = [freshId(), freshId()];
    for (const id of [mine, other]) {
      const body = record(id, {
        reason_internal: "A secret witness",
        exempt_user_ids: [freshId()],
        severity: id === mine ? "critical" : "low",
      });
      expect((await world.post("/blacklist", body, { actor: owner })).status).toBe(201);
    }
    const [full, less] = [
      await world.get("/blacklist/export", { actor: owner }),
      await world.get("/blacklist/export", { actor: owner, key }),
    ];
    expect(full.body).toContain("A secret witness");
    expect(full.body.split("\n")[0]).toContain("reason_internal");
    for (const format of ["csv", "ndjson"]) {
      const body = (await world.get(`/blacklist/export?format=${format}`, { actor: owner, key })).body as string;
      for (const hidden of ["A secret witness", "reason_internal", "exempt_user_ids"]) expect(body).not.toContain(hidden);
      expect(body).toContain(mine);
    }
    expect(less.status).toBe(200);
    const few = (await world.get(`/blacklist/export?subject=${mine}&severity=critical`, { actor: owner })).body as string;
    expect(few.trimEnd().split("\n")).toHaveLength(2);
    expect((await world.get("/blacklist/export?q=witness", { actor: owner, key })).body.trimEnd().split("\n")).toHaveLength(1);
    expect((await world.get("/blacklist/export?colour=red", { actor: owner })).body.code).toBe("unknown_parameter");
  });

  test("is refused without the permission, and no entry tells of it", async () => {
    const { world } = shared;
    const entries = () => world.app.database.read.auditEntry.count({ where: { action: "blacklist.export" } });
    const before = await entries();
    const answer = await world.get("/blacklist/export", { actor: await world.staff("moderator") });
    expect(answer.body).toMatchObject({ code: "permission_denied", required: "blacklist.export" });
    expect(await entries()).toBe(before);
  });

  test("has every record once, over as many slices as it takes", async () => {
    const { world } = shared;
    const actor = await world.staff("admin");
    const records = Array.from({ length: 700 }, () => record(freshId(), { category: "leaking" }));
    expect((await world.post("/blacklist/import", { records }, { actor })).body.data.counts.created).toBe(700);
    const text = (await world.get("/blacklist/export?format=ndjson&category=leaking", { actor })).body as string;
    const ids = text
      .trimEnd()
      .split("\n")
      .map((line) => (JSON.parse(line) as { subject_id: string }).subject_id);
    expect(ids).toEqual(records.map(({ subject_id }) => subject_id));
  });

  test("reads no further once nobody takes it", async () => {
    let slices = 0;
    const row = {
      ...rowOf(
        new Date(),
        { kind: "user", subjectId: freshId(), scope: "network", category: "raid", severity: "low", source: "import", createdBy: null },
        1,
        Buffer.alloc(32),
      ),
    };
    const read = {
      blacklistRecord: {
        aggregate: () => Promise.resolve({ _max: { number: 1_000_000 }, _count: 1_000_000 }),
        findMany() {
          slices += 1;
          return Promise.resolve(
            Array.from({ length: 500 }, (_, index) => ({ ...row, revokedAt: null, lastReviewedAt: null, number: slices * 500 + index })),
          );
        },
      },
    };
    const { export: open } = createExport({ database: { read, write: () => Promise.resolve() }, clock: systemClock } as never);
    const { body } = await open(systemCall("job", "test"), {});
    const reader = body[Symbol.asyncIterator]();
    for (let taken = 0; taken < 3; taken += 1) expect((await reader.next()).done).toBe(false);
    await reader.return?.();
    const read3 = slices;
    expect(read3).toBeLessThanOrEqual(5);
    await new Promise((resolve) => setImmediate(resolve));
    expect([slices, body.destroyed]).toEqual([read3, true]);
  });
});
