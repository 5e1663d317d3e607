// @module-tag both
// @module-tag slow
import { inject, describe, expect, test } from "vitest";
import type { Answer, World } from "../support/world.ts";
import { everyRow, shareWorld } from "../contract/world.ts";

const shared = shareWorld();
let last = 700_000_000_000_000_000n;
const freshId = (): string => (last += 7n).toString();
const csvType = { "content-type": "text/csv" };

/** Import a CSV text as an admin. */
async function importCsv(lines: readonly string[], query = "", headers: Record<string, string> = {}): Promise<Answer> {
  const actor = await admin();
  return shared.world.post(`/blacklist/import${query}`, lines.join("\n"), { actor, headers: { ...csvType, ...headers } });
}

const people = new WeakMap<World, Awaited<ReturnType<World["staff"]>>>();
async function admin() {
  const known = people.get(shared.world) ?? (await shared.world.staff("admin"));
  people.set(shared.world, known);
  return known;
}

const recordsAbout = async (id: string) =>
  shared.world.app.database.read.blacklistRecord.findMany({ where: { subjectId: id }, orderBy: { number: "asc" } });
const outcomesOf = ({ body }: Answer): string[] => body.data.results.map((result: { outcome: string }) => result.outcome);

describe("each line is checked on its own", () => {
  test("wrong lines are named with their fields and right ones go in", async () => {
    const [good, other] = [freshId(), freshId()];
    const answer = await importCsv([
      "severity;kind;subject_id;category;tags;exempt_user_ids".replaceAll(";", ","),
      `high,user,${good},raid,"one;two words",`,
      `loud,user,${freshId()},raid,,`,
      "low,user,1.23E+17,raid,,",
      "low,user,12345,raid,,",
      `low,user,${freshId()},poaching_server,,`,
      `low,"user,${freshId()},raid,,`,
      `low,user,${freshId()},raid,,,,too,many`,
      "",
      `low,server,${other},raiding,,80351110224678912 80351110224678913`,
    ]);
    expect(answer.status).toBe(200);
    const { counts, lines, results, dry_run, mode, results_complete } = answer.body.data;
    expect({ lines, dry_run, mode, results_complete }).toEqual({ lines: 8, dry_run: false, mode: "skip", results_complete: true });
    expect(counts).toEqual({ created: 2, merged: 0, replaced: 0, skipped: 0, unchanged: 0, refused: 6, failed: 0 });
    expect(results.map(({ line, outcome }: { line: number; outcome: string }) => `${line} ${outcome}`)).toEqual([
      "2 created",
      "3 refused",
      "4 refused",
      "5 refused",
      "6 refused",
      "7 refused",
      "8 refused",
      "10 created",
    ]);
    const said = results.map(({ errors = [] }: { errors?: { pointer: string; detail: string }[] }) =>
      errors.map(({ pointer, detail }) => `${pointer} ${detail}`).join(),
    );
    expect(said[1]).toMatch(/^\/severity /);
    expect(said[2]).toMatch(/^\/subject_id A spreadsheet has rounded this id to 1\.23E\+17/);
    expect(said[3]).toMatch(/^\/subject_id The id has only 5 digits/);
    expect(said[4]).toMatch(/^\/category /);
    expect(said[5]).toMatch(/quotation mark/);
    expect(said[6]).toMatch(/9 cells for 6 columns/);
    const [record] = await recordsAbout(good);
    expect(record).toMatchObject({
      severity: "high",
      tags: ["one", "two words"],
      source: "import",
      status: "active",
      createdBy: (await admin()).id,
    });
    expect((await recordsAbout(other))[0]?.exemptUserIds).toEqual(["80351110224678912", "80351110224678913"]);
  });

  test("a record has its version, its words, its place in the feed and its audit entry; one event tells of all", async () => {
    const { read } = shared.world.app.database;
    const ids = [freshId(), freshId(), freshId()];
    const events = await read.outboxEvent.count();
    const feed = await read.blacklistChange.count();
    await importCsv(["kind,subject_id,reason_public", ...ids.map((id) => `user,${id},Zebra crossing`)]);
    for (const id of ids) {
      const [record] = await recordsAbout(id);
      const where = { recordId: record?.id ?? "" };
      expect(await read.blacklistVersion.findMany({ where })).toMatchObject([
        { revision: 1, snapshot: { subject_id: id, source: "import" } },
      ]);
      expect((await read.blacklistWord.findMany({ where })).map(({ word }) => word).toSorted()).toEqual(["crossing", "zebra"]);
      expect(await read.blacklistChange.findMany({ where })).toMatchObject([{ what: "created", number: record?.number, revision: 1 }]);
      expect(await read.auditEntry.count({ where: { targetId: record?.id ?? "", action: "blacklist.create" } })).toBe(1);
    }
    expect(await read.blacklistChange.count()).toBe(feed + 3);
    const told = await read.outboxEvent.findMany({ orderBy: { seq: "asc" }, skip: events });
    expect(told.filter(({ type }) => type.startsWith("blacklist."))).toMatchObject([
      { type: "blacklist.imported", data: { created: 3, merged: 0, replaced: 0 } },
    ]);
    const entry = await read.auditEntry.findFirst({ where: { action: "blacklist.import" }, orderBy: { seq: "desc" } });
    const payload = await read.auditPayload.findUnique({ where: { seq: entry?.seq ?? 0 } });
    expect(payload?.payload).toMatchObject({ after: { mode: "skip", lines: 3, created: 3, refused: 0 } });
    expect((await shared.world.get("/audit/verify", { actor: await shared.world.staff("owner") })).body.data.ok).toBe(true);
  });

  test("nobody lists staff of their own rank or above, and the line says so", async () => {
    const [peer, below] = [await shared.world.staff("admin"), await shared.world.staff("moderator")];
    const answer = await importCsv(["kind,subject_id", `user,${peer.id}`, `user,${below.id}`]);
    expect(answer.body.data.results).toMatchObject([
      { line: 2, outcome: "refused", subject_id: peer.id, errors: [{ pointer: "/subject_id", code: "hierarchy_violation" }] },
      { line: 3, outcome: "created" },
    ]);
    expect(await recordsAbout(peer.id)).toEqual([]);
  });
});

