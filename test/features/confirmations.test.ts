import { beforeAll, describe, expect, test } from "vitest";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import type { Answer, Level } from "../support/world.ts";
import { createJudgedWorld, everyRow, shareWorld, staffAtConsole } from "../contract/world.ts";
import { action, age, ask, callBy, dangerous, hold, journalOf, permission, strict, teach, timesDone } from "./confirmations-ground.ts";

const lines: string[] = [];
const shared = shareWorld({ env: strict, log: (line) => void lines.push(line) });
let carriedOut: Call[] = [];
beforeAll(async () => {
  ({ carriedOut } = teach(shared.world));
  // Makes the key that people sign with.
  await shared.world.get("/confirmations", { signed: true, actor: await shared.world.staff("owner") });
});

let names = 0;
/** A change of its own for every test. */
const fresh = (): string => `change-${(names += 1).toString()}`;
const staff = (level: Level): Promise<User> => shared.world.staff(level);
const confirm = (key: string, actor: User, headers = {}): Promise<Answer> =>
  shared.world.post(`/confirmations/${key}/confirm`, undefined, { signed: true, actor, headers });
const decline = (key: string, actor: User, body?: object): Promise<Answer> =>
  shared.world.post(`/confirmations/${key}/decline`, body, { actor });
const read = async (id: string, actor: User) => (await shared.world.get(`/confirmations/${id}`, { actor })).body.data;
const list = async (actor: User): Promise<any[]> => (await shared.world.get("/confirmations?limit=200", { actor })).body.data;
const sweep = () => shared.world.app.confirmations.expireDue(systemCall("job", uuid7()));
/** Every row but those that follow Discord in their own time. */
async function rows(): Promise<Record<string, string[]>> {
  return Object.fromEntries(Object.entries(await everyRow(shared.world)).filter(([table]) => !table.startsWith("Guild")));
}
const done = (name: string): Promise<number> => timesDone(shared.world, name);
/** What was refused, without what differs from request to request. */
const refusal = ({ body: { instance: _instance, request_id: _request, ...rest } }: Answer) => rest;

