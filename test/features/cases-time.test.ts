import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";

const time = { offset: 0 };
const shared = shareWorld({ clock: { now: () => new Date(Date.now() + time.offset) }, env: { SECOND_PERSON_FOR_DANGER: "false" } });
const [minute, day] = [60_000, 86_400_000];
let [owner, senior, moderator]: [User, User, User] = [] as unknown as [User, User, User];

beforeAll(async () => {
  const { world } = shared;
  [owner, senior, moderator] = [await world.staff("owner"), await world.staff("senior"), await world.staff("moderator")];
});
beforeEach(() => void (time.offset = 0));

async function open(body: object = {}) {
  const draft = { title: "A question of time", subjects: [{ kind: "user", id: freshId() }], ...body };
  const answer = await shared.world.post("/cases", draft, { actor: senior });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}
const seen = (id: string, actor = owner) => shared.world.get(`/cases/${id}`, { actor });
const sweep = () => shared.world.app.cases.sweep(systemCall("job", uuid7()));
const actionsOf = async (id: string) => {
  const rows = await shared.world.app.database.read.auditEntry.findMany({
    where: { targetId: id, outcome: "ok" },
    orderBy: { seq: "asc" },
  });
  return rows.map(({ action }) => action);
};

describe("notes", () => {
  const add = async (id: string, body: string, actor = senior) =>
    (await shared.world.post(`/cases/${id}/notes`, { body }, { actor })).body.data;
  const edit = (id: string, note: string, body: string, actor = senior, headers = {}) =>
    shared.world.patch(`/cases/${id}/notes/${note}`, { body }, { actor, headers });
  const historyOf = async (id: string, note: string) => {
    const { body } = await shared.world.get(`/cases/${id}/notes/${note}/history`, { actor: senior });
    return body.data.map((one: { body: string }) => one.body);
  };

  test("its author changes a note for fifteen minutes, and every text it had is kept", async () => {
    const { id } = await open();
    const note = await add(id, "First thoughts");
    expect(note).toMatchObject({ author: senior.id, revision: 1, edited_at: null });
    expect(new Date(note.editable_until).getTime() - new Date(note.created_at).getTime()).toBe(15 * minute);
    time.offset = 14 * minute;
    expect((await edit(id, note.id, "Second thoughts")).body.data).toMatchObject({ body: "Second thoughts", revision: 2 });
    expect((await edit(id, note.id, "Second thoughts")).body.data.revision).toBe(2);
    time.offset = 15 * minute;
    expect((await edit(id, note.id, "Third thoughts")).body).toMatchObject({
      code: "invalid_transition",
      action: "note_edit",
      allowed: ["note"],
    });
    expect(await historyOf(id, note.id)).toEqual(["Second thoughts", "First thoughts"]);
    expect(await actionsOf(id)).toEqual(["case.open", "case.note", "case.note_edit"]);
  });

  test("nobody else changes it, not even an owner, and nobody changes it unawares", async () => {
    const { id } = await open();
    const note = await add(id, "Mine alone");
    expect((await edit(id, note.id, "Yours", owner)).body).toMatchObject({ code: "permission_denied" });
    expect((await edit(id, note.id, "Mine", senior, { "if-match": '"v7"' })).body).toMatchObject({
      code: "precondition_failed",
      current_etag: '"v1"',
    });
    expect(await historyOf(id, note.id)).toEqual(["Mine alone"]);
    const further = await open();
    expect((await edit(further.id, note.id, "Elsewhere")).status).toBe(404);
  });

  test("a note is found by the words it has, and no longer by those it had", async () => {
    const { id } = await open();
    const note = await add(id, "Rhubarb");
    const found = async (q: string) => (await shared.world.get(`/cases?q=${q}`, { actor: owner })).body.data.length;
    expect([await found("rhub"), await found("celery")]).toEqual([1, 0]);
    await edit(id, note.id, "Celery");
    expect([await found("rhub"), await found("celery")]).toEqual([0, 1]);
  });

  test("bad texts are refused, and the notes of a case come newest first, page by page", async () => {
    const { id } = await open();
    for (const body of ["", " ", "x".repeat(4001)]) {
      expect((await shared.world.post(`/cases/${id}/notes`, { body }, { actor: senior })).body.errors[0]).toMatchObject({
        pointer: "/body",
      });
    }
    for (const body of ["one", "two", "three"]) await add(id, body);
    const first = await shared.world.get(`/cases/${id}/notes?limit=2&count=true`, { actor: senior });
    const second = await shared.world.get(`/cases/${id}/notes?limit=2&cursor=${first.body.page.next_cursor}`, { actor: senior });
    expect([...first.body.data, ...second.body.data].map((one) => one.body)).toEqual(["three", "two", "one"]);
    expect(first.body.page.total).toBe(3);
  });
});

