import fc from "fast-check";
import { statementsOf } from "../support/statements.ts";
import { describe, expect, test } from "vitest";
import { createCheck } from "../../src/features/blacklist/blacklist.service.ts";
import { createFollowedEntries } from "../../src/features/follows/entries.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createWorld, type World } from "../support/world.ts";
import { createGround, freshId, type Ground } from "./workflows-ground.ts";
import { runsOf } from "../support/size.ts";

interface Edge {
  a: string;
  b: string;
  confidence: "suspected" | "probable" | "confirmed";
  propagates?: boolean;
}

async function link(ground: Ground, edges: readonly Edge[]): Promise<void> {
  await ground.database.write(systemCall("job", uuid7()), async ({ db, now }) => {
    await db.accountLink.deleteMany({});
    const words = { kind: "declared_alt", basis: [], status: "active", createdAt: now, updatedAt: now };
    const data = edges.map(({ a, b, confidence, propagates = true }) => ({
      userA: a,
      userB: b,
      activeKey: `${a}:${b}`,
      confidence,
      propagates,
      ...words,
    }));
    await db.accountLink.createMany({ data });
  });
}

const list = async (ground: Ground, actor: string, body: object): Promise<any> => {
  const answer = await ground.post("/blacklist", { kind: "user", ...body }, { actor });
  expect(answer.status).toBe(201);
  return answer.body.data;
};

describe("a check that takes linked accounts in", () => {
  const cases = (["none", "confirmed", "probable"] as const).flatMap((includeAlts) =>
    (["suspected", "probable", "confirmed"] as const).map((confidence) => ({ includeAlts, confidence })),
  );
  const isTold = ({ includeAlts, confidence }: (typeof cases)[number]): boolean =>
    confidence === "confirmed" ? includeAlts !== "none" : confidence === "probable" && includeAlts === "probable";

  test.each(cases)("of a record that includes $includeAlts and a $confidence link", async ({ includeAlts, confidence }) => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const [asked, other] = [freshId(), freshId()];
    await link(ground, [{ a: asked, b: other, confidence }]);
    const made = await list(ground, actor, { subject_id: other, include_alts: includeAlts });
    const check = async (body: object) =>
      (await ground.post("/blacklist/check", { user_ids: [asked], ...body }, { actor })).body.data.users[0];
    const told = isTold({ includeAlts, confidence });
    expect(await check({ include_alts: true })).toEqual({
      id: asked,
      listed: false,
      records: [],
      linked: told ? [{ user_id: other, confidence, records: [made] }] : [],
    });
    expect(await check({})).toEqual({ id: asked, listed: false, records: [] });
  });

  test("says nothing of records that ended, were revoked or have not begun", async () => {
    const ground = await createGround();
    const actor = ground.staff("owner");
    const [asked, ...others] = [freshId(), freshId(), freshId(), freshId()];
    await link(
      ground,
      others.map((b) => ({ a: asked ?? "", b, confidence: "confirmed" as const })),
    );
    await list(ground, actor, { subject_id: others[0], duration: "1h" });
    await list(ground, actor, { subject_id: others[1], starts_at: "2100-01-01T00:00:00.000Z" });
    const revoked = await list(ground, actor, { subject_id: others[2] });
    await ground.delete(`/blacklist/${revoked.id}`, { reason: "A mistake." }, { actor });
    ground.pass(7200);
    const { body } = await ground.post("/blacklist/check", { user_ids: [asked], include_alts: true }, { actor });
    expect(body.data.users[0].linked).toEqual([]);
  });

  test("needs users.links.read, of the person and of the key, and shows records as far as the caller may read them", async () => {
    const ground = await createGround();
    const [owner, viewer] = [ground.staff("owner"), ground.staff("viewer")];
    const [asked, other] = [freshId(), freshId()];
    await link(ground, [{ a: asked, b: other, confidence: "confirmed" }]);
    await list(ground, owner, { subject_id: other, reason_internal: "secret" });
    const body = { user_ids: [asked], include_alts: true };
    const denied = { code: "permission_denied", required: "users.links.read" };
    expect((await ground.post("/blacklist/check", body, { actor: viewer })).body).toMatchObject({ ...denied, missing_in: "acting_user" });
    expect((await ground.post("/blacklist/check", body, { actor: owner, scopes: "blacklist.check" })).body).toMatchObject({
      ...denied,
      missing_in: "key",
    });
    const narrow = await ground.post("/blacklist/check", body, { actor: owner, scopes: "blacklist.check,users.links.read" });
    const [found] = narrow.body.data.users[0].linked;
    expect([found.user_id, found.records[0].severity]).toEqual([other, "medium"]);
    expect(found.records[0]).not.toHaveProperty("number");
    const moderator = await ground.post("/blacklist/check", body, { actor: ground.staff("moderator") });
    expect(moderator.body.data.users[0].linked[0].records[0]).toMatchObject({ number: "BL-000001" });
    expect(JSON.stringify(moderator.body)).not.toContain("secret");
  });
});

