// @module-tag sqlite
import { systemCall } from "../../src/kernel/call.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { auditReason, messageBody } from "../../src/discord/actions/kinds.ts";
import { createDiscordActions } from "../../src/discord/rest/attachments.ts";
import { createDiscordRest } from "../../src/discord/rest/rest.ts";
import { createDiscordActions as createActing, type DirectAction, type DiscordPort } from "../../src/discord-actions/discord-actions.ts";
import { systemClock } from "../../src/kernel/clock.ts";
import { DiscordAction, type Performed } from "../../src/kernel/discord-port.ts";
import { inWords } from "../../src/kit/say.ts";
import { createJudge, hasSpec } from "../sandbox/openapi-judge.ts";
import { createTestDatabase } from "../support/database.ts";
import { createLog, startSandbox } from "./support.ts";

const hour = 3_600_000;
const day = 24 * hour;

interface Given {
  apiBase?: string;
  deadlineMs?: number;
  isServed?: boolean;
}

async function start({ apiBase, deadlineMs, isServed = true }: Given = {}) {
  const sandbox = await startSandbox();
  const { logger, log } = createLog();
  const rest = createDiscordRest({ apiBase: apiBase ?? sandbox.apiBase, token: sandbox.env().DISCORD_TOKEN, logger, repeatMs: 20 });
  const guild = sandbox.createGuild({ name: "Harbour" });
  const foreign = sandbox.createGuild({ name: "Foreign", withBot: false });
  const [low, high] = [guild.createRole("Low", { position: 10 }), guild.createRole("High", { position: 300 })];
  const [ann, boss, stranger] = [sandbox.createUser("ann"), sandbox.createUser("boss"), sandbox.createUser("stranger")];
  const robot = sandbox.createUser("robot", { bot: true });
  guild.addMember(ann);
  guild.addMember(boss, { roles: [high] });
  guild.addMember(robot);
  const [channel, foreignChannel] = [guild.createChannel("log"), foreign.createChannel("log")];
  const clock = { now: () => new Date(Date.now() + clock.isAheadBy), isAheadBy: 0 };
  const { perform, sent } = createDiscordActions({
    rest,
    clock,
    logger,
    served: isServed ? { has: () => true } : new Set([foreign.id]),
    ...(deadlineMs !== undefined && { deadlineMs }),
  });
  /** What the bot has changed or said. */
  const calls = () => sandbox.exchanges.filter(({ method, path }) => method !== "GET" && path !== "/users/@me/channels");
  return { sandbox, guild, foreign, low, high, ann, boss, stranger, robot, channel, foreignChannel, perform, sent, clock, calls, log };
}

type World = Awaited<ReturnType<typeof start>>;

const every = { id: "effect-1", reason: "CASE-0001" };
const on = ({ guild, ann }: World) => ({ ...every, guildId: guild.id, userId: ann.id });
const inAnHour = () => new Date(Date.now() + hour).toISOString();

interface Row {
  prepare?(world: World): void;
  action(world: World): DiscordAction;
  /** What stands when it is done. */
  stands(world: World): boolean;
}