describe("a subject that is listed already", () => {
  const header = "kind,subject_id,severity,category,reason_public,duration";
  const line = (id: string, severity = "low", reason = "first") => `user,${id},${severity},scam,${reason},30d`;

  test.each(["skip", "merge", "replace"])("the same line again is unchanged (%s)", async (mode) => {
    const id = freshId();
    expect(outcomesOf(await importCsv([header, line(id)], `?mode=${mode}`))).toEqual(["created"]);
    const before = await recordsAbout(id);
    expect(outcomesOf(await importCsv([header, line(id), line(id)], `?mode=${mode}`))).toEqual(["unchanged", "unchanged"]);
    expect(await recordsAbout(id)).toEqual(before);
  });

  test("skip leaves it", async () => {
    const id = freshId();
    const [first, second] = [await importCsv([header, line(id)]), await importCsv([header, line(id, "critical")])];
    expect(outcomesOf(second)).toEqual(["skipped"]);
    expect(second.body.data.results[0].number).toBe(first.body.data.results[0].number);
    expect(await recordsAbout(id)).toMatchObject([{ severity: "low", revision: 1 }]);
  });

  test("merge strengthens it once, however often it is told", async () => {
    const id = freshId();
    await importCsv([header, line(id)]);
    expect(outcomesOf(await importCsv([header, line(id, "critical")], "?mode=merge"))).toEqual(["merged"]);
    const after = await recordsAbout(id);
    expect(after).toMatchObject([{ severity: "critical", reasonPublic: "first", revision: 2, recommendedAction: "ban" }]);
    expect(outcomesOf(await importCsv([header, line(id, "critical"), line(id, "medium")], "?mode=merge"))).toEqual([
      "unchanged",
      "unchanged",
    ]);
    expect(await recordsAbout(id)).toEqual(after);
  });

  test("evidence that is told again is not doubled", async () => {
    const id = freshId();
    const { world } = shared;
    const actor = await admin();
    const evidence = [{ note: "Seen", title: "A" }];
    const send = (severity: string) =>
      world.post("/blacklist/import?mode=merge", { records: [{ kind: "user", subject_id: id, severity, evidence }] }, { actor });
    expect(outcomesOf(await send("low"))).toEqual(["created"]);
    expect(outcomesOf(await send("high"))).toEqual(["merged"]);
    expect((await recordsAbout(id))[0]?.evidence).toEqual([{ kind: "text", title: "A", note: "Seen" }]);
  });

  test("replace puts a new record in its place, and both name each other's part", async () => {
    const id = freshId();
    const { read } = shared.world.app.database;
    await importCsv([header, line(id)]);
    const answer = await importCsv([header, line(id, "high", "second")], "?mode=replace");
    expect(outcomesOf(answer)).toEqual(["replaced"]);
    const [old, now] = await recordsAbout(id);
    expect(old).toMatchObject({ status: "superseded", activeKey: null, severity: "low", revision: 2 });
    expect(now).toMatchObject({ status: "active", severity: "high", supersedesId: old?.id, revision: 1, reasonPublic: "second" });
    const feed = await read.blacklistChange.findMany({
      where: { recordId: { in: [old?.id ?? "", now?.id ?? ""] } },
      orderBy: { seq: "asc" },
    });
    expect(feed.map(({ what }) => what)).toEqual(["created", "superseded", "created"]);
    expect(await read.auditEntry.count({ where: { targetId: old?.id ?? "", action: "blacklist.supersede" } })).toBe(1);
    const checked = await shared.world.post("/blacklist/check", { user_ids: [id] }, { actor: await admin() });
    expect(checked.body.data.users[0].records).toMatchObject([{ id: now?.id }]);
  });

  test("the second line about a subject meets what the first one made", async () => {
    const id = freshId();
    const lines = [header, line(id), line(id, "high"), line(id, "high"), line(id, "critical")];
    expect(outcomesOf(await importCsv(lines, "?mode=replace"))).toEqual(["created", "replaced", "unchanged", "replaced"]);
    expect((await recordsAbout(id)).map(({ status, severity }) => `${severity} ${status}`)).toEqual([
      "low superseded",
      "high superseded",
      "critical active",
    ]);
  });

  test("whoever may not read what is confidential cannot find it out by trying", async () => {
    const id = freshId();
    const { world } = shared;
    const key = await world.makeKey(["blacklist.import", "blacklist.read"]);
    const [mine, owner] = [await admin(), await world.staff("owner")];
    const record = { kind: "user", subject_id: id, severity: "low", reason_internal: "A witness" };
    expect((await world.post("/blacklist", record, { actor: owner })).status).toBe(201);
    const guess = async (reason: string, as: object) =>
      outcomesOf(await world.post("/blacklist/import", { records: [{ ...record, reason_internal: reason }] }, { actor: mine, ...as }));
    expect(await guess("A witness", { key })).toEqual(await guess("Nobody", { key }));
    expect([await guess("A witness", {}), await guess("Nobody", {})]).toEqual([["unchanged"], ["skipped"]]);
  });
});

