import { randomUUID } from "node:crypto";
import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { sizeOf } from "../support/size.ts";
import type { User } from "../../sandbox/index.ts";
import { filing, freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";

const shared = shareWorld({ env: { SECOND_PERSON_FOR_DANGER: "false" } });
interface Cast {
  owner: User;
  admin: User;
  senior: User;
  moderator: User;
  other: User;
  viewer: User;
}
let cast: Cast;

beforeAll(async () => {
  const { world } = shared;
  cast = {
    owner: await world.staff("owner"),
    admin: await world.staff("admin"),
    senior: await world.staff("senior"),
    moderator: await world.staff("moderator"),
    other: await world.staff("moderator"),
    viewer: await world.staff("viewer"),
  };
});

const about = (id = freshId()) => [{ kind: "user", id }];
const draft = (body: object = {}) => ({ title: `Case ${randomUUID().slice(0, 8)}`, subjects: about(), ...body });
const attempt = (actor: User, body: object = {}) => shared.world.post("/cases", draft(body), { actor });
async function open(actor: User, body: object = {}) {
  const answer = await attempt(actor, body);
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.data;
}
const seen = (actor: User, id: string) => shared.world.get(`/cases/${id}`, { actor });
const patch = (actor: User, id: string, body: object, headers = {}) => shared.world.patch(`/cases/${id}`, body, { actor, headers });
const list = async (actor: User, query = "") => {
  const answer = await shared.world.get(`/cases?${query}`, { actor });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  return answer.body.data.map(({ id }: { id: string }) => id) as string[];
};
const audits = async (id: string) => {
  const { read } = shared.world.app.database;
  const rows = await read.auditEntry.findMany({ where: { targetId: id, outcome: "ok" }, orderBy: { seq: "asc" } });
  const payloads = await read.auditPayload.findMany({ where: { seq: { in: rows.map(({ seq }) => seq) } }, orderBy: { seq: "asc" } });
  return { actions: rows.map(({ action }) => action), rows, text: JSON.stringify(payloads) };
};
const confirmLink = async (a: string, b: string) => {
  const basis = [{ type: "behaviour", note: "Came back an hour after the ban with the same jokes." }];
  const body = { user_id: b, kind: "declared_alt", confidence: "confirmed", basis };
  const { status, body: answer } = await shared.world.post(`/users/${a}/links`, body, { actor: cast.owner });
  expect(status, JSON.stringify(answer)).toBe(201);
};
/** A request about a person. */
const file = async (kind: string, id: string, more: object = {}) => {
  const body = { ...filing(kind), ...(kind === "investigation" ? { subject: { kind: "user", id } } : { user_id: id }), ...more };
  const answer = await shared.world.post(`/workflows/${kind}`, body, { actor: cast.owner });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body as { id: string; reference: string };
};

describe("opening", () => {
  test("a case gets the next number, names its subjects as they are now, and can be read by id and by number in any case", async () => {
    const { world } = shared;
    const person = await world.staff("viewer", "harold");
    const first = await open(cast.senior, {
      subjects: [...about(person.id), { kind: "server", id: world.guild.id }],
      labels: ["Raid", "raid"],
    });
    const second = await open(cast.senior);
    expect(first).toMatchObject({
      status: "open",
      type: "general",
      priority: "normal",
      revision: 1,
      labels: ["raid"],
      opened_by: cast.senior.id,
    });
    expect(first.subjects.map((one: { name_snapshot: string }) => one.name_snapshot).toSorted()).toEqual(["Harbour", "harold"]);
    expect(Number(second.number.slice(5))).toBe(Number(first.number.slice(5)) + 1);
    for (const key of [first.id, first.number, first.number.toLowerCase()])
      expect((await seen(cast.senior, key)).body.data.id).toBe(first.id);
    const { actions, rows } = await audits(first.id);
    expect(actions).toEqual(["case.open"]);
    expect(rows[0]).toMatchObject({
      actorId: cast.senior.id,
      targetReference: first.number,
      subjectUserId: person.id,
      permissionUsed: "cases.create",
    });
  });

  test("bad input opens nothing and names the field", async () => {
    const { read } = shared.world.app.database;
    const before = await read.case.count();
    const twice = freshId();
    const bad: [object, string][] = [
      [{ title: "no" }, "/title"],
      [{ subjects: [] }, "/subjects"],
      [{ subjects: [...about(twice), ...about(twice)] }, "/subjects"],
      [{ type: "quarrel" }, "/type"],
      [{ labels: ["two words"] }, "/labels/0"],
      [{ lead: freshId() }, "/lead"],
      [{ team: [cast.moderator.id, freshId()] }, "/team/1"],
      [{ due: "P1D", due_at: "2030-01-01T00:00:00.000Z" }, "/due"],
      [{ template: "nothing" }, "/template"],
      [{ title: undefined }, "/title"],
    ];
    for (const [body, pointer] of bad) {
      const answer = await attempt(cast.senior, body);
      expect(answer.status, JSON.stringify(body)).toBe(422);
      expect(answer.body.errors.map((one: { pointer: string }) => one.pointer)).toContain(pointer);
    }
    expect(await read.case.count()).toBe(before);
  });

  test("nobody opens a case about themselves, about an account of theirs, or about staff of equal or higher rank; an owner may", async () => {
    const { read } = shared.world.app.database;
    const alt = freshId();
    await confirmLink(cast.moderator.id, alt);
    const before = await read.case.count();
    for (const id of [cast.moderator.id, alt]) {
      expect((await attempt(cast.moderator, { subjects: about(id) })).body).toMatchObject({ code: "conflict_of_interest" });
    }
    expect((await attempt(cast.owner, { subjects: about(cast.owner.id) })).body).toMatchObject({ code: "conflict_of_interest" });
    for (const above of [cast.other, cast.senior]) {
      expect((await attempt(cast.moderator, { subjects: about(above.id) })).body).toMatchObject({ code: "hierarchy_violation" });
    }
    expect(await read.case.count()).toBe(before);
    await open(cast.senior, { subjects: about(cast.moderator.id) });
    await open(cast.owner, { subjects: about(cast.admin.id) });
  });

  test("who a case is about is not put on it, by any account of theirs, and neither becomes a subject what its team is", async () => {
    const alt = freshId();
    const person = await shared.world.staff("moderator");
    await confirmLink(person.id, alt);
    for (const body of [{ lead: person.id }, { team: [person.id] }]) {
      expect((await attempt(cast.owner, { subjects: about(alt), ...body })).body).toMatchObject({ code: "conflict_of_interest" });
    }
    const made = await open(cast.owner, { team: [person.id] });
    expect((await patch(cast.owner, made.id, { subjects: about(alt) })).body).toMatchObject({ code: "conflict_of_interest" });
    expect((await seen(cast.owner, made.id)).body.data).toMatchObject({ revision: 1, subjects: made.subjects });
  });

  test("a template fills what is not sent, and nothing that is", async () => {
    const { world } = shared;
    const content = {
      title: "A report",
      type: "investigation",
      labels: ["report"],
      priority: "high",
      due: "P7D",
      policies: ["Rule 3"],
      points: 2,
    };
    const put = (body: object, headers = {}) => world.put("/cases/templates/report", body, { actor: cast.owner, headers });
    const made = await put(content);
    expect(made.body.data).toMatchObject({ key: "report", ...content, revision: 1 });
    expect((await put(content)).body.data.revision).toBe(1);
    expect((await put({ ...content, points: 3 }, { "if-match": '"v9"' })).status).toBe(412);
    expect((await put({ ...content, points: 3 }, { "if-match": '"v1"' })).body.data).toMatchObject({ points: 3, revision: 2 });
    expect((await world.put("/cases/templates/other", content, { actor: cast.admin })).status).toBe(403);

    const filled = (await world.post("/cases", { subjects: about(), template: "report" }, { actor: cast.senior })).body.data;
    expect(filled).toMatchObject({ title: "A report", type: "investigation", labels: ["report"], priority: "high", policies: ["Rule 3"] });
    expect(new Date(filled.due_at).getTime() - new Date(filled.created_at).getTime()).toBe(7 * 86_400_000);
    const own = { title: "Mine", labels: [], priority: "low", due_at: null, type: "general" };
    expect(await open(cast.senior, { ...own, template: "report" })).toMatchObject(own);

    expect((await world.get("/cases/templates", { actor: cast.moderator })).body.data.map(({ key }: { key: string }) => key)).toEqual([
      "report",
    ]);
    expect((await world.delete("/cases/templates/report", undefined, { actor: cast.owner })).body.data.key).toBe("report");
    expect((await world.get("/cases/templates/report", { actor: cast.senior })).status).toBe(404);
  });

  test("open requests about the subjects are offered for linking, as far as the opener may see them", async () => {
    const [person, bystander] = [freshId(), freshId()];
    const secret = await file("investigation", person, { confidential: true });
    const plain = await file("punishment", person);
    await file("punishment", bystander);
    const opened = await open(cast.senior, { subjects: about(person) });
    expect(opened.suggestions).toEqual([{ reference: plain.reference, type: "punishment", status: "pending" }]);
    const forAdmin = await open(cast.admin, { subjects: about(person) });
    expect(forAdmin.suggestions.map((one: { reference: string }) => one.reference).toSorted()).toEqual(
      [secret.reference, plain.reference].toSorted(),
    );
    expect((await seen(cast.senior, opened.id)).body.data).not.toHaveProperty("suggestions");
  });

  test("a repeated Idempotency-Key answers the same case and opens no second one", async () => {
    const body = draft();
    const headers = { "idempotency-key": randomUUID() };
    const first = await shared.world.post("/cases", body, { actor: cast.senior, headers });
    const again = await shared.world.post("/cases", body, { actor: cast.senior, headers });
    expect(again.body.data).toEqual(first.body.data);
    expect(await shared.world.app.database.read.case.count({ where: { title: body.title } })).toBe(1);
  });

  test("many cases opened at once have as many numbers without a gap", async () => {
    const size = sizeOf({ quick: 30, all: 60, long: 100 });
    const answers = await Promise.all(Array.from({ length: size }, () => attempt(cast.senior)));
    const numbers = answers.map(({ body }) => Number(body.data.number.slice(5))).toSorted((a, b) => a - b);
    expect(new Set(numbers).size).toBe(size);
    expect((numbers.at(-1) ?? 0) - (numbers[0] ?? 0)).toBe(size - 1);
  });
});

describe("moving on", () => {
  const moves = {
    open: ["active"],
    active: ["waiting", "close"],
    waiting: ["active", "close"],
    closed: ["archived", "reopen"],
    archived: ["reopen"],
  };
  const act = {
    active: (id: string) => patch(cast.owner, id, { status: "active" }),
    waiting: (id: string) => patch(cast.owner, id, { status: "waiting" }),
    archived: (id: string) => patch(cast.owner, id, { status: "archived" }),
    close: (id: string) => shared.world.post(`/cases/${id}/close`, { outcome: "resolved", reason: "Settled." }, { actor: cast.owner }),
    reopen: (id: string) => shared.world.post(`/cases/${id}/reopen`, { reason: "Something new." }, { actor: cast.owner }),
  };
  type Step = keyof typeof act;
  const ways: Record<keyof typeof moves, Step[]> = {
    open: [],
    active: ["active"],
    waiting: ["active", "waiting"],
    closed: ["close"],
    archived: ["close", "archived"],
  };

  test.each(Object.keys(moves) as (keyof typeof moves)[])(
    "from %s only the moves of the table are made, and nothing is written by the others",
    async (status) => {
      for (const step of Object.keys(act) as Step[]) {
        const made = await open(cast.owner);
        for (const way of ways[status]) expect((await act[way](made.id)).status).toBe(200);
        const before = await audits(made.id);
        const answer = await act[step](made.id);
        const isLegal = moves[status].includes(step) || (status === "open" && step === "close");
        const same = (step as string) === status;
        expect(answer.status, `${status} → ${step}`).toBe(isLegal || same ? 200 : 409);
        if (!isLegal && !same) expect(answer.body).toMatchObject({ code: "invalid_transition", from: status });
        expect((await audits(made.id)).actions.length).toBe(before.actions.length + (isLegal ? 1 : 0));
      }
    },
  );

  test("closing keeps outcome, reason, person and time, and reopening takes them back", async () => {
    const made = await open(cast.senior);
    const closed = (await shared.world.post(`/cases/${made.id}/close`, { outcome: "resolved", reason: "Settled." }, { actor: cast.senior }))
      .body.data;
    expect(closed).toMatchObject({
      status: "closed",
      outcome: "resolved",
      outcome_reason: "Settled.",
      closed_by: cast.senior.id,
      revision: 2,
    });
    const open2 = (await act.reopen(made.id)).body.data;
    expect(open2).toMatchObject({ status: "active", outcome: null, outcome_reason: null, closed_by: null, closed_at: null, revision: 3 });
  });

  test("an outcome belongs to the type of the case", async () => {
    const made = await open(cast.senior, { type: "investigation" });
    const close = (outcome: string) => shared.world.post(`/cases/${made.id}/close`, { outcome }, { actor: cast.senior });
    expect((await close("resolved")).body.errors[0]).toMatchObject({ pointer: "/outcome" });
    expect((await seen(cast.senior, made.id)).body.data.status).toBe("open");
    expect((await close("exonerated")).body.data.outcome).toBe("exonerated");
  });

  test("closing and reopening need their own permissions", async () => {
    const made = await open(cast.moderator);
    expect((await shared.world.post(`/cases/${made.id}/close`, { outcome: "resolved" }, { actor: cast.moderator })).body.required).toBe(
      "cases.close",
    );
    await shared.world.post(`/cases/${made.id}/close`, { outcome: "resolved" }, { actor: cast.senior });
    expect((await shared.world.post(`/cases/${made.id}/reopen`, { reason: "Again." }, { actor: cast.moderator })).body.required).toBe(
      "cases.reopen",
    );
    expect((await seen(cast.moderator, made.id)).body.data.status).toBe("closed");
  });

  test("a closed case takes no notes, links or other titles, but its retention and its confidentiality", async () => {
    const [made, further] = [await open(cast.owner), await open(cast.owner)];
    await act.close(made.id);
    const refused = [
      await shared.world.post(`/cases/${made.id}/notes`, { body: "Late." }, { actor: cast.owner }),
      await shared.world.post(`/cases/${made.id}/links`, { rel: "related", reference: further.number }, { actor: cast.owner }),
      await patch(cast.owner, made.id, { title: "Another title" }),
    ];
    for (const answer of refused) expect(answer.body).toMatchObject({ code: "invalid_transition", from: "closed" });
    const changed = await patch(cast.owner, made.id, { confidential: true, retention_until: "2040-01-01T00:00:00.000Z" });
    expect(changed.body.data).toMatchObject({ confidential: true, retention_until: "2040-01-01T00:00:00.000Z", notes_count: 0, links: [] });
  });
});

describe("changing", () => {
  test("fields that are not sent stay; the same again writes nothing; the audit has what changed", async () => {
    const made = await open(cast.senior, { labels: ["a"], policies: ["Rule 1"], team: [cast.moderator.id] });
    const changed = (await patch(cast.senior, made.id, { priority: "critical", labels: ["b", "a"], lead: cast.senior.id })).body.data;
    expect(changed).toMatchObject({
      priority: "critical",
      labels: ["a", "b"],
      lead: cast.senior.id,
      team: [cast.moderator.id],
      policies: ["Rule 1"],
      revision: 2,
    });
    expect((await patch(cast.senior, made.id, { priority: "critical", labels: ["a", "b"] })).body.data.revision).toBe(2);
    const { actions, text } = await audits(made.id);
    expect(actions).toEqual(["case.open", "case.update"]);
    expect(text).toContain('"priority":"critical"');
  });

  test("an older revision is refused and changes nothing", async () => {
    const made = await open(cast.senior);
    const { headers } = await seen(cast.senior, made.id);
    const etag = headers.get("etag") ?? "";
    expect((await patch(cast.senior, made.id, { priority: "low" }, { "if-match": etag })).status).toBe(200);
    const late = await patch(cast.senior, made.id, { priority: "high" }, { "if-match": etag });
    expect(late).toMatchObject({ status: 412, body: { current_etag: '"v2"' } });
    expect((await seen(cast.senior, made.id)).body.data.priority).toBe("low");
  });

  test("a note leaves the revision alone, but the case counts as changed and its entity tag is another one", async () => {
    const made = await open(cast.senior);
    const before = (await seen(cast.senior, made.id)).headers.get("etag");
    await shared.world.post(`/cases/${made.id}/notes`, { body: "Looked at it." }, { actor: cast.senior });
    const after = await seen(cast.senior, made.id);
    expect(after.body.data).toMatchObject({ revision: 1, notes_count: 1 });
    expect(after.body.data.updated_at >= made.updated_at).toBe(true);
    expect(after.headers.get("etag")).not.toBe(before);
  });

  test("of two who change the same revision at once, one is refused", async () => {
    const made = await open(cast.senior);
    const answers = await Promise.all(["low", "high"].map((priority) => patch(cast.senior, made.id, { priority }, { "if-match": '"v1"' })));
    expect(answers.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([200, 412]);
    expect((await seen(cast.senior, made.id)).body.data.revision).toBe(2);
  });
});

describe("who sees a case", () => {
  test("moderators see what they opened, lead or are in the team of; seniors everything but what is confidential", async () => {
    const own = await open(cast.moderator);
    const led = await open(cast.senior, { lead: cast.moderator.id });
    const shared2 = await open(cast.senior, { team: [cast.moderator.id] });
    const foreign = await open(cast.senior);
    const ids = await list(cast.moderator, "limit=200");
    expect(ids).toEqual(expect.arrayContaining([own.id, led.id, shared2.id]));
    expect(ids).not.toContain(foreign.id);
    expect((await seen(cast.moderator, foreign.id)).body).toMatchObject({ code: "record_not_found" });
    expect((await patch(cast.moderator, foreign.id, { priority: "low" })).body).toMatchObject({ code: "record_not_found" });
    expect((await seen(cast.senior, own.id)).status).toBe(200);
    expect((await seen(cast.viewer, own.id)).status).toBe(403);
  });

  test("a confidential case is for its lead, its team and holders of the permission, through every door; a refusal says what one says of no case at all", async () => {
    const made = await open(cast.admin, { confidential: true, title: "Whispering gallery", team: [cast.moderator.id] });
    const note = await shared.world.post(`/cases/${made.id}/notes`, { body: "Between us alone." }, { actor: cast.admin });
    expect(made.lead).toBe(cast.admin.id);
    for (const actor of [cast.admin, cast.owner, cast.moderator]) expect((await seen(actor, made.id)).status).toBe(200);
    const nothing = `CASE-${"9".repeat(8)}`;
    const doors = (key: string) => [
      shared.world.get(`/cases/${key}`, { actor: cast.senior }),
      shared.world.get(`/cases/${key}/notes`, { actor: cast.senior }),
      shared.world.get(`/cases/${key}/timeline`, { actor: cast.senior }),
      shared.world.get(`/cases/${key}/notes/${note.body.data.id}/history`, { actor: cast.senior }),
      patch(cast.senior, key, { priority: "low" }),
      shared.world.post(`/cases/${key}/notes`, { body: "Hello" }, { actor: cast.senior }),
      shared.world.post(`/cases/${key}/close`, { outcome: "resolved" }, { actor: cast.senior }),
    ];
    const [hidden, absent] = [await Promise.all(doors(made.number)), await Promise.all(doors(nothing))];
    const told = (answers: typeof hidden) => answers.map(({ status, body }) => [status, body.code, body.detail]);
    expect(told(hidden)).toEqual(told(absent));
    expect(hidden.every(({ status }) => status === 404)).toBe(true);
    expect(await list(cast.senior, "q=whispering")).toEqual([]);
    expect(await list(cast.admin, "q=whispering")).toEqual([made.id]);
  });

  test("not even the permission shows a confidential case to those it is about, by any account of theirs", async () => {
    const person = await shared.world.staff("admin");
    const alt = freshId();
    const plain = await open(cast.owner, { subjects: about(alt) });
    const made = await open(cast.owner, { subjects: about(alt), confidential: true });
    expect((await seen(person, made.id)).status).toBe(200);
    await confirmLink(person.id, alt);
    expect((await seen(person, made.id)).status).toBe(404);
    expect((await seen(person, plain.id)).status).toBe(200);
    expect((await patch(person, plain.id, { priority: "low" })).body).toMatchObject({ code: "conflict_of_interest" });
    expect(await list(person, `subject=${alt}`)).toEqual([plain.id]);
  });

  test("neither title nor notes of a confidential case stand in the audit, whose entries are told only to those who may know of it", async () => {
    const made = await open(cast.admin, { confidential: true, title: "Velvet curtain" });
    await shared.world.post(`/cases/${made.id}/notes`, { body: "Marmalade sandwiches" }, { actor: cast.admin });
    await patch(cast.admin, made.id, { title: "Velvet curtains" });
    const { actions, rows, text } = await audits(made.id);
    expect(actions).toEqual(["case.open", "case.note", "case.update"]);
    for (const word of ["Velvet", "Marmalade", made.subjects[0].id]) expect(text).not.toContain(word);
    expect(rows.every(({ subjectUserId }) => subjectUserId === null)).toBe(true);
    const read = async (actor: User) => (await shared.world.get(`/audit?target=case:${made.id}`, { actor })).body.data.length;
    expect(await read(cast.owner)).toBe(3);
    expect(await read(cast.senior)).toBe(0);
  });

  test("confidentiality is lifted only by holders of its permission, and a case becomes confidential at once for everybody", async () => {
    const made = await open(cast.senior, { team: [cast.moderator.id] });
    await patch(cast.moderator, made.id, { confidential: true });
    expect((await seen(cast.senior, made.id)).status).toBe(404);
    expect((await patch(cast.moderator, made.id, { confidential: false })).body).toMatchObject({
      code: "permission_denied",
      required: "cases.confidential",
    });
    expect((await seen(cast.moderator, made.id)).body.data.confidential).toBe(true);
    expect((await patch(cast.admin, made.id, { confidential: false })).body.data.confidential).toBe(false);
    expect((await seen(cast.senior, made.id)).status).toBe(200);
  });

  test("events about a confidential case are for holders of its permission alone", async () => {
    const { read } = shared.world.app.database;
    const [plain, secret] = [await open(cast.admin), await open(cast.admin, { confidential: true })];
    const rows = await read.outboxEvent.findMany({ where: { type: "case.opened" } });
    const permissionOf = (id: string) => rows.filter(({ data }) => JSON.stringify(data).includes(id)).map(({ permission }) => permission);
    expect(permissionOf(plain.id)).toEqual(["cases.read_all"]);
    expect(permissionOf(secret.id)).toEqual(["cases.confidential"]);
  });

  test("a key without an acting user sees what its scopes say and works on nothing", async () => {
    const { world } = shared;
    const [plain, secret] = [await open(cast.admin), await open(cast.admin, { confidential: true })];
    const key = await world.makeKey(["cases.read", "cases.read_all", "cases.note"], "none");
    expect((await world.get(`/cases/${plain.id}`, { key })).status).toBe(200);
    expect((await world.get(`/cases/${secret.id}`, { key })).status).toBe(404);
    expect((await world.post(`/cases/${plain.id}/notes`, { body: "Hello" }, { key })).body).toMatchObject({ code: "acting_user_required" });
    const narrow = await world.makeKey(["cases.read"], "none");
    expect((await world.get(`/cases/${plain.id}`, { key: narrow })).status).toBe(404);
  });

  test("nobody works on a case about staff of equal or higher rank, whoever put them on it", async () => {
    const made = await open(cast.owner, { subjects: about(cast.senior.id), team: [cast.moderator.id] });
    expect((await seen(cast.moderator, made.id)).status).toBe(200);
    expect((await patch(cast.moderator, made.id, { labels: ["x"] })).body).toMatchObject({ code: "hierarchy_violation" });
    expect((await shared.world.post(`/cases/${made.id}/notes`, { body: "Hm." }, { actor: cast.moderator })).body).toMatchObject({
      code: "hierarchy_violation",
    });
    expect((await seen(cast.owner, made.id)).body.data).toMatchObject({ labels: [], notes_count: 0 });
  });
});

describe("the list", () => {
  test("every filter finds what it says and nothing else", async () => {
    const [person, alt] = [freshId(), freshId()];
    await confirmLink(person, alt);
    const mark = `mark${randomUUID().slice(0, 8)}`;
    const one = await open(cast.senior, {
      title: `Quarrel ${mark}`,
      type: "poach",
      priority: "high",
      labels: [mark],
      subjects: about(person),
      lead: cast.moderator.id,
      due_at: "2020-01-01T00:00:00.000Z",
      origin_reference: mark,
    });
    const two = await open(cast.other, { title: `Brawl ${mark}`, subjects: about(alt), due_at: "2040-01-01T00:00:00.000Z" });
    const three = await open(cast.admin, { title: `Hush ${mark}`, subjects: about(freshId()), confidential: true });
    await shared.world.post(`/cases/${two.id}/notes`, { body: "Écoute, pineapples!" }, { actor: cast.other });
    const find = (query: string) => list(cast.owner, `q=${mark}&${query}`);
    expect(await find("")).toEqual([three.id, two.id, one.id]);
    expect(await find("type=poach")).toEqual([one.id]);
    expect(await find("priority=high")).toEqual([one.id]);
    expect(await list(cast.owner, `label=${mark}`)).toEqual([one.id]);
    expect(await list(cast.owner, `origin_reference=${mark}`)).toEqual([one.id]);
    expect(await find(`subject=${person}`)).toEqual([one.id]);
    expect(await find(`subject=${person}&include_alts=true`)).toEqual([two.id, one.id]);
    expect(await find(`lead=${cast.moderator.id}`)).toEqual([one.id]);
    expect(await list(cast.moderator, `q=${mark}&lead=@me`)).toEqual([one.id]);
    expect(await list(cast.other, `q=${mark}&opened_by=@me`)).toEqual([two.id]);
    expect(await find(`member=${cast.admin.id}`)).toEqual([three.id]);
    expect(await find("confidential=true")).toEqual([three.id]);
    expect(await find("confidential=false")).toEqual([two.id, one.id]);
    expect(await find("overdue=true")).toEqual([one.id]);
    expect(await find("overdue=false")).toEqual([three.id, two.id]);
    expect(await find("sort=due_at")).toEqual([one.id, two.id, three.id]);
    expect(await find("status=active")).toEqual([]);
    expect(await list(cast.owner, `q=pineap+ecoute+${mark}`)).toEqual([two.id]);
    expect(await list(cast.owner, `q=pineapples+quarrel`)).toEqual([]);
    expect(await list(cast.owner, "q=%21%21")).toEqual([]);
    expect(await find(`from=${two.created_at}`)).toEqual([three.id, two.id]);
    expect(await find(`to=${two.created_at}`)).toEqual([one.id]);
    expect((await shared.world.get(`/cases?include_alts=true`, { actor: cast.owner })).status).toBe(422);
  });

  test.each(["-created_at", "due_at"])("pages by %s join up to the whole list, with cases that are never due", async (sort) => {
    const label = `page${randomUUID().slice(0, 8)}`;
    const dues = [null, "2040-01-01T00:00:00.000Z", null, "2030-01-01T00:00:00.000Z", "2040-01-01T00:00:00.000Z", null, null];
    for (const due_at of dues) await open(cast.senior, { labels: [label], due_at });
    const whole = await list(cast.owner, `label=${label}&sort=${sort}`);
    expect(whole).toHaveLength(dues.length);
    const paged: string[] = [];
    let cursor = "";
    do {
      const { body } = await shared.world.get(`/cases?label=${label}&sort=${sort}&limit=2${cursor}`, { actor: cast.owner });
      paged.push(...body.data.map(({ id }: { id: string }) => id));
      cursor = body.page.next_cursor === null ? "" : `&cursor=${body.page.next_cursor}`;
    } while (cursor !== "");
    expect(paged).toEqual(whole);
  });

  test("linked accounts are merged only for those who may know of links", async () => {
    const key = await shared.world.makeKey(["cases.*"]);
    const answer = await shared.world.get(`/cases?subject=${freshId()}&include_alts=true`, { actor: cast.owner, key });
    expect(answer.body).toMatchObject({ code: "permission_denied", required: "users.links.read" });
  });
});

describe("links", () => {
  test("a case is linked with cases, requests and records the caller may know of; the rest is told like what is not there", async () => {
    const { world } = shared;
    const [made, further] = [await open(cast.senior), await open(cast.senior)];
    const secret = await open(cast.admin, { confidential: true });
    const record = (await world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor: cast.owner })).body.data;
    const request = await file("investigation", freshId());
    const link = (reference: string, actor = cast.senior) =>
      world.post(`/cases/${made.id}/links`, { rel: "related", reference }, { actor });
    for (const reference of [further.number.toLowerCase(), record.number, request.reference])
      expect((await link(reference)).status, reference).toBe(201);
    const [hidden, absent] = [await link(secret.number), await link("CASE-99999999")];
    expect(hidden.body.errors).toEqual(absent.body.errors);
    expect(hidden.status).toBe(422);
    expect((await link(made.number)).status).toBe(422);
    expect((await link(further.number)).body).toMatchObject({ code: "duplicate_active_record" });
    expect((await link(secret.number, cast.owner)).status).toBe(201);
    const linksFor = async (actor: User) =>
      (await seen(actor, made.id)).body.data.links.map(({ reference }: { reference: string }) => reference);
    expect(await linksFor(cast.owner)).toEqual([further.number, record.number, request.reference, secret.number]);
    expect(await linksFor(cast.senior)).toEqual([further.number, record.number, request.reference]);

    const [first] = (await seen(cast.senior, made.id)).body.data.links;
    const stale = { actor: cast.senior, headers: { "if-match": '"v999"' } };
    expect((await world.delete(`/cases/${made.id}/links/${first.id}`, undefined, stale)).body).toMatchObject({
      code: "precondition_failed",
    });
    expect((await world.delete(`/cases/${made.id}/links/${first.id}`, undefined, { actor: cast.senior })).body.data.reference).toBe(
      further.number,
    );
    expect((await world.delete(`/cases/${made.id}/links/${first.id}`, undefined, { actor: cast.senior })).status).toBe(404);
    expect((await audits(made.id)).actions.filter((action) => action.includes("link"))).toEqual([
      ...Array(4).fill("case.link"),
      "case.unlink",
    ]);
  });
});