const kinds: Record<DiscordAction["kind"], Row> = {
  role_add: {
    action: (world) => ({ kind: "role_add", ...on(world), roleId: world.low.id }),
    stands: ({ guild, ann, low }) => guild.member(ann)?.roles.includes(low.id) === true,
  },
  role_remove: {
    prepare: ({ guild, ann, low }) => guild.setRoles(ann, [low]),
    action: (world) => ({ kind: "role_remove", ...on(world), roleId: world.low.id }),
    stands: ({ guild, ann }) => guild.member(ann)?.roles.length === 0,
  },
  nickname: {
    action: (world) => ({ kind: "nickname", ...on(world), nickname: "N-7 | Ann" }),
    stands: ({ guild, ann }) => guild.member(ann)?.nick === "N-7 | Ann",
  },
  timeout: {
    action: (world) => ({ kind: "timeout", ...on(world), until: inAnHour() }),
    stands: ({ guild, ann }) => (guild.member(ann)?.timeoutUntil ?? 0) > Date.now() + hour - 60_000,
  },
  timeout_lift: {
    prepare: ({ guild, ann }) => guild.timeout(ann, 600),
    action: (world) => ({ kind: "timeout_lift", ...on(world) }),
    stands: ({ guild, ann }) => guild.member(ann)?.timeoutUntil === null,
  },
  kick: {
    action: (world) => ({ kind: "kick", ...on(world) }),
    stands: ({ guild, ann }) => guild.member(ann) === undefined && guild.bans().length === 0,
  },
  ban: {
    action: (world) => ({ kind: "ban", ...on(world) }),
    stands: ({ guild, ann }) => guild.bans()[0]?.user.id === ann.id && guild.bans()[0]?.reason === every.reason,
  },
  unban: {
    prepare: ({ guild, ann }) => guild.ban(ann, { reason: "x" }),
    action: (world) => ({ kind: "unban", ...on(world) }),
    stands: ({ guild }) => guild.bans().length === 0,
  },
  message_user: {
    action: ({ ann }) => ({ kind: "message_user", ...every, userId: ann.id, content: "hello" }),
    stands: ({ sandbox, ann }) => JSON.stringify(sandbox.directMessages(ann).map(({ content }) => content)) === '["hello"]',
  },
  message_channel: {
    action: ({ channel }) => ({ kind: "message_channel", ...every, channelId: channel.id, content: "hello" }),
    stands: ({ guild }) => JSON.stringify(guild.messages().map(({ content }) => content)) === '["hello"]',
  },
};
const table = Object.entries(kinds);

test.each(table)("%s is done, and a second time nothing more happens", async (kind, { prepare, action, stands }) => {
  const world = await start();
  prepare?.(world);
  expect(stands(world)).toBe(false);
  const wanted = DiscordAction.parse(JSON.parse(JSON.stringify(action(world))));
  expect(await world.perform(wanted)).toMatchObject({ outcome: "done", changed: true });
  expect(stands(world)).toBe(true);
  const { length } = world.calls();
  const again = await world.perform(wanted);
  expect(stands(world)).toBe(true);
  if (kind.startsWith("message_")) return expect(again).toMatchObject({ outcome: "done" });
  // Nobody who is gone can be kicked.
  expect(again).toMatchObject(kind === "kick" ? { outcome: "failed", code: 10_007 } : { outcome: "done", changed: false });
  expect(world.calls()).toHaveLength(length);
  expect(await world.perform(wanted, { mayBeDone: true })).toMatchObject({ outcome: "done", changed: true });
  expect(decodeURIComponent(world.calls()[0]?.requestHeaders["x-audit-log-reason"] ?? "")).toBe(every.reason);
});

test.skipIf(!hasSpec).each(table)("what is sent for %s is what Discord documents", async (_, { prepare, action }) => {
  const world = await start();
  prepare?.(world);
  await world.perform(action(world));
  await world.perform(action(world));
  const { checked, bad, unknown, extra } = createJudge().check(world.sandbox.exchanges);
  expect({ bad, unknown, extra }).toEqual({ bad: [], unknown: [], extra: [] });
  expect(checked).toBeGreaterThanOrEqual(2);
  expect(world.sandbox.unhandled).toEqual([]);
});

const nowhere = "100000000000000001";

