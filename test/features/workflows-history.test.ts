import { expect, test } from "vitest";
import { createGround, freshId } from "./workflows-ground.ts";

interface Step {
  revision: number;
  action: string;
  [field: string]: unknown;
}

async function scene(kind: string, body: object) {
  const ground = await createGround();
  const filer = ground.staff("moderator");
  const filed = await ground.post(`/workflows/${kind}`, body, { actor: filer });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const path = `/workflows/${kind}/${filed.body.reference as string}`;
  const act = async (decision: string, actor: string, more: object = {}): Promise<void> => {
    const { status, body: answer } = await ground.post(`${path}/decision`, { decision, ...more }, { actor });
    expect([status, answer]).toEqual([200, answer]);
  };
  const history = async (actor: string, query = ""): Promise<Step[]> => {
    const { status, body: page } = await ground.get(`${path}/history?count=true${query}`, { actor });
    expect([status, page.code]).toEqual([200, undefined]);
    if (query === "") expect(page.page.total).toBe(page.data.length);
    return page.data;
  };
  return { ground, filer, path, act, history };
}

const poaching = () => ({
  kind: "report",
  offending_server_id: freshId(),
  victim_server_id: freshId(),
  occurred_at: "2026-11-20T10:00:00.000Z",
});
const application = () => ({
  user_id: freshId(),
  position: "moderator",
  reason: "Has helped for a year.",
  interview: { score: 80, notes: "calm" },
});

test("every revision has its row, oldest first, and the requester reads of it what was meant for them", async () => {
  const { ground, filer, act, history } = await scene("poach", poaching());
  const [senior, moderator] = [ground.staff("senior"), ground.staff("moderator")];
  await act("claim", senior);
  await act("request_info", senior, { questions: ["When was it?"], reason: "One thing is open.", reason_internal: "Smells odd." });
  await act("provide_info", filer, { answer: "On Friday." });
  await act("hold", senior, { reason: "Waiting for the other case." });
  await act("release", senior, { reason: "The other case is closed." });
  await act("approve", senior, { reason: "Clear enough.", reason_internal: "For the deciders." });

  const whole = await history(senior);
  expect(whole.map(({ revision, action, from, to }) => [revision, action, from, to])).toEqual([
    [1, "create", null, "pending"],
    [2, "claim", "pending", "in_review"],
    [3, "request_info", "in_review", "needs_info"],
    [4, "provide_info", "needs_info", "in_review"],
    [5, "hold", "in_review", "in_review"],
    [6, "release", "in_review", "in_review"],
    [7, "approve", "in_review", "approved"],
  ]);
  expect(whole[2]).toMatchObject({
    actor: { id: senior },
    client: "client",
    via: "rest",
    note_public: "One thing is open.",
    note_internal: "Smells odd.",
  });
  expect(whole[2]?.["data"]).toEqual({ questions: ["When was it?"] });
  expect(whole[3]?.["data"]).toEqual({ answer: "On Friday." });

  const told = await history(filer);
  expect(told.map(({ action }) => action)).toEqual(whole.map(({ action }) => action));
  const notes = new Set(["create", "request_info", "provide_info", "approve"]);
  for (const step of told) {
    expect(step).not.toHaveProperty("client");
    expect(step).not.toHaveProperty("note_internal");
    expect([step.action, "note_public" in step]).toEqual([step.action, notes.has(step.action)]);
  }
  expect(told[2]).toMatchObject({ note_public: "One thing is open.", data: { questions: ["When was it?"] } });
  // Staff who do not decide this kind read what is said among staff, and not what is for deciders.
  const among = await history(moderator);
  expect(among[4]).toMatchObject({ note_public: "Waiting for the other case.", client: "client" });
  expect(among.some((step) => "note_internal" in step)).toBe(false);
});

test("whom it was given to and which consequences were chosen stay among staff, and an interview among deciders", async () => {
  const { ground, filer, path, act, history } = await scene("recruitment", application());
  const [senior, admin, moderator] = [ground.staff("senior"), ground.staff("admin"), ground.staff("moderator")];
  await act("assign", senior, { assignee: admin });
  const better = { interview: { score: 90, notes: "very calm" }, trial_days: 14 };
  expect((await ground.patch(path, { payload: better, reason: "A second interview." }, { actor: admin })).status).toBe(200);
  const at = async (actor: string, action: string) => (await history(actor)).find((step) => step.action === action);
  expect((await at(admin, "assign"))?.["data"]).toEqual({ assignee: admin });
  expect((await at(moderator, "assign"))?.["data"]).toEqual({ assignee: admin });
  expect((await at(filer, "assign"))?.["data"]).toEqual({});
  expect(await at(admin, "amend")).toMatchObject({
    note_public: "A second interview.",
    data: { changed: { interview: { score: 80, notes: "calm" } } },
  });
  for (const actor of [filer, moderator]) {
    const amended = await at(actor, "amend");
    expect((amended?.["data"] as { changed: object } | undefined)?.changed).not.toHaveProperty("interview");
    expect((amended?.["data"] as { changed: object } | undefined)?.changed).toHaveProperty("trial_days");
  }
});

test("where votes are blind, those of others are left out until one has voted or it is decided", async () => {
  const { ground, filer, act, history } = await scene("recruitment", application());
  const [first, second, third] = [ground.staff("admin"), ground.staff("admin"), ground.staff("admin")];
  await act("escalate", first, { reason: "Two should look." });
  await act("approve", first, { reason: "A good one." });
  const seen = async (actor: string) => (await history(actor)).map(({ action }) => action);
  expect(await seen(first)).toEqual(["create", "escalate", "approve"]);
  for (const actor of [second, filer]) expect(await seen(actor)).toEqual(["create", "escalate"]);
  await act("object", second, { reason: "Too new." });
  expect(await seen(second)).toEqual(["create", "escalate", "approve", "object"]);
  expect(await seen(third)).toEqual(["create", "escalate"]);
  const [, , vote] = await history(second);
  expect(vote).toMatchObject({ action: "approve", note_public: "A good one." });
  await act("deny", third, { reason: "Not enough time here." });
  expect(await seen(filer)).toEqual(["create", "escalate", "approve", "object", "deny"]);
  const told = await history(filer);
  // What is said with a vote is for those who decide; the decision itself is told.
  expect(told.map((step) => "note_public" in step)).toEqual([true, false, false, false, true]);
});

test("history is paged by revision, and hidden with its request", async () => {
  const { ground, filer, path, act, history } = await scene("poach", poaching());
  const senior = ground.staff("senior");
  for (const action of ["claim", "unassign", "claim", "unassign"]) await act(action, senior);
  const first = (await ground.get(`${path}/history?limit=2`, { actor: senior })).body;
  expect(first.data.map(({ revision }: Step) => revision)).toEqual([1, 2]);
  const next = await history(senior, `&limit=2&cursor=${encodeURIComponent(first.page.next_cursor)}`);
  expect(next.map(({ revision }) => revision)).toEqual([3, 4]);
  expect((await ground.get(`${path}/history`, { actor: freshId() })).status).toBe(404);
  const body = { subject: { kind: "user", id: freshId() }, allegation: "Shared internal screenshots.", confidential: true };
  const hidden = (await ground.post("/workflows/investigation", body, { actor: filer })).body.reference as string;
  expect((await ground.get(`/workflows/investigation/${hidden}/history`, { actor: senior })).status).toBe(404);
  expect((await ground.get(`/workflows/investigation/${hidden}/history`, { actor: filer })).status).toBe(200);
});
