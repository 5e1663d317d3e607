import { describe, expect, test } from "vitest";
import { maxEntries } from "../../src/features/follows/follows.schema.ts";
import { insertRows } from "../../src/database/insert.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createFollower, createTeller, follow, refresh, saidBy, type Follower } from "./follows-ground.ts";
import { within } from "./stances-community.ts";
import { freshId } from "./workflows-ground.ts";

const at = "2026-01-01T00:00:00.000Z";

/** An entry of a feed, in which a test can change anything. */
function entryOf(seq: number, subjectId: string, { record: more, ...changed }: Record<string, any> = {}) {
  const about = { kind: "user", subject_id: subjectId, category: "raid", severity: "high", recommended_action: null };
  const record = { id: `r${seq.toString()}`, revision: 1, ...about, status: "active", starts_at: at, expires_at: null, ...more };
  return {
    seq,
    at,
    change: "created",
    retract: false,
    record_id: record.id,
    number: `BL-${seq.toString()}`,
    revision: 1,
    record,
    ...changed,
  };
}

/** A feed of one page that the test decides. */
async function createFeed(entries: unknown[]) {
  const feed = { entries };
  const teller = await createTeller(() => ({
    body: JSON.stringify({ data: feed.entries, page: { next_cursor: null }, meta: { resume_cursor: "end" } }),
  }));
  return Object.assign(feed, {
    follows: (follower: Follower, name: string) => follow(follower, { name, address: teller.url, key: "prv_test_key" }),
  });
}

const viewOf = async ({ world, admin }: Follower, id: string) => (await world.get(`/lists/${id}`, { actor: admin })).body.data;
const healthOf = async ({ world }: Follower) => (await world.get("/health")).body.checks.followed_lists.status;
const readAll = async (follower: Follower, ids: readonly string[]): Promise<any[]> => {
  await follower.world.app.runJobs();
  const views = () => Promise.all(ids.map((id) => viewOf(follower, id)));
  await within(async () => (await views()).every((view) => view.last_read_at !== null || view.failures > 0), 60_000);
  return await views();
};

describe("a feed that holds what no column keeps", () => {
  const half = "\ud800";
  const unreadable: readonly (readonly [field: string, changed: Record<string, unknown>])[] = [
    ["/number", { number: "BL\0" }],
    ["/number", { number: `BL${half}` }],
    ["/record/category", { record: { category: `ra${half}d` } }],
    ["/record/severity", { record: { severity: "apocalyptic" } }],
    ["/record/starts_at", { record: { starts_at: "0000-01-01T00:00:00.000Z" } }],
    ["/record/expires_at", { record: { expires_at: "9999-12-31T23:59:59.999Z" } }],
    ["/record/subject_id", { record: { subject_id: "1.23E+17" } }],
    ["/record/kind", { record: { kind: "dragon" } }],
  ];
  const unordered: readonly (readonly [field: string, changed: Record<string, unknown>])[] = [
    ["/seq", { seq: 3_000_000_000 }],
    ["/revision", { revision: 3_000_000_000 }],
    ["/record_id", { record_id: "r\0" }],
    ["/record_id", { record_id: null }],
  ];

  test("is taken but for the entries that cannot be read, and stops no other list from being read", { timeout: 300_000 }, async () => {
    const follower = await createFollower();
    const stories: { id: string; field: string; isTaken: boolean; before: string; after: string }[] = [];
    for (const [isTaken, all] of [
      [true, unreadable],
      [false, unordered],
    ] as const)
      for (const [index, [field, changed]] of all.entries()) {
        const [before, after] = [freshId(), freshId()];
        const feed = await createFeed([entryOf(1, before), entryOf(2, freshId(), changed), entryOf(3, after)]);
        stories.push({ id: await feed.follows(follower, `${String(isTaken)} ${index.toString()}`), field, isTaken, before, after });
      }
    const honest = freshId();
    const last = await (await createFeed([entryOf(1, honest)])).follows(follower, "honest");
    const views = await readAll(follower, [...stories.map(({ id }) => id), last]);
    expect(views.pop()).toMatchObject({ state: "following", problem: null, failures: 0, unread: 0, unread_lines: [] });
    expect(Object.keys(await saidBy(follower, last))).toEqual([honest]);
    for (const [index, { id, field, isTaken, before, after }] of stories.entries()) {
      const said = Object.keys(await saidBy(follower, id)).toSorted();
      if (isTaken) {
        const line = { line: 2, field, value: expect.any(String), reason: expect.stringMatching(/\.$/) };
        expect(views[index], field).toMatchObject({ state: "following", problem: null, failures: 0, unread: 1, unread_lines: [line] });
        expect(said, field).toEqual([before, after].toSorted());
      } else {
        const problem = expect.stringContaining(`Entry 2 of the page cannot be read at ${field}: `);
        expect(views[index], field).toMatchObject({ state: "following", failures: 1, problem, last_read_at: null });
        expect(said, field).toEqual([]);
      }
    }
    const listed = (await follower.world.get("/lists", { actor: follower.admin })).body.data;
    expect(listed.every((one: any) => !("unread_lines" in one))).toBe(true);
    expect(await healthOf(follower)).toBe("pass");
  });

  test("stops where it says something else of the same number than before, whatever it is about", { timeout: 120_000 }, async () => {
    const follower = await createFollower();
    const person = freshId();
    const lies = [{ subject_id: freshId() }, { severity: "low" }, { category: "scam" }, { expires_at: "2030-01-01T00:00:00.000Z" }];
    for (const lie of lies) {
      const feed = await createFeed([entryOf(1, person)]);
      const id = await feed.follows(follower, JSON.stringify(lie));
      expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
      // What is told besides, such as a name, may change.
      feed.entries = [entryOf(1, person, { record: { subject_snapshot: { name: "someone" } } })];
      expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
      feed.entries = [entryOf(1, person, { record: lie })];
      expect(await refresh(follower, id)).toMatchObject({ state: "stopped", problem: "The list tells otherwise what it told before." });
      expect(await saidBy(follower, id)).toEqual({ [person]: "raid high" });
    }
    const { problem } = await viewOf(follower, (await follower.world.get("/lists", { actor: follower.admin })).body.data[0].id);
    expect(problem).toContain("otherwise");
    expect(await healthOf(follower)).toBe("warn");
  });
});

