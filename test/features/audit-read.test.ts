// @module-tag both
// @module-tag slow
import { expect, onTestFinished, test } from "vitest";
import { walkLimits } from "../../src/features/audit/walk.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { worded } from "../../src/kit/say.ts";
import { filing } from "../contract/document.ts";
import { createWorld } from "../support/world.ts";
import { createChainGround, entriesOf, growChain } from "./audit-chain-ground.ts";

/** Whether a refusal says something in words, within the JSON that a schema puts it into. */
const says = (words: string) => (error: Error) => worded(error.message).includes(words);
const seqs = (page: { data: { seq: number }[] }): number[] => page.data.map(({ seq }) => seq);

test("text is found in the action, the target and the reason, whatever its case, and nowhere else", async () => {
  const ground = await createChainGround();
  await ground.record(
    { action: "thing.lantern" },
    { action: "thing.update", target: { kind: "thing", id: "lantern-1" } },
    { action: "thing.update", target: { kind: "thing", id: "1", reference: "LANTERN-000001" } },
    { action: "thing.update", reason: "The Lantern went out" },
    { action: "thing.update", after: { note: "lantern" } },
    { action: "thing.update", reason: "Another" },
  );
  const page = await ground.audit.list(ground.call, { q: "lantern" });
  expect(seqs(page)).toEqual([4, 3, 2, 1]);
  expect(page.notes).toEqual({ examined: 6 });
  expect(seqs(await ground.audit.list(ground.call, { q: "lantern", action: "thing.update" }))).toEqual([4, 3, 2]);
  await expect(ground.audit.list(ground.call, { q: "lantern", count: "true" })).rejects.toSatisfy(says("cannot be counted"));
});

test("a search by text looks at 20,000 entries for a page, says so, and its cursor goes on from there", async () => {
  const ground = await createChainGround();
  await growChain(ground.database, 21_000, (seq) => (seq === 3 || seq === 5000 ? { targetId: "needle" } : {}));
  const pages = [];
  for (let cursor: string | null | undefined; cursor !== null;) {
    const page = await ground.audit.list(ground.call, { q: "needle", ...(cursor !== undefined && { cursor }) });
    pages.push({ found: seqs(page), ...page.notes });
    cursor = page.next_cursor;
  }
  expect(pages).toEqual([
    { found: [5000], examined: 20_000, examined_to: 1001 },
    { found: [3], examined: 1000 },
  ]);
});

test("rare entries far down are found and counted through every filter, in whole pages", async () => {
  const ground = await createChainGround();
  const rare = {
    clientId: null,
    via: "slash",
    outcome: "denied",
    subjectUserId: "80351110224678999",
    requestId: "the-request",
    targetKind: "door",
    targetId: "9",
  };
  await growChain(ground.database, 12_000, (seq) => (seq % 5000 === 1 ? { ...rare, action: "door.open" } : {}));
  const wanted = [10_001, 5001, 1];
  for (const filter of [
    { via: "slash" },
    { outcome: "denied" },
    { subject: "80351110224678999" },
    { request_id: "the-request" },
    { target: "door:9" },
    { action: "door.open" },
    { action: "door.open,door.close" },
    { action_prefix: "door." },
    { via: "slash", outcome: "denied", action: "door.open" },
  ] as const) {
    const page = await ground.audit.list(ground.call, { ...filter, count: "true" });
    expect({ filter, found: seqs(page), total: page.total }).toEqual({ filter, found: wanted, total: 3 });
    const first = await ground.audit.list(ground.call, { ...filter, limit: 2 });
    const second = await ground.audit.list(ground.call, { ...filter, limit: 2, cursor: first.next_cursor ?? "" });
    expect([seqs(first), seqs(second), second.next_cursor]).toEqual([[10_001, 5001], [1], null]);
  }
  const at = (seq: number) => new Date(1_767_225_600_000 + seq * 1000).toISOString();
  expect(seqs(await ground.audit.list(ground.call, { from: at(5001), to: at(5003) }))).toEqual([5002, 5001]);
});

