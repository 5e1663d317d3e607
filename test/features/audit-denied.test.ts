import { describe, expect, test, vi } from "vitest";
import { createDenied, type DeniedAttempts } from "../../src/features/audit/denied.ts";
import type { DeniedAttempt } from "../../src/kernel/denied.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld } from "../support/world.ts";
import { staffAtConsole } from "../contract/world.ts";

const attemptBy = (actorId: string, more: Partial<DeniedAttempt> = {}): DeniedAttempt => ({
  caller: { clientId: "c", actorId, via: "rest", requestId: "r" },
  action: "blacklist.create",
  code: "permission_denied",
  isAboutRecord: false,
  ...more,
});

/** Refused attempts with a time of their own; `written` is what reached the audit. */
function createBuffer() {
  const time = { now: 1_700_000_000_000, isRefusing: false };
  const written: { attempts: DeniedAttempts[]; overflow: number }[] = [];
  const onFailure = vi.fn();
  const denied = createDenied({
    clock: { now: () => new Date(time.now) },
    write: async (attempts, overflow) => {
      if (time.isRefusing) throw new Error("no");
      written.push({ attempts: [...attempts], overflow });
    },
    onFailure,
  });
  return { denied, written, time, onFailure };
}

describe("refused attempts are collected", () => {
  test("equal ones become one entry, and one a minute with their number while they go on", async () => {
    const { denied, written, time } = createBuffer();
    for (let made = 0; made < 5; made += 1) denied.note(attemptBy("1"));
    await denied.flush();
    expect(written.map(({ attempts }) => attempts.map(({ count }) => count))).toEqual([[5]]);
    for (let made = 0; made < 7; made += 1) denied.note(attemptBy("1"));
    await denied.flush();
    expect(written).toHaveLength(1);
    time.now += 60_000;
    await denied.flush();
    expect(written[1]?.attempts.map(({ count }) => count)).toEqual([7]);
    time.now += 60_000;
    await denied.flush();
    expect(written).toHaveLength(2);
    await denied.close();
  });

  test("another caller, action, target or reason is another attempt", async () => {
    const { denied, written } = createBuffer();
    const target = { kind: "cases", id: "1" };
    const different = [{}, { action: "cases.open" }, { target }, { target: { ...target, id: "2" } }, { code: "last_owner" as const }];
    for (const more of different) denied.note(attemptBy("1", more));
    denied.note(attemptBy("2"));
    await denied.flush();
    expect(written[0]?.attempts).toHaveLength(6);
    await denied.close();
  });

  test("beyond 120 different ones a minute they are only counted", async () => {
    const { denied, written, time } = createBuffer();
    for (let made = 0; made < 500; made += 1) denied.note(attemptBy(made.toString()));
    await denied.flush();
    expect([written[0]?.attempts.length, written[0]?.overflow]).toEqual([120, 380]);
    for (let made = 500; made < 600; made += 1) denied.note(attemptBy(made.toString()));
    await denied.flush();
    expect(written).toHaveLength(1);
    time.now += 60_000;
    await denied.flush();
    expect([written[1]?.attempts.length, written[1]?.overflow]).toEqual([0, 100]);
    await denied.close();
  });

  test("nothing is lost while the database refuses, and what waits is written at the end", async () => {
    const { denied, written, time, onFailure } = createBuffer();
    time.isRefusing = true;
    denied.note(attemptBy("1"));
    await denied.flush();
    denied.note(attemptBy("1"));
    expect([written.length, onFailure.mock.calls.length]).toEqual([0, 1]);
    time.isRefusing = false;
    await denied.close();
    expect(written[0]?.attempts.map(({ count }) => count)).toEqual([2]);
  });
});

