// @module-tag postgres
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { openStatuses, statuses } from "../../src/features/workflows/state/table.ts";
import { priorities } from "../../src/features/workflows/requests/fields.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { workflowKinds } from "../../src/kernel/vocabulary.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";
import { keep, rowOf, type Row } from "./workflows-rows.ts";

const hour = 3_600_000;
const sorts = ["-created_at", "created_at", "due_decision_at", "-updated_at", "-priority"] as const;
// Read once: a run that passes the hour compares rows and filters of the same one.
const thisHour = Math.floor(Date.now() / hour) * hour;
const at = (offset: number): Date => new Date(thisHour + offset * hour);
const people = [freshId(), freshId()] as const;

/** Few values, so that many rows are equal in what they are ordered by. */
const anyRow: fc.Arbitrary<Partial<Row>> = fc.record({
  type: fc.constantFrom("punishment", "poach", "server-merge"),
  status: fc.constantFrom(...statuses),
  priority: fc.constantFrom(...priorities),
  urgent: fc.boolean(),
  isHeld: fc.boolean(),
  escalationTier: fc.integer({ min: 0, max: 2 }),
  assigneeId: fc.constantFrom(null, ...people),
  requesterId: fc.constantFrom(null, ...people),
  externalId: fc.constantFrom(null, "T-1", "T-2"),
  createdAt: fc.integer({ min: -6, max: -1 }).map(at),
  updatedAt: fc.integer({ min: -3, max: -1 }).map(at),
  dueDecisionAt: fc.oneof(fc.constant(null), fc.integer({ min: -3, max: 3 }).map(at)),
  expiresAt: fc.constantFrom(null, at(-2), at(24)),
  pausedAt: fc.constantFrom(null, at(-3)),
});

async function walk(ground: Ground, query: string, actor: string, limit = 13): Promise<string[]> {
  const seen: string[] = [];
  for (let cursor: string | null = ""; cursor !== null;) {
    const more = cursor === "" ? "" : `&cursor=${cursor}`;
    const { status, body } = await ground.get(`/workflows?${query}&limit=${limit.toString()}${more}`, { actor });
    expect([query, status, body.code]).toEqual([query, 200, undefined]);
    seen.push(...body.data.map(({ id }: { id: string }) => id));
    cursor = body.page.next_cursor;
  }
  return seen;
}

const time = (value: unknown): number => (value instanceof Date ? value.getTime() : Number.POSITIVE_INFINITY);
const byId = (direction: number) => (a: Row, b: Row) => direction * (a.id < b.id ? -1 : 1);
/** The orders as one would say them. */
const naive: Record<(typeof sorts)[number], (a: Row, b: Row) => number> = {
  "-created_at": (a, b) => time(b.createdAt) - time(a.createdAt) || byId(-1)(a, b),
  created_at: (a, b) => time(a.createdAt) - time(b.createdAt) || byId(1)(a, b),
  due_decision_at: (a, b) => compareDue(a, b) || byId(1)(a, b),
  "-updated_at": (a, b) => time(b.updatedAt) - time(a.updatedAt) || byId(-1)(a, b),
  "-priority": (a, b) => urgencyOf(b) - urgencyOf(a) || compareDue(a, b) || byId(1)(a, b),
};
function compareDue(a: Row, b: Row): number {
  const [one, other] = [time(a.dueDecisionAt), time(b.dueDecisionAt)];
  return one === other ? 0 : one < other ? -1 : 1;
}

const urgencyOf = ({ priority }: Row): number => priorities.findIndex((name) => name === priority);
const isOpen = (row: Row): boolean =>
  openStatuses.some((open) => open === row.status) && !(row.expiresAt instanceof Date && row.expiresAt <= new Date());
