import fc from "fast-check";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { repairCodes, type RepairCode } from "../../src/features/callsigns/repair/repair.schema.ts";
import { createRepairsService } from "../../src/features/callsigns/repair/repair.service.ts";
import type { MemberState } from "../../src/discord/guild-state.ts";
import type { Call } from "../../src/kernel/call.ts";
import type { DiscordAction, Performed } from "../../src/kernel/discord-port.ts";
import { inWords } from "../../src/kit/say.ts";
import { call, createRepairGround, day, memberOf, personOf, type RepairGround } from "./callsigns-repair-ground.ts";
import { sizeOf } from "../support/size.ts";

let ground: RepairGround;
beforeAll(async () => {
  ground = await createRepairGround();
  return () => ground.drop();
});
beforeEach(() => ground.clear());

const ago = (ms: number): Date => new Date(ground.time.now - ms);
const adminOf = (rank: number): Call => ({
  ...call,
  client: null,
  actor: {
    id: personOf(900),
    isStaff: true,
    isOwner: false,
    rank,
    isStale: () => false,
    decide: () => ({ allowed: true, reasons: [] }),
    heldUntil: () => null,
  },
});

/** Every kind of damage that slots and entries can have: how it is done, what is found, and what is done about it. */
const damages: [name: string, code: RepairCode, plant: () => Promise<unknown>, actions: string[], found?: number][] = [
  [
    "two people with one number",
    "duplicate",
    async () => {
      await ground.enlist(51);
      await ground.plant({ pool: "north", number: 7, userId: personOf(51), liveKey: null });
    },
    ["end", "allocate"],
  ],
  [
    "a number that rests and is assigned",
    "duplicate",
    () => ground.plant({ pool: "north", number: 7, state: "held", liveKey: null }),
    ["end"],
  ],
  [
    "one person with two numbers",
    "duplicate",
    () => ground.plant({ pool: "north", number: 60, userId: personOf(3), holderKey: null }),
    ["hold"],
  ],
  [
    "one callsign for two numbers",
    "duplicate",
    async () => {
      await ground.enlist(51);
      await ground.plant({ pool: "north", number: 60, userId: personOf(51), callsign: "NORTH-003" });
    },
    ["rename"],
  ],
  [
    "a number that could be given twice",
    "duplicate",
    () => ground.plant({ pool: "north", number: 60, state: "retired", liveKey: null }),
    ["protect"],
  ],
  [
    "a slot that is over, but takes a number",
    "duplicate",
    () => ground.plant({ pool: "north", number: 60, state: "ended", liveKey: "north:60" }),
    ["protect"],
  ],
  [
    "a slot that takes somebody who has another one",
    "duplicate",
    async () => {
      await ground.enlist(51, "scout");
      await ground.plant(
        { pool: "south", number: 1, userId: personOf(51), holderKey: null },
        { pool: "south", number: 2, userId: personOf(51), state: "retired", holderKey: `south:${personOf(51)}` },
      );
    },
    ["protect", "protect"],
    2,
  ],
  [
    "two slots that take each other's holder",
    "duplicate",
    async () => {
      await ground.enlist(51, "scout");
      await ground.enlist(52, "scout");
      await ground.plant(
        { pool: "south", number: 1, userId: personOf(51), holderKey: `south:${personOf(52)}` },
        { pool: "south", number: 2, userId: personOf(52), holderKey: `south:${personOf(51)}` },
      );
    },
    ["protect", "protect", "protect"],
    3,
  ],
  ["a holder who left the guild", "orphan_assignment", () => Promise.resolve(ground.state.left.add(personOf(4))), ["hold"]],
  ["a member of staff without a callsign", "roster_without_callsign", () => ground.enlist(51, "guard", "loa"), ["allocate"]],
  [
    "a member of staff whose callsign rests",
    "roster_without_callsign",
    async () => {
      await ground.enlist(51, "guard", "trial");
      await ground.plant({ pool: "north", number: 60, userId: personOf(51), state: "held" });
    },
    ["assign"],
  ],
  [
    "a holder who is not on the roster",
    "callsign_without_roster",
    () => ground.plant({ pool: "north", number: 60, userId: personOf(51) }),
    ["hold"],
  ],
  [
    "a holder who resigned",
    "callsign_without_roster",
    async () => {
      await ground.enlist(51, "guard", "resigned");
      await ground.plant({ pool: "north", number: 60, userId: personOf(51) });
    },
    ["hold"],
  ],
  [
    "a number outside the range",
    "out_of_range",
    async () => {
      await ground.enlist(51);
      await ground.plant({ pool: "north", number: 5000, userId: personOf(51) });
    },
    ["hold", "allocate"],
  ],
  [
    "a reservation that is over",
    "expired_reservation",
    () => ground.plant({ pool: "north", number: 60, state: "reserved", until: ago(1) }),
    ["end"],
  ],
  ["a rest that is over", "hold_over", () => ground.plant({ pool: "north", number: 60, state: "held", until: ago(0) }), ["end"]],
  [
    "a callsign that is written otherwise",
    "template_drift",
    async () => {
      await ground.enlist(51);
      await ground.plant({ pool: "north", number: 60, userId: personOf(51), callsign: "N60" });
    },
    ["rename"],
  ],
  [
    "two callsigns that differ by case",
    "case_collision",
    async () => {
      await ground.enlist(51, "scout");
      await ground.plant({ pool: "south", number: 1, userId: personOf(51), callsign: "North-003" });
    },
    ["rename"],
  ],
];

