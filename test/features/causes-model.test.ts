// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { seedOf, sizeOf } from "../support/size.ts";
import { createCausesGround, type CausesGround } from "./causes-ground.ts";

/** Whatever asks for bans and timeouts of a person, in whatever order, Discord shows what a naive model says. Rows A4 and A13 of the design. */
const shared: { ground?: CausesGround } = {};
beforeAll(async () => {
  const ground = await createCausesGround();
  const { guilds } = ground;
  await ground.stance(guilds[0], [{ category: "raid", stance: "apply", action: "ban" }]);
  await ground.stance(guilds[1], [{ category: "raid", stance: "apply", action: "timeout", timeout_seconds: listed * 60 }]);
  shared.ground = ground;
});
afterAll(() => shared.ground?.end());

/** Ends are made in steps of so many minutes, and time passes a little more than that: nothing ends at the moment it is looked at. */
const unit = 20;
const drift = 3;
const mostPasses = 5;
const listed = 3 * unit;
const minuteMs = 60_000;

type Kind = "ban" | "timeout";
type Step =
  | { do: "ban" | "timeout"; units: number | null }
  | { do: "list" | "revoke" | "rejoin" | "unbanByHand" | "banByHand" | "liftByHand" | "unban" | "untimeout" }
  | { do: "timeoutByHand"; units: number }
  | { do: "reverse" | "restore"; which: number }
  | { do: "reduce"; which: number; units: number }
  | { do: "pass"; units: number };

const units = fc.integer({ min: 1, max: 6 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constant("ban" as const), units: fc.option(units) }) },
  { weight: 4, arbitrary: fc.record({ do: fc.constant("timeout" as const), units }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom("list" as const, "revoke" as const, "rejoin" as const) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constantFrom("unbanByHand" as const, "banByHand" as const, "liftByHand" as const, "unban" as const, "untimeout" as const),
    }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("timeoutByHand" as const), units }) },
  { weight: 5, arbitrary: fc.record({ do: fc.constantFrom("reverse" as const, "restore" as const), which: fc.nat(5) }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("reduce" as const), which: fc.nat(5), units }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant("pass" as const), units: fc.integer({ min: 0, max: 3 }) }) },
);

/** A decision, or the record of a list, as simple as it can be said. Times are minutes of the model. */
interface Cause {
  kind: Kind;
  from: "request" | "list";
  reference: string;
  end: number | null;
  isAsking: boolean;
  /** Taken back: nothing brings it back. */
  isReversed: boolean;
  /** The appeal that changed its end, what the end was, and whether that has ended it. */
  appeal?: { reference: string; was: number | null; hasEnded: boolean };
}

/** What is so of one person: banned or not in one server, timed out or not in the other. */
class Model {
  now = 0;
  passes = 0;
  readonly causes: Cause[] = [];
  isBannedByHand = false;
  isHere = true;
  /** The timeout that Discord shows, and whether it is one of ours. */
  shown: { end: number; isOurs: boolean } | null = null;
  record: { number: string; ban: "none" | "asked" | "settled" } | null = null;

  asking(kind: Kind): Cause[] {
    return this.causes.filter((cause) => cause.kind === kind && cause.isAsking);
  }

  get isBanned(): boolean {
    return this.isBannedByHand || this.asking("ban").length > 0;
  }

  requests(): Cause[] {
    return this.causes.filter(({ from, isReversed }) => from === "request" && !isReversed);
  }

  add(cause: Pick<Cause, "kind" | "from" | "reference" | "end">): void {
    this.causes.push({ ...cause, isAsking: true, isReversed: false });
    this.lengthen(cause.kind, cause.end);
  }

  /** A later end is set, whatever is shown. */
  lengthen(kind: Kind, end: number | null): void {
    if (kind === "timeout" && end !== null && end > this.now && end > (this.shown?.end ?? 0)) this.shown = { end, isOurs: true };
  }

  /** What is shown of ours is never longer than what is asked for; what somebody else set stays. */
  shorten(): void {
    if (this.shown?.isOurs !== true) return;
    const ends = this.asking("timeout").map(({ end }) => end ?? 0);
    const most = Math.max(0, ...ends);
    if (most < this.shown.end) this.shown = most > this.now ? { end: most, isOurs: true } : null;
  }

  /** Who is banned is not there; whom a list means and who is there is banned. */
  follow(): void {
    if (this.record?.ban === "none" && this.isHere) {
      this.record.ban = "asked";
      this.add({ kind: "ban", from: "list", reference: this.record.number, end: null });
    }
    if (this.isBanned) this.isHere = false;
  }

  endAll(kind: Kind): void {
    for (const cause of this.asking(kind)) cause.isAsking = false;
    if (kind === "timeout") this.shown = null;
    else {
      this.isBannedByHand = false;
      if (this.record?.ban === "asked") this.record.ban = "settled";
    }
  }

  pass(minutes: number): void {
    this.now += minutes;
    for (const cause of this.causes) {
      if (!cause.isAsking || cause.end === null || cause.end > this.now) continue;
      cause.isAsking = false;
      if (cause.appeal !== undefined) cause.appeal.hasEnded = true;
    }
    if (this.shown !== null && this.shown.end <= this.now) this.shown = null;
  }
}

