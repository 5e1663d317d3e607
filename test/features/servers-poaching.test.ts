import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";

const time = { offset: 0 };
const clock = { now: () => new Date(Date.now() + time.offset) };
const shared = shareWorld({ clock });
const cast: { owner: User; viewer: User } = {} as never;
beforeAll(async () => {
  cast.owner = await shared.world.staff("owner");
  cast.viewer = await shared.world.staff("viewer");
});

const day = 86_400_000;
const at = (days: number): Date => new Date(clock.now().getTime() + days * day);
const registry = () => shared.world.app.registry;
const read = () => shared.world.app.database.read;
const write = <T>(work: (tx: Tx) => Promise<T>): Promise<T> => shared.world.app.database.write(systemCall("job", "test"), work);
const origin = { originReference: "PCH-REQ-000001", permission: "workflows.poach.decide" };
const note = { reason: "Taken back.", permission: "workflows.poach.reverse" };
const offenders = [freshId(), freshId()];

const record = (serverId: string, occurredAt = at(-1), victimServerId = freshId()) =>
  write((tx) =>
    registry().recordIncidentInTx(tx, { serverId, victimServerId, offenderIds: offenders, method: "offer", occurredAt, ...origin }),
  );
const voidIt = (id: string) => write((tx) => registry().voidIncidentInTx(tx, id, note));
const incidents = (serverId: string) => shared.world.get(`/servers/${serverId}/incidents`, { actor: cast.viewer });
const eventsOf = async (type: string, key: string, id: string): Promise<Record<string, string>[]> => {
  const rows = await read().outboxEvent.findMany({ where: { type }, orderBy: { seq: "asc" } });
  return rows.flatMap(({ data, permission }) => {
    const told = data as Record<string, string>;
    return told[key] === id ? [{ ...told, permission }] : [];
  });
};
const auditOf = async (targetId: string) =>
  (await read().auditEntry.findMany({ where: { targetId }, orderBy: { seq: "asc" } })).map(({ action, permissionUsed }) => [
    action,
    permissionUsed,
  ]);

describe("incidents", () => {
  test("are counted and listed with their number of offenders, and void ones count no more", async () => {
    const server = freshId();
    const [first, second] = [await record(server), await record(server)];
    expect([first.count, second.count]).toEqual([1, 2]);
    const { body } = await incidents(server);
    expect(body.data.map(({ id, status }: { id: string; status: string }) => [id, status])).toEqual([
      [second.id, "active"],
      [first.id, "active"],
    ]);
    expect(body.data[0]).toMatchObject({
      server_id: server,
      offenders: 2,
      method: "offer",
      origin_reference: "PCH-REQ-000001",
      ended: null,
    });
    for (const id of offenders) expect(JSON.stringify(body)).not.toContain(id);

    expect(await voidIt(first.id)).toMatchObject({ restored: true });
    expect(await voidIt(first.id)).toMatchObject({ restored: false });
    expect((await incidents(server)).body.data[1]).toMatchObject({ status: "voided", ended: { reason: note.reason } });
    expect((await record(server)).count).toBe(2);
    expect(await auditOf(first.id)).toEqual([
      ["poach_incident.record", origin.permission],
      ["poach_incident.void", note.permission],
    ]);
    expect(await eventsOf("poach_incident.changed", "incident_id", first.id)).toEqual([
      { incident_id: first.id, server_id: server, status: "active", permission: "servers.read" },
      { incident_id: first.id, server_id: server, status: "voided", permission: "servers.read" },
    ]);
  });

  test("count for 180 days, under every id of a server and those it was merged with, but not against its sister", async () => {
    const [server, alias, target, sister] = [freshId(), freshId(), freshId(), freshId()];
    const registered = [{ id: server, aliases: [alias] }, { id: target }, { id: sister }];
    for (const body of registered) expect((await shared.world.post("/servers", body, { actor: cast.owner })).status).toBe(201);
    expect((await record(server, at(-181))).count).toBe(0);
    expect((await record(server, at(-179))).count).toBe(1);
    expect((await record(alias)).count).toBe(2);
    expect((await incidents(alias)).body.data).toHaveLength(3);
    for (const id of [server, sister]) {
      const body = { status: "merged", merged_into: target };
      expect((await shared.world.patch(`/servers/${id}`, body, { actor: cast.owner })).status).toBe(200);
    }
    expect((await record(target)).count).toBe(3);
    expect((await record(sister)).count).toBe(2);
    time.offset += 2 * day;
    expect((await record(server)).count).toBe(3);
  });

  test("of a server nobody knows are not found, and of a registered one without any an empty list", async () => {
    const registered = freshId();
    await shared.world.post("/servers", { id: registered }, { actor: cast.owner });
    expect((await incidents(freshId())).body.code).toBe("record_not_found");
    expect((await incidents(registered)).body.data).toEqual([]);
    await expect(voidIt("0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f")).rejects.toMatchObject({ code: "record_not_found" });
    const key = await shared.world.makeKey(["staff.read"]);
    for (const path of [`/servers/${registered}/incidents`, `/users/${freshId()}/clearances`])
      expect((await shared.world.get(path, { actor: cast.owner, key })).body.code).toBe("permission_denied");
  });
});