describe("a repair", () => {
  test("of a healthy registry of 500 finds nothing, and does nothing", async () => {
    await ground.healthyRegistry(500);
    await ground.plant(
      { pool: "north", number: 700, state: "blocked" },
      { pool: "north", number: 701, state: "reserved", until: ago(-day) },
    );
    const before = await ground.audited();
    expect(await ground.repair()).toMatchObject({ findings: [], plan: [], unfixable: [], applied: 0, undo_token: null, summary: {} });
    expect([await ground.audited(), await ground.database.read.callsignRepair.count()]).toEqual([before, 0]);
  });

  test.each(damages)("of %s (%s) is found, planned, done, found no more, and undone", async (_name, code, plant, actions, found = 1) => {
    await ground.healthyRegistry(10);
    await plant();
    const planted = await ground.rows();
    const [audited, told] = [await ground.audited(), await ground.told()];
    const seen = await ground.look();
    expect(seen.findings.map((finding) => finding.code)).toEqual(Array.from({ length: found }, () => code));
    expect(seen.summary).toEqual({ [code]: found });
    expect(seen.plan.map(({ action, position }) => [action, position])).toEqual(actions.map((action, index) => [action, index + 1]));
    expect(seen).toMatchObject({ dry_run: true, applied: 0, undo_token: null, unfixable: [] });
    expect(await ground.rows()).toEqual(planted);

    const done = await ground.repair();
    expect(done).toMatchObject({ dry_run: false, applied: actions.length, plan: seen.plan, undo_token: expect.any(String) });
    expect(await ground.look()).toMatchObject({ findings: [], plan: [] });
    expect(await ground.audited()).toBe(audited + actions.length);
    expect(await ground.told()).toBe(told + 1);

    const undone = await ground.repairs.undo(call, done.undo_token ?? "", { reason: "It was meant." });
    expect(undone.left).toEqual([]);
    const after = await ground.rows();
    const ids = new Set(planted.map(({ id }) => id));
    expect(after.filter(({ id }) => ids.has(id))).toEqual(planted);
    expect(after.filter(({ id, state }) => !ids.has(id) && state !== "ended")).toEqual([]);
    await expect(ground.repairs.undo(call, done.undo_token ?? "", { reason: "Again." })).rejects.toMatchObject({
      code: "invalid_transition",
      extra: { from: "undone" },
    });
  });

  test("of everything at once frees before it gives, and leaves nothing to repair", async () => {
    await ground.healthyRegistry(10);
    await ground.enlist(51);
    await ground.enlist(52);
    ground.state.left.add(personOf(4));
    await ground.plant(
      { pool: "north", number: 7, userId: personOf(51), liveKey: null },
      { pool: "north", number: 11, state: "held", until: ago(1) },
      { pool: "north", number: 12, state: "reserved", until: ago(1) },
      { pool: "north", number: 60, userId: personOf(53) },
      { pool: "north", number: 61, state: "retired", callsign: "?", liveKey: null },
    );
    const done = await ground.repair();
    expect(done.summary).toEqual({
      duplicate: 2,
      orphan_assignment: 1,
      roster_without_callsign: 1,
      callsign_without_roster: 1,
      expired_reservation: 1,
      hold_over: 1,
      template_drift: 1,
    });
    const given = done.plan.findIndex(({ action }) => action === "allocate");
    const freed = done.plan.findLastIndex(({ action }) => action === "end" || action === "hold");
    expect(freed).toBeLessThan(given);
    expect(done.plan.filter(({ action }) => action === "allocate").map(({ number }) => number)).toEqual([11, 12]);
    expect(await ground.look()).toMatchObject({ findings: [] });
  });

  test("writes what people lose and get into their history", async () => {
    await ground.healthyRegistry(2);
    await ground.enlist(51);
    await ground.plant({ pool: "north", number: 60, userId: personOf(51), callsign: "N60" });
    const { undo_token: token } = await ground.repair();
    const told = async () => (await ground.lines(51)).map(({ event, callsign }) => [event, callsign]);
    const renamed = [
      ["callsign_released", "N60"],
      ["callsign_assigned", "NORTH-060"],
    ];
    expect(await told()).toEqual(renamed);
    await ground.repairs.undo(call, token ?? "", { reason: "It was meant." });
    expect(await told()).toEqual([...renamed, ["callsign_released", "NORTH-060"], ["callsign_assigned", "N60"]]);
    expect(await ground.lines(0)).toEqual([]);
  });
});

