// @module-tag postgres
// @module-tag slow
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { Answer, World } from "../support/world.ts";
import { sizeOf } from "../support/size.ts";
import { filing } from "./document.ts";
import { shareWorld } from "./world.ts";

const shared = shareWorld();
const atOnce = sizeOf({ quick: 60, all: 100, long: 200 });

const group = (world: World, count: number): Promise<User[]> => Promise.all(Array.from({ length: count }, () => world.staff("moderator")));
const statuses = (answers: readonly Answer[]) => answers.map(({ status }) => status);
const sequence = (prefix: string, first: number, count: number): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-REQ-${(first + index).toString().padStart(6, "0")}`);

/** The requests of a kind, with their references in order. */
async function referencesOf(world: World, kind: string): Promise<string[]> {
  const rows = await world.app.database.read.workflowRequest.findMany({ where: { type: kind }, select: { reference: true } });
  return rows.map(({ reference }) => reference).toSorted();
}

describe("references", () => {
  test(`of ${atOnce.toString()} requests of three kinds filed at once are unique and without gaps`, async () => {
    const { world } = shared;
    const requesters = await group(world, 12);
    const kinds = [
      ["investigation", "INV"],
      ["punishment", "PUN"],
      ["poach", "PCH"],
    ] as const;
    const asked = Array.from({ length: atOnce }, (_, index) => ({
      kind: kinds[index % 3]?.[0] ?? "",
      actor: requesters[index % 12]?.id ?? "",
    }));
    const answers = await Promise.all(asked.map(({ kind, actor }) => world.post(`/workflows/${kind}`, filing(kind), { actor })));
    expect(new Set(statuses(answers))).toEqual(new Set([201]));
    for (const [kind, prefix] of kinds) {
      const given = answers.filter((_, index) => asked[index]?.kind === kind).map(({ body }) => String(body.reference));
      expect(given.toSorted()).toEqual(sequence(prefix, 1, given.length));
      expect(await referencesOf(world, kind)).toEqual(given.toSorted());
    }
    expect(new Set(answers.map(({ body }) => body.id)).size).toBe(atOnce);
    const verified = (await world.get("/audit/verify")).body.data;
    expect(verified.ok).toBe(true);
    expect(await world.app.database.read.auditEntry.count({ where: { action: "workflow.create" } })).toBe(atOnce);
  });

  test("stay without gaps when refused and invalid requests come in between", async () => {
    const { world } = shared;
    const requesters = await group(world, 2);
    const viewer = await world.staff("viewer");
    const taken = filing("alt-request");
    expect((await world.post("/workflows/alt-request", taken, { actor: requesters[0]?.id ?? "" })).status).toBe(201);
    const ways = [
      { status: 201, body: () => filing("alt-request"), actor: (index: number) => requesters[(index / 4) % 2]?.id ?? "" },
      { status: 403, body: () => filing("alt-request"), actor: () => viewer.id },
      { status: 422, body: () => ({ user_ids: "all of them" }), actor: () => requesters[0]?.id ?? "" },
      { status: 409, body: () => taken, actor: () => requesters[0]?.id ?? "" },
    ];
    const asked = Array.from({ length: 64 }, (_, index) => ({ way: ways[index % 4], index }));
    const answers = await Promise.all(
      asked.map(({ way, index }) => world.post("/workflows/alt-request", way?.body(), { actor: way?.actor(index) ?? "" })),
    );
    expect(statuses(answers)).toEqual(asked.map(({ way }) => way?.status));
    const given = answers.flatMap(({ status, body }) => (status === 201 ? [String(body.reference)] : []));
    expect(given.toSorted()).toEqual(sequence("ALT", 2, 16));
    expect(await referencesOf(world, "alt-request")).toEqual(sequence("ALT", 1, 17));
  });
});

test("one Idempotency-Key sent 20 times at once makes one record, and everyone learns of it", async () => {
  const { world } = shared;
  const [requester] = await group(world, 1);
  const body = filing("recruitment");
  const ask = () =>
    world.post("/workflows/recruitment", body, { actor: requester?.id ?? "", headers: { "idempotency-key": "twenty-at-once-1" } });
  const answers = await Promise.all(Array.from({ length: 20 }, ask));
  for (const { status, body: said, headers } of answers) {
    expect([201, 409]).toContain(status);
    if (status === 409) expect([said.code, headers.get("retry-after")]).toEqual(["idempotency_in_progress", "1"]);
  }
  const first = answers.find(({ status }) => status === 201);
  expect(first?.body.reference).toBe("REC-REQ-000001");
  const replay = await ask();
  expect([replay.status, replay.headers.get("idempotency-replayed")]).toEqual([201, "true"]);
  // Letter for letter, with its headers: a client may compare answers, or sign them.
  expect([JSON.stringify(replay.body), replay.headers.get("etag")]).toEqual([JSON.stringify(first?.body), first?.headers.get("etag")]);
  for (const answer of [...answers, replay]) if (answer.status === 201) expect(answer.body).toEqual(first?.body);
  expect(await referencesOf(world, "recruitment")).toEqual(["REC-REQ-000001"]);
  const other = await world.post("/workflows/recruitment", filing("recruitment"), {
    actor: requester?.id ?? "",
    headers: { "idempotency-key": "twenty-at-once-1" },
  });
  expect(other.body).toMatchObject({ status: 422, code: "idempotency_key_reused" });
});

describe("two deciders at once", () => {
  const decide = (world: World, kind: string, reference: string, words: readonly [User, object][]) =>
    Promise.all(words.map(([actor, body]) => world.post(`/workflows/${kind}/${reference}/decision`, body, { actor })));

  test("who disagree: one decision stands, the other is told which", async () => {
    const { world } = shared;
    const [[requester], one, two] = [await group(world, 1), await world.staff("senior"), await world.staff("senior")];
    for (let round = 0; round < 5; round += 1) {
      const filed = { ...filing("blacklist-user"), scope: "servers", server_ids: [world.guild.id] };
      const { reference } = (await world.post("/workflows/blacklist-user", filed, { actor: requester?.id ?? "" })).body;
      const answers = await decide(world, "blacklist-user", reference, [
        [one, { decision: "approve" }],
        [two, { decision: "deny", reason: "The evidence is too thin." }],
      ]);
      const [winner, loser] = answers.toSorted((a, b) => a.status - b.status);
      expect([winner?.status, loser?.status]).toEqual([200, 409]);
      expect(loser?.body).toMatchObject({ code: "already_decided", decision: { outcome: winner?.body.status } });
      const read = await world.get(`/workflows/blacklist-user/${reference}`, { actor: one });
      expect(read.body.data.status).toBe(winner?.body.status);
      const check = await world.post("/blacklist/check", { user_ids: [filed.user_id] }, { actor: one });
      expect(check.body.data.users[0].records.length).toBe(winner?.body.status === "approved" ? 1 : 0);
    }
  });

  test("who agree on a request that needs two: it ends once, with one record", async () => {
    const { world } = shared;
    const [[requester], one, two] = [await group(world, 1), await world.staff("admin"), await world.staff("admin")];
    for (let round = 0; round < 5; round += 1) {
      const filed = filing("blacklist-server");
      const { reference } = (await world.post("/workflows/blacklist-server", filed, { actor: requester?.id ?? "" })).body;
      const answers = await decide(world, "blacklist-server", reference, [
        [one, { decision: "approve" }],
        [two, { decision: "approve" }],
      ]);
      expect(statuses(answers)).toEqual([200, 200]);
      expect(answers.map(({ body }) => [body.final, body.approvals.have]).toSorted((a, b) => a[1] - b[1])).toEqual([
        [false, 1],
        [true, 2],
      ]);
      expect(await world.app.database.read.blacklistRecord.count({ where: { subjectId: filed.server_id } })).toBe(1);
      const entries = (await world.get(`/audit?target=${reference}`)).body.data.map((entry: any) => entry.action);
      expect(entries).toEqual(["workflow.approve", "workflow.vote", "workflow.create"]);
    }
  });

  test("or one who asks twice: the second answer is a replay", async () => {
    const { world } = shared;
    const [[requester], one] = [await group(world, 1), await world.staff("senior")];
    const { reference } = (await world.post("/workflows/punishment", filing("punishment"), { actor: requester?.id ?? "" })).body;
    const answers = await decide(world, "punishment", reference, [
      [one, { decision: "approve" }],
      [one, { decision: "approve" }],
    ]);
    expect(statuses(answers)).toEqual([200, 200]);
    expect(answers.filter(({ body }) => body.replayed === true).length).toBe(1);
  });
});
