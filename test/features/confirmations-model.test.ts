import { silent } from "../support/rooms.ts";
import type { Confirmable } from "../../src/features/confirmations/hold.ts";
import { randomBytes } from "node:crypto";
import fc from "fast-check";
import { expect, onTestFinished, test } from "vitest";
import { createAuditService } from "../../src/features/audit/audit.service.ts";
import { createLinkReach } from "../../src/features/links/reach.ts";
import { createConfirmationsService } from "../../src/features/confirmations/confirmations.service.ts";
import { createEventsService } from "../../src/features/events/events.service.ts";
import { systemCall, type Actor, type Call } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { isHeld } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createCursors } from "../../src/kernel/page.ts";
import { createTestDatabase } from "../support/database.ts";
import { sizeOf } from "../support/size.ts";

/** The cast: what each of them holds beyond `permissions.read`, and where they stand. */
const people = {
  owner: { rank: 1_000_000, holds: ["manage", "danger", "audit.read"] },
  admin: { rank: 80, holds: ["manage", "danger", "audit.read"] },
  peer: { rank: 80, holds: ["manage", "danger"] },
  senior: { rank: 60, holds: ["manage", "audit.read"] },
  auditor: { rank: 60, holds: ["audit.read"] },
  viewer: { rank: 10, holds: [] },
} as const;
type Name = keyof typeof people;
const cast = Object.keys(people) as Name[];
const ids = Object.fromEntries(cast.map((name, index) => [name, `8035111022467800${index.toString()}`])) as Record<Name, string>;

const actors = Object.fromEntries(
  cast.map((name) => {
    const { rank, holds } = people[name];
    const held = new Set<string>(["permissions.read", ...holds]);
    const actor: Actor = {
      id: ids[name],
      isStaff: true,
      isOwner: name === "owner",
      rank,
      isStale: () => false,
      decide: (permission) => ({ allowed: held.has(permission), reasons: [] }),
      heldUntil: (permission) => (held.has(permission) ? null : undefined),
    };
    return [name, actor];
  }),
) as Record<Name, Actor>;

type Door = "rest" | "signed" | "slash";
interface Asked {
  by: Name;
  door: Door;
  stepUp: boolean;
  dangerous: boolean;
  subject: Name | undefined;
  rank: number | undefined;
  outcome: "done" | "refused" | "busy";
}
type Act =
  | { kind: "ask"; what: Asked }
  | { kind: "say"; isForEnded: boolean; which: number; who: Name | "asker"; door: Door; isYes: boolean }
  | { kind: "wait"; seconds: number }
  | { kind: "sweep" };

const door = fc.constantFrom<Door>("rest", "signed", "slash");
const name = fc.constantFrom(...cast);
const act: fc.Arbitrary<Act> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      what: fc.record({
        by: fc.constantFrom<Name>("owner", "admin", "senior"),
        door,
        stepUp: fc.boolean(),
        dangerous: fc.boolean(),
        subject: fc.option(name, { nil: undefined }),
        rank: fc.constantFrom(undefined, 60, 80, 80),
        outcome: fc.constantFrom("done", "done", "refused", "busy"),
      }),
    }),
  },
  {
    weight: 9,
    arbitrary: fc.record({
      kind: fc.constant("say" as const),
      isForEnded: fc.integer({ min: 0, max: 4 }).map((n) => n === 0),
      which: fc.nat(3),
      who: fc.constantFrom<Name | "asker">(...cast, "asker", "asker"),
      door,
      isYes: fc.integer({ min: 0, max: 4 }).map((n) => n > 0),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("wait" as const), seconds: fc.constantFrom(60, 600, 901, 86_401) }) },
  { weight: 1, arbitrary: fc.constant({ kind: "sweep" as const }) },
);

/** What the rules say of one held change, told without the service. */
interface Model {
  asked: Asked;
  id: string;
  needs: string[];
  status: string;
  endsAt: number;
  /** Who has said yes, and who has said no. */
  yes: Name[];
  no: Name[];
}

function isEligible(who: Name, { by, dangerous, subject, rank = -1 }: Asked): boolean {
  const holds: readonly string[] = people[who].holds;
  return (
    dangerous &&
    who !== by &&
    who !== subject &&
    holds.includes("manage") &&
    holds.includes("danger") &&
    (who === "owner" || people[who].rank > rank)
  );
}

interface Said {
  who: Name;
  door: Door;
  isYes: boolean;
}