test("a rehearsal writes nothing at all and tells what the import then does", async () => {
  const [known, twice] = [freshId(), freshId()];
  await importCsv(["kind,subject_id,severity", `user,${known},low`]);
  const lines = [
    "kind,subject_id,severity",
    `user,${known},high`,
    `user,${twice},low`,
    `user,${twice},high`,
    `user,${twice},high`,
    "user,nobody,low",
  ];
  for (const mode of ["skip", "merge", "replace"]) {
    const before = await everyRow(shared.world);
    const rehearsed = await importCsv(lines, `?mode=${mode}&dry_run=true`);
    expect(rehearsed.body.data.dry_run).toBe(true);
    expect(await everyRow(shared.world)).toEqual(before);
    const last = mode === "replace" ? "replaced" : mode === "merge" ? "merged" : "skipped";
    expect(outcomesOf(rehearsed)).toEqual([last, "created", last, mode === "skip" ? "skipped" : "unchanged", "refused"]);
  }
  const done = await importCsv(lines, "?mode=merge");
  expect(outcomesOf(done)).toEqual(["merged", "created", "merged", "unchanged", "refused"]);
});

describe("what is refused as a whole changes nothing", () => {
  test.each([
    ["an unknown column", ["kind,subject_id,colour", "user,80351110224678912,red"], /no column \\"colour\\"/],
    ["a column that is missing", ["kind,severity", "user,low"], /has to name the column subject_id/],
    ["a column twice", ["kind,subject_id,kind", "user,80351110224678912,user"], /stands there twice/],
    ["too many lines", ["kind,subject_id", ...Array.from({ length: 5001 }, () => "user,1")], /provost blacklist import/],
  ])("%s", async (_, lines, said) => {
    const before = await everyRow(shared.world);
    const answer = await importCsv(lines);
    expect([answer.status, answer.body.code]).toEqual([422, "validation_failed"]);
    expect(JSON.stringify(answer.body.errors)).toMatch(said);
    expect(await everyRow(shared.world)).toEqual(before);
  });

  test("too many records, a body that is too large, and both forms at once", async () => {
    const actor = await admin();
    const records = Array.from({ length: 5001 }, () => ({ kind: "user" }));
    const answers = [
      await shared.world.post("/blacklist/import", { records }, { actor }),
      await importCsv(["kind,subject_id", `user,${"9".repeat(4 * 1024 * 1024)}`]),
      await shared.world.post("/blacklist/import", { records: [{ kind: "user" }], csv: "kind,subject_id" }, { actor }),
    ];
    expect(answers.map(({ status }) => status)).toEqual([422, 413, 422]);
    expect(JSON.stringify(answers[0]?.body.errors)).toContain("provost blacklist import");
  });

  test("callers without the permission", async () => {
    const actor = await shared.world.staff("senior");
    const answer = await shared.world.post("/blacklist/import", { records: [{ kind: "user", subject_id: freshId() }] }, { actor });
    expect(answer.body).toMatchObject({ code: "permission_denied", required: "blacklist.import" });
  });
});

