import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld } from "../contract/world.ts";
import type { Answer } from "../support/world.ts";
import { act, acted, link, openCase } from "./cases-actions.setup.ts";
import { runsOf } from "../support/size.ts";

const time = { offset: 0 };
const now = (): Date => new Date(Date.now() + time.offset);
const shared = shareWorld({ clock: { now } });
const day = 86_400_000;

const strikes = (actor: User, userId: string, query = ""): Promise<Answer> =>
  shared.world.get(`/users/${userId}/strikes${query}`, { actor });
const drafts = async (userId: string, query = ""): Promise<any[]> =>
  (await shared.world.get(`/workflows/drafts?subject=${userId}${query}`)).body.data;
const openActions = async (userId: string): Promise<string[]> => {
  const actions: string[] = (await drafts(userId)).map(({ payload }) => payload.action);
  return actions.toSorted();
};
const sweep = (): Promise<number> => shared.world.app.actions.sweep(systemCall("job", uuid7()));
const takeBack = (actor: User, caseId: string, id: string): Promise<Answer> =>
  shared.world.post(`/cases/${caseId}/actions/${id}/void`, { reason: "It was somebody else." }, { actor });

describe("the ledger", () => {
  test("holds what carries points, and says what it sums up to and what comes next", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const [one, other] = [await openCase(world, senior, { about: [userId] }), await openCase(world, senior, { about: [userId] })];
    const first = await acted(world, senior, one.id, { points: 1 });
    await acted(world, senior, one.id, { kind: "note", points: 0 });
    const second = await acted(world, senior, other.id, { points: 1, kind: "timeout" });
    const mistake = await acted(world, senior, other.id, { points: 4 });
    expect((await takeBack(senior, other.id, mistake.id)).status).toBe(200);
    const { body } = await strikes(senior, userId, "?count=true");
    expect(body.data.map(({ id }: { id: string }) => id)).toEqual([mistake.id, second.id, first.id]);
    expect(body.page.total).toBe(3);
    expect(body.meta).toMatchObject({
      points_in_force: 2,
      points_total: 2,
      next_threshold: { points: 3, action: "probation" },
    });
    const ids = async (query: string) => (await strikes(senior, userId, query)).body.data.map(({ id }: { id: string }) => id);
    expect(await ids("?in_force=true")).toEqual([second.id, first.id]);
    expect(await ids("?in_force=false")).toEqual([mistake.id]);
    expect((await strikes(senior, freshId())).body).toMatchObject({
      data: [],
      meta: { points_in_force: 0, points_total: 0, next_threshold: { points: 3 } },
    });
  });

  test("merges the accounts of one person for those who may know of links", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const [userId, alt] = [freshId(), freshId()];
    const [one, other] = [await openCase(world, senior, { about: [userId] }), await openCase(world, senior, { about: [alt] })];
    await acted(world, senior, one.id, { points: 1 });
    await acted(world, senior, other.id, { points: 2 });
    await link(world, senior, userId, alt);
    expect((await strikes(senior, userId)).body).toMatchObject({ data: [{ points: 1 }], meta: { points_in_force: 1 } });
    expect((await strikes(senior, userId, "?include_alts=true")).body).toMatchObject({
      data: [{ points: 2, user_id: alt }, { points: 1 }],
      meta: { points_in_force: 3, next_threshold: { points: 6 } },
    });
    const key = await world.makeKey(["cases.*", "staff.*"]);
    const refused = await world.get(`/users/${userId}/strikes?include_alts=true`, { actor: senior, key });
    expect(refused.body).toMatchObject({ code: "permission_denied", required: "users.links.read" });
  });

  test("counts nothing of cases that the reader may not see", async () => {
    const { world } = shared;
    const [admin, senior, moderator, viewer] = [
      await world.staff("admin"),
      await world.staff("senior"),
      await world.staff("moderator"),
      await world.staff("viewer"),
    ];
    const userId = freshId();
    const secret = await openCase(world, admin, { about: [userId], confidential: true });
    const plain = await openCase(world, admin, { about: [userId] });
    const own = await openCase(world, moderator, { about: [userId] });
    await acted(world, admin, secret.id, { points: 5 });
    await acted(world, admin, plain.id, { points: 2 });
    await acted(world, moderator, own.id, { points: 1 });
    const seen = async (actor: User) => {
      const { data, meta } = (await strikes(actor, userId, "?count=true")).body;
      return [data.map(({ points }: { points: number }) => points), meta.points_in_force, meta.points_total];
    };
    expect(await seen(admin)).toEqual([[1, 2, 5], 8, 8]);
    expect(await seen(senior)).toEqual([[1, 2], 3, 3]);
    expect(await seen(moderator)).toEqual([[1], 1, 1]);
    expect((await strikes(viewer, userId)).body).toMatchObject({ code: "permission_denied", required: "cases.read" });
  });

  test("of staff is for those who may read their discipline", async () => {
    const { world } = shared;
    const [senior, moderator, person] = [await world.staff("senior"), await world.staff("moderator"), await world.staff("viewer")];
    const own = await openCase(world, moderator, { about: [person.id] });
    await acted(world, moderator, own.id);
    const withheld = (await strikes(moderator, person.id)).body;
    expect([withheld.data, withheld.meta.withheld]).toEqual([[], "staff.discipline"]);
    expect(withheld.meta).not.toHaveProperty("points_in_force");
    expect((await strikes(senior, person.id)).body.data).toHaveLength(1);
  });
});