describe("a change is held", () => {
  const everything = [
    ["rest", {}, ["acting_user"]],
    ["rest", { dangerous }, ["acting_user", "second_person"]],
    ["rest", { group: "erasure" }, undefined],
    ["rest", { group: "erasure", dangerous }, ["second_person"]],
    ["slash", {}, undefined],
    ["slash", { dangerous }, ["second_person"]],
    ["web", {}, ["acting_user"]],
    ["cli", { dangerous }, undefined],
    ["job", { dangerous }, undefined],
  ] as const;

  test.each(everything)("asked by %s as %j: %j have to confirm", async (via, wanted, needs) => {
    const admin = await staff("admin");
    const held = await ask(shared.world, admin, { ...wanted, input: { name: fresh() } }, { via });
    expect(held?.needs).toEqual(needs);
    expect(await shared.world.app.database.read.confirmation.count({ where: { actorId: admin.id } })).toBe(needs === undefined ? 0 : 1);
  });

  test("with a code that is easy to type, for a quarter of an hour, or for a day when a second person has to be found", async () => {
    const admin = await staff("admin");
    const alone = await hold(shared.world, admin, { input: { name: fresh() } });
    const forTwo = await hold(shared.world, admin, { dangerous, input: { name: fresh() } });
    expect(alone).toEqual({
      id: expect.any(String),
      code: expect.stringMatching(/^[2-9A-HJKMNP-Z]{6}$/),
      action,
      summary: "Change a test row",
      needs: ["acting_user"],
      status: "pending",
      expires_at: expect.any(String),
    });
    for (const [held, seconds] of [
      [alone, 900],
      [forTwo, 86_400],
    ] as const) {
      const view = await read(held.id, admin);
      expect(Date.parse(view.expires_at) - Date.parse(view.created_at)).toBe(seconds * 1000);
      expect(view).toMatchObject({ ...held, requested_by: admin.id, confirmed_by: [], ended_at: null, revision: 1 });
    }
    expect(forTwo.code).not.toBe(alone.code);
  });

  test("in the audit and in the outbox, and nothing else is written", async () => {
    const [admin, subject] = [await staff("admin"), await staff("viewer")];
    const name = fresh();
    const held = await hold(shared.world, admin, { dangerous, subjectUserId: subject.id, input: { name } });
    const { entries, events } = await journalOf(shared.world, held.id);
    expect(entries).toMatchObject([
      {
        action: "confirmation.request",
        outcome: "ok",
        actorId: admin.id,
        clientId: "panel",
        via: "rest",
        targetKind: "confirmation",
        targetReference: null,
        subjectUserId: subject.id,
        permissionUsed: permission,
      },
    ]);
    expect(events).toMatchObject([{ type: "confirmation.requested", data: { id: held.id, needs: ["acting_user", "second_person"] } }]);
    expect(await done(name)).toBe(0);
  });

  test("once: the same person asking the same gets the same confirmation back", async () => {
    const [admin, other] = [await staff("admin"), await staff("admin")];
    const [name, grown] = [fresh(), ["a", "b"]];
    const first = await hold(shared.world, admin, { input: { name, grown } });
    const before = await rows();
    expect(await hold(shared.world, admin, { input: { grown, name } })).toEqual(first);
    expect(await rows()).toEqual(before);
    const ids = [first.id];
    for (const wanted of [
      { input: { name, grown: ["b", "a"] } },
      { input: { name } },
      { dangerous, input: { name, grown } },
      { rank: 10, input: { name, grown } },
      { subjectUserId: other.id, input: { name, grown } },
    ])
      ids.push((await hold(shared.world, admin, wanted)).id);
    ids.push((await hold(shared.world, other, { input: { name, grown } })).id);
    expect((await decline(first.id, admin)).status).toBe(200);
    ids.push((await hold(shared.world, admin, { input: { name, grown } })).id);
    expect(new Set(ids).size).toBe(8);
  });

  test("only for a person: a key that acts as the system is refused, because nobody could confirm", async () => {
    const before = await rows();
    await expect(ask(shared.world, null, { input: { name: fresh() } })).rejects.toMatchObject({ code: "acting_user_required" });
    expect(await ask(shared.world, null, { group: "erasure", input: { name: fresh() } })).toBeUndefined();
    expect(await rows()).toEqual(before);
  });

  test("only when something can carry it out", async () => {
    const [admin, before] = [await staff("admin"), await rows()];
    await expect(ask(shared.world, admin, { action: "test.unknown" })).rejects.toThrow("nothing is registered to carry out test.unknown");
    expect(await rows()).toEqual(before);
    expect(() => shared.world.app.confirmations.register(action, () => Promise.resolve())).toThrow("registered already");
  });

  test("up to twenty times for one person; others are not in the way", async () => {
    const [admin, other] = [await staff("admin"), await staff("admin")];
    const held = [];
    for (let count = 0; count < 20; count += 1) held.push(await hold(shared.world, admin, { input: { name: fresh() } }));
    const name = fresh();
    const attempt = ask(shared.world, admin, { input: { name } });
    await expect(attempt).rejects.toMatchObject({
      code: "rate_limited",
      message: expect.stringContaining("20 changes"),
      retryAfter: expect.toSatisfy((seconds: number) => seconds > 800 && seconds <= 900),
    });
    expect(await shared.world.app.database.read.confirmation.count({ where: { actorId: admin.id } })).toBe(20);
    expect(await hold(shared.world, other, { input: { name } })).toMatchObject({ status: "pending" });
    await age(shared.world, held[0]?.id ?? "", 1000);
    expect(await hold(shared.world, admin, { input: { name } })).toMatchObject({ status: "pending" });
    await sweep();
  });
});

describe("the person who asked", () => {
  test("confirms in Discord, and the change is carried out in their name", async () => {
    const [admin, name] = [await staffAtConsole(shared.world, "admin"), fresh()];
    const held = await hold(shared.world, admin, { summary: "Let **Rogue** in", input: { name } });
    expect(await shared.world.slash(admin, "confirm accept", { code: held.code.toLowerCase() })).toBe(
      "Done: Let \\*\\*Rogue\\*\\* in\n".trim(),
    );
    expect(await done(name)).toBe(1);
    const view = await read(held.id, admin);
    expect(view).toMatchObject({ status: "applied", needs: [], confirmed_by: [admin.id], declined_by: null, revision: 2 });
    expect([view.code, view.failure, typeof view.ended_at]).toEqual([undefined, undefined, "string"]);
    const { entries, events } = await journalOf(shared.world, held.id);
    expect(entries.map((entry) => [entry.action, entry.actorId, entry.via])).toEqual([
      ["confirmation.request", admin.id, "rest"],
      ["confirmation.accept", admin.id, "slash"],
    ]);
    expect(events.map(({ type, data }) => [type, (data as any).status])).toEqual([
      ["confirmation.requested", undefined],
      ["confirmation.ended", "applied"],
    ]);
    const change = await shared.world.app.database.read.auditEntry.findFirst({ where: { action, targetId: `test:${name}` } });
    expect(change).toMatchObject({ actorId: admin.id, clientId: null, via: "slash", requestId: entries[1]?.requestId });
    expect(carriedOut.at(-1)).toMatchObject({ client: null, confirmation: held.id, guildId: shared.world.guild.id, idempotency: null });
  });

  test("cannot confirm over HTTP, where a key could speak for them", async () => {
    const [admin, name] = [await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { input: { name } });
    const before = await rows();
    expect((await confirm(held.id, admin)).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
      detail: "Confirm it in Discord with /confirm accept.",
    });
    expect(await rows()).toEqual(before);
  });

  test("is the only one who can say anything when no second person is needed, even to an owner", async () => {
    const [admin, owner] = [await staff("admin"), await staffAtConsole(shared.world, "owner")];
    const held = await hold(shared.world, admin, { input: { name: fresh() } });
    const before = await rows();
    expect((await confirm(held.id, owner)).body).toMatchObject({ status: 409, code: "invalid_transition" });
    expect((await decline(held.id, owner)).body).toMatchObject({ status: 409, code: "invalid_transition" });
    expect(await shared.world.slash(owner, "confirm accept", { code: held.code })).toContain("invalid_transition");
    expect(await rows()).toEqual(before);
    expect(await list(owner)).not.toContainEqual(expect.objectContaining({ id: held.id }));
    expect(await read(held.id, owner)).not.toHaveProperty("code");
  });

  test("takes it back over HTTP, and it is never carried out", async () => {
    const [admin, name] = [await staffAtConsole(shared.world, "admin"), fresh()];
    const held = await hold(shared.world, admin, { input: { name } });
    expect((await decline(held.code, admin)).body.data).toMatchObject({ status: "declined", declined_by: admin.id, decline_reason: null });
    expect(await shared.world.slash(admin, "confirm accept", { code: held.code })).toContain("record_not_found");
    const { entries, events } = await journalOf(shared.world, held.id);
    expect(entries.map((entry) => entry.action)).toEqual(["confirmation.request", "confirmation.decline"]);
    expect(events.at(-1)).toMatchObject({ type: "confirmation.ended", data: { id: held.id, status: "declined" } });
    expect(await done(name)).toBe(0);
  });
});

