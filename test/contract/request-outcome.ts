import { systemCall } from "../../src/kernel/call.ts";
import type { WorkflowKind } from "../../src/kernel/vocabulary.ts";
import { createPeopleGround, guilds, type PeopleGround } from "../features/people-ground.ts";

/** Ids that requests of a trial name; no other person here has them. */
export const [p1, p2, p3, p4, p5] = [1, 2, 3, 4, 5].map((place) => `9035111022467891${place.toString()}`) as [
  string,
  string,
  string,
  string,
  string,
];
export const [s1, s2, s3, s4] = [1, 2, 3, 4].map((place) => `9135111022467891${place.toString()}`) as [string, string, string, string];

/** What came of a request, in words that are the same in every world. */
export interface Outcome {
  /** Whether it is taken and approved, by how many, and who may decide. */
  decision: string;
  /** What is stored of it besides the request, and what is left for the bot. */
  effect: string;
  /** What its readers are shown besides its own text. */
  view: string;
  /** Its own text, as those who decide are shown it. */
  read: string;
}

export interface Before {
  /** Staff among the people a trial names, who may decide unless a rule is in the way. */
  staff?: readonly string[];
  /** What is done before the request is filed. */
  before?: (ground: PeopleGround) => Promise<unknown>;
  /** What the decision says besides. */
  decision?: object;
  /** Seconds that pass after the approval. */
  pass?: number;
}

const day = 86_400;
const tables = [
  "rosterEntry",
  "callsignSlot",
  "userPermission",
  "blacklistRecord",
  "caseAction",
  "case",
  "caseMember",
  "caseNote",
  "accountLink",
  "agreement",
  "agreementParty",
  "poachIncident",
  "poachClearance",
  "server",
  "serverAlias",
  "requestDraft",
  "workflowEffect",
] as const;

/** File a request over HTTP in a fresh world, have it approved and carried out, and say what came of it. */
export async function outcomeOf(
  type: WorkflowKind,
  body: object,
  { staff = [], before, decision = {}, pass = 0 }: Before = {},
): Promise<Outcome> {
  const ground = await createPeopleGround();
  // In the morning, so that no time limit of half a day or less ends at the turn of a day.
  const morning = new Date(ground.services.clock.now());
  morning.setUTCHours(33, 0, 0, 0);
  ground.pass(Math.round((morning.getTime() - ground.services.clock.now().getTime()) / 1000));
  for (const id of staff) ground.staff("owner", id);
  await ground.addPool();
  await before?.(ground);
  const actor = ground.requester;
  const filed = await ground.post(`/workflows/${type}`, body, { actor });
  const { reference } = filed.body as { reference?: string };
  if (reference === undefined) return plain({ decision: filed.body, effect: null, view: null, read: null });
  const path = `/workflows/${type}/${reference}`;
  const rights = await Promise.all([ground.decider, ...staff].map((one) => ground.get(`${path}?why_not=true`, { actor: one })));
  const answers = [];
  for (let vote = 0; vote < 2; vote += 1) {
    const body = { decision: "approve", reason: "It was looked into.", ...decision };
    const answer = await ground.post(`${path}/decision`, body, { actor: ground.staff("owner") });
    answers.push([answer.status, answer.body.code, answer.body.blockers, answer.body.status]);
    if (answer.body.status === "approved") break;
  }
  for (const seconds of pass === 0 ? [0] : [pass, 1]) {
    ground.pass(seconds);
    await ground.services.deliveries.deliverDue(systemCall("job", "test"));
  }
  const seen = (await ground.get(path, { actor: ground.decider })).body.data as Record<string, unknown>;
  const { payload, summary, evidence, related, external_id, origin, title, priority, ...view } = seen;
  const stored = await Promise.all(tables.map((table) => rowsOf(ground, table)));
  return plain({
    decision: [
      filed.status,
      filed.body.joined,
      answers,
      rights.map(({ status, body: { data } }) => [status, data?.allowed_actions, data?.why_not, data?.approvals]),
    ],
    effect: [filed.body.effects_preview, stored],
    view: [view, { title, priority }],
    read: { payload, summary, evidence, related, external_id, origin, title, priority },
  });
}

async function rowsOf(ground: PeopleGround, table: (typeof tables)[number]): Promise<unknown> {
  const { findMany } = ground.database.read[table] as unknown as { findMany(): Promise<object[]> };
  return [
    table,
    (await findMany.call(ground.database.read[table]))
      .map((row) => JSON.stringify(row))
      .map(worded)
      .toSorted(),
  ];
}

function plain(parts: Record<keyof Outcome, unknown>): Outcome {
  return Object.fromEntries(Object.entries(parts).map(([name, part]) => [name, worded(JSON.stringify(part))])) as unknown as Outcome;
}

/** Without what differs from one world to another: ids of rows and of other people, hashes, and the time of day. */
function worded(text: string): string {
  const known = new Set<string>([p1, p2, p3, p4, p5, s1, s2, s3, s4, ...guilds]);
  return text
    .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "<row>")
    .replaceAll(/\b80351110224\d{6}\b/g, (id) => (known.has(id) ? id : "<person>"))
    .replaceAll(/(\d{4}-\d{2}-\d{2})T[\d:.]+Z/g, "$1")
    .replaceAll(/<t:(\d+)/g, (_, seconds: string) => `<day ${Math.floor(Number(seconds) / day).toString()}`)
    .replaceAll(/\b[0-9a-f]{12}\b|\b[0-9a-f]{40,64}\b|\\"[\w-]{43}\\"|"[\w-]{43}"/g, "<hash>");
}

/** So many days, in seconds. */
export const days = (count: number): number => count * day;
/** A time that is so many days ahead. */
export const inDays = (count: number): string => new Date(Date.now() + count * day * 1000).toISOString();