describe("the history of a case", () => {
  test("it says what happened, newest first and page by page, without what was written", async () => {
    const { world } = shared;
    const made = await open(cast.senior);
    await patch(cast.senior, made.id, { status: "active" });
    await patch(cast.senior, made.id, { priority: "high" });
    await world.post(`/cases/${made.id}/notes`, { body: "Cucumber" }, { actor: cast.senior });
    await world.post(`/cases/${made.id}/close`, { outcome: "resolved", reason: "Settled." }, { actor: cast.senior });
    await world.post(`/cases/${made.id}/reopen`, { reason: "Again." }, { actor: cast.senior });
    const { body } = await world.get(`/cases/${made.id}/timeline?count=true`, { actor: cast.senior });
    const events = (entries: { event: string }[]) => entries.map(({ event }) => event);
    expect(events(body.data)).toEqual(["reopened", "closed", "note", "changed", "status", "opened"]);
    expect(body.page.total).toBe(6);
    expect(body.data[1]).toMatchObject({ reason: "Settled.", actor_id: cast.senior.id });
    expect(body.data[3].fields).toEqual(["priority"]);
    expect(JSON.stringify(body)).not.toContain("Cucumber");
    const first = await world.get(`/cases/${made.id}/timeline?limit=4`, { actor: cast.senior });
    const second = await world.get(`/cases/${made.id}/timeline?limit=4&cursor=${first.body.page.next_cursor}`, { actor: cast.senior });
    expect([...events(first.body.data), ...events(second.body.data)]).toEqual(events(body.data));
  });

  test("the history of a person has the cases their reader may see, with those of linked accounts where they are merged", async () => {
    const { world } = shared;
    const [person, alt] = [freshId(), freshId()];
    await confirmLink(person, alt);
    const made = await open(cast.senior, { subjects: about(person) });
    await world.post(`/cases/${made.id}/close`, { outcome: "resolved" }, { actor: cast.senior });
    const secret = await open(cast.admin, { subjects: about(person), confidential: true });
    const linked = await open(cast.senior, { subjects: about(alt) });
    const told = async (actor: User, query = "") => {
      const { body } = await world.get(`/users/${person}/timeline?kind=case${query}&count=true`, { actor });
      expect(body.page.total).toBe(body.data.length);
      return body.data.map((one: { event: string; reference: string }) => `${one.event} ${one.reference}`);
    };
    const plain = [`closed ${made.number}`, `opened ${made.number}`];
    expect(await told(cast.senior)).toEqual(plain);
    expect(await told(cast.admin)).toEqual([`opened ${secret.number}`, ...plain]);
    expect(await told(cast.senior, "&include_alts=true")).toEqual([`opened ${linked.number}`, ...plain]);
    expect(await told(cast.moderator)).toEqual([]);
  });
});