const shownStatus = (row: Row): string => (openStatuses.some((open) => open === row.status) && !isOpen(row) ? "expired" : row.status);
const isOverdue = (row: Row): boolean => isOpen(row) && row.pausedAt === null && time(row.dueDecisionAt) < Date.now();
const filters: [query: string, keeps: (row: Row) => boolean][] = [
  ["type=punishment,poach", ({ type }) => type !== "server-merge"],
  ["type=server-merge", ({ type }) => type === "server-merge"],
  ["status=open", isOpen],
  ["status=expired", (row) => shownStatus(row) === "expired"],
  ["status=in_review,expired,denied", (row) => ["in_review", "expired", "denied"].includes(shownStatus(row))],
  ["status=escalated,open", isOpen],
  ["assignee=none", ({ assigneeId }) => assigneeId === null],
  ["assignee=@me", ({ assigneeId }) => assigneeId === people[0]],
  [`assignee=${people[1]}`, ({ assigneeId }) => assigneeId === people[1]],
  ["requester=@me", ({ requesterId }) => requesterId === people[0]],
  [`requester=${people[1]}`, ({ requesterId }) => requesterId === people[1]],
  ["overdue=true", isOverdue],
  ["overdue=false", (row) => !isOverdue(row)],
  ["priority=high,critical", ({ priority }) => priority === "high" || priority === "critical"],
  ["urgent=true", ({ urgent }) => urgent],
  ["held=false", ({ isHeld }) => isHeld !== true],
  ["escalated=true", ({ escalationTier }) => Number(escalationTier) > 0],
  ["escalated=false", ({ escalationTier }) => escalationTier === 0],
  ["external_id=T-1", ({ externalId }) => externalId === "T-1"],
  [`created_from=${at(-4).toISOString()}&created_to=${at(-2).toISOString()}`, ({ createdAt }) => createdAt >= at(-4) && createdAt < at(-2)],
  ["status=open&priority=critical&held=true", (row) => isOpen(row) && row.priority === "critical" && row.isHeld === true],
];

test("every order and every filter, page by page, is what one would pick out by hand", async () => {
  const ground = await createGround();
  const me = ground.staff("owner");
  const rows = fc.sample(anyRow, { numRuns: 90, seed: 20_261_121 }).map((given) => {
    const mine = (id: unknown) => (id === people[0] ? me : id);
    return rowOf({ ...given, requesterId: mine(given.requesterId) as string | null, assigneeId: mine(given.assigneeId) as string | null });
  });
  await keep(ground, rows);
  const theirs = (row: Row): Row => ({
    ...row,
    assigneeId: row.assigneeId === me ? people[0] : (row.assigneeId ?? null),
    requesterId: row.requesterId === me ? people[0] : (row.requesterId ?? null),
  });
  for (const sort of sorts) {
    const wanted = rows.toSorted(naive[sort]).map(({ id }) => id);
    expect(await walk(ground, `sort=${sort}`, me)).toEqual(wanted);
  }
  for (const [index, [query, keeps]] of filters.entries()) {
    const sort = sorts[index % sorts.length] ?? "-created_at";
    const wanted = rows
      .filter((row) => keeps(theirs(row)))
      .toSorted(naive[sort])
      .map(({ id }) => id);
    expect(wanted.length).toBeGreaterThan(0);
    expect([query, await walk(ground, `${query}&sort=${sort}`, me, 50)]).toEqual([query, wanted]);
    const { body } = await ground.get(`/workflows?${query}&count=true&limit=1`, { actor: me });
    expect([query, body.page.total]).toEqual([query, wanted.length]);
  }
  const shown = (await ground.get("/workflows?limit=200", { actor: me })).body.data as {
    id: string;
    status: string;
    sla: { breached: boolean };
  }[];
  const byRow = new Map(rows.map((row) => [row.id, shownStatus(row)]));
  expect(shown.filter(({ id, status }) => byRow.get(id) !== status)).toEqual([]);
});

describe("what a list refuses and keeps", () => {
  test("a cursor counts for its own order, filters and reader alone", async () => {
    const ground = await createGround();
    const [me, other] = [ground.staff("owner"), ground.staff("owner")];
    await keep(ground, [rowOf({ assigneeId: me }), rowOf({ assigneeId: me }), rowOf({ assigneeId: other })]);
    const page = (await ground.get("/workflows?assignee=@me&sort=-priority&limit=1", { actor: me })).body.page;
    const again = (query: string, actor: string) => ground.get(`/workflows?${query}&limit=1&cursor=${page.next_cursor}`, { actor });
    expect((await again("assignee=@me&sort=-priority", me)).body.data).toHaveLength(1);
    for (const [query, actor] of [
      ["assignee=@me&sort=-updated_at", me],
      ["sort=-priority", me],
      ["assignee=@me&sort=-priority&held=false", me],
      ["assignee=@me&sort=-priority", other],
    ] as const)
      expect((await again(query, actor)).body.code).toBe("invalid_cursor");
  });

  test.each([
    "type=punishment,",
    "type=punishment,nothing",
    "status=opened",
    "priority=highest",
    "assignee=me",
    "overdue=yes",
    "sort=priority",
    "created_from=yesterday",
    "external_id=",
  ])("%s is refused by name", async (query) => {
    const ground = await createGround();
    const { status, body } = await ground.get(`/workflows?${query}`, { actor: ground.staff("owner") });
    expect([status, body.errors[0].pointer]).toEqual([422, `/${query.split("=")[0] ?? ""}`]);
  });

  test("nobody is `@me` for a key that acts for nobody", async () => {
    const ground = await createGround();
    await keep(ground, [rowOf({ assigneeId: null, requesterId: null })]);
    for (const name of ["assignee", "requester"]) expect((await ground.get(`/workflows?${name}=@me`)).body.data).toEqual([]);
  });
});