test("the reach of many accounts is that of each of them", async () => {
  const ground = await createGround();
  const reach = createLinkReach();
  const people = Array.from({ length: 9 }, () => freshId());
  const edge = fc
    .record({
      a: fc.nat(8),
      b: fc.nat(8),
      confidence: fc.constantFrom("suspected" as const, "probable" as const, "confirmed" as const),
      propagates: fc.boolean(),
    })
    .filter(({ a, b }) => a < b);
  const graph = fc.uniqueArray(edge, { selector: ({ a, b }) => `${a.toString()}:${b.toString()}`, maxLength: 12 });
  await fc.assert(
    fc.asyncProperty(graph, fc.subarray(people), async (edges, asked) => {
      await link(
        ground,
        edges.map((one) => ({ ...one, a: people[one.a] ?? "", b: people[one.b] ?? "" })),
      );
      const each = await Promise.all(asked.map(async (id) => [id, await reach.reachOf(ground.database.read, id)] as const));
      const together = await reach.reachOfAll(ground.database.read, asked);
      expect([...together]).toEqual(each.filter(([, reached]) => reached.length > 0));
    }),
    { numRuns: runsOf(20) },
  );
});

test("the reach of one account goes over a probable link to everybody of the person at its far end", async () => {
  const ground = await createGround();
  const [one, near, far, farther] = [freshId(), freshId(), freshId(), freshId()];
  await link(ground, [
    { a: one, b: near, confidence: "probable" },
    { a: near, b: far, confidence: "confirmed" },
    { a: far, b: farther, confidence: "probable" },
  ]);
  const found = await createLinkReach().reachOfAll(ground.database.read, [one]);
  expect([...found]).toEqual([
    [
      one,
      [
        { userId: near, confidence: "probable" },
        { userId: far, confidence: "probable" },
      ],
    ],
  ]);
});

test("500 users and 500 servers are looked up in a number of statements that does not grow with them", async () => {
  const ground = await createGround();
  const deps = { database: ground.database, reach: createLinkReach(), facts: createServerFacts(), clock: systemClock };
  const check = createCheck({ ...deps, serversKey: Buffer.alloc(32, 1), followedEntries: createFollowedEntries(deps) });
  const call = systemCall("job", uuid7());
  const ids = Array.from({ length: 500 }, () => freshId());
  const asking = async (input: object): Promise<number> => {
    const { single } = await statementsOf(() => check(call, input));
    return single.filter((statement) => /^SELECT.* FROM .*(blacklist_records|servers|server_aliases|account_links)/.test(statement)).length;
  };
  expect(await asking({ user_ids: ids })).toBe(1);
  expect(await asking({ user_ids: ids, server_ids: ids })).toBe(4);
  // 450 accounts are asked for in one statement.
  expect(await asking({ user_ids: ids, server_ids: ids, include_alts: true })).toBe(6);
  const pairs = ids.flatMap((a, index): Edge[] => (index % 2 === 0 ? [{ a, b: ids[index + 1] ?? "", confidence: "confirmed" }] : []));
  await link(ground, pairs);
  expect(await asking({ user_ids: ids, include_alts: true })).toBe(3);
  await link(
    ground,
    ids.map((a) => ({ a, b: freshId(), confidence: "probable" as const })),
  );
  expect(await asking({ user_ids: ids, include_alts: true })).toBe(6);
});

