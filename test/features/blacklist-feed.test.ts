import { createListChecks } from "../../src/features/lists/checks.ts";
// @module-tag postgres
import fc from "fast-check";
import { describe, expect, inject, test } from "vitest";
import type { BlacklistChangeView, BlacklistView } from "../../src/features/blacklist/blacklist.schema.ts";
import { createBlacklistRecords } from "../../src/features/blacklist/records.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { requireDone } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { sizeOf } from "../support/size.ts";
import { createGround, freshId } from "./workflows-ground.ts";

const job = () => systemCall("job", uuid7());
const categories = ["raid", "scam", "other"] as const;

/** The verbs of the room as an owner uses them. */
async function createScene() {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const call = () => ground.callOf({ actor });
  const none = { added: 0, changed: 0, removed: 0 };
  const records = createBlacklistRecords({
    audit: ground.audit,
    events: { emit: () => undefined },
    matches: {
      lock: () => Promise.resolve(),
      concernedBy: () => Promise.resolve({ accounts: [] }),
      applyRecord: () => Promise.resolve(none),
      applyRecords: () => Promise.resolve(none),
    },
    access: { noteRecord: () => undefined },
    listChecks: createListChecks(),
    serversKey: Buffer.alloc(32, 1),
  });
  return {
    ground,
    actor,
    call,
    create: (more: object = {}) => ground.blacklist.create(call(), { kind: "user", subject_id: freshId(), ...more } as never),
    /** As an import that replaces a record leaves the one before. */
    supersede: (id: string) =>
      ground.database.write(job(), async (tx) => {
        const row = await tx.db.blacklistRecord.findUniqueOrThrow({ where: { id } });
        const note = { action: "blacklist.supersede", permission: "blacklist.import" } as const;
        await records.change(tx, row, { status: "superseded", activeKey: null }, note);
      }),
    purge: async (id: string) => requireDone(await ground.blacklist.purge(call(), id, { reason: "no ground for it" })),
  };
}
type Scene = Awaited<ReturnType<typeof createScene>>;
type Filter = { category?: (typeof categories)[number]; kind?: "user" | "server" };

/** Somebody who follows the feed as the document tells them to, a page at a time. */
function createFollower({ ground, call }: Scene, filter: Filter) {
  const kept = new Map<string, BlacklistView>();
  const seen: BlacklistChangeView[] = [];
  let cursor: string | undefined;
  return {
    seen,
    async step(limit: number): Promise<boolean> {
      const page = await ground.blacklist.changes(call(), { ...filter, limit, ...(cursor !== undefined && { cursor }) });
      for (const entry of page.data) {
        seen.push(entry);
        if (entry.retract || entry.record === null) kept.delete(entry.record_id);
        else kept.set(entry.record_id, entry.record);
      }
      cursor = String(page.notes?.["resume_cursor"]);
      return page.next_cursor !== null;
    },
    active: () =>
      [...kept.values()]
        .filter(({ status }) => status === "active")
        .map(({ number, revision }): [string, number] => [number, revision])
        .toSorted(([a], [b]) => (a < b ? -1 : 1)),
  };
}

async function activeRows({ ground }: Scene, filter: Filter) {
  const rows = await ground.database.read.blacklistRecord.findMany({ where: { ...filter, status: "active" }, orderBy: { number: "asc" } });
  return rows.map(({ number, revision }) => [`BL-${number.toString().padStart(6, "0")}`, revision]);
}

const deeds = ["create", "schedule", "server", "update", "move", "revoke", "supersede", "purge", "pass", "read"] as const;
type Deed = { what: (typeof deeds)[number]; which: number };