describe("a plan", () => {
  test("that somebody's change has made stale is refused with the new hash, and nothing changes", async () => {
    await ground.healthyRegistry(3);
    await ground.enlist(51);
    const { plan_hash, plan } = await ground.look();
    expect(plan).toMatchObject([{ action: "allocate", number: 4 }]);
    await ground.write((tx) =>
      ground.callsigns.allocateInTx(tx, { pool: "north", userId: personOf(51), causeReference: null, permission: "callsigns.allocate" }),
    );
    const rows = await ground.rows();
    const { plan_hash: now } = await ground.look();
    await expect(ground.look({ dry_run: false, plan_hash })).rejects.toMatchObject({
      code: "precondition_failed",
      extra: { plan_hash: now },
    });
    expect([await ground.rows(), await ground.database.read.callsignRepair.count()]).toEqual([rows, 0]);
  });

  test("is looked at again under the locks: a change just before them refuses it", async () => {
    await ground.healthyRegistry(3);
    await ground.enlist(51);
    const { database } = ground;
    const { plan_hash } = await ground.look();
    const write: typeof database.write = async (by, work) => {
      await ground.write(({ db }) => db.rosterEntry.updateMany({ where: { userId: personOf(51) }, data: { revision: { increment: 1 } } }));
      return await database.write(by, work);
    };
    const raced = createRepairsService({ ...ground.deps, database: { ...database, write } });
    const rows = await ground.rows();
    await expect(raced.repair(call, { dry_run: false, plan_hash })).rejects.toMatchObject({ code: "precondition_failed" });
    expect([await ground.rows(), await database.read.callsignRepair.count()]).toEqual([rows, 0]);
  });

  test("depends on the records it was made from: of an entry, a slot and a pool", async () => {
    await ground.healthyRegistry(3);
    await ground.enlist(51);
    await ground.plant({ pool: "north", number: 60, userId: personOf(51), callsign: "N60" });
    const hash = async () => (await ground.look()).plan_hash;
    const hashes = [await hash()];
    expect(await hash()).toBe(hashes[0]);
    const bump = { revision: { increment: 1 } };
    await ground.write(({ db }) => db.rosterEntry.updateMany({ where: { userId: personOf(51) }, data: bump }));
    hashes.push(await hash());
    await ground.write(({ db }) => db.callsignSlot.updateMany({ where: { number: 60 }, data: bump }));
    hashes.push(await hash());
    await ground.write(({ db }) => db.callsignPool.updateMany({ where: { key: "south" }, data: bump }));
    hashes.push(await hash());
    expect(new Set(hashes).size).toBe(4);
  });

  test("is needed to change anything, and the pool must exist", async () => {
    await ground.healthyRegistry(1);
    const refused = (pointer: string) => ({ code: "validation_failed", errors: [{ pointer }] });
    await expect(ground.look({ dry_run: false })).rejects.toMatchObject(refused("/plan_hash"));
    await expect(ground.look({ pool: "west" })).rejects.toMatchObject(refused("/pool"));
  });

  test("of one pool and one code leaves everything else", async () => {
    await ground.healthyRegistry(2);
    const over = { state: "held", until: ago(1) };
    await ground.plant({ pool: "north", number: 60, ...over }, { pool: "south", number: 60, ...over });
    await ground.plant({ pool: "south", number: 61, state: "reserved", until: ago(1) });
    const done = await ground.repair({ pool: "south", fix: ["hold_over"] });
    expect(done.summary).toEqual({ expired_reservation: 1, hold_over: 1 });
    expect(done.plan).toMatchObject([{ code: "hold_over", pool: "south", number: 60 }]);
    expect((await ground.look()).summary).toEqual({ expired_reservation: 1, hold_over: 1 });
  });

  test("takes nothing from those who stand at or above the one who asks", async () => {
    await ground.healthyRegistry(3);
    ground.state.left.add(personOf(0));
    ground.state.left.add(personOf(1));
    ground.state.ranks.set(personOf(0), 80);
    const done = await ground.repair({}, adminOf(80));
    expect(done.plan.map(({ user_id }) => user_id)).toEqual([personOf(1)]);
    expect(inWords(done.unfixable)).toMatchObject([{ user_id: personOf(0), why: expect.stringContaining("at or above you") }]);
    expect(await ground.rows()).toContainEqual(expect.objectContaining({ userId: personOf(0), state: "assigned" }));
  });

  test("says of a full pool that it cannot give, and takes nothing either", async () => {
    await ground.pool("north", { ranges: [[1, 1]] });
    for (const index of [1, 2, 3]) await ground.enlist(index);
    await ground.plant({ pool: "north", number: 1, userId: personOf(1) }, { pool: "north", number: 9, userId: personOf(2) });
    const rows = await ground.rows();
    const done = await ground.repair();
    expect(done.plan).toEqual([]);
    expect(done.unfixable.map(({ code }) => code)).toEqual(["out_of_range", "roster_without_callsign"]);
    expect(await ground.rows()).toEqual(rows);
  });

  test("never says that somebody has left while the guild state is old", async () => {
    await ground.healthyRegistry(2);
    ground.state.left.add(personOf(0));
    ground.state.stale = true;
    const seen = await ground.look();
    expect(seen.findings).toEqual([]);
    expect(seen.not_looked_for.map(({ code }) => code)).toEqual(["orphan_assignment", "nickname_mismatch"]);
  });

  test("is bounded, and says how much is left", async () => {
    await ground.healthyRegistry(1);
    await ground.plant(...Array.from({ length: 30 }, (_, index) => ({ pool: "north", number: 20 + index, state: "held", until: ago(1) })));
    const few = createRepairsService({ ...ground.deps, limits: { findings: 20, steps: 11 } });
    const seen = await few.repair(call, {});
    expect([seen.findings.length, seen.plan.length, seen.left_off]).toEqual([20, 10, { findings: 10, steps: 20 }]);
    expect(seen.summary).toEqual({ hold_over: 30 });
  });
});

