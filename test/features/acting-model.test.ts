// @module-tag both
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Tx } from "../../src/database/database.ts";
import { systemCall, type Call } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { DiscordActions } from "../../src/kernel/discord-port.ts";
import type { User } from "../../src/sandbox/index.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createCausesGround, reason, type CausesGround } from "./causes-ground.ts";

/**
 * Whatever asks for bans and timeouts, while Discord refuses, fails, loses answers and the service is killed: what it says was done is what the
 * guild shows, nothing is done twice, nothing is forgotten, and every failure is said. Section 5 of the design.
 */
const shared: { ground?: CausesGround } = {};
beforeAll(async () => {
  const ground = await createCausesGround();
  await ground.stance(ground.guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
  shared.ground = ground;
});
afterAll(() => shared.ground?.end());

const minuteMs = 60_000;
/** Ends are made in steps of so many minutes. A play is shorter than that, but for the steps in which time passes. */
const unit = 60;

type Act =
  | { do: "ban"; units: number | null }
  | { do: "timeout"; units: number }
  | { do: "reverse"; which: number }
  | { do: "list" | "revoke" | "unban" | "untimeout" | "leave" | "return" | "rejoin" };
type Trouble =
  | { with: "none" | "refusal" }
  | { with: "limit" | "server" | "lost" | "too many"; times: number }
  | { with: "kill"; after: number; moment: "before" | "after" };
type Step = { acts: readonly Act[]; trouble: Trouble } | { pass: number };

const units = fc.integer({ min: 1, max: 4 });
const act: fc.Arbitrary<Act> = fc.oneof(
  { weight: 4, arbitrary: fc.record({ do: fc.constant("ban" as const), units: fc.option(units) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("timeout" as const), units }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constant("reverse" as const), which: fc.nat(5) }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "list" as const,
        "revoke" as const,
        "unban" as const,
        "untimeout" as const,
        "leave" as const,
        "return" as const,
        "rejoin" as const,
      ),
    }),
  },
);
const times = fc.integer({ min: 1, max: 5 });
const trouble: fc.Arbitrary<Trouble> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ with: fc.constant("none" as const) }) },
  { weight: 2, arbitrary: fc.record({ with: fc.constant("refusal" as const) }) },
  {
    weight: 5,
    arbitrary: fc.record({ with: fc.constantFrom("limit" as const, "server" as const, "lost" as const, "too many" as const), times }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      with: fc.constant("kill" as const),
      after: fc.integer({ min: 1, max: 4 }),
      moment: fc.constantFrom("before" as const, "after" as const),
    }),
  },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ acts: fc.array(act, { minLength: 1, maxLength: 2 }), trouble }) },
  { weight: 1, arbitrary: fc.record({ pass: units }) },
);

/** A decision or a record, as simple as it can be said. Times are minutes of the model. */
interface Cause {
  kind: "ban" | "timeout";
  reference: string;
  end: number | null;
  isAsking: boolean;
  isReversed: boolean;
}

class Model {
  now = 0;
  readonly causes: Cause[] = [];
  /** Of the list: its number, and whether its ban was asked for. */
  record: { number: string; isAsked: boolean } | null = null;
  isHere = true;
  isAway = false;

  asking(kind: Cause["kind"]): Cause[] {
    return this.causes.filter((cause) => cause.kind === kind && cause.isAsking);
  }

  get isBanned(): boolean {
    return this.asking("ban").length > 0;
  }

  get timedOutUntil(): number | null {
    const ends = this.asking("timeout").map(({ end }) => end ?? 0);
    return ends.length === 0 ? null : Math.max(...ends);
  }

  add(kind: Cause["kind"], reference: string, end: number | null): Cause {
    const cause = { kind, reference, end, isAsking: true, isReversed: false };
    this.causes.push(cause);
    return cause;
  }

  endAll(kind: Cause["kind"]): void {
    for (const cause of this.asking(kind)) cause.isAsking = false;
  }

  /** Whom the list means and who is there is banned; whoever is banned is not there. */
  follow(): void {
    if (this.record?.isAsked === false && this.isHere) {
      this.record.isAsked = true;
      this.add("ban", this.record.number, null);
    }
    if (this.isBanned) this.isHere = false;
  }

  pass(minutes: number): void {
    this.now += minutes;
    for (const cause of this.causes) if (cause.end !== null && cause.end <= this.now) cause.isAsking = false;
  }
}

/** Something that is left out on purpose, so that the property is seen to notice. */
interface Sabotage {
  perform?: (real: DiscordActions) => DiscordActions["perform"];
  /** After each step. */
  after?: (user: User) => Promise<void> | void;
}