async function play(ground: CausesGround, steps: readonly Step[]): Promise<void> {
  const { guilds, world } = ground;
  const [bans, timeouts] = guilds;
  const user = world.member();
  timeouts.addMember(user);
  const model = new Model();
  const origin = ground.now();
  for (const [index, one] of steps.entries()) {
    await act(ground, user, model, one);
    await ground.settle();
    model.follow();
    const until = timeouts.member(user)?.timeoutUntil ?? 0;
    const shown = until > ground.now() ? Math.round((until - origin) / minuteMs) : null;
    const said = `after step ${index.toString()} of ${JSON.stringify(steps)}`;
    expect({ isBanned: ground.isBanned(user), isHere: bans.member(user) !== undefined, shown }, said).toEqual({
      isBanned: model.isBanned,
      isHere: model.isHere,
      shown: model.shown?.end ?? null,
    });
  }
  // Nobody listed is left for the next person.
  if (model.record !== null) await ground.revoke(model.record.number);
}

/** @param which any number: every one of them means one that is there */
function oneOf(causes: readonly Cause[], which: number): Cause | undefined {
  return causes[which % Math.max(1, causes.length)];
}

async function act(ground: CausesGround, user: User, model: Model, one: Step): Promise<void> {
  const [bans, timeouts] = ground.guilds;
  const quiet = { notify_subject: false };
  const lasting = (count: number) => `PT${(count * unit).toString()}M`;
  const endIn = (count: number) => model.now + count * unit;
  switch (one.do) {
    case "ban": {
      const length = one.units === null ? {} : { duration: lasting(one.units) };
      const reference = await ground.moderate(user, { action: "ban", ...length, ...quiet }, bans);
      model.add({ kind: "ban", from: "request", reference, end: one.units === null ? null : endIn(one.units) });
      return;
    }
    case "timeout": {
      const reference = await ground.moderate(user, { action: "timeout", duration: lasting(one.units ?? 1), ...quiet }, timeouts);
      model.add({ kind: "timeout", from: "request", reference, end: endIn(one.units ?? 1) });
      return;
    }
    case "list": {
      if (model.record !== null) return;
      model.record = { number: await ground.list(user), ban: "none" };
      model.add({ kind: "timeout", from: "list", reference: model.record.number, end: model.now + listed });
      return;
    }
    case "revoke": {
      if (model.record === null) return;
      await ground.revoke(model.record.number);
      for (const cause of model.causes) if (cause.reference === model.record.number) cause.isAsking = false;
      model.record = null;
      model.shorten();
      return;
    }
    case "reverse": {
      const cause = oneOf(model.requests(), one.which);
      if (cause === undefined) return;
      await ground.reverse(cause.reference);
      Object.assign(cause, { isAsking: false, isReversed: true });
      model.shorten();
      return;
    }
    case "reduce": {
      const cause = oneOf(model.requests(), one.which);
      if (cause === undefined || cause.appeal !== undefined) return;
      const more = { target: cause.reference, grounds: "The account was stolen that day.", user_id: user.id, desired_outcome: "reduce" };
      const appeal = await ground.file("appeal", more);
      await ground.decide("appeal", appeal, { decision: "reduce", new_duration: lasting(one.units) }, ground.fifth);
      cause.appeal = { reference: appeal, was: cause.end, hasEnded: false };
      if (!cause.isAsking) return;
      cause.end = endIn(one.units);
      model.shorten();
      model.lengthen(cause.kind, cause.end);
      return;
    }
    case "restore": {
      const cause = oneOf(
        model.causes.filter(({ appeal }) => appeal !== undefined),
        one.which,
      );
      if (cause?.appeal === undefined) return;
      await ground.reverse(cause.appeal.reference, "appeal", ground.fourth);
      const { was, hasEnded } = cause.appeal;
      delete cause.appeal;
      if (cause.isReversed || !(cause.isAsking || hasEnded)) return;
      cause.end = was;
      cause.isAsking = was === null || was > model.now;
      model.shorten();
      model.lengthen(cause.kind, cause.end);
      return;
    }
    case "unban":
    case "untimeout": {
      const kind = one.do === "unban" ? "ban" : "timeout";
      await ground.moderate(user, { action: one.do }, kind === "ban" ? bans : timeouts);
      model.endAll(kind);
      return;
    }
    case "unbanByHand": {
      if (!model.isBanned) return;
      bans.unban(user);
      model.endAll("ban");
      return;
    }
    case "banByHand": {
      if (model.isBanned) return;
      bans.ban(user, { reason: "By hand." });
      Object.assign(model, { isBannedByHand: true, isHere: false });
      return;
    }
    case "rejoin": {
      if (model.isBanned || model.isHere) return;
      bans.addMember(user);
      model.isHere = true;
      return;
    }
    case "timeoutByHand": {
      const end = endIn(one.units) + 1;
      if (end <= (model.shown?.end ?? 0)) return;
      timeouts.timeout(user, (one.units * unit + 1) * 60);
      model.shown = { end, isOurs: false };
      return;
    }
    case "liftByHand": {
      if (model.shown === null) return;
      timeouts.timeout(user, 0);
      model.endAll("timeout");
      return;
    }
    case "pass": {
      if (model.passes >= mostPasses) return;
      model.passes += 1;
      const minutes = one.units * unit + drift;
      model.pass(minutes);
      await ground.pass(minutes * minuteMs);
    }
  }
}

test("whatever asks for bans and timeouts, ends them or changes their ends, Discord shows what all causes in force make of it", async () => {
  const { ground } = shared;
  if (ground === undefined) throw new Error("nothing is open");
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 14, size: "max" }), async (steps) => {
      await play(ground, steps);
    }),
    { numRuns: sizeOf({ quick: 15, all: 30, long: 2000 }), seed: seedOf(11) },
  );
}, 7_200_000);