describe("the bin", () => {
  const remove = (id: string, reason: string | undefined = "Opened by mistake.", actor = owner) =>
    shared.world.delete(`/cases/${id}`, reason === undefined ? undefined : { reason }, { actor });
  const restore = (id: string, actor = owner) => shared.world.post(`/cases/${id}/restore`, undefined, { actor });
  const inBin = async (actor = owner) =>
    (await shared.world.get("/cases?deleted=true&limit=200", { actor })).body.data.map(({ id }: { id: string }) => id);

  test("a case in the bin is gone for everybody, is found only by holders of its permission, and comes back as it was", async () => {
    const made = await open({ labels: ["a"] });
    expect((await shared.world.delete(`/cases/${made.id}`, undefined, { actor: owner })).status).toBe(422);
    expect((await remove(made.id, "No.", senior)).body).toMatchObject({ code: "permission_denied", required: "cases.delete" });
    expect((await remove(made.id)).body.data).toMatchObject({ deleted_by: owner.id, status: "open" });
    for (const actor of [owner, senior]) expect((await seen(made.id, actor)).status).toBe(404);
    expect((await remove(made.id)).status).toBe(404);
    expect((await shared.world.post(`/cases/${made.id}/notes`, { body: "Hello" }, { actor: owner })).status).toBe(404);
    expect(await inBin()).toContain(made.id);
    expect((await shared.world.get("/cases?deleted=true", { actor: senior })).body).toMatchObject({ required: "cases.delete" });
    const listed = (await shared.world.get("/cases?limit=200", { actor: owner })).body.data;
    expect(listed.map(({ id }: { id: string }) => id)).not.toContain(made.id);
    time.offset = 29 * day;
    await sweep();
    expect((await restore(made.id)).body.data).toMatchObject({ deleted_at: null, labels: ["a"], title: made.title, number: made.number });
    expect((await restore(made.id)).status).toBe(404);
    expect(await actionsOf(made.id)).toEqual(["case.open", "case.delete", "case.restore"]);
  });

  test("after thirty days nothing is left but entries of the audit without details, and the number is not given again", async () => {
    const { read } = shared.world.app.database;
    const [made, linked] = [await open({ confidential: true, title: "Gooseberry" }), await open()];
    await shared.world.post(`/cases/${made.id}/notes`, { body: "Blackcurrant" }, { actor: senior });
    const kept = await shared.world.post(`/cases/${made.id}/evidence`, { kind: "text", note: "Redcurrant" }, { actor: senior });
    expect(kept.status, JSON.stringify(kept.body)).toBe(201);
    await shared.world.post(`/cases/${linked.id}/links`, { rel: "related", reference: made.number }, { actor: owner });
    expect((await remove(made.id)).status).toBe(200);
    time.offset = 30 * day + minute;
    expect((await restore(made.id)).status).toBe(404);
    expect(await sweep()).toBe(1);
    expect(await sweep()).toBe(0);
    const left = await Promise.all([
      read.case.count({ where: { id: made.id } }),
      read.caseNote.count({ where: { caseId: made.id } }),
      read.caseNoteVersion.count({ where: { note: { caseId: made.id } } }),
      read.caseWord.count({ where: { caseId: made.id } }),
      read.caseSubject.count({ where: { caseId: made.id } }),
      read.caseLink.count({ where: { targetId: made.id } }),
      read.evidenceItem.count({ where: { recordId: made.id } }),
    ]);
    expect(left).toEqual([0, 0, 0, 0, 0, 0, 0]);
    const entries = await read.auditEntry.findMany({ where: { targetId: made.id }, orderBy: { seq: "asc" } });
    const payloads = await read.auditPayload.findMany({ where: { seq: { in: entries.map(({ seq }) => seq) } } });
    expect(entries.at(-1)).toMatchObject({ action: "case.purge", targetReference: made.number, via: "job" });
    expect(payloads.map(({ seq }) => seq)).toEqual([entries.at(-1)?.seq]);
    expect((await shared.world.get("/audit/verify", { actor: owner })).body.data.ok).toBe(true);
    time.offset = 0;
    expect(Number((await open()).number.slice(5))).toBeGreaterThan(Number(linked.number.slice(5)));
  });
});

test("a closed case past its retention is archived, an open one is not", async () => {
  const at = new Date(Date.now() + day).toISOString();
  const [ended, running] = [await open({ retention_until: at }), await open({ retention_until: at })];
  await shared.world.post(`/cases/${ended.id}/close`, { outcome: "resolved" }, { actor: senior });
  expect(await sweep()).toBe(0);
  time.offset = day + minute;
  expect(await sweep()).toBe(1);
  expect((await seen(ended.id)).body.data.status).toBe("archived");
  expect((await seen(running.id)).body.data.status).toBe("open");
  expect(await actionsOf(ended.id)).toEqual(["case.open", "case.close", "case.archive"]);
  await expect(shared.world.app.cases.sweep({ ...systemCall("job", uuid7()), client: null })).rejects.toThrow();
  expect((await seen(ended.id, moderator)).status).toBe(404);
});