/** What saying something comes to: the new status, or the problem. */
function outcomeOf(model: Model, { who, door, isYes }: Said, now: number): string {
  const { asked, needs, status, endsAt, yes, no } = model;
  const holds: readonly string[] = people[who].holds;
  const maySee = who === asked.by || isEligible(who, asked) || holds.includes("audit.read");
  if (!maySee) return "record_not_found";
  const isPending = status === "pending" && endsAt > now;
  if (isYes && yes.includes(who) && (isPending || status === "applied")) return `${status} already`;
  if (!isYes && no.includes(who)) return `${status} already`;
  if (!isPending) return "record_not_found";
  if (!isYes && who === asked.by) return "declined";
  const isFirst = needs[0] === "acting_user";
  if (isYes && isFirst && who === asked.by && door !== "slash") return "invalid_transition";
  if (!(isFirst && who === asked.by)) {
    if (!asked.dangerous) return "invalid_transition";
    if (who === asked.by || who === asked.subject) return "conflict_of_interest";
    if (!holds.includes("manage")) return "permission_denied";
    if (!holds.includes("danger")) return "cannot_grant_unheld";
    if (!isEligible(who, asked)) return "hierarchy_violation";
    if (!isYes) return "declined";
    // The word of a key is nobody's proof.
    if (isFirst || door === "rest") return "invalid_transition";
  }
  if (needs.length > 1) return "pending";
  return { done: "applied", refused: "last_owner", busy: "storage_busy" }[asked.outcome];
}

async function createBench(secondPersonForDanger = true) {
  const time = { now: Date.parse("2026-11-20T10:00:00.000Z") };
  const clock = { now: () => new Date(time.now) };
  const { database, drop } = await createTestDatabase({ clock });
  onTestFinished(drop);
  const cursors = createCursors(randomBytes(32));
  const access = {
    of: () => undefined as never,
    allHold: () => true,
    actorOf: (id: string) => actors[cast.find((name) => ids[name] === id) ?? "viewer"] as never,
  };
  const audit = createAuditService({ database, cursors });
  const ground = { database, audit, events: createEventsService({ database, clock }), access, reach: createLinkReach(), cursors, clock };
  /** The service as it starts with these settings. */
  const open = (isForTwo: boolean) =>
    createConfirmationsService({ ...ground, logger: silent, confirmInDiscord: ["permissions"], secondPersonForDanger: isForTwo });
  const confirmations = open(secondPersonForDanger);
  confirmations.register("test.apply", async (tx, input) => {
    const { key, outcome } = input as { key: string; outcome: Asked["outcome"] };
    const found = await tx.db.setting.findUnique({ where: { key } });
    const value = Number(found?.value ?? 0) + 1;
    await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
    if (outcome === "refused") throw new ProblemError("last_owner");
    if (outcome === "busy") throw new ProblemError("storage_busy", { retryAfter: 1 });
  });
  return { time, database, confirmations, open };
}

type Bench = Awaited<ReturnType<typeof createBench>>;

const callOf = (who: Name, via: Door): Call => ({
  client: via === "slash" ? null : { id: "panel", name: "panel", allows: () => true },
  actor: actors[who],
  via: via === "slash" ? via : "rest",
  ...(via === "signed" && { isSigned: true }),
  requestId: uuid7(),
  idempotency: null,
  replayed: false,
});

let keys = 0;

async function askFor({ database, confirmations, time }: Bench, asked: Asked): Promise<Model | undefined> {
  const key = `model:${(keys += 1).toString()}`;
  const answer = await database.write(callOf(asked.by, asked.door), (tx) =>
    confirmations.hold(tx, {
      action: "test.apply",
      group: asked.stepUp ? "permissions" : "erasure",
      permission: "manage",
      input: { key, outcome: asked.outcome },
      summary: "Change a row",
      ...(asked.dangerous && { dangerous: ["danger"] }),
      ...(asked.subject !== undefined && { subjectUserId: ids[asked.subject] }),
      ...(asked.rank !== undefined && { rank: asked.rank }),
    }),
  );
  const needs = [...(asked.stepUp && asked.door !== "slash" ? ["acting_user"] : []), ...(asked.dangerous ? ["second_person"] : [])];
  const held = isHeld(answer) ? answer.confirmation_required : undefined;
  expect(held?.needs ?? []).toEqual(needs);
  if (held === undefined) return undefined;
  return { asked, id: held.id, needs, status: "pending", endsAt: time.now + (asked.dangerous ? 86_400_000 : 900_000), yes: [], no: [] };
}

