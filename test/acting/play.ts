import { expect } from "vitest";
import type { GuildHandle, Role, User } from "../../sandbox/index.ts";
import type { Look } from "../faults/acting-orders.ts";
import type { Answer } from "../support/client.ts";
import { listedMinutes, type ActingGround } from "./ground.ts";
import { Person, type Cause } from "./model.ts";
import type { Act, Round, Step, Trouble } from "./steps.ts";

/** Ends are made in steps of so many minutes. A play is shorter than that, but for the time that it lets pass. */
const unit = 60;
const minuteMs = 60_000;
/** So much time passes three times after each round that everything is tried again. */
const againMinutes = 2;

const faults = {
  refusal: { status: 403, body: { code: 50_013, message: "Missing Permissions" }, times: 1000 },
  limit: { status: 429, retryAfter: 0.2 },
  server: { status: 500 },
  lost: { status: 500, late: true },
  "too many": { status: 400, body: { code: 30_035, message: "Too many bans." } },
} as const;

interface Player {
  user: User;
  model: Person;
  steps: readonly Step[];
  above: Role;
}

/** What a test leaves out or undoes after each round, so that it is noticed. */
export interface Interference {
  afterRound?: (ground: ActingGround, users: readonly User[]) => Promise<unknown> | void;
}

/** Play the rounds with as many people as they have steps, and compare after each of them. */
export async function play(ground: ActingGround, rounds: readonly Round[], { afterRound }: Interference = {}): Promise<void> {
  const { guilds, world, nodes } = ground;
  const origin = ground.now();
  const above = guilds[0].createRole("Partner", { position: 300 });
  const players = (rounds[0]?.steps ?? []).map((_step, index): Player => {
    const user = world.member();
    guilds[1].addMember(user);
    return { user, model: new Person(), steps: rounds.flatMap(({ steps }) => steps[index] ?? []), above };
  });
  await ground.settle();
  try {
    for (const [index, { kill, units, steps }] of rounds.entries()) {
      const victim = kill === null ? undefined : nodes[kill.process % nodes.length];
      const starts = victim?.starts();
      await victim?.order({ do: "arm", statements: kill?.statements ?? 0 }).catch(() => undefined);
      const before = players.map(({ model: { causes, shown, isHere, isRaised } }) => ({
        count: causes.length,
        shown,
        isHere,
        isRaised,
        isCalm: kill === null && nodes.length === 1,
      }));
      await Promise.all(players.map((player, at) => takeStep(ground, player, steps[at], victim === undefined)));
      await ground.settle();
      if (victim !== undefined) {
        if (victim.starts() === starts) await victim.kill();
        await Promise.all(nodes.map(({ url }) => url()));
        await ground.settle();
      }
      world.sandbox.faults.clear();
      for (let round = 0; round < 3; round += 1) await pass(ground, players, againMinutes);
      if (units > 0) await pass(ground, players, units * unit);
      await afterRound?.(
        ground,
        players.map(({ user }) => user),
      );
      const look = await ground.look(players.map(({ user }) => user));
      for (const [at, player] of players.entries()) {
        const said = `after round ${index.toString()} of ${JSON.stringify(player.steps)}; ${JSON.stringify(rounds.map(({ kill: died, units: passed }) => [died, passed]))}`;
        noteUndone(ground, player, before[at] as Before, origin);
        noteRefusals(player, look, before[at] as Before, steps[at], said);
        expectTrue(ground, player, look, { origin, said });
      }
    }
    for (const player of players) expectOnce(ground, player, rounds);
  } finally {
    world.sandbox.faults.clear();
    guilds[0].deleteRole(above);
    for (const { model } of players) if (model.record !== null) await ground.revoke(model.record.number);
  }
}

async function pass(ground: ActingGround, players: readonly Player[], minutes: number): Promise<void> {
  for (const { model } of players) model.pass(minutes);
  await ground.pass(minutes);
}

const byHand = new Set<Act["do"]>(["timeout by hand", "ban by hand", "unban by hand", "lift by hand", "raise", "lower", "kick"]);

/**
 * What happens to one person in a round. What people do by hand is heard of where nothing else is under way; a refusal meets one decision, as what
 * is refused while it is taken back stays in Discord for good, which has tests of its own.
 */
async function takeStep(ground: ActingGround, player: Player, step: Step | undefined, isCalm: boolean): Promise<void> {
  if (step === undefined) return;
  const { trouble, acts } = step;
  fail(ground, player.user, trouble);
  const isQuiet = isCalm && trouble.with === "none";
  for (const act of chosen(step)) {
    if (byHand.has(act.do) && !isQuiet) continue;
    if (byHand.has(act.do)) await ground.settle();
    await carryOut(ground, player, act, acts);
    if (byHand.has(act.do)) await ground.settle();
    player.model.follow();
  }
}

