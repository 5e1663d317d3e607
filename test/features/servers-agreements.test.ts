import { beforeAll, expect, test } from "vitest";
import { createServerFacts } from "../../src/features/servers/facts.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";

const time = { offset: 0 };
const clock = { now: () => new Date(Date.now() + time.offset) };
const shared = shareWorld({ clock });
const facts = createServerFacts();
let [filer, first, second, viewer]: User[] = [];

beforeAll(async () => {
  const { world } = shared;
  [filer, first, second, viewer] = [
    await world.staff("moderator"),
    await world.staff("senior"),
    await world.staff("admin"),
    await world.staff("viewer"),
  ];
});

const as = (actor: User | undefined) => (actor === undefined ? {} : { actor });
const at = (days: number): string => new Date(clock.now().getTime() + days * 86_400_000).toISOString();
const file = async (body: object) => {
  const answer = await shared.world.post("/workflows/poach", body, as(filer));
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body;
};
const approve = async (reference: string, actor: User | undefined) =>
  (await shared.world.post(`/workflows/poach/${reference}/decision`, { decision: "approve", reason: "All have agreed." }, as(actor))).body;
const agree = async (body: Record<string, unknown> = {}) => {
  const parties = [freshId(), freshId()].toSorted();
  const { reference } = await file({ kind: "agreement", party_server_ids: parties, ...body });
  await approve(reference, first);
  return { parties, reference, ...(await approve(reference, second)) };
};
const agreementsOf = async (id: string, actor = viewer) => shared.world.get(`/servers/${id}/agreements`, as(actor));
const entries = async (targetId: string) =>
  (await shared.world.app.database.read.auditEntry.findMany({ where: { targetId }, orderBy: { seq: "asc" } })).map(({ action }) => action);
const events = async (id: string) =>
  (await shared.world.app.database.read.outboxEvent.findMany({ where: { type: "agreement.changed" }, orderBy: { seq: "asc" } }))
    .map(({ data }) => data as { agreement_id: string; status: string; server_ids: string[] })
    .filter(({ agreement_id: agreement }) => agreement === id);
const sweep = () => shared.world.app.registry.sweep(systemCall("job", "sweep"));
const hashesOf = async (ids: readonly string[]) => {
  const rows = await shared.world.app.database.read.agreementParty.findMany({ where: { serverId: { in: [...ids] } } });
  return rows.map(({ serverHash }) => serverHash);
};

test("the second approval of a request makes the agreement, and the servers' lists show it", async () => {
  const parties = [freshId(), freshId(), freshId()].toSorted();
  const terms = { covers: "staff", cooling_off_days: 14, terms: "Hands off." };
  const filed = await file({ kind: "agreement", party_server_ids: parties, ...terms });
  expect(filed.effects_preview).toMatchObject([{ key: "agreement.create" }]);
  expect((await approve(filed.reference, first)).effects).toEqual([]);
  expect((await agreementsOf(parties[0] ?? "")).body.code).toBe("record_not_found");
  const { effects } = await approve(filed.reference, second);
  expect(effects[0]).toMatchObject({ key: "agreement.create", status: "done", target: { kind: "agreement" } });
  const { id } = effects[0].target;
  for (const party of parties)
    expect((await agreementsOf(party)).body.data).toMatchObject([
      { id, status: "active", server_ids: parties, ...terms, origin_reference: filed.reference, ends_at: null, ended: null },
    ]);
  expect(await entries(id)).toEqual(["agreement.create"]);
  expect(await events(id)).toEqual([{ agreement_id: id, status: "active", server_ids: parties }]);
  const registered = await shared.world.post("/servers", { id: freshId(), aliases: [parties[1]] }, as(second));
  expect(registered.body.data.agreements).toEqual([id]);
  expect((await agreementsOf(registered.body.data.id)).body.data).toHaveLength(1);
});

test("reports and clearances make no agreement and promise none", async () => {
  const before = await shared.world.app.database.read.agreement.count();
  const [a, b] = [freshId(), freshId()];
  const report = { kind: "report", offending_server_id: a, victim_server_id: b, occurred_at: at(-1) };
  const clearance = { kind: "clearance", user_id: freshId(), from_server_id: a, to_server_id: b };
  for (const body of [report, clearance]) {
    const filed = await file(body);
    const approved = await approve(filed.reference, first);
    expect(approved.final).toBe(true);
    for (const { key } of [...filed.effects_preview, ...approved.effects]) expect(key).not.toContain("agreement");
  }
  expect(await shared.world.app.database.read.agreement.count()).toBe(before);
});

test("an agreement that would be over before it begins is not made, and the approval says so", async () => {
  const { effects, parties } = await agree({ starts_at: at(5), ends_at: at(4) });
  expect(effects[0]).toMatchObject({ key: "agreement.create", status: "skipped" });
  expect((await agreementsOf(parties[0] ?? "")).status).toBe(404);
});

test("an agreement begins and ends by time, each told once", async () => {
  const { effects, parties } = await agree({ starts_at: at(2), ends_at: at(10) });
  const { id } = effects[0].target;
  const [mine = "", other = ""] = parties;
  const status = async () => (await agreementsOf(mine)).body.data[0].status;
  const inForce = async () =>
    (await facts.agreementsAmong(shared.world.app.database.read, await hashesOf(parties), [mine], clock.now())).length;
  expect([await status(), await inForce()]).toEqual(["scheduled", 0]);
  await sweep();
  time.offset += 3 * 86_400_000;
  expect([await status(), await inForce()]).toEqual(["active", 1]);
  await sweep();
  await sweep();
  time.offset += 8 * 86_400_000;
  expect([await status(), await inForce()]).toEqual(["ended", 0]);
  await sweep();
  await sweep();
  expect(await entries(id)).toEqual(["agreement.create", "agreement.start", "agreement.end"]);
  expect((await events(id)).map((event) => event.status)).toEqual(["scheduled", "active", "ended"]);
  expect((await agreementsOf(other)).body.data[0]).toMatchObject({ status: "ended", ended: { at: expect.any(String) }, revision: 3 });
});

test("matching is told of the other parties of agreements in force with our own servers, and of no others", async () => {
  const { read } = shared.world.app.database;
  const { effects, parties } = await agree({ covers: "members" });
  const [mine = "", other = ""] = parties;
  const hashes = await hashesOf(parties);
  const found = await facts.agreementsAmong(read, hashes, [mine], clock.now());
  expect(found).toMatchObject([{ id: effects[0].target.id, serverId: other, covers: "members", endsAt: null, revision: 1 }]);
  expect(await facts.agreementsAmong(read, hashes, [freshId()], clock.now())).toEqual([]);
  expect(await facts.agreementsAmong(read, hashes, parties, clock.now())).toEqual([]);
  expect(await facts.agreementsAmong(read, [], [mine], clock.now())).toEqual([]);
});

test("an agreement that is ended by another room's change stays ended", async () => {
  const { registry, database } = shared.world.app;
  const { effects, parties } = await agree();
  const { id } = effects[0].target;
  const end = () =>
    database.write(systemCall("cli", "end"), (tx) =>
      registry.endAgreementInTx(tx, id, { reason: "Taken back.", permission: "workflows.poach.reverse" }),
    );
  expect(await end()).toMatchObject({ status: "ended", ended: { reason: "Taken back." } });
  expect((await end()).revision).toBe(2);
  expect(await entries(id)).toEqual(["agreement.create", "agreement.end"]);
  expect(await facts.agreementsAmong(database.read, await hashesOf(parties), parties.slice(0, 1), clock.now())).toEqual([]);
});