test("a repeated Idempotency-Key gets the stored answer; of a large import the counts alone", async () => {
  const { world } = shared;
  const actor = await admin();
  for (const [size, isComplete] of [
    [3, true],
    [501, false],
  ] as const) {
    const records = Array.from({ length: size }, () => ({ kind: "user", subject_id: freshId() }));
    const headers = { "idempotency-key": `import-${size.toString()}` };
    const first = await world.post("/blacklist/import", { records }, { actor, headers });
    expect(first.body.data.results).toHaveLength(size);
    const entries = await world.app.database.read.auditEntry.count();
    const again = await world.post("/blacklist/import", { records }, { actor, headers });
    expect(again.headers.get("idempotency-replayed")).toBe("true");
    expect(again.body.data).toEqual({
      ...first.body.data,
      results: isComplete ? first.body.data.results : [],
      results_complete: isComplete,
    });
    expect(await world.app.database.read.auditEntry.count()).toBe(entries);
  }
});

test("two imports of the same lines at the same time make each record once", async () => {
  const ids = Array.from({ length: inject("dialect") === "sqlite" ? 300 : 100 }, freshId);
  const lines = (of: readonly string[]) => ["kind,subject_id", ...of.map((id) => `user,${id}`)];
  const answers = await Promise.all([importCsv(lines(ids)), importCsv(lines(ids.toReversed()))]);
  expect(answers.map(({ status }) => status)).toEqual([200, 200]);
  const created = answers.map(({ body }) => body.data.counts.created as number);
  const unchanged = answers.map(({ body }) => body.data.counts.unchanged as number);
  expect([created, unchanged].map(([a = 0, b = 0]) => a + b)).toEqual([ids.length, ids.length]);
  expect(await shared.world.app.database.read.blacklistRecord.count({ where: { subjectId: { in: ids } } })).toBe(ids.length);
});