test("a page of actions about cases ends by its positions where the caller may not know of confidential ones, however many there are", async () => {
  const usual = { ...walkLimits };
  onTestFinished(() => void Object.assign(walkLimits, usual));
  const world = await createWorld();
  const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
  const opening = { type: "investigation", title: "A matter", subjects: [{ kind: "user", id: world.member().id }], lead: owner.id };
  const open = async (confidential: boolean): Promise<string> => {
    const { status, body } = await world.post("/cases", { ...opening, confidential }, { actor: owner });
    expect([status, body.detail]).toEqual([201, undefined]);
    return String(body.data.id);
  };
  const [ordinary, secret] = [await open(false), await open(true)];
  const note = (id: string) => world.post(`/cases/${id}/notes`, { body: "Seen." }, { actor: owner });
  for (let count = 0; count < 2; count += 1) await note(ordinary);
  for (let count = 0; count < 50; count += 1) expect((await note(secret)).status).toBe(201);
  Object.assign(walkLimits, { positions: 20, few: 5 });
  const last = (await world.app.database.read.counter.findUniqueOrThrow({ where: { name: "audit" } })).value;
  const pagesOf = async (query: string, actor = senior) => {
    const pages: { ids: string[]; examined?: number; examined_to?: number }[] = [];
    for (let cursor: string | null = ""; cursor !== null;) {
      const { status, body } = await world.get(`/audit?${query}${cursor === "" ? "" : `&cursor=${cursor}`}`, { actor });
      expect([status, body.detail]).toEqual([200, undefined]);
      const { examined, examined_to } = body.meta;
      const ids = body.data.map(({ target }: { target: { id: string } }) => target.id);
      pages.push({ ids, ...(examined !== undefined && { examined, examined_to }) });
      cursor = body.page.next_cursor;
    }
    return pages;
  };
  for (const query of ["action=case.note", "action_prefix=case.n", `action=case.note&actor=${owner.id}`]) {
    const pages = await pagesOf(query);
    expect(pages[0]).toEqual({ ids: [], examined: 20, examined_to: last - 19 });
    expect(pages.slice(0, -1).map((page) => page.examined_to)).toEqual(pages.slice(0, -1).map((_, place) => last + 1 - 20 * (place + 1)));
    expect(pages.flatMap(({ ids }) => ids)).toEqual([ordinary, ordinary]);
    // Those who may know of everything read on to where the page is full.
    expect((await pagesOf(`${query}&limit=200`, owner)).map(({ ids }) => ids.length)).toEqual([52]);
  }
  // What is never about a confidential record is found wherever it stands.
  expect((await pagesOf("action=key.create")).length).toBe(1);
});

test("one's own entries are those one made oneself, and a key that acts for nobody sees its own", async () => {
  const world = await createWorld();
  const [owner, admin, viewer] = [await world.staff("owner"), await world.staff("admin"), await world.staff("viewer")];
  for (const actor of [owner, admin])
    expect((await world.post("/blacklist", { kind: "user", subject_id: world.member().id }, { actor })).status).toBe(201);
  const mine = async (actor: typeof owner, query = "") =>
    (await world.get(`/audit/mine?${query}`, { actor })).body.data as Record<string, any>[];
  const own = await mine(admin);
  expect(own.map(({ action, actor }) => [action, actor.id])).toEqual([["blacklist.create", admin.id]]);
  expect(own[0]).toHaveProperty("reason");
  expect(await mine(admin, "action=nothing.here")).toEqual([]);
  expect(await mine(viewer)).toEqual([]);
  expect((await world.get(`/audit/mine?actor=${owner.id}`, { actor: admin })).body.code).toBe("unknown_parameter");
  const { page } = (await world.get("/audit?limit=1", { actor: owner })).body;
  expect((await world.get(`/audit/mine?limit=1&cursor=${page.next_cursor}`, { actor: owner })).body.code).toBe("invalid_cursor");
  const key = await world.makeKey(["audit.read_own"], "none");
  expect((await world.get("/audit/mine", { key })).body.data).toEqual([]);
});

test("whoever does not read the audit reads their own entries without reasons, and finds nothing by them", async () => {
  const world = await createWorld();
  const moderator = await world.staff("moderator");
  const filed = await world.post("/workflows/punishment", filing("punishment"), { actor: moderator });
  expect(filed.status).toBe(201);
  const { data } = (await world.get("/audit/mine", { actor: moderator })).body;
  expect(data.length).toBeGreaterThan(0);
  for (const entry of data) for (const name of ["reason", "before", "after"]) expect(entry).not.toHaveProperty(name);
  await world.app.database.write(callOf(moderator.id), async (tx) =>
    world.app.audit.record(tx, { action: "thing.note", reason: "a hidden lantern" }),
  );
  expect((await world.get("/audit/mine?q=lantern", { actor: moderator })).body.data).toEqual([]);
  expect((await world.get("/audit/mine?q=thing.no", { actor: moderator })).body.data).toHaveLength(1);
});

test("a part of the chain is verified by its positions", async () => {
  const ground = await createChainGround();
  await ground.record(...entriesOf(40));
  await ground.audit.signHead(ground.call);
  await ground.database.write(ground.call, (tx) => ground.audit.erase(tx, { targetId: "3" }, { action: "thing.purge" }));
  const part = (from?: number, to?: number) => ground.audit.verify(ground.call, { ...(from && { from }), ...(to && { to }) });
  expect(await part(10, 20)).toEqual({ ok: true, entries: 11, checkpoints: 0 });
  expect(await part(30)).toEqual({ ok: true, entries: 12, checkpoints: 1 });
  expect(await part(undefined, 40)).toEqual({ ok: true, entries: 40, checkpoints: 1 });
  await expect(part(0.5)).rejects.toThrow();
  await expect(part(20, 10)).rejects.toSatisfy(says("It lies before `from`"));
});

/** The call of a person without any power. */
function callOf(id: string): Call {
  const decide = () => ({ allowed: false, reasons: [] });
  const actor = { id, isStaff: false, isOwner: false, rank: 0, isStale: () => false, decide, heldUntil: () => undefined };
  return { ...systemCall("cli", uuid7()), actor };
}