test("500 users and 500 servers are answered over HTTP in one request", async () => {
  const ground = await createGround();
  const actor = ground.staff("owner");
  const ids = Array.from({ length: 500 }, () => freshId());
  const made = [await list(ground, actor, { subject_id: ids[499] }), await list(ground, actor, { kind: "server", subject_id: ids[0] })];
  const { status, body } = await ground.post("/blacklist/check", { user_ids: ids, server_ids: ids, include_alts: true }, { actor });
  expect([status, body.data.users.length, body.data.servers.length]).toEqual([200, 500, 500]);
  expect([...body.data.users, ...body.data.servers].flatMap((one: any) => one.records)).toEqual(made);
});

async function createServers(world: World) {
  const actor = await world.staff("owner");
  const [old, first, second, third] = [freshId(), freshId(), freshId(), freshId()];
  const made = [
    await world.post("/servers", { id: first, aliases: [old] }, { actor }),
    await world.post("/servers", { id: second }, { actor }),
    await world.post("/servers", { id: third }, { actor }),
    await world.patch(`/servers/${second}`, { status: "merged", merged_into: third }, { actor }),
  ];
  expect(made.map(({ status }) => status)).toEqual([201, 201, 201, 200]);
  const lists = async (id: string) => (await world.post("/blacklist", { kind: "server", subject_id: id }, { actor })).body.data;
  return { actor, old, first, second, third, lists };
}

test("records about further ids of a server and about servers it was merged with are told beside its own", async () => {
  const world = await createWorld();
  const { actor, old, first, second, third, lists } = await createServers(world);
  const [byOld, bySecond] = [await lists(old), await lists(second)];
  const server_ids = [first, old, third, second, freshId()];
  const viewer = await world.staff("viewer");
  const { servers } = (await world.post("/blacklist/check", { server_ids }, { actor })).body.data;
  expect(
    servers.map((one: any) => [one.id, one.listed, one.related.map((found: any) => [found.server_id, found.how, found.records])]),
  ).toEqual([
    [first, false, [[old, "alias", [byOld]]]],
    [old, true, []],
    [third, false, [[second, "merged", [bySecond]]]],
    [second, true, []],
    [server_ids[4], false, []],
  ]);
  const reduced = (await world.post("/blacklist/check", { server_ids }, { actor: viewer })).body.data.servers[0];
  expect(reduced.related[0].records[0]).not.toHaveProperty("number");
  const key = await world.makeKey(["blacklist.check"]);
  const [blind] = (await world.post("/blacklist/check", { server_ids }, { key })).body.data.servers;
  expect(blind).toEqual({ id: first, listed: false, records: [] });
});

describe("who may not read what only some may read", () => {
  test("cannot change it either, and so learns nothing by guessing", async () => {
    const ground = await createGround();
    const owner = ground.staff("owner");
    const made = await list(ground, owner, { subject_id: freshId(), reason_internal: "secret", exempt_user_ids: [freshId()] });
    const scopes = "blacklist.read,blacklist.update";
    for (const guess of [
      { reason_internal: "secret" },
      { reason_internal: null },
      { exempt_user_ids: [] },
      { tags: ["x"], reason_internal: "guess" },
    ]) {
      const answer = await ground.patch(`/blacklist/${made.id}`, guess, { actor: owner, scopes });
      expect(answer.body).toMatchObject({ code: "permission_denied", required: "blacklist.read_confidential", missing_in: "key" });
    }
    expect((await ground.get(`/blacklist/${made.id}`, { actor: owner })).body.data).toEqual(made);
    expect((await ground.patch(`/blacklist/${made.id}`, { tags: ["x"] }, { actor: owner, scopes })).status).toBe(200);
    expect((await ground.patch(`/blacklist/${made.id}`, { reason_internal: "better" }, { actor: owner })).status).toBe(200);
  });

  test("can still say it when they list somebody", async () => {
    const ground = await createGround();
    const [owner, subject] = [ground.staff("owner"), freshId()];
    const body = { kind: "user", subject_id: subject, reason_internal: "secret" };
    const answer = await ground.post("/blacklist", body, { actor: owner, scopes: "blacklist.create" });
    expect(answer.status).toBe(201);
    expect(answer.body.data).not.toHaveProperty("reason_internal");
    expect((await ground.get("/blacklist/BL-000001", { actor: owner })).body.data.reason_internal).toBe("secret");
  });
});