/** Say it to the service and to the model. @returns what it came to */
async function say({ confirmations, time }: Bench, model: Model, said: Said): Promise<string> {
  const call = callOf(said.who, said.door);
  const answer = said.isYes ? confirmations.confirm(call, model.id) : confirmations.decline(call, model.id);
  const came = await answer.then(
    ({ status }) => (call.replayed ? `${status} already` : status),
    (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
  );
  expect(came, JSON.stringify({ model, said })).toBe(outcomeOf(model, said, time.now));
  if (came === "pending") model.needs.shift();
  if (came === "pending" || came === "applied") model.yes.push(said.who);
  if (came === "declined") model.no.push(said.who);
  if (came === "applied" || came === "declined") model.status = came;
  if (came === "last_owner") model.status = "failed";
  return came;
}

/** The database holds what the model holds, and every change was carried out once if it was confirmed by all and never otherwise. */
async function compare({ database }: Bench, models: readonly Model[]): Promise<void> {
  const rows = await database.read.confirmation.findMany({ where: { id: { in: models.map(({ id }) => id) } } });
  const settings = new Map((await database.read.setting.findMany()).map(({ key, value }) => [key, value]));
  for (const model of models) {
    const row = rows.find(({ id }) => id === model.id);
    if (row === undefined) throw new Error(`${model.id} is gone`);
    expect(row.status).toBe(model.status);
    expect(settings.get((row.input as { key: string }).key)).toBe(model.status === "applied" ? 1 : undefined);
    if (model.status !== "applied") continue;
    const answers = row.answers as { user_id: string; as: string }[];
    const { asked } = model;
    const second = answers.find(({ as }) => as === "second_person")?.user_id;
    expect(answers.some(({ as, user_id }) => as === "acting_user" && user_id === ids[asked.by])).toBe(
      asked.stepUp && asked.door !== "slash",
    );
    expect(second !== undefined).toBe(asked.dangerous);
    expect([ids[asked.by], asked.subject === undefined ? undefined : ids[asked.subject]].includes(second) && second !== undefined).toBe(
      false,
    );
  }
}

test("whatever is said by whom, when and where, a change is carried out once after every needed yes, and never otherwise", async () => {
  const bench = await createBench();
  const seen = new Map<string, number>();
  await fc.assert(
    fc.asyncProperty(fc.array(act, { minLength: 8, maxLength: 40, size: "max" }), async (acts) => {
      const models: Model[] = [];
      for (const one of acts) {
        if (one.kind === "wait") bench.time.now += one.seconds * 1000;
        if (one.kind === "sweep") {
          const due = models.filter(({ status, endsAt }) => status === "pending" && endsAt <= bench.time.now);
          await bench.confirmations.expireDue(systemCall("job", uuid7()));
          for (const model of due) model.status = "expired";
          seen.set("expired", (seen.get("expired") ?? 0) + due.length);
        }
        // A person may have twenty changes waiting; the models of earlier rounds are left behind.
        if (one.kind === "ask" && models.length < 12) {
          const model = await askFor(bench, one.what);
          if (model !== undefined) models.push(model);
        }
        if (one.kind === "say") {
          const candidates = one.isForEnded ? models : models.filter(({ status }) => status === "pending");
          const target = candidates.at(-1 - (one.which % Math.max(1, candidates.length)));
          if (target === undefined) continue;
          const came = await say(bench, target, { ...one, who: one.who === "asker" ? target.asked.by : one.who });
          seen.set(came, (seen.get(came) ?? 0) + 1);
        }
      }
      await compare(bench, models);
      bench.time.now += 86_401_000;
      await bench.confirmations.expireDue(systemCall("job", uuid7()));
    }),
    { numRuns: sizeOf({ quick: 60, all: 80, long: 1000 }) },
  );
  const wanted = ["applied", "declined", "expired", "pending", "last_owner", "storage_busy", "record_not_found", "invalid_transition"];
  const refusals = ["conflict_of_interest", "permission_denied", "cannot_grant_unheld", "hierarchy_violation"];
  expect([...wanted, ...refusals].filter((what) => (seen.get(what) ?? 0) === 0)).toEqual([]);
});

const agreed: Confirmable = {
  action: "test.again",
  group: "permissions",
  permission: "manage",
  input: {},
  summary: "Change a row",
  dangerous: ["danger"],
  subjectUserId: ids.senior,
  rank: 60,
};

test.each<[string, boolean, Partial<Confirmable>, string]>([
  ["as it was", true, {}, "applied"],
  ["with less danger", true, { dangerous: [] }, "applied"],
  ["at a lower rank", true, { rank: 40 }, "applied"],
  ["with more danger", true, { dangerous: ["danger", "manage"] }, "invalid_transition"],
  ["at a higher rank", true, { rank: 61 }, "invalid_transition"],
  ["to somebody else", true, { subjectUserId: ids.peer }, "invalid_transition"],
  ["though a second person was not needed when it was asked", false, {}, "invalid_transition"],
])("a change that was agreed to and is to be carried out %s", async (_name, wasForTwo, now, outcome) => {
  const { database, confirmations: before, open } = await createBench(wasForTwo);
  before.register("test.again", () => Promise.resolve());
  const answer = await database.write(callOf("admin", "rest"), (tx) => before.hold(tx, agreed));
  const { id } = isHeld(answer) ? answer.confirmation_required : { id: "" };
  const after = open(true);
  after.register("test.again", async (tx) => {
    expect(await after.hold(tx, { ...agreed, ...now })).toBeUndefined();
  });
  const first = after.confirm(callOf("admin", "slash"), id);
  const last = wasForTwo ? first.then(() => after.confirm(callOf("peer", "signed"), id)) : first;
  const came = await last.then(
    ({ status }) => status as string,
    (error: unknown) => (error instanceof ProblemError ? error.code : String(error)),
  );
  expect(came).toBe(outcome);
  const row = await database.read.confirmation.findUniqueOrThrow({ where: { id } });
  expect([row.status, row.failure]).toEqual(outcome === "applied" ? ["applied", null] : ["failed", outcome]);
});