describe("a threshold", () => {
  test("that is reached exactly suggests a punishment once, and never gives one", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const { id, number } = await openCase(world, senior, { about: [userId] });
    await acted(world, senior, id, { points: 2 });
    expect(await drafts(userId)).toEqual([]);
    await acted(world, senior, id, { points: 1 });
    const [draft] = await drafts(userId);
    expect(draft).toMatchObject({
      type: "punishment",
      status: "open",
      payload: { user_id: userId, action: "probation", case_reference: number },
      subject: { kind: "user", id: userId },
      cause: "3 points are in force; from 3 on, probation is suggested.",
      cause_reference: number,
    });
    await acted(world, senior, id, { points: 1 });
    expect(await openActions(userId)).toEqual(["probation"]);
    await acted(world, senior, id, { points: 2 });
    expect(await openActions(userId)).toEqual(["probation", "suspension"]);
    expect(await world.app.database.read.workflowRequest.count({ where: { subjects: { some: { subjectId: userId } } } })).toBe(0);
    const filed = await world.post(`/workflows/drafts/${draft.id}/file`, undefined, { actor: senior });
    expect([filed.status, filed.body.data.request.status]).toEqual([201, "pending"]);
  });

  test("passed together with another suggests the graver punishment alone", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const { id } = await openCase(world, senior, { about: [userId] });
    await acted(world, senior, id, { points: 10 });
    expect(await openActions(userId)).toEqual(["suspension"]);
  });

  test("is counted per account, over all cases, and ten who strike at once pass it once", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const cases = await Promise.all(Array.from({ length: 10 }, () => openCase(world, senior, { about: [userId] })));
    const answers = await Promise.all(cases.map(({ id }) => act(world, senior, id, { points: 1 })));
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201]));
    expect(await openActions(userId)).toEqual(["probation", "suspension"]);
    expect((await strikes(senior, userId)).body.meta.points_in_force).toBe(10);
  });

  test("is fallen below by a void: what is suggested is dismissed with that cause, and suggested again at the next rise", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const userId = freshId();
    const { id } = await openCase(world, senior, { about: [userId] });
    await acted(world, senior, id, { points: 3 });
    const second = await acted(world, senior, id, { points: 3 });
    expect(await openActions(userId)).toEqual(["probation", "suspension"]);
    expect((await takeBack(senior, id, second.id)).status).toBe(200);
    expect(await openActions(userId)).toEqual(["probation"]);
    const [gone] = await drafts(userId, "&status=dismissed");
    expect(gone).toMatchObject({ payload: { action: "suspension" }, ended: { by: null } });
    const [entry] = (await world.get(`/audit?subject=${userId}&action=request_draft.dismiss`)).body.data;
    expect(entry.reason).toBe("Its ground is gone: fewer points are in force.");
    await acted(world, senior, id, { points: 4 });
    expect(await openActions(userId)).toEqual(["probation", "suspension"]);
  });

  test("is fallen below by time: the sweep dismisses what is suggested, and nothing it need not", async () => {
    const { world } = shared;
    const senior = await world.staff("senior");
    const [userId, other] = [freshId(), freshId()];
    const { id } = await openCase(world, senior, { about: [userId, other] });
    await acted(world, senior, id, { user_id: other, points: 3 });
    await acted(world, senior, id, { user_id: userId, points: 2 });
    await acted(world, senior, id, { user_id: userId, points: 1, duration: "P1D" });
    expect(await openActions(userId)).toEqual(["probation"]);
    expect(await sweep()).toBe(0);
    time.offset += day;
    expect((await strikes(senior, userId)).body.meta).toMatchObject({ points_in_force: 2, points_total: 3 });
    expect(await sweep()).toBe(1);
    expect([await openActions(userId), await openActions(other)]).toEqual([[], ["probation"]]);
    expect(await sweep()).toBe(0);
  });

  test("reached in a confidential case is suggested without naming it, to those who may know of it", async () => {
    const { world } = shared;
    const [admin, moderator, lead] = [await world.staff("admin"), await world.staff("moderator"), await world.staff("moderator")];
    const userId = freshId();
    const { id, number } = await openCase(world, admin, { about: [userId], confidential: true, lead: lead.id });
    await acted(world, admin, id, { points: 3 });
    const query = `/workflows/drafts?subject=${userId}`;
    expect((await world.get(query, { actor: moderator })).body.data).toEqual([]);
    for (const actor of [admin, lead]) {
      const [draft] = (await world.get(query, { actor })).body.data;
      expect(draft).toMatchObject({ cause_reference: number });
      expect(JSON.stringify(draft.payload)).not.toContain("CASE-");
    }
    const events = await world.app.database.read.outboxEvent.findMany({
      where: { type: "request_draft.changed" },
      orderBy: { seq: "desc" },
      take: 1,
    });
    expect(events).toMatchObject([{ permission: "cases.confidential" }]);
    const senior = await world.staff("senior");
    expect((await world.get(`/audit?subject=${userId}`, { actor: senior })).body.data).toEqual([]);
  });
});

