import { describe, expect, test } from "vitest";
import { inForce } from "./in-force.ts";
import { brief, createPeopleGround, type PeopleGround } from "./people-ground.ts";
import { freshId } from "./workflows-ground.ts";

const reason = "Ignored the second warning about insults.";
const allegation = "Shared internal screenshots outside the team.";

async function punish(ground: PeopleGround, user: string, more: object = {}) {
  const { reference } = await ground.file("punishment", { user_id: user, action: "strike", points: 1, reason, ...more });
  return { reference, answer: await ground.approve("punishment", reference) };
}
async function investigate(ground: PeopleGround, user: string, more: object = {}) {
  const { reference } = await ground.file("investigation", { subject: { kind: "user", id: user }, allegation, ...more });
  return { reference, answer: await ground.approve("investigation", reference) };
}
const caseReferenceOf = (answer: { effects: { key: string; target: { kind: string; reference: string } | null }[] }): string =>
  answer.effects.find(({ target }) => target?.kind === "case")?.target?.reference ?? "";
const cases = async (ground: PeopleGround) => {
  const rows = await ground.database.read.case.findMany({ include: { notes: true, actions: true }, orderBy: { id: "asc" } });
  return rows.map(({ type, status, outcome, notes, actions }) => ({
    type,
    status,
    outcome,
    notes: notes.length,
    actions: actions.map(({ voidedAt }) => voidedAt === null),
  }));
};

describe("a punishment", () => {
  test("opens a case, the next one is added to it, and each reversal takes back its own", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const first = await punish(ground, user);
    const second = await punish(ground, user, { duration: "P30D" });
    expect(caseReferenceOf(second.answer)).toBe(caseReferenceOf(first.answer));
    expect(await cases(ground)).toEqual([{ type: "punishment", status: "open", outcome: null, notes: 2, actions: [true, true] }]);
    const [, kept] = await ground.database.read.caseAction.findMany({ orderBy: { at: "asc" } });
    expect(kept).toMatchObject({ kind: "strike", points: 1, userId: user, originReference: second.reference, byId: ground.decider });
    expect((kept?.expiresAt?.getTime() ?? 0) - (kept?.at.getTime() ?? 0)).toBe(30 * 86_400_000);

    const { effects } = await ground.reverse("punishment", first.reference);
    // Somebody worked on the case since: it stays.
    expect(brief(effects).slice(0, 2)).toEqual(["case.append: done", "case.action: reversed"]);
    expect(effects[0].detail).toContain("it stays open");
    expect(await cases(ground)).toMatchObject([{ status: "open", notes: 3, actions: [false, true] }]);
    await ground.reverse("punishment", second.reference);
    // Nobody but those two came to it: the last to be taken back closes it.
    expect(await cases(ground)).toMatchObject([{ status: "closed", outcome: "reversed", notes: 3, actions: [false, false] }]);
  });

  test("alone in its case takes the case with it, and nothing is left in force", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const before = await inForce(ground, [user]);
    const { reference } = await punish(ground, user);
    await ground.reverse("punishment", reference);
    expect(await cases(ground)).toEqual([{ type: "punishment", status: "closed", outcome: "reversed", notes: 1, actions: [false] }]);
    expect(await inForce(ground, [user])).toEqual(before);
    // A closed case takes nothing more.
    const again = await punish(ground, user);
    expect((await cases(ground)).map(({ status }) => status)).toEqual(["closed", "open"]);
    expect(again.answer.effects[0].detail).toBe("A case was opened.");
  });

  test("is kept in the case it names if that is about the subject, else not", async () => {
    const ground = await createPeopleGround();
    const [user, other] = [freshId(), freshId()];
    const about = caseReferenceOf((await investigate(ground, user)).answer);
    const named = await punish(ground, user, { case_reference: about.toLowerCase() });
    expect(caseReferenceOf(named.answer)).toBe(about);
    const foreign = await punish(ground, other, { case_reference: about });
    expect(caseReferenceOf(foreign.answer)).not.toBe(about);
    expect((await cases(ground)).map(({ type, actions }) => [type, actions.length])).toEqual([
      ["investigation", 1],
      ["punishment", 1],
    ]);
  });

  test("does not reach a confidential case by naming it", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const hidden = caseReferenceOf((await investigate(ground, user, { confidential: true })).answer);
    for (const name of [hidden, (await ground.database.read.case.findFirstOrThrow()).id]) {
      const { answer } = await punish(ground, user, { case_reference: name });
      expect(caseReferenceOf(answer)).not.toBe(hidden);
    }
    const [first, second] = await cases(ground);
    expect(first).toMatchObject({ type: "investigation", notes: 1, actions: [] });
    expect(second).toMatchObject({ type: "punishment", notes: 2, actions: [true, true] });
  });

  test("that refers to the blacklist suggests a request, once, and dismisses it again unless it was filed", async () => {
    const ground = await createPeopleGround();
    const user = freshId();
    const refer = () => punish(ground, user, { action: "blacklist_referral", points: 0 });
    const first = await refer();
    expect(brief(first.answer.effects)).toContain("draft.blacklist: done");
    const [draft] = await ground.database.read.requestDraft.findMany();
    expect(draft).toMatchObject({ type: "blacklist-user", subjectId: user, status: "open", causeReference: first.reference });
    const second = await refer();
    expect(brief(second.answer.effects)).toContain("draft.blacklist: skipped");
    await ground.reverse("punishment", second.reference);
    expect(await ground.database.read.requestDraft.findMany()).toMatchObject([{ status: "open" }]);
    await ground.reverse("punishment", first.reference);
    expect(await ground.database.read.requestDraft.findMany()).toMatchObject([{ status: "dismissed" }]);
    expect(await ground.database.read.blacklistRecord.count()).toBe(0);

    const third = await refer();
    await ground.write((db) => db.requestDraft.updateMany({ where: { status: "open" }, data: { status: "filed", openKey: null } }));
    const { effects } = await ground.reverse("punishment", third.reference);
    const left = effects.find(({ key }: { key: string }) => key === "draft.blacklist");
    expect([left.status, left.detail]).toEqual(["done", expect.stringContaining("filed or dismissed already")]);
  });
});