/** Do something if it can be done now; what is refused changes nothing. */
async function act(scene: Scene, { what, which }: Deed): Promise<void> {
  const { ground, call } = scene;
  const category = categories[which % categories.length] ?? "other";
  if (what === "create") return void (await scene.create({ category, ...(which % 2 === 0 && { duration: "30m" }) }));
  if (what === "schedule")
    return void (await scene.create({ category, starts_at: new Date(Date.now() + 86_400_000 * (which % 3)).toISOString() }));
  if (what === "server") return void (await scene.create({ kind: "server", category: which % 2 === 0 ? "scam" : "other" }));
  if (what === "pass") {
    ground.pass(1200);
    return void (await ground.blacklist.expireDue(job()));
  }
  const isPurge = what === "purge";
  const status = isPurge ? { notIn: ["active", "scheduled"] } : { in: ["active", "scheduled"] };
  const rows = await ground.database.read.blacklistRecord.findMany({ where: { status }, orderBy: { number: "asc" } });
  const row = rows[which % Math.max(rows.length, 1)];
  if (row === undefined) return;
  if (what === "update") await ground.blacklist.update(call(), row.id, { tags: [`tag ${which.toString()}`] });
  if (what === "move") await ground.blacklist.update(call(), row.id, { category: row.kind === "server" ? "scam" : category });
  if (what === "revoke") await ground.blacklist.revoke(call(), row.id, { reason: "a mistake" });
  if (what === "supersede") await scene.supersede(row.id);
  if (isPurge) await scene.purge(row.id);
}

describe("whoever follows the feed", () => {
  const filters: Filter[] = [{}, { category: "scam" }, { kind: "server" }, { kind: "user", category: "raid" }];

  test("keeps exactly the records that count, wherever its pages are cut and whenever it reads", async () => {
    const deed = fc.record({ what: fc.constantFrom(...deeds), which: fc.nat(30) });
    const story = fc.tuple(fc.array(deed, { minLength: 10, maxLength: 30 }), fc.infiniteStream(fc.integer({ min: 1, max: 7 })));
    await fc.assert(
      fc.asyncProperty(story, async ([story_, limits]) => {
        const scene = await createScene();
        const limit = (): number => limits.next().value ?? 1;
        const followers = filters.map((filter) => ({ filter, follower: createFollower(scene, filter) }));
        for (const one of story_) {
          if (one.what === "read") for (const { follower } of followers) await follower.step(limit());
          else await act(scene, one);
        }
        await scene.ground.blacklist.expireDue(job());
        for (const { filter, follower } of followers) {
          while (await follower.step(limit()));
          expect(follower.active()).toEqual(await activeRows(scene, filter));
          expect(follower.seen.map(({ seq }) => seq)).toEqual([...new Set(follower.seen.map(({ seq }) => seq))].toSorted((a, b) => a - b));
        }
      }),
      { numRuns: sizeOf(inject("dialect") === "sqlite" ? { quick: 3, all: 8, long: 80 } : { quick: 3, all: 3, long: 30 }), seed: 5 },
    );
  });

  test("is told of every step of a record, and to let go of it in the end", async () => {
    const scene = await createScene();
    const { ground, actor, call } = scene;
    const soon = new Date(Date.now() + 60_000).toISOString();
    const made = await scene.create({ starts_at: soon, duration: "1h" });
    ground.pass(120);
    await ground.blacklist.expireDue(job());
    await ground.blacklist.update(call(), made.id, { severity: "critical" });
    ground.pass(7200);
    await ground.blacklist.expireDue(job());
    const body = (await ground.get("/blacklist/changes", { actor })).body;
    expect(body.data.map((entry: any) => [entry.change, entry.retract, entry.revision, entry.record.status, entry.number])).toEqual([
      ["created", false, 1, "scheduled", "BL-000001"],
      ["started", false, 2, "active", "BL-000001"],
      ["updated", false, 3, "active", "BL-000001"],
      ["expired", true, 4, "expired", "BL-000001"],
    ]);
    expect(body.page.next_cursor).toBeNull();
    const events = await ground.database.read.outboxEvent.findMany({ orderBy: { seq: "asc" } });
    expect(events.map(({ type }) => type)).toEqual(["blacklist.created", "blacklist.updated", "blacklist.updated", "blacklist.expired"]);
  });

  test("has a cursor to go on from at the end and on an empty feed, and only its own", async () => {
    const scene = await createScene();
    const { ground, actor } = scene;
    const ask = (query: string) => ground.get(`/blacklist/changes?${query}`, { actor });
    const empty = (await ask("")).body;
    expect([empty.data, empty.page.next_cursor]).toEqual([[], null]);
    await scene.create();
    const resume = encodeURIComponent(empty.meta.resume_cursor);
    const first = (await ask(`cursor=${resume}&limit=1`)).body;
    expect(first.data.map(({ number }: any) => number)).toEqual(["BL-000001"]);
    const end = (await ask(`cursor=${encodeURIComponent(first.meta.resume_cursor)}`)).body;
    expect([end.data, end.meta.resume_cursor]).toEqual([[], first.meta.resume_cursor]);
    await scene.create();
    expect((await ask(`cursor=${encodeURIComponent(end.meta.resume_cursor)}`)).body.data.map(({ number }: any) => number)).toEqual([
      "BL-000002",
    ]);
    for (const query of [`cursor=${resume}x`, `cursor=${resume}&kind=user`, "cursor=1"])
      expect((await ask(query)).body.code).toBe("invalid_cursor");
  });

  test("sees of the records what it may see, and nothing without blacklist.read", async () => {
    const scene = await createScene();
    const { ground } = scene;
    await scene.create({ reason_internal: "secret" });
    const ask = (level: "viewer" | "moderator" | "senior") => ground.get("/blacklist/changes", { actor: ground.staff(level) });
    expect((await ask("viewer")).body.code).toBe("permission_denied");
    expect((await ask("moderator")).body.data[0].record).not.toHaveProperty("reason_internal");
    expect((await ask("senior")).body.data[0].record.reason_internal).toBe("secret");
  });

  test("of one category lets go of a record that leaves it, and takes one in that comes", async () => {
    const scene = await createScene();
    const { ground, actor, call } = scene;
    const made = await scene.create({ category: "raid" });
    await ground.blacklist.update(call(), made.id, { category: "scam" });
    const entries = async (query: string) =>
      (await ground.get(`/blacklist/changes?${query}`, { actor })).body.data.map((entry: any) => [
        entry.change,
        entry.retract,
        entry.revision,
      ]);
    expect(await entries("category=raid")).toEqual([
      ["created", false, 1],
      ["updated", true, 2],
    ]);
    expect(await entries("category=scam")).toEqual([["updated", false, 2]]);
    expect(await entries("category=hate")).toEqual([]);
  });
});

