import fc from "fast-check";
import { beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import type { RecordDraft } from "../../src/features/blacklist/records.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { inWords } from "../../src/kit/say.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { authorize, shareWorld } from "../contract/world.ts";
import { runsOf } from "../support/size.ts";

const time = { offset: 0 };
const shared = shareWorld({
  clock: { now: () => new Date(Date.now() + time.offset) },
  env: { SECOND_PERSON_FOR_DANGER: "false" },
});
const day = 86_400_000;
const permission = "workflows.blacklist-user.decide" as const;
const note = { reason: "The request was reversed.", permission };
const creation = { action: "blacklist.create", permission, reason: "Approval of BLU-REQ-000777" } as const;
const now = (): number => Date.now() + time.offset;
const after = (days: number): Date => new Date(now() + days * day);
let owner: User;

beforeAll(async () => {
  owner = await shared.world.staff("owner");
});

const write = <Result>(work: (tx: Tx) => Promise<Result>): Promise<Result> =>
  shared.world.app.database.write(systemCall("job", uuid7()), work);
/** As it comes back from where undo is stored. */
const stored = (undo: unknown): unknown => JSON.parse(JSON.stringify(undo));
const draftOf = (subjectId: string, more: Partial<RecordDraft> = {}): RecordDraft => ({
  kind: "user",
  subjectId,
  scope: "network",
  category: "raid",
  severity: "medium",
  source: "workflow",
  originReference: "BLU-REQ-000777",
  createdBy: owner.id,
  ...more,
});
const list = (draft: RecordDraft) => write((tx) => shared.world.app.blacklist.createInTx(tx, draft, creation));
const undoCreate = (undo: unknown) => write((tx) => shared.world.app.blacklist.undoCreateInTx(tx, stored(undo), note));
const undoChange = (undo: unknown) => write((tx) => shared.world.app.blacklist.undoChangeInTx(tx, stored(undo), note));
const revoke = (id: string) => write((tx) => shared.world.app.blacklist.revokeInTx(tx, id, note));
const seen = async (id: string) => (await shared.world.get(`/blacklist/${id}`, { actor: owner })).body.data;
const patch = async (id: string, body: object) => {
  const answer = await shared.world.patch(`/blacklist/${id}`, body, { actor: owner });
  expect(answer.status, JSON.stringify(answer.body)).toBe(200);
};

/** Every step of a record has its version, its entries and its events. */
async function expectSound(recordId: string, revision: number): Promise<void> {
  const { read } = shared.world.app.database;
  const row = await read.blacklistRecord.findUniqueOrThrow({ where: { id: recordId } });
  expect(row.revision).toBe(revision);
  expect(row.activeKey !== null).toBe(["active", "scheduled"].includes(row.status));
  const events = await read.outboxEvent.findMany({ where: { type: { startsWith: "blacklist." } } });
  const told = events.filter(({ data }) => (data as { id: string }).id === recordId);
  const counts = [
    await read.blacklistVersion.count({ where: { recordId } }),
    await read.blacklistChange.count({ where: { recordId } }),
    await read.auditEntry.count({ where: { targetId: recordId, outcome: "ok" } }),
    told.length,
  ];
  expect(counts).toEqual([revision, revision, revision, revision]);
}

describe("a record that an approval made", () => {
  test("is revoked when that is taken back, whatever became of it, and only once", async () => {
    const made = await list(draftOf(freshId()));
    await patch(made.row.id, { severity: "critical" });
    expect(await undoCreate(made.undo)).toMatchObject({ restored: true, row: { status: "revoked" } });
    const revoked = await seen(made.row.id);
    expect(revoked).toMatchObject({ status: "revoked", severity: "critical", revoked: { reason: note.reason } });
    const [entry] = await shared.world.app.database.read.auditEntry.findMany({
      where: { targetId: made.row.id, action: "blacklist.revoke" },
    });
    expect(entry).toMatchObject({ permissionUsed: permission, subjectUserId: made.row.subjectId });
    expect(await undoCreate(made.undo)).toMatchObject({ restored: false });
    expect(await seen(made.row.id)).toEqual(revoked);
    await expectSound(made.row.id, 3);
  });

  test("is found by its number and its id, and nothing else is", async () => {
    const { blacklist, database } = shared.world.app;
    const { row } = await list(draftOf(freshId()));
    const reference = `BL-${row.number.toString().padStart(6, "0")}`;
    for (const key of [reference, reference.toLowerCase(), row.id]) {
      expect((await blacklist.findForReference(database.read, key))?.id).toBe(row.id);
    }
    expect(await blacklist.findForReference(database.read, "BL-999999")).toBeNull();
    expect((await write((tx) => blacklist.lockInTx(tx, row.id)))?.id).toBe(row.id);
    expect(await write((tx) => blacklist.lockInTx(tx, uuid7()))).toBeNull();
  });
});

describe("a record that an approval strengthened", () => {
  test("goes back to what it was, and what is kept for that quotes nothing of it", async () => {
    const subject = freshId();
    const first = await list(draftOf(subject, { severity: "low", expiresAt: after(10), evidence: [{ kind: "text", note: "Seen once." }] }));
    const before = await seen(first.row.id);
    const more = { severity: "high", expiresAt: null, includeAlts: "probable", evidence: [{ kind: "text", note: "Seen twice." }] } as const;
    const second = await list(draftOf(subject, { ...more, approvedBy: [owner.id], serverIds: [freshId()] }));
    expect(second).toMatchObject({ isMerged: true, row: { id: first.row.id, severity: "high", expiresAt: null } });
    expect(JSON.stringify(second.undo)).not.toContain("Seen");
    expect(await undoCreate(second.undo)).toMatchObject({ restored: true });
    const back = await seen(first.row.id);
    expect(back).toEqual({ ...before, revision: 3, history_count: 3, updated_at: back.updated_at });
    expect(await undoCreate(second.undo)).toMatchObject({ restored: false });
    await expectSound(first.row.id, 3);
  });

  test("keeps what somebody changed since, and the answer names it", async () => {
    const subject = freshId();
    const { row } = await list(draftOf(subject, { severity: "low", expiresAt: after(10) }));
    const merged = await list(draftOf(subject, { severity: "high", expiresAt: null, approvedBy: [owner.id] }));
    await patch(row.id, { severity: "critical" });
    const undone = inWords(await undoCreate(merged.undo));
    expect(undone.restored).toBe(false);
    expect(undone.detail).toContain("severity");
    expect(undone.detail).not.toContain("expires_at");
    expect(await seen(row.id)).toMatchObject({ severity: "critical", expires_at: row.expiresAt?.toISOString(), approved_by: [] });
  });

  test("waits for its start again", async () => {
    const subject = freshId();
    const { row } = await list(draftOf(subject, { startsAt: after(5), expiresAt: after(9) }));
    const merged = await list(draftOf(subject, { severity: "high" }));
    expect(merged.row.status).toBe("active");
    expect(await undoCreate(merged.undo)).toMatchObject({ restored: true });
    expect(await seen(row.id)).toMatchObject({ status: "scheduled", starts_at: row.startsAt.toISOString(), severity: "medium" });
    const again = await list(draftOf(subject, { severity: "high" }));
    await patch(row.id, { expires_at: after(2).toISOString() });
    expect(inWords(await undoCreate(again.undo))).toMatchObject({ restored: false, detail: expect.stringContaining("starts_at") });
    expect(await seen(row.id)).toMatchObject({ status: "active", severity: "medium" });
  });
});

describe("a revocation", () => {
  test("that is taken back lets the record count again", async () => {
    const { row } = await list(draftOf(freshId()));
    const before = await seen(row.id);
    const revoked = await revoke(row.id);
    expect(await revoke(row.id)).toBeNull();
    expect(await undoChange(revoked?.undo)).toMatchObject({ restored: true });
    const back = await seen(row.id);
    expect(back).toEqual({ ...before, revision: 3, history_count: 3, updated_at: back.updated_at });
    const last = await shared.world.app.database.read.blacklistChange.findFirst({ where: { recordId: row.id }, orderBy: { seq: "desc" } });
    expect(last).toMatchObject({ what: "updated", revision: 3 });
    expect(await undoChange(revoked?.undo)).toMatchObject({ restored: false });
    await expectSound(row.id, 3);
  });

  test("stays where another record lists the subject now", async () => {
    const subject = freshId();
    const { row } = await list(draftOf(subject));
    const revoked = await revoke(row.id);
    const other = await list(draftOf(subject));
    expect(await undoChange(revoked?.undo)).toMatchObject({ restored: false, row: { status: "revoked" } });
    expect((await seen(other.row.id)).status).toBe("active");
    await expectSound(row.id, 2);
  });

  test("stays where the record would have expired, or was erased", async () => {
    const [short, gone] = [await list(draftOf(freshId(), { expiresAt: after(1) })), await list(draftOf(freshId()))];
    const [first, second] = [await revoke(short.row.id), await revoke(gone.row.id)];
    time.offset += 2 * day;
    expect(await undoChange(first?.undo)).toMatchObject({ restored: false, row: { status: "revoked" } });
    const purged = await shared.world.post(`/blacklist/${gone.row.id}/purge`, { reason: "Asked for by the person." }, { actor: owner });
    expect(purged.status, JSON.stringify(purged.body)).toBe(200);
    expect(inWords(await undoChange(second?.undo))).toEqual({ restored: false, detail: "The record was erased.", row: null });
  });

  test("makes room where the record that took the place is past its end", async () => {
    const subject = freshId();
    const { row } = await list(draftOf(subject));
    const revoked = await revoke(row.id);
    const other = await list(draftOf(subject, { expiresAt: after(1) }));
    time.offset += 2 * day;
    expect(await undoChange(revoked?.undo)).toMatchObject({ restored: true, row: { status: "active" } });
    expect((await seen(other.row.id)).status).toBe("expired");
    await expectSound(other.row.id, 2);
  });
});

describe("a reduction", () => {
  const reduce = (id: string, reduction: object) => write((tx) => shared.world.app.blacklist.reduceInTx(tx, id, reduction, note));

  test("makes a record milder and shorter, and comes off again", async () => {
    const { row } = await list(draftOf(freshId(), { severity: "critical" }));
    const before = await seen(row.id);
    const reduced = await reduce(row.id, { severity: "low", expiresAt: after(3) });
    expect(reduced?.row).toMatchObject({ severity: "low", severityOrder: 0, recommendedAction: "monitor", expiresAt: expect.any(Date) });
    expect(await undoChange(reduced?.undo)).toMatchObject({ restored: true });
    const back = await seen(row.id);
    expect(back).toEqual({ ...before, revision: 3, history_count: 3, updated_at: back.updated_at });
    await expectSound(row.id, 3);
  });

  test("that ended a record is taken back with the record in force again", async () => {
    const { row } = await list(draftOf(freshId()));
    const reduced = await reduce(row.id, { expiresAt: after(1) });
    time.offset += 2 * day;
    await shared.world.app.blacklist.expireDue(systemCall("job", uuid7()));
    expect((await seen(row.id)).status).toBe("expired");
    expect(await undoChange(reduced?.undo)).toMatchObject({ restored: true, row: { status: "active", expiresAt: null } });
    await expectSound(row.id, 4);
  });

  test("to what a record is writes nothing, one that ends before it starts is refused, one of an ended record is none", async () => {
    const { row } = await list(draftOf(freshId(), { severity: "low" }));
    expect(await reduce(row.id, { severity: "low", expiresAt: null })).toMatchObject({ row: { revision: 1 } });
    await expect(reduce(row.id, { expiresAt: after(-1) })).rejects.toMatchObject({ code: "validation_failed" });
    await expectSound(row.id, 1);
    await revoke(row.id);
    expect(await reduce(row.id, { severity: "low" })).toBeNull();
    expect(await reduce(uuid7(), { severity: "low" })).toBeNull();
  });
});

type Deed =
  | {
      do: "list";
      who: number;
      severity: "low" | "medium" | "high" | "critical";
      days: number | null;
      alts: "none" | "confirmed" | "probable";
    }
  | { do: "revoke"; who: number }
  | { do: "reduce"; who: number; severity: "low" | "medium" | "high" | "critical"; days: number | null };

const who = fc.nat({ max: 2 });
const severity = fc.constantFrom("low" as const, "medium" as const, "high" as const, "critical" as const);
const days = fc.option(fc.integer({ min: 100, max: 104 }), { nil: null });
const alts = fc.constantFrom("none" as const, "confirmed" as const, "probable" as const);
const deed: fc.Arbitrary<Deed> = fc.oneof(
  fc.record({ do: fc.constant("list" as const), who, severity, days, alts }),
  fc.record({ do: fc.constant("revoke" as const), who }),
  fc.record({ do: fc.constant("reduce" as const), who, severity, days }),
);

test("whatever is done and taken back in reverse order leaves the same in force", async () => {
  const { world } = shared;
  const { read } = world.app.database;
  const [one, other] = [world.member(), world.member()];
  const base = world.sandbox.createGuild({ name: "Quiet Base" });
  for (const person of [one, other]) {
    base.addMember(person);
    await authorize(world, person, { by: owner });
  }
  const linked = { user_id: other.id, confidence: "confirmed", kind: "declared_alt", basis: [{ type: "admission", note: "Said so." }] };
  expect((await world.post(`/users/${one.id}/links`, linked, { actor: owner })).status).toBe(201);
  const subjects = [one.id, base.id, freshId()];
  const kindOf = (index: number) => (index === 1 ? ("server" as const) : ("user" as const));
  await list(draftOf(one.id, { severity: "medium", expiresAt: after(50) }));
  await list(draftOf(subjects[2] ?? "", { startsAt: after(20), expiresAt: after(50) }));

  const inForce = async () => {
    const records = await read.blacklistRecord.findMany({ where: { subjectId: { in: subjects }, activeKey: { not: null } } });
    const matches = await read.match.findMany({ where: { userId: { in: [one.id, other.id] }, closedAt: null } });
    return {
      records: records.map(({ revision: _, updatedAt: __, ...row }) => row).toSorted((a, b) => a.number - b.number),
      matches: matches
        .map(({ userId, kind, recordId, severity: how, status, suggestedAction, viaUserId }) =>
          [userId, kind, recordId, how, status, suggestedAction, viaUserId].join(" "),
        )
        .toSorted(),
    };
  };
  const perform = async (step: Deed): Promise<(() => Promise<{ restored: boolean }>) | undefined> => {
    const subjectId = subjects[step.who] ?? "";
    const end = "days" in step && step.days !== null ? after(step.days) : null;
    if (step.do === "list") {
      const forUser = kindOf(step.who) === "user" ? { includeAlts: step.alts } : { category: "raiding" };
      const made = await list(draftOf(subjectId, { kind: kindOf(step.who), severity: step.severity, expiresAt: end, ...forUser }));
      return () => undoCreate(made.undo);
    }
    const row = await read.blacklistRecord.findFirst({ where: { subjectId, activeKey: { not: null } } });
    if (row === null) return undefined;
    const reduction = step.do === "reduce" ? { severity: step.severity, expiresAt: end } : {};
    const changed =
      step.do === "revoke" ? await revoke(row.id) : await write((tx) => world.app.blacklist.reduceInTx(tx, row.id, reduction, note));
    return () => undoChange(changed?.undo);
  };

  const before = await inForce();
  expect(before.matches.length).toBeGreaterThan(0);
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 8 }), async (steps) => {
      const undos: (() => Promise<{ restored: boolean }>)[] = [];
      for (const step of steps) {
        const undo = await perform(step);
        if (undo !== undefined) undos.push(undo);
      }
      for (const undo of undos.toReversed()) {
        expect((await undo()).restored).toBe(true);
        const once = await inForce();
        await undo();
        expect(await inForce()).toEqual(once);
      }
      expect(await inForce()).toEqual(before);
    }),
    { numRuns: runsOf(25) },
  );
});