function chosen({ acts, trouble }: Step): readonly Act[] {
  if (trouble.with !== "refusal") return acts;
  return acts.filter((act) => act.do === "ban" || act.do === "timeout").slice(0, 1);
}

function fail({ world, guilds: [bans, timeouts] }: ActingGround, { id }: User, trouble: Trouble): void {
  if (trouble.with === "none") return;
  const routes = [`PUT /guilds/${bans.id}/bans/${id}`, `PATCH /guilds/${timeouts.id}/members/${id}`];
  if (trouble.with !== "refusal") routes.push(`DELETE /guilds/${bans.id}/bans/${id}`);
  const count = "times" in trouble ? { times: trouble.times } : {};
  for (const route of routes) world.sandbox.faults.rest({ route, ...faults[trouble.with], ...count });
}

const lasting = (units: number): string => `PT${(units * unit).toString()}M`;
/** What would change nothing is refused before anything is recorded. */
const isSoAlready = ({ status, body }: Answer): boolean => status === 409 && /^(already|not)_/.test(String(body.discord?.code));

/** @returns the reference; null for what was refused, as it is so already or cannot be done */
async function moderate(
  ground: ActingGround,
  { user, model }: Player,
  guild: GuildHandle,
  { way, ...body }: { action: string; duration?: string; way: "alone" | "approved" },
): Promise<string | null> {
  if (way === "approved") return await ground.fileAndApprove(user, guild, body);
  const answer = await ground.moderate(user, guild, body);
  if (isSoAlready(answer)) return null;
  if (model.isRaised && guild === ground.guilds[0] && answer.status >= 400) {
    // Whoever was raised after the bot had looked is a blocker of the approval.
    expect(answer.body.discord?.code ?? answer.body.blockers?.[0]?.code, JSON.stringify(answer.body)).toBe("bot_role_too_low");
    return null;
  }
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
  // Nobody lifts alone what a list or two people keep in force.
  if (answer.body.direct !== true) await ground.approve(answer.body.reference as string);
  return answer.body.reference as string;
}

/** @param which any number: each means one that is there */
const oneOf = (causes: readonly Cause[], which: number): Cause | undefined => causes[which % Math.max(1, causes.length)];

/** Whether a list finds them there must not hang on a ban that is under way. */
async function isCertain(ground: ActingGround, { user, model }: Player): Promise<boolean> {
  const isThere = (): boolean => ground.guilds[0].member(user) !== undefined;
  if (isThere() !== model.isHere) await ground.settle();
  return isThere() === model.isHere;
}

