// @module-tag postgres
// @module-tag slow
import { describe, expect, inject, test } from "vitest";
import { createGround, freshId, ownGuilds, type Answer, type Ground } from "./workflows-ground.ts";
import { sizeOf } from "../support/size.ts";

/** Rounds of each duel; the long run sets RACES. */
const rounds = sizeOf({ quick: 3, all: 12, long: 500 });
const limit = { timeout: 30_000 + rounds * 1500 };
/** Requests that are fought for at the same time. */
const atOnce = 5;
const reason = "A reason that is long enough for everything.";

/** A request and the people around it, for one round. */
interface Round {
  grounds: readonly Ground[];
  id: string;
  subject: string;
  requester: string;
  /** Three who may decide. */
  staff: readonly [string, string, string];
}

interface Duel {
  /** Whether the request needs two approvals. */
  isGrave?: boolean;
  /** What was done before, by the first of the staff. */
  before?: string;
  /** What is done in the same instant: who (an index of the staff; the requester otherwise), what. */
  blows: readonly { by: number | "requester"; action: string }[];
  /** Every outcome there may be: the answers in the order of the blows, and how the request stands in the end. */
  ends: readonly { answers: readonly (number | string)[]; status: string }[];
}

const twoApprove = [
  { by: 0, action: "approve" },
  { by: 1, action: "approve" },
] as const;
/** Answers in any order. */
const anyOrder = (answers: readonly (number | string)[], status: string) =>
  permutations(answers).map((order) => ({ answers: order, status }));

const duels: Readonly<Record<string, Duel>> = {
  "two approvals where one is enough": { blows: twoApprove, ends: anyOrder([200, "already_decided"], "approved") },
  "three approvals where two are needed": {
    isGrave: true,
    blows: [...twoApprove, { by: 2, action: "approve" }],
    ends: anyOrder([200, 200, "already_decided"], "approved"),
  },
  "two claims": {
    blows: [
      { by: 0, action: "claim" },
      { by: 1, action: "claim" },
    ],
    ends: anyOrder([200, "invalid_transition"], "in_review"),
  },
  "an approval and a denial": {
    blows: [
      { by: 0, action: "approve" },
      { by: 1, action: "deny" },
    ],
    ends: [
      { answers: [200, "already_decided"], status: "approved" },
      { answers: ["already_decided", 200], status: "denied" },
    ],
  },
  "an approval and a hold": {
    blows: [
      { by: 0, action: "approve" },
      { by: 1, action: "hold" },
    ],
    ends: [
      { answers: [200, "invalid_transition"], status: "approved" },
      { answers: ["invalid_transition", 200], status: "pending" },
    ],
  },
  "an approval and an amendment": {
    blows: [
      { by: 0, action: "approve" },
      { by: "requester", action: "amend" },
    ],
    ends: [
      { answers: [200, "invalid_transition"], status: "approved" },
      { answers: [200, 200], status: "approved" },
    ],
  },
  "three reversals where two are needed": {
    before: "approve",
    blows: [
      { by: 1, action: "reverse" },
      { by: 2, action: "reverse" },
      { by: "requester", action: "reverse" },
    ],
    ends: [{ answers: [200, 200, "conflict_of_interest"], status: "reversed" }],
  },
  "an approval and a withdrawal": {
    blows: [
      { by: 0, action: "approve" },
      { by: "requester", action: "withdraw" },
    ],
    ends: [
      { answers: [200, "invalid_transition"], status: "approved" },
      { answers: ["invalid_transition", 200], status: "withdrawn" },
    ],
  },
};

function permutations<T>(all: readonly T[]): T[][] {
  if (all.length <= 1) return [[...all]];
  return all.flatMap((one, index) => permutations(all.toSpliced(index, 1)).map((rest) => [one, ...rest]));
}

const bodies: Readonly<Record<string, object>> = {
  amend: { payload: { reason: "Another reason than before." } },
  approve: {},
  claim: {},
  withdraw: {},
};
const word = ({ status, body }: Answer): number | string => (status === 200 ? 200 : body.code);

async function decide(ground: Ground, { id }: Round, actor: string, action: string): Promise<Answer> {
  return await ground.post(`/workflows/blacklist-user/${id}/decision`, { decision: action, ...(bodies[action] ?? { reason }) }, { actor });
}