describe("clearances", () => {
  const grant = async (userId: string, validUntil: Date | null = null): Promise<string> => {
    const wanted = { userId, fromServerId: freshId(), toServerId: freshId(), validUntil, ...origin };
    const done = await write((tx) => registry().grantClearanceInTx(tx, wanted));
    if ("skipped" in done) throw new Error(done.skipped);
    expect(done.undo).toEqual({ clearance_id: done.id });
    return done.id;
  };
  const revoke = (id: string) => write((tx) => registry().revokeClearanceInTx(tx, id, note));
  const use = (id: string, reference = "REC-REQ-000001") =>
    write((tx) => registry().useClearanceInTx(tx, { id, reference, permission: "workflows.recruitment.decide" }));
  const undoUse = (done: object) => write((tx) => registry().undoUseClearanceInTx(tx, "undo" in done ? done.undo : done, note));
  const inForce = async (userId: string) => (await registry().findClearances(read(), userId, clock.now())).map(({ id }) => id);
  const list = async (userId: string) => (await shared.world.get(`/users/${userId}/clearances`, { actor: cast.viewer })).body.data;

  test("are used once, by one recruitment, and can be used again when that is taken back", async () => {
    const userId = freshId();
    const id = await grant(userId);
    expect([await inForce(userId), await list(userId)]).toMatchObject([
      [id],
      [{ id, status: "active", used_reference: null, ended: null }],
    ]);
    const done = await use(id);
    expect(await use(id, "REC-REQ-000002")).toMatchObject({ skipped: expect.any(String) });
    expect([await inForce(userId), await list(userId)]).toMatchObject([[], [{ status: "used", used_reference: "REC-REQ-000001" }]]);
    expect(await undoUse({ clearance_id: id, reference: "REC-REQ-000002" })).toMatchObject({ restored: false });
    expect(await undoUse(done)).toMatchObject({ restored: true });
    expect(await undoUse(done)).toMatchObject({ restored: false });
    expect(await inForce(userId)).toEqual([id]);
    expect((await auditOf(id)).map(([action]) => action)).toEqual([
      "poach_clearance.grant",
      "poach_clearance.use",
      "poach_clearance.unuse",
    ]);
    const told = await eventsOf("poach_clearance.changed", "clearance_id", id);
    expect(told.map((one) => [one["status"], one["permission"]])).toEqual([
      ["active", "servers.read"],
      ["used", "servers.read"],
      ["active", "servers.read"],
    ]);
  });

  test("that are revoked stay so, also when they had been used", async () => {
    const userId = freshId();
    const [plain, used] = [await grant(userId), await grant(userId)];
    const done = await use(used);
    expect([await revoke(plain), await revoke(used)]).toMatchObject([{ restored: true }, { restored: true }]);
    expect([await revoke(plain), await undoUse(done)]).toMatchObject([{ restored: false }, { restored: false }]);
    expect([await use(plain), await inForce(userId)]).toMatchObject([{ skipped: expect.any(String) }, []]);
    expect((await list(userId)).map(({ status }: { status: string }) => status)).toEqual(["revoked", "revoked"]);
  });

  test("end by their date, told once; one that would be over already is not granted", async () => {
    const userId = freshId();
    const wanted = { userId, fromServerId: freshId(), toServerId: freshId(), validUntil: at(-1), ...origin };
    expect(inWords(await write((tx) => registry().grantClearanceInTx(tx, wanted)))).toEqual({
      skipped: "The clearance would be over already.",
    });
    expect(await list(userId)).toEqual([]);
    const [dated, endless] = [await grant(userId, at(2)), await grant(userId)];
    time.offset += 3 * day;
    const seen = await list(userId);
    expect(seen.map(({ status }: { status: string }) => status)).toEqual(["active", "expired"]);
    expect([await inForce(userId), await use(dated)]).toMatchObject([[endless], { skipped: expect.any(String) }]);
    for (let round = 0; round < 2; round += 1) await registry().sweep(systemCall("job", "sweep"));
    expect(await auditOf(dated)).toEqual([
      ["poach_clearance.grant", origin.permission],
      ["poach_clearance.expire", "system.act"],
    ]);
    expect((await list(userId))[1]).toMatchObject({ status: "expired", ended: { reason: "It was valid until then." } });
    expect([await revoke(dated), await inForce(userId)]).toMatchObject([{ restored: false }, [endless]]);
  });
});