async function carryOut(ground: ActingGround, player: Player, act: Act, acts: readonly Act[]): Promise<void> {
  const [bans, timeouts] = ground.guilds;
  const { user, model, above } = player;
  const endIn = (units: number): number => model.now + units * unit;
  switch (act.do) {
    case "ban": {
      // What cannot be done is a blocker on the card: there are tests of it.
      if (model.isRaised && act.way === "approved") return;
      const length = act.units === null ? {} : { duration: lasting(act.units) };
      const reference = await moderate(ground, player, bans, { action: "ban", way: act.way, ...length });
      if (reference === null) expect(model.isBanned || model.isRaised, JSON.stringify(acts)).toBe(true);
      else
        model.add({
          kind: "ban",
          from: "request",
          reference,
          end: act.units === null ? null : endIn(act.units),
          isTooHigh: model.isRaised,
        });
      return;
    }
    case "timeout": {
      const end = endIn(act.units);
      const reference = await moderate(ground, player, timeouts, { action: "timeout", way: act.way, duration: lasting(act.units) });
      if (reference === null) expect(model.shown?.end ?? 0, JSON.stringify(acts)).toBeGreaterThanOrEqual(end);
      else model.add({ kind: "timeout", from: "request", reference, end });
      return;
    }
    case "unban":
    case "untimeout": {
      const [kind, guild] = act.do === "unban" ? (["ban", bans] as const) : (["timeout", timeouts] as const);
      const reference = await moderate(ground, player, guild, { action: act.do, way: "alone" });
      if (reference !== null) model.endAll(kind);
      // A list may have yet to ask for it.
      else
        expect(
          model.asking(kind).filter(({ from }) => from === "request"),
          JSON.stringify(acts),
        ).toEqual([]);
      return;
    }
    case "kick": {
      if (!model.isHere || model.isBanned) return;
      const reference = await moderate(ground, player, bans, { action: "kick", way: "alone" });
      expect(reference === null, JSON.stringify(acts)).toBe(model.isRaised);
      if (reference !== null) model.goes();
      return;
    }
    case "reverse": {
      const cause = oneOf(model.decisions(), act.which);
      if (cause === undefined) return;
      await ground.reverse(cause.reference);
      Object.assign(cause, { isAsking: false, isReversed: true });
      model.recompute();
      return;
    }
    case "reduce": {
      const cause = oneOf(model.decisions(), act.which);
      if (cause === undefined || cause.appeal !== undefined) return;
      const reference = await ground.reduce(user, cause.reference, lasting(act.units));
      cause.appeal = { reference, was: cause.end, hasEnded: false };
      if (cause.isAsking) cause.end = endIn(act.units);
      model.recompute();
      return;
    }
    case "restore": {
      const reduced = model.causes.filter(({ appeal }) => appeal !== undefined);
      const cause = oneOf(reduced, act.which);
      if (cause?.appeal === undefined) return;
      await ground.restore(cause.appeal.reference);
      const { was, hasEnded } = cause.appeal;
      delete cause.appeal;
      if (cause.isReversed || !(cause.isAsking || hasEnded)) return;
      cause.end = was;
      cause.isAsking = was === null || was > model.now;
      model.recompute();
      return;
    }
    case "list": {
      if (model.record !== null || model.isAway || model.isRaised) return;
      if (!(await isCertain(ground, player))) return;
      // Whoever is listed anew before the end of the old record was looked at stays as they are.
      if (acts.some((other) => other.do === "revoke")) await ground.settle();
      model.record = { number: await ground.list(user), ban: "none" };
      model.add({ kind: "timeout", from: "list", reference: model.record.number, end: model.now + listedMinutes });
      return;
    }
    case "revoke": {
      if (model.record === null) return;
      await ground.revoke(model.record.number);
      model.revoke();
      return;
    }
    case "exempt":
    case "unexempt": {
      const isExempt = act.do === "exempt";
      if (model.isExempt === isExempt || !(await isCertain(ground, player))) return;
      await ground.exempt(user, isExempt);
      if (isExempt) model.exempt();
      else model.unexempt();
      return;
    }
    case "leave": {
      if (model.isAway || model.record !== null || model.shown?.isOurs === false) return;
      timeouts.leave(user);
      model.isAway = true;
      return;
    }
    case "return": {
      if (!model.isAway) return;
      timeouts.addMember(user);
      model.isAway = false;
      model.recompute();
      return;
    }
    case "rejoin": {
      if (model.isBanned || model.isHere || bans.member(user) !== undefined || ground.isBanned(user)) return;
      bans.addMember(user);
      model.isHere = true;
      return;
    }
    case "ban by hand": {
      if (model.isBanned) return;
      bans.ban(user, { reason: "By hand." });
      model.isBannedByHand = true;
      model.goes();
      return;
    }
    case "unban by hand": {
      if (!model.isBanned) return;
      bans.unban(user);
      model.endAll("ban");
      return;
    }
    case "timeout by hand": {
      const end = endIn(act.units) + 30;
      if (model.isAway || end <= (model.shown?.end ?? 0)) return;
      timeouts.timeout(user, (act.units * unit + 30) * 60);
      model.shown = { end, isOurs: false };
      return;
    }
    case "lift by hand": {
      if (model.isAway || model.shown === null) return;
      timeouts.timeout(user, 0);
      model.endAll("timeout");
      return;
    }
    case "raise":
    case "lower": {
      if (!model.isHere || model.record !== null) return;
      bans.setRoles(user, act.do === "raise" ? [above] : []);
      model.isRaised = act.do === "raise";
    }
  }
}

interface Before extends Pick<Person, "shown" | "isHere" | "isRaised"> {
  /** Of causes. */
  count: number;
  /** There is one process, and it is not to die. */
  isCalm: boolean;
}

/**
 * What is taken back, or made shorter, in the round in which it was decided may have been carried out before or not: whoever stays was never
 * banned, and what somebody had set by hand stands where nothing longer took its place.
 */
function noteUndone(ground: ActingGround, { user, model, above }: Player, before: Before, origin: number): void {
  const [bans] = ground.guilds;
  const own = model.causes.slice(before.count);
  const isShortened = own.some(({ kind, isAsking, appeal }) => kind === "timeout" && (!isAsking || appeal !== undefined));
  if (isShortened && before.shown?.isOurs === false && shownOf(ground, user, origin) === before.shown.end) {
    model.shown = before.shown;
    model.recompute();
  }
  const member = bans.member(user);
  if (!before.isHere || model.isHere || model.isBanned || member === undefined) return;
  if (own.some(({ kind }) => kind === "ban")) Object.assign(model, { isHere: true, isRaised: member.roles.includes(above.id) });
}