interface Row {
  id: string;
  points: number;
  until: number | null;
  isVoided: boolean;
}

test("the ledger agrees with a model of points, ends and voids, whatever happens in which order", async () => {
  const { world } = shared;
  const senior = await world.staff("senior");
  const step = fc.oneof(
    {
      weight: 4,
      arbitrary: fc.record({ do: fc.constant("act" as const), points: fc.nat(4), days: fc.option(fc.integer({ min: 1, max: 5 })) }),
    },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("void" as const), which: fc.nat(9) }) },
    { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), days: fc.integer({ min: 1, max: 4 }) }) },
  );
  const thresholds = [3, 6];
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 10 }), async (steps) => {
      const userId = freshId();
      const { id: caseId } = await openCase(world, senior, { about: [userId] });
      const rows: Row[] = [];
      const open = new Set<number>();
      const isLive = (row: Row) => !row.isVoided && (row.until === null || row.until > now().getTime());
      const inForce = () => rows.filter(isLive).reduce((sum, { points }) => sum + points, 0);
      const fall = () => open.forEach((points) => points > inForce() && open.delete(points));
      for (const one of steps) {
        if (one.do === "pass") {
          time.offset += one.days * day;
          await sweep();
          fall();
        } else if (one.do === "act") {
          const before = inForce();
          const view = await acted(world, senior, caseId, {
            points: one.points,
            duration: one.days === null ? null : `${one.days.toString()}d`,
          });
          rows.push({
            id: view.id,
            points: one.points,
            until: view.expires_at === null ? null : Date.parse(view.expires_at),
            isVoided: false,
          });
          const reached = thresholds.findLast((points) => before < points && points <= inForce());
          if (reached !== undefined) open.add(reached);
        } else {
          const row = rows[one.which];
          if (row === undefined) continue;
          expect((await takeBack(senior, caseId, row.id)).status).toBe(row.isVoided ? 409 : 200);
          row.isVoided = true;
          fall();
        }
        const total = rows.filter(({ isVoided }) => !isVoided).reduce((sum, { points }) => sum + points, 0);
        const { body } = await strikes(senior, userId);
        expect(body.meta).toMatchObject({ points_in_force: inForce(), points_total: total });
        expect(body.meta.next_threshold?.points).toBe(thresholds.find((points) => points > inForce()));
        const suggested = new Set([...open].map((points) => (points === 3 ? "probation" : "suspension")));
        expect(new Set(await openActions(userId))).toEqual(suggested);
      }
    }),
    { numRuns: runsOf(12) },
  );
});