async function play(ground: CausesGround, steps: readonly Step[], sabotage: Sabotage = {}): Promise<void> {
  const { guilds, world } = ground;
  const user = world.member();
  guilds[1].addMember(user);
  const model = new Model();
  const origin = ground.now();
  const { discord } = world.app;
  const { actions } = discord;
  if (sabotage.perform !== undefined) discord.actions = { perform: sabotage.perform(actions) };
  try {
    for (const [index, one] of steps.entries()) {
      if ("pass" in one) {
        model.pass(one.pass * unit);
        await ground.pass(one.pass * unit * minuteMs);
      } else await inTrouble(ground, user, model, one);
      model.follow();
      await sabotage.after?.(user);
      const said = `after step ${index.toString()} of ${JSON.stringify(steps)}`;
      await expectTrue(ground, user, model, { origin, said });
    }
    // A call that was answered with a server error is repeated at once, whatever became of it: only then is more asked for than changes.
    if (!steps.some((one) => "acts" in one && one.trouble.with === "lost")) expectOnce(ground, user, `after ${JSON.stringify(steps)}`);
  } finally {
    world.sandbox.faults.clear();
    discord.actions = actions;
    if (model.record !== null) await ground.revoke(model.record.number);
  }
}

const faults = {
  refusal: { status: 403, body: { code: 50_013, message: "Missing Permissions" }, times: 100 },
  limit: { status: 429, retryAfter: 1 },
  server: { status: 500 },
  lost: { status: 500, late: true },
  "too many": { status: 400, body: { code: 30_035, message: "Too many bans." } },
} as const;

/** What is done while Discord or the service fails. Then the trouble ends, and so much time passes that everything is tried again. */
async function inTrouble(ground: CausesGround, user: User, model: Model, { acts, trouble: what }: Extract<Step, { acts: unknown }>) {
  const { world, guilds } = ground;
  const { with: kind } = what;
  const isRefused = kind === "refusal";
  let revive = (): Promise<void> => Promise.resolve();
  if (kind === "kill") revive = killJobs(ground, what);
  else if (kind !== "none") {
    const count = "times" in what ? { times: what.times } : {};
    const routes = [`PUT /guilds/${guilds[0].id}/bans/${user.id}`, `PATCH /guilds/${guilds[1].id}/members/${user.id}`];
    // A refusal of what is taken back leaves it in Discord for good: it has tests of its own.
    if (!isRefused) routes.push(`DELETE /guilds/${guilds[0].id}/bans/${user.id}`);
    for (const route of routes) world.sandbox.faults.rest({ route, ...faults[kind], ...count });
  }
  const doing = isRefused ? acts.filter(({ do: one }) => one === "ban" || one === "timeout").slice(0, 1) : acts;
  const before = model.causes.length;
  for (const one of doing) await carryOut(ground, user, model, one);
  await ground.settle();
  await revive();
  world.sandbox.faults.clear();
  for (let round = 0; round < 3; round += 1) {
    model.pass(2);
    await ground.pass(2 * minuteMs);
  }
  for (const cause of model.causes.slice(before).filter(({ reference }) => reference.startsWith("PUN"))) {
    const [effect] = await ground.effects(cause.reference, "discord.punish");
    if (effect?.status !== "failed") continue;
    expect(isRefused, `${cause.reference} failed: ${JSON.stringify(effect)}`).toBe(true);
    cause.isAsking = false;
  }
}

/** From the given write of its jobs on, the process is dead: nothing more is written. @returns how it is started anew */
function killJobs(ground: CausesGround, { after, moment }: Extract<Trouble, { with: "kill" }>): () => Promise<void> {
  const { world, settle } = ground;
  const { database } = world.app;
  const { write } = database;
  let left = after;
  let die = (): void => undefined;
  const dead = new Promise<void>((resolve) => (die = resolve));
  // Whoever waits for a process that is dead waits for nothing.
  ground.settle = () => Promise.race([settle().catch(() => undefined), dead]);
  const kill = (): never => {
    die();
    throw new Error("killed");
  };
  Object.assign(database, {
    write: async <T>(call: Call, work: (tx: Tx) => Promise<T>): Promise<T> => {
      if (call.via !== "job") return await write(call, work);
      left -= 1;
      if (left < 0 || (left === 0 && moment === "before")) return kill();
      const answer = await write(call, work);
      return left === 0 ? kill() : answer;
    },
  });
  return async () => {
    Object.assign(database, { write });
    ground.settle = settle;
    await world.restart();
  };
}