describe("a list without an end", () => {
  test("is read a bounded number of pages at a time", { timeout: 120_000 }, async () => {
    const follower = await createFollower();
    const person = freshId();
    const teller = await createTeller(({ url }) => {
      const seq = Number(new URL(url ?? "", "http://x").searchParams.get("cursor") ?? 0) + 1;
      const next = seq.toString();
      return { body: JSON.stringify({ data: [entryOf(seq, person)], page: { next_cursor: next }, meta: { resume_cursor: next } }) };
    });
    const id = await follow(follower, { name: "endless", address: teller.url, key: "prv_test_key" });
    expect(await refresh(follower, id)).toMatchObject({ state: "following", problem: null });
    expect(teller.asked).toHaveLength(50);
    expect(await follower.world.app.database.read.followedEntry.count()).toBe(50);
  });

  test("stops once it has said more than a list may, and keeps what it has said", { timeout: 120_000 }, async () => {
    const follower = await createFollower();
    const { database } = follower.world.app;
    const teller = await createTeller(() => ({
      body: JSON.stringify({
        data: [entryOf(maxEntries + 1, freshId())],
        page: { next_cursor: null },
        meta: { resume_cursor: "end" },
      }),
    }));
    const listId = await follow(follower, { name: "large", address: teller.url, key: "prv_test_key" });
    const empty = { kind: null, subject: null, category: null, severity: null, recommendedAction: null, startsAt: null, expiresAt: null };
    const rows = Array.from({ length: maxEntries }, (_, index) => ({
      listId,
      originId: `r${(index + 1).toString()}`,
      number: `BL-${(index + 1).toString()}`,
      revision: 1,
      updatedAt: new Date(),
      ...empty,
    }));
    for (let from = 0; from < rows.length; from += 5000)
      await database.write(systemCall("job", "fill"), (tx) => insertRows(tx, "FollowedEntry", rows.slice(from, from + 5000)));
    await database.write(systemCall("job", "fill"), ({ db }) =>
      db.followedList.update({ where: { id: listId }, data: { lastSeq: maxEntries } }),
    );
    expect(await refresh(follower, listId)).toMatchObject({ state: "stopped", problem: "A list holds at most 100000 entries." });
    expect(await database.read.followedEntry.count()).toBe(maxEntries);
    const lines = Array.from({ length: maxEntries + 1 }, (_, index) => `a${index.toString()}.example`);
    const file = await createTeller(() => ({ body: lines.join("\n") }));
    const second = await follow(follower, { name: "large file", kind: "file", address: file.url });
    expect(await refresh(follower, second)).toMatchObject({
      state: "following",
      problem: "A list holds at most 100000 entries.",
      failures: 1,
    });
    expect(await saidBy(follower, second)).toEqual({});
  });
});

test("a list whose address takes its time holds up no other", { timeout: 120_000 }, async () => {
  const follower = await createFollower();
  let release = (): void => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const slow = await createTeller(async () => {
    await released;
    return { body: "evil.example" };
  });
  const quick = await createTeller(() => ({ body: "quick.example" }));
  const first = await follow(follower, { name: "slow", kind: "file", address: slow.url });
  const second = await follow(follower, { name: "quick", kind: "file", address: quick.url });
  const [view] = await readAll(follower, [second]);
  expect(view).toMatchObject({ problem: null, failures: 0 });
  expect(await saidBy(follower, second)).toEqual({ "quick.example": "other medium" });
  expect(slow.asked).toHaveLength(1);
  expect(await viewOf(follower, first)).toMatchObject({ last_read_at: null, failures: 0 });
  release();
  await within(async () => (await viewOf(follower, first)).last_read_at !== null, 30_000);
});

