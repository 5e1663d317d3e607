import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { inForce } from "./in-force.ts";
import { createPeopleGround, guilds, type PeopleGround } from "./people-ground.ts";

const reason = "Ignored the second warning about insults.";
const day = 86_400;
const [one] = guilds;

/** Everything that waits for the bot is done, and changes something unless told otherwise. */
async function deliver(ground: PeopleGround, requestId: string, changed = true): Promise<string[]> {
  const rows = await ground.database.read.workflowEffect.findMany({ where: { requestId, status: "pending" }, orderBy: { place: "asc" } });
  const data = { status: "done", dueAt: null, undo: { changed } };
  for (const { place } of rows) await ground.write((db) => db.workflowEffect.updateMany({ where: { requestId, place }, data }));
  return rows.map(({ input }) => (input as { discord: { kind: string } }).discord.kind);
}

async function banned(ground: PeopleGround, user: string, { changed = true, decision = {} } = {}) {
  const discord = { action: "ban", guild_ids: [one] };
  const punishment = { user_id: user, action: "warning", reason, notify_subject: false, discord };
  const { id, reference } = await ground.file("punishment", punishment);
  await ground.approve("punishment", reference, { notify: "none", ...decision });
  const kinds = await deliver(ground, id, changed);
  return { id, reference, kinds };
}

async function appeal(ground: PeopleGround, target: string, decision: object = { decision: "overturn" }) {
  const { reference } = await ground.file("appeal", { target, grounds: "The account was stolen." });
  const act = async (body: object, actor: string) => {
    const answer = await ground.decide("appeal", reference, { reason: "We looked at it again.", notify: "none", ...body }, actor);
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
  };
  await act(decision, ground.staff("owner"));
  return { takeBack: () => act({ decision: "reverse" }, ground.staff("owner")) };
}

test("What made up for an approval is not taken back with a later one: a ban that was lifted stays lifted", async () => {
  const ground = await createPeopleGround();
  const { id, reference, kinds } = await banned(ground, ground.person(guilds));
  expect(kinds).toEqual(["ban"]);
  const { takeBack } = await appeal(ground, reference);
  expect(await deliver(ground, id)).toEqual(["unban"]);
  await takeBack();
  expect(await deliver(ground, id)).toEqual(["ban"]);
  await ground.reverse("punishment", reference);
  expect((await deliver(ground, id)).filter((kind) => kind.endsWith("ban"))).toEqual(["unban"]);
});

test("What makes up for an approval is still done when a later approval is called off", async () => {
  const ground = await createPeopleGround();
  const { id, reference } = await banned(ground, ground.person(guilds));
  const { takeBack } = await appeal(ground, reference);
  await takeBack();
  await ground.reverse("punishment", reference);
  expect((await deliver(ground, id)).filter((kind) => kind.endsWith("ban"))).toEqual(["unban"]);
});

test("An approval that is put in force again does what its decision said, and nothing that it had switched off", async () => {
  const ground = await createPeopleGround();
  const user = ground.person(guilds);
  const { id, reference, kinds } = await banned(ground, user, { decision: { duration: "P7D", effects: { "discord.punish": false } } });
  expect(kinds).toEqual([]);
  const ends = async () => (await ground.database.read.caseAction.findMany({ where: { userId: user } })).map(({ expiresAt }) => expiresAt);
  const [end] = await ends();
  expect(end).toBeInstanceOf(Date);
  const { takeBack } = await appeal(ground, reference);
  await takeBack();
  expect((await deliver(ground, id)).filter((kind) => kind !== "message_user")).toEqual([]);
  expect(await ends()).toEqual([end, end]);
});

test("A recruitment whose hold ended with it is held again by the next listing once it is decided anew", async () => {
  const ground = await createPeopleGround();
  const user = ground.person();
  const recruitment = await ground.file("recruitment", { user_id: user, position: "helper" });
  const list = async (scope: string) => {
    const { reference } = await ground.file("blacklist-user", {
      user_id: user,
      category: "raid",
      severity: "low",
      reason,
      server_ids: [scope],
    });
    await ground.approve("blacklist-user", reference);
    return reference;
  };
  await list(guilds[0]);
  ground.pass(31 * day);
  await ground.workflows.expireDue(systemCall("job", uuid7()));
  const reopened = await ground.decide("recruitment", recruitment.reference, { decision: "reopen", reason }, ground.decider);
  expect([reopened.status, (await ground.view("recruitment", recruitment.reference)).hold]).toEqual([200, null]);
  const second = await list(guilds[1]);
  const row = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id: recruitment.id } });
  expect([row.isHeld, row.holdReference]).toEqual([true, second]);
});

test("An appeal has an expired request decided anew with clocks that run, whatever it waited for before", async () => {
  const ground = await createPeopleGround();
  const { id, reference } = await ground.file("punishment", { user_id: ground.person(), action: "warning", reason });
  const asked = await ground.decide("punishment", reference, { decision: "request_info", questions: ["When?"], reason }, ground.decider);
  expect(asked.status).toBe(200);
  ground.pass(31 * day);
  await appeal(ground, reference, { decision: "remit", instructions: "Look again." });
  const row = await ground.database.read.workflowRequest.findUniqueOrThrow({ where: { id } });
  expect([row.status, row.pausedAt, row.infoDueAt, row.questions]).toEqual(["pending", null, null, null]);
});

test("A ban that two punishments ask for is lifted when the last of them is taken back, in either order", async () => {
  for (const isFirstFirst of [true, false]) {
    const ground = await createPeopleGround();
    const user = ground.person(guilds);
    const first = await banned(ground, user);
    const second = await banned(ground, user, { changed: false });
    const [early, late] = isFirstFirst ? [first, second] : [second, first];
    await ground.reverse("punishment", early.reference);
    expect((await deliver(ground, early.id)).filter((kind) => kind === "unban")).toEqual([]);
    await ground.reverse("punishment", late.reference);
    expect((await deliver(ground, late.id)).filter((kind) => kind === "unban")).toEqual(["unban"]);
  }
});

test("An appeal that is put in force again rules as it was decided, not as it was asked for", async () => {
  const ground = await createPeopleGround();
  const user = ground.person();
  const { reference } = await ground.file("punishment", { user_id: user, action: "strike", points: 3, reason });
  await ground.approve("punishment", reference);
  const access = async () => {
    const action = await ground.database.read.caseAction.findFirstOrThrow({ where: { userId: user } });
    return [action.points, action.voidedAt];
  };
  await appeal(ground, reference, { decision: "reduce", new_points: 1 });
  expect(await access()).toEqual([1, null]);
  const { takeBack } = await appeal(ground, "APL-REQ-000001");
  expect(await access()).toEqual([3, null]);
  await takeBack();
  expect(await access()).toEqual([1, null]);
});

test.each(["suspension", "probation"])(
  "A %s and a termination that are both taken back leave what was before, in either order",
  async (action) => {
    for (const isFirstFirst of [true, false]) {
      const ground = await createPeopleGround();
      await ground.addPool();
      const user = ground.person(guilds, ["moderator"]);
      await ground.employ(user);
      const before = await inForce(ground, [user]);
      const approved = async (more: object) => {
        const { reference } = await ground.file("punishment", { user_id: user, reason, ...more });
        await ground.approve("punishment", reference);
        return reference;
      };
      const references = [await approved({ action, duration: "P7D" }), await approved({ action: "termination" })];
      for (const reference of isFirstFirst ? references : references.toReversed()) await ground.reverse("punishment", reference);
      expect(await inForce(ground, [user])).toEqual(before);
    }
  },
);