describe("privacy", () => {
  test("a person's export has the cases about them without what staff wrote, and not those that are confidential", async () => {
    const { world } = shared;
    const person = freshId();
    const made = await open(cast.senior, { subjects: about(person), title: "Turnip dispute" });
    await world.post(`/cases/${made.id}/notes`, { body: "Parsnips" }, { actor: cast.senior });
    const secret = await open(cast.senior, { subjects: about(person) });
    await patch(cast.admin, secret.id, { confidential: true });
    const { status, body } = await world.get(`/users/${person}/data-export`, { actor: cast.admin });
    expect(status, JSON.stringify(body)).toBe(200);
    const text = JSON.stringify(body);
    expect(text).toContain(made.number);
    for (const word of [secret.number, "Turnip", "Parsnips"]) expect(text).not.toContain(word);
    const data = body.data ?? body;
    expect(data.cases.entries).toEqual([
      {
        number: made.number,
        subject_name: null,
        type: "general",
        status: "open",
        outcome: null,
        created_at: made.created_at,
        closed_at: null,
      },
    ]);
    expect(data.audit.entries.filter(({ action }: { action: string }) => action === "case.open")).toHaveLength(1);
  });

  test("redacting a person takes their name from cases, which stay", async () => {
    const { world } = shared;
    const person = await world.staff("viewer", `gone${randomUUID().slice(0, 6)}`);
    const made = await open(cast.senior, { subjects: about(person.id) });
    expect(made.subjects[0].name_snapshot).toBe(person.username);
    world.guild.setRoles(person, []);
    await world.sandbox.waitFor(() => !world.app.access.of(person.id).isStaff);
    const asked = await world.post(`/users/${person.id}/redaction`, { reason: "Asked for by mail, in writing." }, { actor: cast.owner });
    const second = await world.staff("owner");
    const confirmed = await world.post(`/confirmations/${asked.body.data.id}/confirm`, {}, { signed: true, actor: second });
    expect(confirmed.status, JSON.stringify(confirmed.body)).toBe(200);
    expect((await seen(cast.senior, made.id)).body.data.subjects).toMatchObject([{ id: person.id, name_snapshot: null }]);
  });
});