describe("a line that cannot be read", () => {
  test("is reported with its number, value and reason, changes nothing of what it said before, and the rest is taken", async () => {
    const follower = await createFollower();
    const { world, admin } = follower;
    world.guild.allowCommands([world.guild.everyoneRole]);
    const [one, two, three, four] = [freshId(), freshId(), freshId(), freshId()];
    const id = await follow(follower, { name: "sent", kind: "file" });
    const send = async (records: object[]) => await world.put(`/lists/${id}/file`, { records }, { actor: admin });
    const listed = (subject_id: string, more: object = {}) => ({ kind: "user", subject_id, category: "raid", severity: "high", ...more });
    await send([listed(one, { number: "A-1" }), listed(two), listed(three), listed(four)]);
    const answer = await send([
      // By its number, and by whom it is about.
      listed("8,03511E+16", { number: "A-1" }),
      listed(two, { severity: "apocalyptic" }),
      listed(`${three}\0`),
      { kind: "domain", subject_id: "Evil.example" },
      { kind: "domain", subject_id: "evil.example." },
      { kind: "domain", subject_id: "https://other.example/" },
    ]);
    expect(answer.status).toBe(200);
    expect(answer.body.data.unread).toBe(3);
    expect(answer.body.data.unread_lines).toEqual([
      { line: 1, field: "/subject_id", value: "8,03511E+16", reason: "A spreadsheet has rounded the id: format its column as text." },
      { line: 2, field: "/severity", value: "apocalyptic", reason: expect.stringMatching(/^Use one of: /) },
      { line: 3, field: "/subject_id", value: `${three}\u{fffd}`, reason: "The text holds a character that cannot be stored." },
    ]);
    expect(await saidBy(follower, id)).toEqual({
      [one]: "raid high",
      [two]: "raid high",
      "evil.example": "other medium",
      "other.example": "other medium",
    });
    const shown = (await world.slash(admin, "follows show", { list: id })).replaceAll("\\", "");
    expect(shown).toContain("8,03511E+16");
    expect(shown).toContain("rounded the id");
    const again = await send([listed(one), { ...listed(one), severity: "low" }, listed(four)]);
    expect(again.body.data.unread_lines).toMatchObject([{ line: 2, reason: "An earlier line says something else of the same." }]);
    expect((await send([listed(four)])).body.data).toMatchObject({ unread: 0, unread_lines: [] });
  });
});

describe("files that are sent at the same time", () => {
  test("are taken one after the other, and one that was made for an earlier state is refused", { timeout: 120_000 }, async () => {
    const follower = await createFollower();
    const { world, admin } = follower;
    const id = await follow(follower, { name: "sent", kind: "file" });
    const files = Array.from({ length: 6 }, () => Array.from({ length: 20 }, freshId));
    const send = (ids: readonly string[], headers = {}) =>
      world.put(`/lists/${id}/file`, { records: ids.map((subject_id) => ({ kind: "user", subject_id })) }, { actor: admin, headers });
    const answers = await Promise.all(files.map((ids) => send(ids)));
    expect(answers.map(({ status }) => status)).toEqual(files.map(() => 200));
    const revisions = answers.map(({ body }) => body.data.revision as number);
    expect(revisions.toSorted((one, other) => one - other)).toEqual([2, 3, 4, 5, 6, 7]);
    const last = files[revisions.indexOf(7)] ?? [];
    expect(Object.keys(await saidBy(follower, id)).toSorted()).toEqual(last.toSorted());
    expect((await send(last)).body.data.revision).toBe(7);

    const conditional = await Promise.all(files.filter((ids) => ids !== last).map((ids) => send(ids, { "if-match": '"v7"' })));
    expect(conditional.map(({ status }) => status).toSorted((one, other) => one - other)).toEqual([200, 412, 412, 412, 412]);
    expect((await viewOf(follower, id)).revision).toBe(8);
    const stale = await send(last, { "if-match": '"v7"' });
    expect([stale.status, stale.body.current_etag]).toEqual([412, '"v8"']);
  });

  test("go in in parts where they are large, and are answered alike when they are sent again", { timeout: 120_000 }, async () => {
    const follower = await createFollower();
    const { world, admin } = follower;
    const id = await follow(follower, { name: "sent", kind: "file" });
    const csv = ["kind,subject_id", ...Array.from({ length: 1200 }, (_, index) => `domain,a${index.toString()}.example`)].join("\n");
    const headers = { "content-type": "text/csv", "idempotency-key": "large-file-1" };
    const first = await world.put(`/lists/${id}/file`, csv, { actor: admin, headers });
    expect([first.status, await world.app.database.read.followedEntry.count()]).toEqual([200, 1200]);
    const second = await world.put(`/lists/${id}/file`, csv, { actor: admin, headers });
    expect([second.status, second.body.data]).toEqual([200, first.body.data]);
    expect(await world.app.database.read.auditEntry.count({ where: { action: "followed_list.send" } })).toBe(1);
    const other = await world.put(`/lists/${id}/file`, "kind,subject_id\ndomain,b.example", { actor: admin, headers });
    expect(other.body.code).toBe("idempotency_key_reused");
    expect(await world.app.database.read.followedEntry.count()).toBe(1200);
  });
});