describe("a repair that fails at its last step", () => {
  test("leaves nothing of itself", async () => {
    await ground.healthyRegistry(3);
    await ground.enlist(51);
    await ground.plant({ pool: "north", number: 60, state: "held", until: ago(1) });
    const rows = await ground.rows();
    let calls = 0;
    const record: RepairGround["deps"]["audit"]["record"] = (...given) => {
      calls += 1;
      if (calls === 2) throw new Error("the last step fails");
      ground.deps.audit.record(...given);
    };
    const failing = createRepairsService({ ...ground.deps, audit: { record } });
    const [audited, told, lines] = [await ground.audited(), await ground.told(), await ground.database.read.rosterEvent.count()];
    const { plan_hash } = await ground.look();
    await expect(failing.repair(call, { dry_run: false, plan_hash })).rejects.toThrow("the last step fails");
    expect(await ground.rows()).toEqual(rows);
    expect([await ground.audited(), await ground.told(), await ground.database.read.rosterEvent.count()]).toEqual([audited, told, lines]);
    expect(await ground.database.read.callsignRepair.count()).toBe(0);
  });
});

describe("undoing", () => {
  test("leaves and names what somebody has changed since", async () => {
    await ground.healthyRegistry(3);
    await ground.plant(
      { pool: "north", number: 60, state: "held", until: ago(1) },
      { pool: "north", number: 4, state: "held", until: ago(1) },
    );
    const { undo_token: token } = await ground.repair();
    await ground.enlist(51);
    await ground.write((tx) =>
      ground.callsigns.allocateInTx(tx, { pool: "north", userId: personOf(51), causeReference: null, permission: "callsigns.allocate" }),
    );
    const undone = await ground.repairs.undo(call, token ?? "", { reason: "It was meant." });
    expect(inWords(undone)).toMatchObject({ restored: 1, left: [{ callsign: "NORTH-004", why: expect.stringContaining("another slot") }] });
    const live = (await ground.rows()).filter(({ number, state }) => [4, 60].includes(number) && state !== "ended");
    expect(live.map(({ number, state }) => [number, state]).toSorted(([one], [other]) => Number(one) - Number(other))).toEqual([
      [4, "assigned"],
      [60, "held"],
    ]);
  });

  test("is possible for a day, and what it would take is forgotten then", async () => {
    await ground.healthyRegistry(1);
    await ground.plant({ pool: "north", number: 60, state: "held", until: ago(1) });
    const { undo_token: id } = await ground.repair();
    expect(await ground.repairs.sweep(call)).toBe(0);
    ground.time.now += day;
    try {
      expect(await ground.repairs.sweep(call)).toBe(1);
      expect(await ground.repairs.sweep(call)).toBe(0);
      expect(await ground.database.read.callsignRepair.findFirst()).toMatchObject({ id, undo: null, undoneAt: null });
      await expect(ground.repairs.undo(call, id ?? "", { reason: "Late." })).rejects.toMatchObject({ extra: { from: "final" } });
      await expect(ground.repairs.undo(call, "none", { reason: "None." })).rejects.toMatchObject({
        code: "invalid_transition",
        extra: { from: null },
      });
      expect((await ground.repairs.list(call, {})).data).toMatchObject([{ id, counts: { hold_over: 1 }, undone_at: null }]);
    } finally {
      ground.time.now -= day;
    }
  });
});