describe("for other rooms", () => {
  test("a case is opened and added to inside another transaction, until nothing is added to it any more", async () => {
    const { cases, database } = shared.world.app;
    const call = () => systemCall("job", uuid7());
    const person = freshId();
    const from = { kind: "request", id: uuid7(), reference: "INV-REQ-000777" } as const;
    const row = await database.write(call(), (tx) =>
      cases.openInTx(tx, {
        type: "investigation",
        title: "From a request",
        priority: "high",
        subjects: [{ kind: "user", id: person }],
        originReference: from.reference,
        openedBy: null,
      }),
    );
    const add = () => database.write(call(), (tx) => cases.appendInTx(tx, row.id, { body: "Approved again.", authorId: null, from }));
    expect(await add()).toBeDefined();
    expect(await add()).toBeDefined();
    expect((await seen(cast.senior, row.id)).body.data).toMatchObject({
      status: "open",
      opened_by: null,
      notes_count: 2,
      origin_reference: from.reference,
    });
    expect(await database.read.caseLink.count({ where: { caseId: row.id } })).toBe(1);
    await shared.world.post(`/cases/${row.id}/close`, { outcome: "inconclusive" }, { actor: cast.senior });
    expect(await add()).toBeUndefined();
    expect(await database.read.caseNote.count({ where: { caseId: row.id } })).toBe(2);
  });
});