test.each<[string, RegExp, (world: World) => DiscordAction]>([
  ["a role for nobody", /no account with this ID/, (w) => ({ ...kinds.role_add.action(w), userId: nowhere }) as DiscordAction],
  ["a role that is gone", /role no longer exists/, (w) => ({ ...kinds.role_add.action(w), roleId: nowhere }) as DiscordAction],
  ["a role above the bot", /role is too low/, (w) => ({ ...kinds.role_add.action(w), roleId: w.high.id }) as DiscordAction],
  ["taking a role above the bot", /role is too low/, (w) => ({ kind: "role_remove", ...on(w), userId: w.boss.id, roleId: w.high.id })],
  ["a timeout of a person above", /role is too low/, (w) => ({ kind: "timeout", ...on(w), userId: w.boss.id, until: inAnHour() })],
  ["kicking a stranger", /not in the server/, (w) => ({ kind: "kick", ...on(w), userId: w.stranger.id })],
  ["kicking the owner", /role is too low/, (w) => ({ kind: "kick", ...on(w), userId: w.guild.ownerId })],
  ["banning a person above", /role is too low/, (w) => ({ kind: "ban", ...on(w), userId: w.boss.id })],
  ["banning nobody", /no account with this ID/, (w) => ({ kind: "ban", ...on(w), userId: nowhere })],
  ["a server that does not exist", /I'm not in that server/, (w) => ({ kind: "ban", ...on(w), guildId: nowhere })],
  ["a server without the bot", /I'm not in the server/, (w) => ({ kind: "kick", ...on(w), guildId: w.foreign.id })],
  ["a message to closed doors", /don't accept messages/, (w) => (w.sandbox.setDirectMessages(w.ann, false), kinds.message_user.action(w))],
  ["a message to a stranger", /don't accept messages/, (w) => ({ kind: "message_user", ...every, userId: w.stranger.id, content: "x" })],
  ["a message to a bot", /don't accept messages/, (w) => ({ kind: "message_user", ...every, userId: w.robot.id, content: "x" })],
  ["a message to nobody", /no account with this ID/, () => ({ kind: "message_user", ...every, userId: nowhere, content: "x" })],
  ["a channel that is gone", /channel no longer exists/, () => ({ kind: "message_channel", ...every, channelId: nowhere, content: "x" })],
  [
    "a channel elsewhere",
    /not in the server/,
    (w) => ({ kind: "message_channel", ...every, channelId: w.foreignChannel.id, content: "x" }),
  ],
  [
    "a message of spaces",
    /message would be empty/,
    (w) => ({ kind: "message_channel", ...every, channelId: w.channel.id, content: " \n" }),
  ],
])("%s ends for good, in plain words, and nothing has changed", async (_, words, make) => {
  const world = await start();
  const { guild, ann, boss, high, sandbox } = world;
  const performed = await world.perform(make(world));
  expect(inWords(performed)).toEqual({
    outcome: "failed",
    code: expect.any(Number) as number,
    detail: expect.stringMatching(words) as string,
  });
  expect(performed.detail).not.toMatch(/\d{4}|sandbox\./);
  expect(guild.member(ann)).toMatchObject({ roles: [], timeoutUntil: null });
  expect(guild.member(boss)).toMatchObject({ roles: [high.id], timeoutUntil: null });
  expect([guild.bans(), guild.messages(), sandbox.directMessages(ann)]).toEqual([[], [], []]);
});

test("without the permission everything ends for good", async () => {
  const world = await start();
  const { botRole } = world.guild;
  if (botRole) world.guild.setRolePermissions(botRole, []);
  world.guild.setRolePermissions(world.guild.everyoneRole, []);
  for (const kind of ["role_add", "timeout", "kick", "ban", "unban", "message_channel"] as const)
    expect([kind, await world.perform(kinds[kind].action(world))]).toEqual([
      kind,
      { outcome: "failed", code: expect.any(Number) as number, detail: expect.stringContaining("permission") as string },
    ]);
  expect(world.guild.member(world.ann)).toMatchObject({ roles: [], timeoutUntil: null });
});

test("a person who has left has no role to take: that is done, and not by us", async () => {
  const world = await start();
  world.guild.leave(world.ann);
  expect(await world.perform(kinds.role_remove.action(world))).toMatchObject({ outcome: "done", changed: false });
  expect(world.calls()).toEqual([]);
});

test("what can only be done to a member waits for a person who is away", async () => {
  const world = await start();
  world.guild.leave(world.ann);
  for (const kind of ["role_add", "nickname", "timeout", "timeout_lift"] as const)
    expect([kind, await world.perform(kinds[kind].action(world))]).toMatchObject([kind, { outcome: "away" }]);
  expect(world.calls()).toEqual([]);
});

test("a server this service does not serve is left alone", async () => {
  const world = await start({ isServed: false });
  expect(await world.perform(kinds.ban.action(world))).toMatchObject({ outcome: "failed" });
  expect(world.sandbox.exchanges).toEqual([]);
});

test("a nickname is cut to what Discord takes, never through a character, and one of nothing takes it away", async () => {
  const world = await start();
  const named = (nickname: string | null): DiscordAction => ({ kind: "nickname", ...on(world), nickname });
  const long = `${"x".repeat(30)}\u{1F6A2}\u{1F6A2}`;
  expect(await world.perform(named(long))).toMatchObject({ outcome: "done", changed: true });
  expect(world.guild.member(world.ann)?.nick).toBe(`${"x".repeat(30)}\u2026`);
  expect(await world.perform(named(long))).toMatchObject({ outcome: "done", changed: false });
  expect(await world.perform(named("  "))).toMatchObject({ outcome: "done", changed: true });
  expect(world.guild.member(world.ann)?.nick).toBeNull();
  expect(await world.perform(named(null))).toMatchObject({ outcome: "done", changed: false });
  expect(world.calls()).toHaveLength(2);
});

test.each([
  ["a person above the bot", /role is too low/, ({ boss }: World) => boss.id],
  ["the owner of the server", /role is too low/, ({ guild }: World) => guild.ownerId],
])("the nickname of %s ends for good", async (_, words, who) => {
  const world = await start();
  const performed = await world.perform({ kind: "nickname", ...every, guildId: world.guild.id, userId: who(world), nickname: "x" });
  expect(inWords(performed)).toMatchObject({ outcome: "failed", detail: expect.stringMatching(words) as string });
  expect(world.guild.member(world.boss)?.nick).toBeNull();
});

describe("timeouts", () => {
  const timeout = (world: World, ms: number): DiscordAction => ({
    kind: "timeout",
    ...on(world),
    until: new Date(Date.now() + ms).toISOString(),
  });
  const ends = ({ guild, ann }: World): number => guild.member(ann)?.timeoutUntil ?? 0;

  test("longer than Discord allows are cut to 28 days, and that is said", async () => {
    const world = await start();
    const action = timeout(world, 400 * day);
    const performed = await world.perform(action);
    expect(inWords(performed)).toMatchObject({ outcome: "done", changed: true, detail: expect.stringContaining("28 days") as string });
    expect(Math.abs(ends(world) - Date.now() - 28 * day)).toBeLessThan(10 * 60_000);
    expect(performed).toHaveProperty("until", new Date(ends(world)).toISOString());
    expect(await world.perform(action)).toMatchObject({ outcome: "done", changed: false });
  });

  test("a longer one of somebody else is neither shortened nor ours", async () => {
    const world = await start();
    world.guild.timeout(world.ann, 7200);
    const before = ends(world);
    expect(await world.perform(timeout(world, hour))).toMatchObject({ outcome: "done", changed: false });
    expect([ends(world), world.calls()]).toEqual([before, []]);
    expect(await world.perform(timeout(world, 3 * hour))).toMatchObject({ outcome: "done", changed: true });
    expect(ends(world)).toBeGreaterThan(before);
  });

  test("one that has ended is not begun", async () => {
    const world = await start();
    expect(await world.perform(timeout(world, -1000))).toMatchObject({ outcome: "done", changed: false });
    expect(world.sandbox.exchanges).toEqual([]);
  });

  test("ours is lifted by the time it ends; one set meanwhile stays", async () => {
    const world = await start();
    const performed = await world.perform(timeout(world, hour));
    const until = performed.outcome === "done" ? performed.until : undefined;
    const lift: DiscordAction = { kind: "timeout_lift", ...on(world), until };
    world.guild.timeout(world.ann, 7200);
    const other = ends(world);
    expect(await world.perform(lift, { mayBeDone: true })).toMatchObject({ outcome: "done", changed: false });
    expect(ends(world)).toBe(other);
    world.guild.timeout(world.ann, (Date.parse(until ?? "") - Date.now()) / 1000);
    expect(await world.perform(lift)).toMatchObject({ outcome: "done", changed: true });
    expect(ends(world)).toBe(0);
  });
});

const routes = {
  member: "GET /guilds/:g/members/:u",
  change: "PATCH /guilds/:g/members/:u",
  role: "PUT /guilds/:g/members/:u/roles/:r",
  unban: "DELETE /guilds/:g/bans/:u",
  direct: "POST /users/@me/channels",
  send: "POST /channels/:c/messages",
} as const;

test("a rate limit is waited for", async () => {
  const world = await start();
  const fault = world.sandbox.faults.rest({ route: routes.role, status: 429, retryAfter: 0.2 });
  expect(await world.perform(kinds.role_add.action(world))).toMatchObject({ outcome: "done", changed: true });
  expect(fault.hits).toBe(1);
});

test("a rate limit that is too long is for later, with the time, and surely nothing was done", async () => {
  const world = await start();
  world.sandbox.faults.rest({ route: routes.role, status: 429, retryAfter: 60 });
  const performed = await world.perform(kinds.role_add.action(world));
  expect(performed).toMatchObject({ outcome: "retry", mayBeDone: false });
  expect((performed as { retryAfterMs: number }).retryAfterMs).toBeGreaterThan(50_000);
  expect(kinds.role_add.stands(world)).toBe(false);
});

test.each<[string, DiscordAction["kind"], Parameters<World["sandbox"]["faults"]["rest"]>[0], boolean]>([
  ["a failing look", "role_add", { route: routes.member, status: 503, times: 9 }, false],
  ["a look that hangs", "role_add", { route: routes.member, hang: true }, false],
  ["an answer that is something else", "role_add", { route: routes.member, status: 200, body: [] }, false],
  ["a page instead of an answer", "role_add", { route: routes.member, status: 403, html: "<h1>Access denied</h1>" }, false],
  ["a refused token", "role_add", { route: routes.member, status: 401 }, false],
  ["a failing change", "timeout", { route: routes.change, status: 502 }, true],
  ["a change that hangs", "role_add", { route: routes.role, hang: true, times: 9 }, true],
  ["no direct channel", "message_user", { route: routes.direct, status: 500 }, false],
  ["direct channels too fast", "message_user", { route: routes.direct, status: 400, body: { code: 40_003, message: "" } }, false],
  ["a direct channel without an id", "message_user", { route: routes.direct, status: 200, body: { id: 5 } }, false],
  ["a failing message", "message_channel", { route: routes.send, status: 500 }, true],
  ["a full channel", "message_channel", { route: routes.send, status: 403, body: { code: 20_028, message: "" } }, false],
])("%s is for later: %s", async (_, kind, fault, mayBeDone) => {
  const world = await start(fault.hang === true ? { deadlineMs: 1000 } : {});
  const handle = world.sandbox.faults.rest(fault);
  expect(await world.perform(kinds[kind].action(world))).toMatchObject({ outcome: "retry", mayBeDone });
  expect(handle.hits).toBeGreaterThan(0);
  expect(kinds[kind].stands(world)).toBe(false);
  expect(world.log.join("")).not.toContain(world.sandbox.env().DISCORD_TOKEN);
});

test("what cannot be reached at all is for later", async () => {
  const world = await start({ apiBase: "http://127.0.0.1:9/api" });
  expect(await world.perform(kinds.ban.action(world))).toMatchObject({ outcome: "retry", mayBeDone: false });
  expect(kinds.ban.stands(world)).toBe(false);
});

describe("when the answer is lost", () => {
  test.each(["message_user", "message_channel"] as const)("%s arrives once, however often it is tried", async (kind) => {
    const world = await start();
    world.sandbox.faults.rest({ route: routes.send, status: 502, late: true, times: 2 });
    const action = kinds[kind].action(world);
    const attempts: Performed["outcome"][] = [];
    for (let n = 0; n < 3; n += 1) attempts.push((await world.perform(action, { mayBeDone: n > 0 })).outcome);
    expect(attempts).toEqual(["retry", "retry", "done"]);
    expect(kinds[kind].stands(world)).toBe(true);
    await world.perform({ ...action, id: "effect-2" });
    const sent = [...world.guild.messages(), ...world.sandbox.directMessages(world.ann)];
    expect(sent).toHaveLength(2);
  });

  test("a repetition within the attempt knows that it was us", async () => {
    const world = await start();
    world.sandbox.faults.rest({ route: routes.role, status: 502, late: true });
    expect(await world.perform(kinds.role_add.action(world))).toMatchObject({ outcome: "done", changed: true });
    world.guild.ban(world.ann);
    world.sandbox.faults.rest({ route: routes.unban, status: 502, late: true });
    expect(await world.perform(kinds.unban.action(world))).toMatchObject({ outcome: "done", changed: true });
  });

  test("the next attempt knows when it is told, and otherwise takes it for somebody else's", async () => {
    const world = await start();
    world.sandbox.faults.rest({ route: routes.change, status: 502, late: true });
    const action = kinds.timeout.action(world);
    expect(await world.perform(action)).toMatchObject({ outcome: "retry", mayBeDone: true });
    expect(kinds.timeout.stands(world)).toBe(true);
    expect(await world.perform(action)).toMatchObject({ outcome: "done", changed: false });
    expect(await world.perform(action, { mayBeDone: true })).toMatchObject({ outcome: "done", changed: true });
  });

  test("that it may be done is not forgotten by an attempt that never got there", async () => {
    const world = await start();
    world.sandbox.faults.rest({ route: routes.member, status: 200, body: [] });
    expect(await world.perform(kinds.timeout.action(world), { mayBeDone: true })).toMatchObject({ outcome: "retry", mayBeDone: true });
  });
});

/** What acts in Discord, with a database and nobody to tell. */
async function startActing() {
  const world = await start();
  const { database, drop } = await createTestDatabase();
  onTestFinished(drop);
  const acting = createActing({
    database,
    discord: { actions: { perform: world.perform }, status: () => ({ state: "ready" }) as ReturnType<DiscordPort["status"]> },
    events: { emit: () => undefined },
    guildState: { presences: { onSeen: () => undefined, joinedAt: () => undefined } },
    judge: { now: () => null },
    clock: systemClock,
    logger: createLog().logger,
  });
  return { world, acting };
}

test("of two that want the same at once, one has done it", async () => {
  const { world, acting } = await startActing();
  const { perform } = acting;
  const action = kinds.role_add.action(world) as DirectAction;
  const both = await Promise.all([perform(action), perform({ ...action, id: "effect-2" })]);
  expect(both.map((performed) => performed.outcome === "done" && performed.changed)).toEqual([true, false]);
});

test("an outcome that a busy storage does not take is written again, and not after the lease", async () => {
  const { world, acting } = await startActing();
  const action = kinds.role_add.action(world);
  const ends: string[] = [];
  const tasks = acting.tasksOf({
    name: "tried",
    due: () => Promise.resolve(ends.includes("done") ? [] : [{ id: "1", key: "1", dueAt: new Date() }]),
    nextDue: () => Promise.resolve(null),
    claim: () => Promise.resolve(ends.length === 0 ? { action, attempts: 1, mayBeDone: false } : undefined),
    end: (_tx, _claimed, { state }) => {
      ends.push(ends.length < 2 ? "busy" : state);
      if (ends.length < 3) throw new ProblemError("storage_busy", { retryAfter: 1 });
      return Promise.resolve({ cause: { feature: "list", id: "1", place: 0, reference: "BL-000001" }, isWritten: false });
    },
    waitingFor: () => Promise.resolve([]),
    requeue: () => Promise.resolve(),
  });
  expect(await tasks.runDue(systemCall("job", "1"))).toBe(1);
  expect(ends).toEqual(["busy", "busy", "done"]);
});

test("what the bot has just done it knows as its own, however the machine's clock is set since", async () => {
  const { guild, ann, perform, sent, clock } = await start();
  const ban = { kind: "ban", guildId: guild.id, userId: ann.id } as const;
  expect(sent.has(ban)).toBe(false);
  await perform({ ...every, ...ban });
  clock.isAheadBy = 2 * hour;
  expect([sent.has(ban), sent.has({ ...ban, kind: "unban" })]).toEqual([true, false]);
  clock.isAheadBy = -2 * hour;
  expect(sent.has(ban)).toBe(true);
});

test("hostile text alerts nobody, and too long text is cut", async () => {
  const world = await start();
  const { ann, low, channel, guild } = world;
  const alerts = `@everyone @here <@${ann.id}> <@&${low.id}> https://example.org \uD800`;
  await world.perform({ kind: "message_channel", ...every, channelId: channel.id, content: alerts });
  await world.perform({ kind: "message_channel", ...every, id: "2", channelId: channel.id, content: "é".repeat(4000) });
  const [first, second] = guild.messages();
  expect(first).toMatchObject({ alerted: { everyone: false, users: [], roles: [] }, flags: 4 });
  expect(first?.content).toBe(alerts.replace("\uD800", "\uFFFD"));
  expect([second?.content.length, second?.content.at(-1)]).toEqual([2000, "…"]);
  const reason = `a\r\nb\0 ${"😀".repeat(400)}`;
  expect(await world.perform({ kind: "ban", ...on(world), reason })).toMatchObject({ outcome: "done", changed: true });
  expect(guild.bans()[0]?.reason).toMatch(/^a b (😀)+…$/u);
});

test("whatever the text, what is sent fits and can be sent", () => {
  const anyText = fc.oneof(
    fc.string({ unit: fc.integer({ min: 0, max: 0xffff }).map((code) => String.fromCharCode(code)), maxLength: 3000 }),
    fc.string({ unit: "binary", maxLength: 3000 }),
  );
  fc.assert(
    fc.property(anyText, fc.string(), (content, id) => {
      const body = messageBody({ id, content });
      expect(body.content.length).toBeLessThanOrEqual(2000);
      expect(/\p{Surrogate}/u.test(body.content)).toBe(false);
      expect(body.nonce).toMatch(/^[\w-]{25}$/);
      const reason = auditReason(content) ?? "x";
      expect(reason.length).toBeLessThanOrEqual(512);
      expect(decodeURIComponent(encodeURIComponent(reason))).toBe(reason);
    }),
  );
});

test.each([
  { kind: "delete_server", ...every, guildId: nowhere, userId: nowhere },
  { kind: "ban", ...every, guildId: 1, userId: nowhere },
  { kind: "role_add", ...every, guildId: nowhere, userId: nowhere },
  { kind: "timeout", ...every, guildId: nowhere, userId: nowhere, until: "tomorrow" },
  { kind: "message_user", ...every, userId: nowhere, content: "" },
  { kind: "kick", guildId: nowhere, userId: nowhere, reason: "x" },
])("what is no action is not taken for one: %o", (value) => {
  expect(DiscordAction.safeParse(value).success).toBe(false);
});