describe("a second person", () => {
  test("comes after the person who asked, over HTTP or in Discord", async () => {
    const [admin, second, third] = [
      await staffAtConsole(shared.world, "admin"),
      await staff("admin"),
      await staffAtConsole(shared.world, "admin"),
    ];
    const one = fresh();
    const held = await hold(shared.world, admin, { dangerous, input: { name: one } });
    expect((await confirm(held.id, second)).body).toMatchObject({
      status: 409,
      code: "invalid_transition",
      detail: "The person who asked has to confirm it first.",
    });
    expect(await shared.world.slash(admin, "confirm accept", { code: held.code })).toContain("a second person has to confirm it");
    expect(await done(one)).toBe(0);
    expect(await read(held.id, second)).toMatchObject({
      status: "pending",
      needs: ["second_person"],
      confirmed_by: [admin.id],
      revision: 2,
    });
    expect((await confirm(held.id, second)).body.data).toMatchObject({ status: "applied", confirmed_by: [admin.id, second.id] });
    expect(await done(one)).toBe(1);
    expect((await confirm(held.id, third)).body.code).toBe("record_not_found");

    const two = fresh();
    const again = await hold(shared.world, second, { dangerous, input: { name: two } }, { via: "slash" });
    expect(await shared.world.slash(third, "confirm accept", { code: again.code })).toBe("Done: Change a test row");
    expect(carriedOut.at(-1)?.actor?.id).toBe(second.id);
    expect([await done(two), await done(one)]).toEqual([1, 1]);
  });

  test("is neither who asked nor whom it is done to, holds all that it needs and gives, and stands above", async () => {
    const [admin, subject, senior, second, owner] = [
      await staff("admin"),
      await staff("admin"),
      await staff("senior"),
      await staff("admin"),
      await staff("owner"),
    ];
    const ask = (wanted: object) => hold(shared.world, admin, { dangerous, input: { name: fresh() }, ...wanted }, { via: "slash" });
    const [plain, aboutSubject, unheld, high, highest] = [
      await ask({}),
      await ask({ subjectUserId: subject.id }),
      await ask({ dangerous: ["staff.suspend", "clients.manage"] }),
      await ask({ rank: 80 }),
      await ask({ rank: 1_000_000 }),
    ];
    const before = await rows();
    const refused = [
      [plain, admin, { status: 403, code: "conflict_of_interest" }],
      [aboutSubject, subject, { status: 403, code: "conflict_of_interest" }],
      [plain, senior, { status: 403, code: "permission_denied", required: permission, missing_in: "acting_user" }],
      [unheld, second, { status: 403, code: "cannot_grant_unheld", unheld: ["clients.manage"], missing_in: "acting_user" }],
      [high, second, { status: 403, code: "hierarchy_violation" }],
      [highest, second, { status: 403, code: "hierarchy_violation" }],
    ] as const;
    for (const [held, person, problem] of refused) {
      expect((await confirm(held.id, person)).body).toMatchObject(problem);
      if (person !== admin) expect((await decline(held.id, person)).body).toMatchObject(problem);
      const view = await read(held.id, person);
      expect([view.id, view.code, view.redacted]).toEqual([held.id, undefined, person === senior ? undefined : ["code"]]);
    }
    const narrow = await shared.world.makeKey(["permissions.*", "audit.*"]);
    expect((await shared.world.post(`/confirmations/${plain.id}/confirm`, undefined, { actor: second, key: narrow })).body).toMatchObject({
      code: "cannot_grant_unheld",
      missing_in: "key",
    });
    expect((await rows())["Confirmation"]).toEqual(before["Confirmation"]);
    for (const held of [unheld, high, highest]) expect((await confirm(held.id, owner)).body.data.status).toBe("applied");
    for (const held of [plain, aboutSubject]) expect((await confirm(held.id, second)).body.data.status).toBe("applied");
  });

  test("says no, with a reason for the person who asked", async () => {
    const [admin, second, name] = [await staff("admin"), await staffAtConsole(shared.world, "admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name } });
    expect((await decline(held.id, second, { reason: "x" })).body).toMatchObject({ status: 422, errors: [{ pointer: "/reason" }] });
    const said = await shared.world.slash(second, "confirm decline", { code: held.code, reason: "Ask *me* first." });
    expect(said).toBe("Declined: Change a test row\nNothing was changed.");
    expect(await read(held.id, admin)).toMatchObject({ status: "declined", declined_by: second.id, decline_reason: "Ask *me* first." });
    const { entries } = await journalOf(shared.world, held.id);
    const { payload } = await shared.world.app.database.read.auditPayload.findUniqueOrThrow({ where: { seq: entries.at(-1)?.seq ?? 0 } });
    expect(payload).toMatchObject({ reason: "Ask *me* first." });
    expect(await done(name)).toBe(0);
  });

  test.each([
    ["what it grants has grown", ["staff.suspend", "clients.manage"], dangerous],
    ["it has become dangerous", ["staff.suspend"], []],
  ])("is not taken to have agreed when %s since", async (_name, grown, agreed) => {
    const [admin, second, name] = [await staffAtConsole(shared.world, "admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous: agreed, input: { name, grown } });
    const said = await shared.world.slash(admin, "confirm accept", { code: held.code });
    const code = agreed.length === 0 ? said : (await confirm(held.id, second)).body.code;
    expect(code).toContain("invalid_transition");
    expect(await read(held.id, admin)).toMatchObject({ status: "failed", failure: "invalid_transition" });
    expect(await done(name)).toBe(0);
  });

  test("is taken to have agreed to what is still the same", async () => {
    const [admin, second, name] = [await staffAtConsole(shared.world, "admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name, grown: dangerous } });
    await shared.world.slash(admin, "confirm accept", { code: held.code });
    expect((await confirm(held.id, second)).body.data.status).toBe("applied");
    expect(await done(name)).toBe(1);
  });
});

describe("whoever it is no business of", () => {
  test("cannot tell a held change from one that does not exist", async () => {
    const [admin, moderator, aboutOneself] = [
      await staff("admin"),
      await staffAtConsole(shared.world, "moderator"),
      await staff("moderator"),
    ];
    const held = await hold(shared.world, admin, { dangerous, subjectUserId: aboutOneself.id, input: { name: fresh() } }, { via: "slash" });
    const before = await rows();
    for (const person of [moderator, aboutOneself]) {
      for (const key of [held.id, held.code]) {
        const nothing = key.length === 6 ? "222222" : uuid7();
        const asked = [(id: string) => confirm(id, person), (id: string) => decline(id, person)];
        for (const one of [...asked, (id: string) => shared.world.get(`/confirmations/${id}`, { actor: person })]) {
          const answer = await one(key);
          expect(answer.status).toBe(404);
          expect(refusal(answer)).toEqual(refusal(await one(nothing)));
        }
      }
      expect(await list(person)).toEqual([]);
    }
    expect(await shared.world.slash(moderator, "confirm accept", { code: held.code })).toBe(
      await shared.world.slash(moderator, "confirm accept", { code: "222222" }),
    );
    expect(await rows()).toEqual(before);
  });

  test("and reads the audit may look, but is shown no code", async () => {
    const [admin, senior] = [await staff("admin"), await staff("senior")];
    const held = await hold(shared.world, admin, { input: { name: fresh() } });
    const { code, ...rest } = await read(held.id, admin);
    expect(code).toBe(held.code);
    expect(await read(held.id, senior)).toEqual(rest);
    const auditor = await shared.world.makeKey(["permissions.read", "audit.read"]);
    expect((await shared.world.get(`/confirmations/${held.id}`, { key: auditor })).body.data).toEqual(rest);
    expect((await shared.world.get("/confirmations", { key: auditor })).body.data).toEqual([]);
    const narrow = await shared.world.makeKey(["permissions.read"]);
    expect((await shared.world.get(`/confirmations/${held.id}`, { key: narrow })).status).toBe(404);
  });

  test("is told that neither a short code nor a strange word names anything", async () => {
    const admin = await staffAtConsole(shared.world, "admin");
    for (const key of ["K7QM2", "K7QM2X7", "K7QM2%00", "..."])
      expect((await confirm(key, admin)).body).toMatchObject({ status: 422, errors: [{ in: "path", pointer: "/id" }] });
    expect(await shared.world.slash(admin, "confirm accept", { code: "no code" })).toContain("validation_failed");
  });

  test("and names nobody cannot confirm, even with a key that acts as the system", async () => {
    const admin = await staff("admin");
    const held = await hold(shared.world, admin, { dangerous, input: { name: fresh() } }, { via: "slash" });
    const key = await shared.world.makeKey(["*", "system.act"]);
    for (const verb of ["confirm", "decline"])
      expect((await shared.world.post(`/confirmations/${held.id}/${verb}`, undefined, { key })).body.code).toBe("acting_user_required");
    expect(await read(held.id, admin)).toMatchObject({ status: "pending" });
  });
});

describe("a change that is refused once it is confirmed", () => {
  test.each(["hierarchy_violation", "precondition_failed", "cannot_grant_unheld", "last_owner", "record_not_found"])(
    "with %s leaves no trace but that it has failed",
    async (refuse) => {
      const [admin, second, name] = [await staff("admin"), await staff("admin"), fresh()];
      const held = await hold(shared.world, admin, { dangerous, input: { name, refuse } }, { via: "slash" });
      const before = await rows();
      const answer = await confirm(held.id, second, { "idempotency-key": `refused-${name}` });
      expect(answer.body).toMatchObject({ code: refuse, detail: "It was confirmed but not carried out: The world has moved on." });
      const after = await rows();
      const changed = Object.keys(after).filter((table) => JSON.stringify(after[table]) !== JSON.stringify(before[table]));
      expect(changed.toSorted()).toEqual(["AuditEntry", "AuditPayload", "Confirmation", "Counter", "OutboxEvent"]);
      expect(await done(name)).toBe(0);
      expect(await read(held.id, admin)).toMatchObject({ status: "failed", failure: refuse, needs: [], confirmed_by: [second.id] });
      const { entries, events } = await journalOf(shared.world, held.id);
      expect(entries.map((entry) => [entry.action, entry.outcome, entry.actorId])).toEqual([
        ["confirmation.request", "ok", admin.id],
        ["confirmation.fail", "ok", second.id],
      ]);
      expect(events.at(-1)).toMatchObject({ type: "confirmation.ended", data: { status: "failed" } });
      expect((await confirm(held.id, second, { "idempotency-key": `refused-${name}` })).body.code).toBe("record_not_found");
    },
  );

  test("with something that passes still waits, and nothing has happened", async () => {
    const [admin, second, name] = [await staff("admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name, refuse: "roster_stale" } }, { via: "slash" });
    const before = await rows();
    expect((await confirm(held.id, second)).body).toMatchObject({ status: 503, code: "roster_stale", retryable: true });
    expect(await rows()).toEqual(before);
  });

  test("because its input does not fit any more says so without telling the input", async () => {
    const [admin, second, name] = [await staff("admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name, refuse: "zod" } }, { via: "slash" });
    const { body } = await confirm(held.id, second);
    expect(body).toMatchObject({ status: 422, code: "validation_failed" });
    expect(body).not.toHaveProperty("errors");
    expect(await read(held.id, admin)).toMatchObject({ status: "failed", failure: "validation_failed" });
  });

  test("because the person who asked has lost the right to it", async () => {
    const [admin, second, name] = [await staff("admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
    shared.world.guild.setRoles(admin, [shared.world.roles.viewer]);
    await shared.world.sandbox.waitFor(() => shared.world.app.access.of(admin.id).rank === 10);
    expect((await confirm(held.id, second)).body).toMatchObject({
      status: 403,
      code: "permission_denied",
      required: permission,
      detail: `It was confirmed but not carried out: The person who asked lacks ${permission}.`,
    });
    expect(await done(name)).toBe(0);
    expect(await read(held.id, second)).toMatchObject({ status: "failed", failure: "permission_denied" });
  });
});

describe("time", () => {
  test("ends what nobody confirms, before the sweep comes by and after", async () => {
    const [admin, second, name] = [await staffAtConsole(shared.world, "admin"), await staff("admin"), fresh()];
    const alone = await hold(shared.world, admin, { input: { name } });
    const forTwo = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
    await age(shared.world, alone.id, 901);
    await age(shared.world, forTwo.id, 86_401);
    expect(await read(alone.id, admin)).toMatchObject({ status: "expired", needs: [] });
    const listed = new Set((await list(admin)).map(({ id }) => id));
    expect([alone.id, forTwo.id].filter((id) => listed.has(id))).toEqual([]);
    const attempts = async (): Promise<void> => {
      expect(await shared.world.slash(admin, "confirm accept", { code: alone.code })).toContain("record_not_found");
      expect((await confirm(forTwo.id, second)).body.code).toBe("record_not_found");
      expect((await decline(forTwo.id, admin)).body.code).toBe("record_not_found");
    };
    await attempts();
    const again = await hold(shared.world, admin, { input: { name } });
    expect(again.id).not.toBe(alone.id);
    await sweep();
    expect(await sweep()).toBe(0);
    for (const { id } of [alone, forTwo]) {
      const { entries, events } = await journalOf(shared.world, id);
      expect(entries.at(-1)).toMatchObject({ action: "confirmation.expire", via: "job", actorId: null, clientId: "system" });
      expect(events.at(-1)).toMatchObject({ type: "confirmation.ended", data: { id, status: "expired" } });
      expect(await read(id, admin)).toMatchObject({ status: "expired", ended_at: expect.any(String), revision: 2 });
    }
    await attempts();
    expect(await read(again.id, admin)).toMatchObject({ status: "pending" });
    expect(await done(name)).toBe(0);
  });

  test("is kept by the service alone: nobody else may end what is due", async () => {
    const [owner, before] = [await staff("owner"), await rows()];
    await expect(shared.world.app.confirmations.expireDue(await callBy(shared.world, owner))).rejects.toMatchObject({
      code: "permission_denied",
    });
    expect(await rows()).toEqual(before);
  });
});

describe("at the same instant", () => {
  test("of many who confirm, one carries it out", async () => {
    const [admin, name] = [await staff("admin"), fresh()];
    const others: User[] = [];
    for (let count = 0; count < 4; count += 1) others.push(await staff("admin"));
    const held = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
    const answers = await Promise.all([...others, ...others].map((person) => confirm(held.id, person)));
    const accepted = answers.filter(({ status }) => status === 200);
    expect(accepted).toHaveLength(2);
    expect(accepted.filter(({ headers }) => headers.get("idempotency-replayed") === "true")).toHaveLength(1);
    expect(answers.filter(({ body }) => body.code === "record_not_found")).toHaveLength(6);
    expect(await done(name)).toBe(1);
    expect((await journalOf(shared.world, held.id)).events).toHaveLength(2);
  });

  test("a yes and a no never both count", async () => {
    const [admin, second] = [await staff("admin"), await staff("admin")];
    for (let round = 0; round < 6; round += 1) {
      const name = fresh();
      const held = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
      const [yes, no] = await Promise.all([confirm(held.id, second), decline(held.id, admin)]);
      expect([yes.status, no.status]).toEqual(yes.status === 200 ? [200, 404] : [404, 200]);
      expect(await done(name)).toBe(yes.status === 200 ? 1 : 0);
    }
  });

  test("the same asked many times is one confirmation", async () => {
    const [admin, name] = [await staff("admin"), fresh()];
    const held = await Promise.all(Array.from({ length: 8 }, () => hold(shared.world, admin, { input: { name } })));
    expect(new Set(held.map(({ id }) => id)).size).toBe(1);
    expect(await shared.world.app.database.read.confirmation.count({ where: { actorId: admin.id } })).toBe(1);
  });
});

describe("what somebody has said already", () => {
  const isReplayed = ({ headers }: Answer): boolean => headers.get("idempotency-replayed") === "true";
  const twice = async (say: () => Promise<Answer>) => {
    const first = await say();
    const before = await rows();
    const again = await say();
    expect([first.status, isReplayed(first), again.status, isReplayed(again)]).toEqual([200, false, 200, true]);
    expect([again.body, again.headers.get("etag")]).toEqual([first.body, first.headers.get("etag")]);
    expect(await rows()).toEqual(before);
  };

  test("is answered again over HTTP, and nothing is written or done twice", async () => {
    const [admin, second, third, name] = [await staff("admin"), await staff("admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
    await twice(() => confirm(held.id, second));
    expect((await confirm(held.code, second)).body.data.status).toBe("applied");
    expect(await done(name)).toBe(1);
    for (const other of [admin, third]) expect((await confirm(held.id, other)).body.code).toBe("record_not_found");
    expect((await decline(held.id, second)).body.code).toBe("record_not_found");
    for (const asker of [admin, third]) {
      const taken = await hold(shared.world, admin, { dangerous, input: { name: fresh() } }, { via: "slash" });
      await twice(() => decline(taken.id, asker, { reason: "Not today." }));
      expect((await confirm(taken.id, asker)).body.code).toBe("record_not_found");
    }
  });

  test("is answered again in Discord, to who asked as to the second person", async () => {
    const [admin, second, name] = [await staffAtConsole(shared.world, "admin"), await staffAtConsole(shared.world, "admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name } });
    const { code } = held;
    for (const [person, verb] of [
      [admin, "accept"],
      [second, "accept"],
    ] as const) {
      const first = await shared.world.slash(person, `confirm ${verb}`, { code });
      const before = await rows();
      expect(await shared.world.slash(person, `confirm ${verb}`, { code })).toBe(first);
      expect(first).not.toContain("record_not_found");
      expect(await rows()).toEqual(before);
    }
    expect(await done(name)).toBe(1);
    const taken = await hold(shared.world, admin, { input: { name: fresh() } });
    const declined = await shared.world.slash(admin, "confirm decline", { code: taken.code });
    expect(await shared.world.slash(admin, "confirm decline", { code: taken.code })).toBe(declined);
    expect(declined).toContain("Nothing was changed.");
  });

  test("counts for nothing once it has come to nothing", async () => {
    const [admin, second, third] = [await staffAtConsole(shared.world, "admin"), await staff("admin"), await staff("admin")];
    const held = await hold(shared.world, admin, { dangerous, input: { name: fresh() } });
    await shared.world.slash(admin, "confirm accept", { code: held.code });
    expect((await confirm(held.id, admin)).body.data).toMatchObject({ status: "pending", needs: ["second_person"] });
    expect((await decline(held.id, second)).body.data.status).toBe("declined");
    for (const person of [admin, third]) expect((await confirm(held.id, person)).body.code).toBe("record_not_found");
    const late = await hold(shared.world, admin, { dangerous, input: { name: fresh() } });
    await shared.world.slash(admin, "confirm accept", { code: late.code });
    await age(shared.world, late.id, 100_000);
    expect((await confirm(late.id, admin)).body.code).toBe("record_not_found");
    await sweep();
  });
});

describe("over HTTP", () => {
  test("a repeated request is answered again and carries nothing out again", async () => {
    const [admin, second, name] = [await staff("admin"), await staff("admin"), fresh()];
    const held = await hold(shared.world, admin, { dangerous, input: { name } }, { via: "slash" });
    const headers = { "idempotency-key": `again-${name}` };
    const first = await confirm(held.id, second, headers);
    const again = await confirm(held.id, second, headers);
    expect([again.status, again.headers.get("idempotency-replayed"), again.body]).toEqual([200, "true", first.body]);
    expect(first.headers.get("etag")).toBe('"v2"');
    expect(await done(name)).toBe(1);
  });

  test("the list pages through what is yours or waits for you, newest first", async () => {
    const [admin, second] = [await staff("admin"), await staff("owner")];
    const mine = [];
    for (let count = 0; count < 3; count += 1) mine.push(await hold(shared.world, admin, { input: { name: fresh() } }));
    const theirs = await hold(shared.world, second, { dangerous, input: { name: fresh() } });
    const known = new Set([...mine, theirs].map(({ id }) => id));
    const seen: string[] = [];
    let path = "/confirmations?limit=2&count=true";
    for (;;) {
      const { body } = await shared.world.get(path, { actor: admin });
      seen.push(...body.data.map(({ id }: { id: string }) => id));
      expect(body.page.total).toBeGreaterThanOrEqual(4);
      if (!body.page.has_more) break;
      path = `/confirmations?limit=2&count=true&cursor=${encodeURIComponent(body.page.next_cursor)}`;
    }
    expect(seen).toEqual([...new Set(seen)].toSorted().toReversed());
    expect(seen.filter((id) => known.has(id))).toHaveLength(4);
    expect((await list(second)).filter(({ id }) => known.has(id)).map(({ id }) => id)).toEqual([theirs.id]);
    expect((await shared.world.get("/confirmations?status=applied", { actor: admin })).body.code).toBe("unknown_parameter");
  });

  test("what a change is made from is in no answer, no log line, no audit entry and no event", async () => {
    const [admin, second] = [await staffAtConsole(shared.world, "admin"), await staff("admin")];
    const marker = "hidden-7d1f";
    const shown: unknown[] = [];
    for (const refuse of [undefined, "hierarchy_violation", "zod"]) {
      const input = { name: `${marker}-${fresh()}`, ...(refuse !== undefined && { refuse }) };
      const held = await hold(shared.world, admin, { dangerous, input });
      shown.push(held, await list(admin), await list(second), await shared.world.slash(admin, "confirm list"));
      shown.push(await shared.world.slash(admin, "confirm accept", { code: held.code }));
      shown.push((await confirm(held.id, second)).body, await read(held.id, admin), await read(held.id, second));
      const { entries, events } = await journalOf(shared.world, held.id);
      const payloads = await shared.world.app.database.read.auditPayload.findMany({
        where: { seq: { in: entries.map(({ seq }) => seq) } },
      });
      shown.push(entries, events, payloads);
    }
    expect(JSON.stringify([shown, lines.filter((line) => line.includes(marker))])).not.toContain(marker);
    expect(await shared.world.app.database.read.confirmation.count({ where: { actorId: admin.id } })).toBe(3);
  });
});

describe("a service", () => {
  test("that starts again knows what waits; what it cannot carry out any more fails", async () => {
    const world = await createJudgedWorld({ env: strict });
    teach(world);
    const [admin, second] = [await world.staff("admin"), await world.staff("admin")];
    const [one, two] = [fresh(), fresh()];
    const first = await hold(world, admin, { dangerous, input: { name: one } }, { via: "slash" });
    const other = await hold(world, admin, { dangerous, input: { name: two } }, { via: "slash" });
    await world.restart();
    expect((await world.post(`/confirmations/${first.id}/confirm`, undefined, { signed: true, actor: second })).body).toMatchObject({
      status: 501,
      code: "unsupported_operation",
    });
    expect((await world.get(`/confirmations/${first.id}`, { actor: admin })).body.data).toMatchObject({ status: "failed" });
    teach(world);
    expect((await world.post(`/confirmations/${other.id}/confirm`, undefined, { signed: true, actor: second })).body.data.status).toBe(
      "applied",
    );
    expect([await timesDone(world, one), await timesDone(world, two)]).toEqual([0, 1]);
  });

  test("without the settings holds nothing", async () => {
    const world = await createJudgedWorld();
    teach(world);
    const admin = await world.staff("admin");
    for (const group of ["permissions", "keys", "erasure"] as const) expect(await ask(world, admin, { group, dangerous })).toBeUndefined();
    expect(await world.app.database.read.confirmation.count()).toBe(0);
  });
});

describe("in Discord", () => {
  const choices = (person: User, words: string, typed = "") =>
    shared.world.sandbox.as(person).in(shared.world.guild).autocomplete(words, typed);

  test("the list says in plain words what waits for whom, with names that cannot dress themselves up", async () => {
    const admin = await staffAtConsole(shared.world, "admin");
    expect(await shared.world.slash(await staffAtConsole(shared.world, "viewer"), "confirm list")).toBe("Nothing waits for you.");
    const held = await hold(shared.world, admin, { dangerous, summary: "Allow @everyone **all**", input: { name: fresh() } });
    const text = (await shared.world.slash(admin, "confirm list")).replaceAll("\\\\", "\\");
    expect(text).toContain(`\`${held.code}\` Allow \\@everyone \\*\\*all\\*\\*`);
    expect(text).toContain(`Asked by <@${admin.id}>, waits for the person who asked, then a second person, ends <t:`);
    await shared.world.slash(admin, "confirm accept", { code: held.code });
    expect((await shared.world.slash(admin, "confirm list")).replaceAll("\\\\", "\\")).toContain("• Allow \\@everyone \\*\\*all\\*\\*");
  });

  test("autocomplete offers to each what they can say something about", async () => {
    const [admin, second, viewer] = [
      await staffAtConsole(shared.world, "admin"),
      await staffAtConsole(shared.world, "owner"),
      await staffAtConsole(shared.world, "viewer"),
    ];
    const word = fresh();
    const own = await hold(shared.world, admin, { summary: `Own ${word}`, input: { name: fresh() } });
    const forTwo = await hold(shared.world, admin, { dangerous, summary: `Both ${word}`, input: { name: fresh() } }, { via: "slash" });
    const offered = { name: `${own.code} · Own ${word}`, value: own.code };
    expect(await choices(admin, "confirm accept", word)).toMatchObject([offered]);
    expect(await choices(admin, "confirm accept", own.code.toLowerCase())).toMatchObject([offered]);
    expect(await choices(admin, "confirm decline", word)).toMatchObject([{ name: `Both ${word}`, value: forTwo.id }, offered]);
    expect(await choices(second, "confirm accept", word)).toMatchObject([{ value: forTwo.code }]);
    expect(await choices(viewer, "confirm accept")).toEqual([]);
    expect(await shared.world.slash(admin, "confirm decline", { code: forTwo.id })).toContain("Declined");
    expect(await choices(second, "confirm decline", word)).toEqual([]);
  });

  test("the change is carried out for the guild the person who asked spoke from, not for that of the second person", async () => {
    const [admin, second] = [await staff("admin"), await staff("admin")];
    const guildId = "80351110224678000";
    const held = await hold(shared.world, admin, { dangerous, input: { name: fresh() } }, { via: "slash", guildId });
    await confirm(held.id, second);
    expect(carriedOut.at(-1)).toMatchObject({ confirmation: held.id, guildId, via: "rest", actor: { id: admin.id } });
    const remote = await hold(shared.world, admin, { group: "erasure", dangerous, input: { name: fresh() } });
    await confirm(remote.id, second);
    expect(carriedOut.at(-1)).toMatchObject({ confirmation: remote.id });
    expect(carriedOut.at(-1)).not.toHaveProperty("guildId");
  });
});