describe("a nickname", () => {
  test("is planned, set by the bot after the registry is right, named when Discord refuses, and set back", async () => {
    const nicks = new Map([1, 2].map((index) => [personOf(index), `${"Ada".repeat(index)}`]));
    const performed: DiscordAction[] = [];
    const perform = (action: DiscordAction): Promise<Performed> => {
      performed.push(action);
      if (action.kind !== "nickname" || action.userId === personOf(2))
        return Promise.resolve({ outcome: "failed", detail: "Discord refuses." });
      nicks.set(action.userId, action.nickname ?? "");
      return Promise.resolve({ outcome: "done", detail: "", changed: true });
    };
    const members = (userId: string): MemberState[] =>
      nicks.has(userId) ? [{ ...memberOf(userId), present: true, nick: nicks.get(userId) ?? null }] : [];
    const guildState = { ...ground.deps.guildState, members };
    const repairs = createRepairsService({
      ...ground.deps,
      guildState,
      discordActions: { perform },
    });
    await ground.pool("north", { nicknameTemplate: "{callsign} | {name}" });
    for (const index of [1, 2, 3]) await ground.enlist(index);
    await ground.plant(...[1, 2, 3].map((index) => ({ pool: "north", number: index, userId: personOf(index) })));
    const { plan_hash, plan } = await repairs.repair(call, {});
    expect(plan.map(({ action, from, to, needs_discord }) => [action, from, to, needs_discord])).toEqual([
      ["set_nickname", "Ada", "NORTH-001 | Ada", true],
      ["set_nickname", "AdaAda", "NORTH-002 | AdaAda", true],
    ]);
    expect(performed).toEqual([]);
    const told = await ground.told();
    const done = await repairs.repair(call, { dry_run: false, plan_hash });
    expect(done).toMatchObject({
      applied: 1,
      nicknames: [
        { user_id: personOf(1), applied: true, reason: null },
        { user_id: personOf(2), applied: false, reason: "Discord refuses." },
      ],
    });
    expect(await ground.told()).toBe(told);
    const kept = JSON.stringify([
      // Salts are chance: one of them may have the name in it.
      (await ground.database.read.auditPayload.findMany()).map(({ payload }) => payload),
      (await ground.database.read.callsignRepair.findFirst())?.fixes,
    ]);
    expect(kept).not.toContain("Ada");
    expect((await repairs.repair(call, {})).plan).toMatchObject([{ user_id: personOf(2) }]);
    const undone = await repairs.undo(call, done.undo_token ?? "", { reason: "It was meant." });
    expect(undone).toMatchObject({ restored: 0, left: [], nicknames: [{ user_id: personOf(1), applied: true }] });
    expect([...nicks.values()]).toEqual(["Ada", "AdaAda"]);
  });
});