/** What Discord has refused asks for nothing, and all is as before. Nothing else may fail. */
function noteRefusals({ model }: Player, { effects }: Look, before: Before, step: Step | undefined, said: string): void {
  const own = model.causes.slice(before.count);
  for (const cause of own) {
    const effect = effects.find(({ reference, key }) => reference === cause.reference && key === "discord.punish");
    if (cause.from !== "request" || effect?.status !== "failed") continue;
    // Who is raised above the bot is known to the process with the gateway, once it has read the members; for others Discord itself refuses.
    const isTooHigh = cause.kind === "ban" && !before.isCalm && own.some((one) => one.isTooHigh === true);
    if (!isTooHigh) expect(step?.trouble.with, `${cause.reference} failed: ${JSON.stringify(effect)} ${said}`).toBe("refusal");
    Object.assign(cause, { isAsking: false, hasFailed: true });
    const { shown, isHere, isRaised } = before;
    if (cause.kind === "ban") Object.assign(model, isTooHigh ? { isHere: true, isRaised: true } : { isHere, isRaised });
    else model.shown = shown !== null && shown.end > model.now ? shown : null;
    model.recompute();
  }
}

/** When the timeout that Discord shows of somebody ends, in minutes of the play; null without one. */
function shownOf({ guilds: [, timeouts], now }: ActingGround, user: User, origin: number): number | null {
  const until = timeouts.member(user)?.timeoutUntil ?? 0;
  return until > now() ? Math.round((until - origin) / minuteMs) : null;
}

/** Discord shows what the model says; nothing is left undone; whatever failed was said, once. */
function expectTrue(
  ground: ActingGround,
  { user, model }: Player,
  { effects, actions, told, noted }: Look,
  { origin, said }: { origin: number; said: string },
): void {
  const [bans] = ground.guilds;
  const now = ground.now();
  const shown = shownOf(ground, user, origin);
  expect({ isBanned: ground.isBanned(user), isHere: bans.member(user) !== undefined, shown }, said).toEqual({
    isBanned: model.isBanned,
    isHere: model.isHere,
    shown: model.isAway ? null : (model.shown?.end ?? null),
  });

  const own = effects.filter(({ userId }) => userId === user.id);
  const listed = actions.filter(({ userId }) => userId === user.id);
  // Without a date it waits for those who are away.
  const isDue = ({ key, dueAt }: Look["effects"][number]): boolean =>
    dueAt === null ? !model.isAway : key !== "discord.ban_end" || dueAt <= now;
  expect(
    own.filter((effect) => (effect.status === "pending" || effect.dueAt !== null) && isDue(effect)),
    said,
  ).toEqual([]);
  expect(
    listed.filter(({ state, dueAt }) => (state === "pending" || state === "undoing") && !(dueAt === null && model.isAway)),
    said,
  ).toEqual([]);
  const failed = [...own.filter(({ status }) => status === "failed"), ...listed.filter(({ state }) => state === "failed")];
  for (const { reference, lastError } of failed) {
    expect(lastError, said).not.toBeNull();
    expect(
      [told, noted].map((among) => among.filter((one) => one === reference).length),
      `${reference} was told of once ${said}`,
    ).toEqual([1, 1]);
  }
}

/**
 * Each ban that Discord confirmed was a change. Whoever has heard no answer asks again, and so does a process that was killed between the answer
 * and the record of it.
 */
function expectOnce({ world, guilds: [bans] }: ActingGround, { user: { id }, steps }: Player, rounds: readonly Round[]): void {
  if (rounds.some(({ kill }) => kill !== null) || steps.some(({ trouble }) => trouble.with === "lost")) return;
  const asked = world.sandbox.exchanges.filter(
    ({ method, path, status }) => method === "PUT" && path === `/guilds/${bans.id}/bans/${id}` && status < 300,
  );
  const changes = world.sandbox.gatewayLog.filter(({ t, d }) => t === "GUILD_BAN_ADD" && (d as { user: { id: string } }).user.id === id);
  const told = new Set(changes.map(({ at, session }) => `${at.toString()} ${session ?? ""}`)).size;
  const hands = steps.flatMap(({ acts }) => acts).some((act) => act.do === "ban by hand");
  if (hands) expect(asked.length, `after ${JSON.stringify(steps)}`).toBeLessThanOrEqual(told);
  else expect(asked.length, `after ${JSON.stringify(steps)}`).toBe(told);
}