describe("who is refused is found in the audit", () => {
  test("with the permission, the target, the person and the reason, and without anything of the body", async () => {
    const world = await createWorld();
    const [viewer, owner, person] = [await world.staff("viewer"), await world.staff("owner"), world.member()];
    const before = await world.app.database.read.auditEntry.count();
    const write = vi.spyOn(world.app.database, "write");
    const secret = "never to be kept";
    expect((await world.post("/blacklist", { kind: "user", subject_id: person.id, reason: secret }, { actor: viewer })).status).toBe(403);
    expect((await world.get(`/users/${viewer.id}/authorization`, { actor: person })).body.code).toBe("acting_user_not_staff");
    expect((await world.post("/blacklist", {}, {})).body.code).toBe("acting_user_required");
    const limited = await world.makeKey(["staff.read"], "none");
    write.mockClear();
    expect((await world.get("/staff", { key: limited, actor: owner })).body.required).toBe("delegation");
    expect((await world.get("/keys", { key: limited })).body.missing_in).toBe("key");
    expect(write).not.toHaveBeenCalled();
    expect(await world.app.database.read.auditEntry.count({ where: { outcome: "denied" } })).toBe(0);
    write.mockRestore();

    await world.app.audit.flushDenied();
    const { data } = (await world.get("/audit?outcome=denied", { actor: owner })).body;
    const told = data.map(({ action, actor, target, subject_user_id, reason, after, via }: Record<string, any>) => ({
      action,
      actor: actor?.id ?? null,
      target,
      subject: subject_user_id,
      reason,
      count: after.count,
      via,
    }));
    const nobody = { target: null, subject: null, count: 1, via: "rest" };
    expect(told.toReversed()).toEqual([
      { ...nobody, action: "blacklist.create", actor: viewer.id, reason: "permission_denied" },
      {
        ...nobody,
        action: "users.authorization.read",
        actor: person.id,
        target: { kind: "users", id: viewer.id, reference: null },
        subject: viewer.id,
        reason: "acting_user_not_staff",
      },
      { ...nobody, action: "blacklist.create", actor: null, reason: "acting_user_required" },
      { ...nobody, action: "staff.read", actor: null, reason: "permission_denied" },
      { ...nobody, action: "clients.manage", actor: null, reason: "permission_denied" },
    ]);
    expect(data.every((entry: { client: unknown }) => entry.client !== null)).toBe(true);
    expect(JSON.stringify(await world.app.database.read.auditPayload.findMany())).not.toContain(secret);
    expect(await world.app.database.read.auditEntry.count()).toBe(before + 6);
    expect((await world.get("/audit/verify")).body.data.ok).toBe(true);
  });

  test("a stranger, a wrong key and wrong content leave nothing", async () => {
    const world = await createWorld();
    const owner = await world.staff("owner");
    expect((await world.get("/staff", { key: null })).status).toBe(401);
    expect((await world.get("/staff", { key: "prv_live_aaaaaaaaaaaa_b" })).status).toBe(401);
    expect((await world.post("/blacklist", {}, { actor: owner })).status).toBe(422);
    expect((await world.get("/blacklist/BL-999999", { actor: owner })).status).toBe(404);
    await world.app.audit.flushDenied();
    expect(await world.app.database.read.auditEntry.count({ where: { outcome: "denied" } })).toBe(0);
  });

  test("an API key that somebody puts into the address is not kept, and not answered", async () => {
    const world = await createWorld();
    const [owner, viewer] = [await world.staff("owner"), await world.staff("viewer")];
    const secret = world.key.slice(-40);
    const refused = await world.delete(`/keys/${world.key}`, undefined, { actor: viewer });
    expect(refused).toMatchObject({ status: 403, body: { code: "permission_denied", instance: "/keys/[redacted]" } });
    await world.app.audit.flushDenied();
    const { data } = (await world.get("/audit?outcome=denied", { actor: owner })).body;
    expect(data).toMatchObject([{ action: "clients.manage", actor: { id: viewer.id } }]);
    const { read } = world.app.database;
    for (const shown of [refused.body, data, await read.auditEntry.findMany(), await read.auditPayload.findMany()])
      expect(JSON.stringify(shown)).not.toContain(secret);
  });

  test("a refused slash command, too, and what waits when the service stops", async () => {
    const world = await createWorld();
    const viewer = await staffAtConsole(world, "viewer");
    const [owner, person] = [await world.staff("owner"), world.member()];
    const said = await world.slash(viewer, "staff suspend", { user: person, reason: "Not mine to give" });
    expect(said).toContain("permission_denied");
    await world.restart();
    const { data } = (await world.get("/audit?outcome=denied&via=slash", { actor: owner })).body;
    expect(data).toMatchObject([{ action: "staff.suspend", actor: { id: viewer.id }, client: null, guild_id: world.guild.id }]);
  });

  test("an attempt at a record that is hidden from a reader is hidden, too, and one at a record nobody looked up names none", async () => {
    const world = await createWorld();
    const [owner, senior] = [await world.staff("owner"), await world.staff("senior")];
    const caller = { clientId: "c", actorId: "80351110224678912", via: "rest", requestId: "r" } as const;
    const attempt = { caller, action: "cases.update", code: "conflict_of_interest" } as const;
    const opened = await world.app.database.write(systemCall("cli", uuid7()), ({ db }) =>
      db.case.create({ data: { ...draft, isConfidential: true, createdAt: new Date(), updatedAt: new Date() } }),
    );
    for (const [index, id] of [`CASE-${opened.number.toString()}`, opened.id].entries()) {
      const by = { ...caller, actorId: `8035111022467891${index.toString()}` };
      world.app.audit.noteDenied({ ...attempt, caller: by, isAboutRecord: true, target: { kind: "cases", id } });
    }
    world.app.audit.noteDenied({ ...attempt, isAboutRecord: true, target: { kind: "cases", id: "CASE-999999" } });
    world.app.audit.noteDenied({ ...attempt, action: "cases.read", isAboutRecord: false, target: { kind: "cases", id: "CASE-000007" } });
    await world.app.audit.flushDenied();
    const seenBy = async (actor: User) =>
      (await world.get("/audit?outcome=denied", { actor })).body.data.map(({ target }: any) => target?.id ?? null);
    expect(await seenBy(owner)).toEqual([null, null, opened.id, opened.id]);
    expect(await seenBy(senior)).toEqual([null, null]);
  });
});

const draft = { number: 7, type: "conduct", title: "T", status: "open", priority: "normal", policies: [] };