test("whoever joined a request finds it among their own, and others do not learn that they joined", async () => {
  const ground = await createGround();
  const [filer, joiner, reader] = [ground.staff("moderator"), ground.staff("moderator"), ground.staff("owner")];
  const row = rowOf({ requesterId: filer });
  await keep(ground, [row]);
  await ground.database.write(systemCall("cli", uuid7()), (tx) =>
    tx.db.workflowSubject.create({ data: { requestId: row.id, kind: "joined", subjectId: joiner } }),
  );
  const ids = async (requester: string, actor: string) =>
    (await ground.get(`/workflows?requester=${requester}`, { actor })).body.data.map(({ id }: { id: string }) => id);
  expect(await ids("@me", joiner)).toEqual([row.id]);
  expect(await ids(joiner, joiner)).toEqual([row.id]);
  expect(await ids(joiner, reader)).toEqual([]);
  expect(await ids(filer, reader)).toEqual([row.id]);
});

test("no filter tells of a confidential request to whom it does not concern", async () => {
  const ground = await createGround();
  const [filer, outsider, admin] = [ground.staff("moderator"), ground.staff("senior"), ground.staff("admin")];
  const body = {
    subject: { kind: "user", id: freshId() },
    allegation: "Shared internal screenshots.",
    confidential: true,
    external_id: "X-9",
    priority: "high",
  };
  const filed = await ground.post("/workflows/investigation", body, { actor: filer });
  expect(filed.status).toBe(201);
  for (const query of [
    "external_id=X-9",
    "priority=high",
    "type=investigation",
    `requester=${filer}`,
    "status=open",
    "assignee=none",
    "q=X-9",
  ]) {
    const asked = async (actor: string) => (await ground.get(`/workflows?${query}&count=true`, { actor })).body;
    expect([query, (await asked(outsider)).page.total, (await asked(outsider)).data]).toEqual([query, 0, []]);
    expect([query, (await asked(admin)).page.total]).toEqual([query, 1]);
  }
});

test("a page of appeals takes about as many queries as one of them, whatever they are against", async () => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const target = rowOf({});
  await keep(ground, [
    target,
    ...Array.from({ length: 30 }, () =>
      rowOf({ type: "appeal", payload: { target: target.reference, grounds: "It was not me, I was away." } }),
    ),
  ]);
  const appeals = await ground.database.read.workflowRequest.findMany({ where: { type: "appeal" }, select: { id: true } });
  await ground.database.write(systemCall("cli", uuid7()), (tx) =>
    tx.db.workflowSubject.createMany({ data: appeals.map(({ id }) => ({ requestId: id, kind: "record", subjectId: target.reference })) }),
  );
  const { read } = ground.database;
  let looked = 0;
  const find = read.workflowRequest.findFirst.bind(read.workflowRequest);
  const counting = new Proxy(read.workflowRequest, {
    get: (model, name) => (name === "findFirst" ? (asked: never) => ((looked += 1), find(asked)) : Reflect.get(model, name)),
  });
  Object.defineProperty(read, "workflowRequest", { value: counting, configurable: true });
  const { body } = await ground.get("/workflows?type=appeal&limit=30", { actor });
  expect([body.data.length, looked]).toEqual([30, 1]);
});

test("all kinds can be asked for at once", async () => {
  const ground = await createGround();
  await keep(ground, [rowOf({})]);
  expect((await ground.get(`/workflows?type=${workflowKinds.join(",")}`, { actor: ground.staff("owner") })).body.data).toHaveLength(1);
});