async function carryOut(ground: CausesGround, user: User, model: Model, one: Act): Promise<void> {
  const { guilds, world } = ground;
  const lasting = (count: number) => `PT${(count * unit).toString()}M`;
  /** @returns the reference; null for what would change nothing, which is refused before anything is recorded */
  const moderate = async (body: object, guild = guilds[0]): Promise<string | null> => {
    const input = { user_id: user.id, reason, notify_subject: false, ...body };
    const answer = await world.post(`/guilds/${guild.id}/moderation`, input, { actor: await ground.filer() });
    if (answer.status === 409) return null;
    expect(answer.status, JSON.stringify(answer.body)).toBe(201);
    await ground.settle();
    return answer.body.reference as string;
  };
  switch (one.do) {
    case "ban": {
      const reference = await moderate({ action: "ban", ...(one.units !== null && { duration: lasting(one.units) }) });
      if (reference === null) expect(model.isBanned).toBe(true);
      else model.add("ban", reference, one.units === null ? null : model.now + one.units * unit);
      return;
    }
    case "timeout": {
      const end = model.now + one.units * unit;
      const reference = await moderate({ action: "timeout", duration: lasting(one.units) }, guilds[1]);
      if (reference === null) expect(model.timedOutUntil).toBeGreaterThanOrEqual(end);
      else model.add("timeout", reference, end);
      return;
    }
    case "unban":
    case "untimeout": {
      const kind = one.do === "unban" ? "ban" : "timeout";
      // A list keeps its ban in force: nobody lifts it alone.
      if (kind === "ban" && model.record?.isAsked === true) return;
      const reference = await moderate({ action: one.do }, kind === "ban" ? guilds[0] : guilds[1]);
      if (reference === null) expect(model.asking(kind)).toEqual([]);
      else model.endAll(kind);
      return;
    }
    case "reverse": {
      const causes = model.causes.filter(({ reference, isReversed }) => reference.startsWith("PUN") && !isReversed);
      const cause = causes[one.which % Math.max(1, causes.length)];
      if (cause === undefined) return;
      await ground.reverse(cause.reference);
      Object.assign(cause, { isAsking: false, isReversed: true });
      return;
    }
    case "list": {
      if (model.record !== null) return;
      model.record = { number: await ground.list(user), isAsked: false };
      model.follow();
      return;
    }
    case "revoke": {
      if (model.record === null) return;
      await ground.revoke(model.record.number);
      for (const cause of model.causes) if (cause.reference === model.record.number) cause.isAsking = false;
      model.record = null;
      return;
    }
    case "leave": {
      if (model.isAway) return;
      guilds[1].leave(user);
      model.isAway = true;
      return;
    }
    case "return": {
      if (!model.isAway) return;
      guilds[1].addMember(user);
      model.isAway = false;
      return;
    }
    case "rejoin": {
      const isThere = guilds[0].member(user) !== undefined;
      if (model.isBanned || isThere || ground.isBanned(user)) return;
      guilds[0].addMember(user);
      model.isHere = true;
    }
  }
}

/** Each ban that Discord confirmed was a change. */
function expectOnce({ world, guilds }: CausesGround, { id }: User, said: string): void {
  const asked = world.sandbox.exchanges.filter(
    ({ method, path, status }) => method === "PUT" && path === `/guilds/${guilds[0].id}/bans/${id}` && status < 300,
  );
  const changes = world.sandbox.gatewayLog.filter(({ t, d }) => t === "GUILD_BAN_ADD" && (d as { user: { id: string } }).user.id === id);
  expect(asked.length, said).toBe(new Set(changes.map(({ at, session }) => `${at.toString()} ${session ?? ""}`)).size);
}

