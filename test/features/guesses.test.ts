import { beforeAll, describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { filing, freshId } from "../contract/document.ts";
import { everyRow, shareWorld, staffAtConsole } from "../contract/world.ts";
import type { Answer, Level } from "../support/world.ts";

const shared = shareWorld();
const people = new Map<Level, User>();
const staff = (level: Level): User => people.get(level) as User;

beforeAll(async () => {
  for (const level of ["owner", "admin", "senior", "moderator"] as const) people.set(level, await staffAtConsole(shared.world, level));
});

const reason = "Ran the raid from a second account.";
const exempt = "80351110224678955";

async function file(kind: "blacklist-user" | "blacklist-server", actor: User, more: object = {}): Promise<string> {
  const body = { ...filing(kind), reason, ...(kind === "blacklist-server" && { exempt_user_ids: [exempt] }), ...more };
  const { status, body: made } = await shared.world.post(`/workflows/${kind}`, body, { actor });
  if (status !== 201) throw new Error(JSON.stringify(made));
  return `/workflows/${kind}/${made.reference as string}`;
}

/** An answer, without what differs each time. */
const bare = ({ status, body }: Answer) => {
  const { request_id: _, ...rest } = body;
  return [status, rest];
};

describe("what becomes confidential of a record", () => {
  test.each(["blacklist-user", "blacklist-server"] as const)(
    "is so in the %s request that leads to it, wherever that is shown",
    async (kind) => {
      const { world } = shared;
      const author = await world.staff("moderator");
      // Two moderators: who filed it wrote it, and reads it; the other one reads requests.
      const path = await file(kind, author);
      const reference = path.split("/").at(-1) ?? "";
      const amended = await world.patch(path, { payload: { reason: `${reason} Twice.` } }, { actor: author });
      expect(amended.status, JSON.stringify(amended.body)).toBe(200);
      const secrets = new RegExp(`second account|${exempt}`);
      const shownTo = async (actor: User) => {
        const answers = [
          await world.get(path, { actor }),
          await world.get(`/workflows?type=${kind}`, { actor }),
          await world.get(`${path}/history`, { actor }),
          await world.get(`/workflows?q=second%20account`, { actor }),
        ];
        expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
        const texts = answers.map(({ body }) => JSON.stringify(body));
        return [
          ...texts,
          await world.slash(actor, "review show", { reference }),
          await world.slash(actor, "review history", { reference }),
        ].map((text) => secrets.test(text));
      };
      expect(await shownTo(staff("moderator"))).toEqual(Array(6).fill(false));
      expect(await shownTo(staff("senior"))).toEqual([true, true, true, false, true, expect.any(Boolean)]);
      expect((await world.get(path, { actor: author })).body.data.payload.reason).toBe(`${reason} Twice.`);
      // Who may not read it learns nothing by an amendment either: it is refused alike, whether or not the guess is right.
      const editor = await world.staff("moderator");
      await grant(editor, "workflows.edit_any");
      const before = await everyRow(world);
      const guesses = [`${reason} Twice.`, "A guess that is wrong."];
      const answers = [];
      for (const guess of guesses) answers.push(await world.patch(path, { payload: { reason: guess } }, { actor: editor }));
      expect(bare(answers[0] as Answer)).toEqual(bare(answers[1] as Answer));
      expect(answers[0]?.body).toMatchObject({
        status: 403,
        code: "permission_denied",
        required: "blacklist.read_confidential",
        errors: [{ pointer: "/payload/reason", in: "body", code: "not_readable" }],
      });
      expect((await world.patch(path, { reason: guesses[0] }, { actor: editor })).body.errors[0].pointer).toBe("/reason");
      expect(await everyRow(world)).toEqual(before);
    },
  );

  test("stands neither in the note of the case that the approval leads to, nor in a suggestion", async () => {
    const { world } = shared;
    const subject = freshId();
    const path = await file("blacklist-user", staff("moderator"), { user_id: subject });
    const decided = { decision: "approve" };
    for (const level of ["senior", "owner"] as const) await world.post(`${path}/decision`, decided, { actor: staff(level) });
    expect((await world.get(path, { actor: staff("owner") })).body.data.status).toBe("approved");
    const record = (await world.get(`/blacklist?subject=${subject}`, { actor: staff("owner") })).body.data[0];
    expect(record.reason_internal).toBe(reason);
    const notes = await world.app.database.read.caseNote.findMany();
    expect(notes.map(({ body }) => body).filter((body) => body.includes("second account"))).toEqual([]);
    await world.app.database.write(systemCall("cli", uuid7()), async (tx) => {
      await world.app.draftRecords.suggestInTx(tx, {
        type: "blacklist-user",
        payload: { user_id: subject, reason },
        subject: { kind: "user", id: subject },
        cause: "A test suggests it.",
        causeReference: path.split("/").at(-1) ?? "",
        openKey: `test:${subject}`,
      });
    });
    const drafts = async (actor: User) => JSON.stringify((await world.get(`/workflows/drafts?subject=${subject}`, { actor })).body.data);
    expect([await drafts(staff("moderator")), await drafts(staff("senior"))].map((text) => text.includes("second account"))).toEqual([
      false,
      true,
    ]);
  });
});

async function grant(person: User, key: string): Promise<void> {
  const overrides = [{ key, effect: "allow", reason: "For this test." }];
  const { status, body } = await shared.world.patch(`/permissions/users/${person.id}`, { overrides }, { actor: staff("owner") });
  if (status !== 200) throw new Error(JSON.stringify(body));
}

describe("nobody changes what they may not read, so that no guess is answered", () => {
  test("of a blacklist record", async () => {
    const { world } = shared;
    const editor = await world.staff("moderator");
    await grant(editor, "blacklist.update");
    const { body } = await world.post(
      "/blacklist",
      { kind: "server", subject_id: freshId(), reason_internal: reason, exempt_user_ids: [exempt] },
      { actor: staff("owner") },
    );
    const path = `/blacklist/${body.data.number as string}`;
    const before = await everyRow(world);
    for (const [field, right, wrong] of [
      ["reason_internal", reason, "A guess that is wrong."],
      ["exempt_user_ids", [exempt], [freshId()]],
    ] as const) {
      const answers = [
        await world.patch(path, { [field]: right }, { actor: editor }),
        await world.patch(path, { [field]: wrong }, { actor: editor }),
      ];
      expect(bare(answers[0] as Answer)).toEqual(bare(answers[1] as Answer));
      expect(answers[0]?.body).toMatchObject({ code: "permission_denied", errors: [{ pointer: `/${field}`, code: "not_readable" }] });
    }
    expect(await everyRow(world)).toEqual(before);
    expect((await world.patch(path, { severity: "low" }, { actor: editor })).status).toBe(200);
  });

  test("of an application: its requester does not guess the score of their interview", async () => {
    const { world } = shared;
    const author = await world.staff("moderator");
    const body = { user_id: world.member().id, position: "moderator", interview: { score: 73 } };
    const made = await world.post("/workflows/recruitment", body, { actor: author });
    const path = `/workflows/recruitment/${made.body.reference as string}`;
    const before = await everyRow(world);
    const guess = (score: number) => world.patch(path, { payload: { interview: { score } } }, { actor: author });
    const answers = [await guess(73), await guess(74)];
    expect(bare(answers[0] as Answer)).toEqual(bare(answers[1] as Answer));
    expect(answers[0]?.body).toMatchObject({
      code: "permission_denied",
      errors: [{ pointer: "/payload/interview", code: "not_readable" }],
    });
    expect(await everyRow(world)).toEqual(before);
    expect((await world.patch(path, { payload: { trial_days: 20 } }, { actor: author })).status).toBe(200);
    const decider = await world.patch(path, { payload: { interview: { score: 80 } } }, { actor: staff("senior") });
    expect([decider.status, decider.body.data.payload.interview]).toEqual([200, { score: 80 }]);
  });

  test("of a profile: quiet hours are changed by who reads them", async () => {
    const { world } = shared;
    const colleague = await world.staff("moderator");
    const hours = [{ from: "22:00", to: "07:00" }];
    expect((await world.patch(`/staff/${colleague.id}`, { timezone: "UTC", quiet_hours: hours }, { actor: colleague })).status).toBe(200);
    const key = await world.makeKey(["staff.manage"]);
    const before = await everyRow(world);
    const guess = (from: string) =>
      world.patch(`/staff/${colleague.id}`, { quiet_hours: [{ from, to: "07:00" }] }, { actor: staff("owner"), key });
    const answers = [await guess("22:00"), await guess("23:00")];
    expect(bare(answers[0] as Answer)).toEqual(bare(answers[1] as Answer));
    expect(answers[0]?.body).toMatchObject({ code: "permission_denied", missing_in: "key", errors: [{ pointer: "/quiet_hours" }] });
    expect((await everyRow(world))["StaffProfile"]).toEqual(before["StaffProfile"]);
    expect((await world.patch(`/staff/${colleague.id}`, { department: "Night" }, { actor: staff("owner"), key })).status).toBe(200);
  });

  test("of the roster: not even an owner guesses what is noted about them", async () => {
    const { world } = shared;
    const [owner, other] = [await world.staff("owner"), staff("owner")];
    const entry = await world.post("/roster", { user_id: owner.id, notes: "Asked for the keys.", reason: "Taken over." }, { actor: other });
    expect(entry.status, JSON.stringify(entry.body)).toBeLessThan(300);
    const before = await everyRow(world);
    const guess = (notes: string) => world.patch(`/roster/${owner.id}`, { notes }, { actor: owner });
    const answers = [await guess("Asked for the keys."), await guess("Asked for nothing.")];
    expect(bare(answers[0] as Answer)).toEqual(bare(answers[1] as Answer));
    expect(answers[0]?.body).toMatchObject({ code: "permission_denied", errors: [{ pointer: "/notes", code: "not_readable" }] });
    expect(await everyRow(world)).toEqual(before);
  });
});