test("whatever is damaged, a repair leaves nothing that it could repair, and undoing it puts every row back", async () => {
  const user = fc.integer({ min: 0, max: 7 });
  const slot = fc.record({
    pool: fc.constantFrom("north", "south"),
    number: fc.integer({ min: 1, max: 9 }),
    user: fc.option(user),
    state: fc.constantFrom("assigned", "assigned", "reserved", "held", "retired", "blocked", "ended"),
    callsign: fc.option(fc.constantFrom("NORTH-001", "north-002", "SOUTH003", "X")),
    isOver: fc.boolean(),
    hasKeys: fc.constantFrom(true, true, false),
  });
  const entry = fc.record({
    status: fc.constantFrom("active", "active", "trial", "suspended", "resigned"),
    role: fc.constantFrom("guard", "senior", "scout", null),
    hasLeft: fc.constantFrom(false, false, false, true),
  });
  const registry = fc.record({
    slots: fc.array(slot, { maxLength: 12 }),
    entries: fc.array(entry, { maxLength: 8 }),
    last: fc.integer({ min: 2, max: 9 }),
    fix: fc.subarray([...repairCodes], { minLength: 1 }),
  });
  await fc.assert(
    fc.asyncProperty(registry, async ({ slots, entries, last, fix }) => {
      await ground.clear();
      await ground.pool("north", { ranges: [[1, last]], rankBands: { senior: [1, 3] }, caseRule: "upper" });
      await ground.pool("south", { template: "{dept}{n:03}", ranges: [[1, last]] });
      for (const [index, { status, role, hasLeft }] of entries.entries()) {
        await ground.enlist(index, role, status);
        if (hasLeft) ground.state.left.add(personOf(index));
      }
      const taken = new Set<string>();
      const open = (key: string): boolean => !taken.has(key) && taken.add(key) !== undefined;
      await ground.plant(
        ...slots.map(({ pool, number, user: index, state, callsign, isOver, hasKeys }) => {
          const userId = index === null ? null : personOf(index);
          const [liveKey, holderKey] = [`${pool}:${number.toString()}`, `${pool}:${userId ?? ""}`];
          return {
            pool,
            number,
            state,
            userId,
            ...(callsign !== null && { callsign }),
            until: isOver ? ago(1) : null,
            liveKey: hasKeys && open(liveKey) ? liveKey : null,
            holderKey: hasKeys && userId !== null && open(holderKey) ? holderKey : null,
          };
        }),
      );
      const planted = await ground.rows();
      const some = await ground.repair({ fix });
      expect(some.applied).toBe(some.plan.length);
      if (some.undo_token !== null) {
        expect(await ground.repairs.undo(call, some.undo_token, { reason: "Undone." })).toMatchObject({ left: [] });
        const ids = new Set(planted.map(({ id }) => id));
        expect((await ground.rows()).filter(({ id }) => ids.has(id))).toEqual(planted);
      }
      await ground.repair();
      expect((await ground.look()).plan).toEqual([]);
    }),
    { numRuns: sizeOf({ quick: 15, all: 80, long: 5000 }) },
  );
});