/** Discord shows what the model says; nothing is left undone; whatever failed was said. */
async function expectTrue(ground: CausesGround, user: User, model: Model, { origin, said }: { origin: number; said: string }) {
  const { world, guilds } = ground;
  const { read } = world.app.database;
  const until = guilds[1].member(user)?.timeoutUntil ?? 0;
  const shown = until > ground.now() ? Math.round((until - origin) / minuteMs) : null;
  const wanted = model.isAway ? null : model.timedOutUntil;
  expect({ isBanned: ground.isBanned(user), shown }, said).toEqual({ isBanned: model.isBanned, shown: wanted });

  const effects = await read.workflowEffect.findMany({
    where: { key: { startsWith: "discord." }, request: { subjects: { some: { kind: "user", subjectId: user.id } } } },
    include: { request: { select: { reference: true } } },
  });
  const actions = await read.listAction.findMany({ where: { userId: user.id } });
  const now = ground.now();
  const isOpen = ({ key, dueAt }: { key: string; dueAt: Date | null }): boolean =>
    dueAt === null ? !model.isAway : key !== "discord.ban_end" || dueAt.getTime() <= now;
  const forgotten = effects.filter((effect) => (effect.status === "pending" || effect.dueAt !== null) && isOpen(effect));
  expect(forgotten, said).toEqual([]);
  expect(
    actions.filter(({ state }) => state === "pending" || state === "undoing"),
    said,
  ).toEqual([]);

  const failed = [
    ...effects.filter(({ status }) => status === "failed").map(({ request, lastError }) => ({ reference: request.reference, lastError })),
    ...actions
      .filter(({ state }) => state === "failed")
      .map(({ recordReference, lastError }) => ({ reference: recordReference, lastError })),
  ];
  const events = await read.outboxEvent.findMany({ where: { type: "discord_action.failed" } });
  for (const { reference, lastError } of failed) {
    expect(lastError, said).not.toBeNull();
    const told = events.filter(({ data }) => (data as { reference?: string }).reference === reference);
    expect(told.length, `${reference} was told of once ${said}`).toBe(1);
    expect(await read.auditEntry.count({ where: { outcome: "failed", targetReference: reference } }), said).toBe(1);
  }
}

test("whatever is decided and whatever fails, what the service says is what Discord shows, once, and nothing is forgotten", async () => {
  const { ground } = shared;
  if (ground === undefined) throw new Error("nothing is open");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 3, maxLength: 7, size: "max" }), async (steps) => {
      await play(ground, steps);
    }),
    { numRuns: sizeOf({ quick: 4, all: 8, long: 2000 }), seed: seedOf(19), endOnFailure: true },
  );
}, 7_200_000);

/** What the service could leave out, and a play in which the property notices. */
describe("the property notices", () => {
  const quiet = { with: "none" } as const;
  const ban = { do: "ban", units: null } as const;
  const reverse = (which: number) => ({ do: "reverse", which }) as const;
  const left: readonly [string, readonly Step[], Sabotage][] = [
    [
      "a refusal that is called done",
      [{ acts: [ban], trouble: { with: "refusal" } }],
      {
        perform: (real) => async (action, earlier) => {
          const performed = await real.perform(action, earlier);
          return performed.outcome === "failed" ? { outcome: "done", detail: "Done.", changed: true } : performed;
        },
      },
    ],
    [
      "an act that is never tried again",
      [{ acts: [ban], trouble: { with: "too many", times: 1 } }],
      {
        perform: (real) => async (action, earlier) => {
          const performed = await real.perform(action, earlier);
          return performed.outcome === "retry" ? { outcome: "failed", detail: performed.detail } : performed;
        },
      },
    ],
    [
      "that nobody remembers what an attempt without an answer may have done",
      [
        { acts: [ban], trouble: { with: "lost", times: 5 } },
        { acts: [reverse(0)], trouble: quiet },
      ],
      {
        perform: (real) => async (action) => {
          const performed = await real.perform(action);
          return performed.outcome === "done" && performed.detail.endsWith("already.") ? { ...performed, changed: false } : performed;
        },
      },
    ],
    [
      "a ban that is lifted though another decision still asks for it",
      [{ acts: [ban, ban, reverse(0)], trouble: quiet }],
      { after: (user) => void shared.ground?.guilds[0].unban(user) },
    ],
    [
      "an end that is not worked out anew from the decisions that remain",
      [
        { acts: [{ do: "timeout", units: 1 }], trouble: quiet },
        { acts: [{ do: "timeout", units: 4 }], trouble: quiet },
        { acts: [reverse(1)], trouble: quiet },
      ],
      {
        perform: (real) => (action, earlier) =>
          action.kind === "timeout" && action.from !== undefined
            ? Promise.resolve({ outcome: "done", detail: "Done.", changed: true })
            : real.perform(action, earlier),
      },
    ],
    [
      "a failure that nobody is told of",
      [{ acts: [ban], trouble: { with: "refusal" } }],
      {
        async after() {
          const type = "discord_action.failed";
          const { database } = shared.ground?.world.app ?? {};
          await database?.write(systemCall("job", uuid7()), ({ db }) => db.outboxEvent.deleteMany({ where: { type } }));
        },
      },
    ],
  ];

  test.each(left)("%s", async (_, steps, sabotage) => {
    const { ground } = shared;
    if (ground === undefined) throw new Error("nothing is open");
    await play(ground, steps);
    await expect(play(ground, steps, sabotage)).rejects.toThrow(/after step|failed:/);
  });
});