test("numbers of changes follow each other without gaps, however many writers there are", async () => {
  const scene = await createScene();
  await Promise.all(Array.from({ length: 30 }, () => scene.create()));
  const rows = await scene.ground.database.read.blacklistChange.findMany({ orderBy: { seq: "asc" } });
  expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: 30 }, (_, index) => index + 1));
});

test("a record that another one took the place of stays readable, is not changed any more, and is named by the other", async () => {
  const scene = await createScene();
  const { ground, actor } = scene;
  const made = await scene.create();
  await scene.supersede(made.id);
  const { read } = ground.database;
  const before = [await read.blacklistVersion.count(), await read.auditEntry.count()];
  const answers = [
    await ground.patch(`/blacklist/${made.id}`, { severity: "low" }, { actor }),
    await ground.delete(`/blacklist/${made.id}`, { reason: "A mistake." }, { actor }),
  ];
  for (const { status, body } of answers) expect([status, body.code, body.from]).toEqual([409, "invalid_transition", "superseded"]);
  expect([await read.blacklistVersion.count(), await read.auditEntry.count()]).toEqual(before);
  expect((await ground.get(`/blacklist/${made.id}`, { actor })).body.data).toMatchObject({ status: "superseded", revoked: null });
  const statuses = async (status: string) => (await ground.get(`/blacklist?status=${status}`, { actor })).body.data.length;
  expect([await statuses("superseded"), await statuses("active"), await statuses("revoked")]).toEqual([1, 0, 0]);
  const draft = {
    kind: "user",
    subjectId: made.subject_id,
    scope: "network",
    category: "other",
    severity: "low",
    source: "import",
  } as const;
  const note = { action: "blacklist.create", permission: "blacklist.import" } as const;
  const next = await ground.database.write(job(), (tx) =>
    ground.blacklist.createInTx(tx, { ...draft, createdBy: actor, supersedesId: made.id }, note),
  );
  const shown = (await ground.get(`/blacklist/${next.row.id}`, { actor })).body.data;
  expect([shown.supersedes, made.supersedes]).toEqual([made.number, null]);
  expect((await ground.get(`/blacklist/${next.row.id}/history`, { actor })).body.data[0].record.supersedes).toBe(made.number);
  expect((await ground.get("/blacklist", { actor })).body.data[0].supersedes).toBe(made.number);
  await scene.purge(made.id);
  expect((await ground.get(`/blacklist/${next.row.id}`, { actor })).body.data.supersedes).toBeNull();
});