describe("an investigation", () => {
  test("that is confidential gets a case of its own, for its lead and team alone", async () => {
    const ground = await createPeopleGround();
    const [user, lead, member] = [freshId(), ground.staff("senior"), ground.staff("moderator")];
    await investigate(ground, user);
    const { answer } = await investigate(ground, user, { confidential: true, lead_user_id: lead, team_user_ids: [member, freshId()] });
    const key = caseReferenceOf(answer);
    const status = async (actor: string) => (await ground.get(`/cases/${key}`, { actor })).status;
    expect([await status(lead), await status(member), await status(ground.staff("admin"))]).toEqual([200, 200, 200]);
    expect([await status(ground.staff("senior")), await status(ground.staff("moderator"))]).toEqual([404, 404]);
    const row = await ground.database.read.case.findFirst({ where: { isConfidential: true }, include: { members: true } });
    expect([row?.leadId, row?.members.map(({ userId }) => userId)]).toEqual([lead, [member]]);
  });

  test("is closed as reversed, unless somebody worked on it", async () => {
    const ground = await createPeopleGround();
    const [left, worked] = [await investigate(ground, freshId()), await investigate(ground, freshId())];
    const note = await ground.post(
      `/cases/${caseReferenceOf(worked.answer)}/notes`,
      { body: "Talked to two witnesses." },
      { actor: ground.decider },
    );
    expect(note.status).toBe(201);
    for (const { reference } of [left, worked]) await ground.reverse("investigation", reference);
    expect((await cases(ground)).map(({ status, outcome, notes }) => [status, outcome, notes])).toEqual([
      ["closed", "reversed", 1],
      [expect.not.stringMatching("closed"), null, 3],
    ]);
  });
});