/** People are known to every instance. */
function everywhere(grounds: readonly Ground[]): string {
  const [first] = grounds;
  const id = first?.staff("admin") ?? "";
  for (const ground of grounds.slice(1)) ground.staff("admin", id);
  return id;
}

async function begin(grounds: readonly Ground[], { isGrave = false, before }: Duel): Promise<Round> {
  const [ground] = grounds;
  if (ground === undefined) throw new Error("no ground");
  const requester = everywhere(grounds);
  const subject = freshId();
  const body = { user_id: subject, category: "raid", severity: "high", reason, ...(!isGrave && { server_ids: [ownGuilds[0]] }) };
  const filed = await ground.post("/workflows/blacklist-user", body, { actor: requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  const round: Round = {
    grounds,
    id: filed.body.id,
    subject,
    requester,
    staff: [everywhere(grounds), everywhere(grounds), everywhere(grounds)],
  };
  if (before !== undefined) expect((await decide(ground, round, round.staff[0], before)).status).toBe(200);
  return round;
}

async function fight(grounds: readonly Ground[], duel: Duel): Promise<void> {
  const round = await begin(grounds, duel);
  const answers = await Promise.all(
    duel.blows.map(({ by, action }, index) => {
      const ground = grounds[index % grounds.length];
      if (ground === undefined) throw new Error("no ground");
      return decide(ground, round, by === "requester" ? round.requester : (round.staff[by] ?? ""), action);
    }),
  );
  const [ground] = grounds;
  const status = (await ground?.database.read.workflowRequest.findUniqueOrThrow({ where: { id: round.id } }))?.status ?? "";
  expect(duel.ends).toContainEqual({ answers: answers.map(word), status });
  if (ground !== undefined)
    await expectOnce(ground, round, answers.filter((answer) => answer.status === 200).length + (duel.before === undefined ? 1 : 2));
}

/** Every change has its revision, its step, its entry and its event, and every effect is there once. @param changes with the filing */
async function expectOnce({ database: { read } }: Ground, { id, subject }: Round, changes: number): Promise<void> {
  const request = await read.workflowRequest.findUniqueOrThrow({
    where: { id },
    include: { steps: { orderBy: { revision: "asc" } }, effects: true, votes: true },
  });
  expect(request.revision).toBe(changes);
  expect(request.steps.map(({ revision }) => revision)).toEqual(Array.from({ length: changes }, (_, index) => index + 1));
  for (const [index, { from }] of request.steps.entries()) if (index > 0) expect(from).toBe(request.steps[index - 1]?.to);
  expect(await read.auditEntry.count({ where: { targetId: id, outcome: "ok" } })).toBe(changes);
  const wasApproved = request.status === "approved" || request.status === "reversed";
  const records = await read.blacklistRecord.findMany({ where: { subjectId: subject } });
  expect(records.map(({ status }) => status)).toEqual(
    request.status === "approved" ? ["active"] : request.status === "reversed" ? ["revoked"] : [],
  );
  expect(await read.caseSubject.count({ where: { subjectId: subject } })).toBe(wasApproved ? 1 : 0);
  const own = request.effects.filter(({ key }) => !key.startsWith("notice.") && !key.includes(".undo"));
  expect(new Set(own.map(({ key }) => key)).size).toBe(own.length);
  expect(own.length > 0).toBe(wasApproved);
}

async function fightAll(grounds: readonly Ground[], duel: Duel): Promise<void> {
  for (let done = 0; done < rounds; done += atOnce)
    await Promise.all(Array.from({ length: Math.min(atOnce, rounds - done) }, () => fight(grounds, duel)));
  const [first] = grounds;
  expect((await first?.get("/audit/verify"))?.body.data.ok).toBe(true);
}

describe("in the same instant, one outcome, and everything of it once:", () => {
  test.each(Object.keys(duels))("%s", limit, async (name) => {
    await fightAll([await createGround()], duels[name] ?? { blows: [], ends: [] });
  });
});

describe.runIf(inject("dialect") === "postgres")("the same through two instances:", () => {
  test.each(Object.keys(duels))("%s", limit, async (name) => {
    const first = await createGround();
    await fightAll([first, await createGround({ url: first.url })], duels[name] ?? { blows: [], ends: [] });
  });
});
