// @module-tag postgres
// @module-tag slow
import fc from "fast-check";
import { pino } from "pino";
import { expect, test } from "vitest";
import { createDiscordActions, type DiscordPort } from "../../src/discord-actions/discord-actions.ts";
import { outcomeOf } from "../../src/discord-actions/outcome.ts";
import { createDeliveries } from "../../src/features/workflows/delivery/deliveries.ts";
import { discordEffect } from "../../src/features/workflows/effects/discord-effect.ts";
import type { Effects } from "../../src/features/workflows/effects/effects.ts";
import type { Done } from "../../src/features/workflows/effects/types.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { addSeconds } from "../../src/kernel/clock.ts";
import type { DiscordAction, Performed } from "../../src/kernel/discord-port.ts";
import { ProblemError } from "../../src/kernel/errors.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { worded } from "../../src/kit/say.ts";
import { createGround, freshId, ownGuilds, type Ground } from "./workflows-ground.ts";
import { sizeOf } from "../support/size.ts";
import { getWholeRequest } from "../../src/features/workflows/requests/workflows.policy.ts";

const system = () => systemCall("job", uuid7());
const done: Performed = { outcome: "done", detail: "Done.", changed: true };
const key = "test.dated";
const requestCount = sizeOf({ quick: 6, all: 10, long: 20 });

type Run = NonNullable<ReturnType<Effects["dueOf"]>>;

interface Given {
  /** What happens at the date. */
  run?: Run;
  /** How the bot answers. */
  perform?: (action: DiscordAction) => Performed;
  state?: ReturnType<DiscordPort["status"]>["state"];
}

/** One instance that delivers, with an effect of its own. */
function instance({ services }: Ground, { run, perform = () => done, state = "ready" }: Given = {}) {
  const { database, audit, events, workflows, clock, actions, notices, access } = services;
  const asked: { action: DiscordAction; mayBeDone: boolean | undefined }[] = [];
  const effects = { ...workflows.effects, dueOf: (_due: unknown, name: string) => (name === key ? run : undefined) };
  const logger = pino({ level: "silent" });
  const { guildState } = services;
  const discord: DiscordPort = {
    status: () => ({ state, since: clock.now(), reconnects: 0 }),
    actions: {
      perform(action, earlier) {
        asked.push({ action, mayBeDone: earlier?.mayBeDone });
        return Promise.resolve(perform(action));
      },
    },
  };
  const deliveries = createDeliveries({
    database,
    audit,
    events,
    actions,
    effects,
    notices,
    guildState,
    access,
    reach: { linkedAccountsOf: () => Promise.resolve([]) },
    clock,
    logger,
    causesInForce: services.causesInForce,
    discordActions: createDiscordActions({ database, discord, events, guildState, judge: { now: () => null }, clock, logger }),
  });
  return { asked, deliver: () => deliveries.deliverDue(system()) };
}

/** Another instance: of a file there is only one process. */
const second = async (ground: Ground): Promise<Ground> =>
  ground.database.dialect === "postgres" ? await createGround({ url: ground.url }) : ground;

async function file(ground: Ground): Promise<string> {
  const requester = ground.staff("moderator");
  const listing = { category: "raid", severity: "low", reason: "Led the raid of last night.", server_ids: [ownGuilds[0]] };
  const filed = await ground.post("/workflows/blacklist-user", { user_id: freshId(), ...listing }, { actor: requester });
  expect(filed.status, JSON.stringify(filed.body)).toBe(201);
  return filed.body.id;
}

const leave = async (ground: Ground, requestId: string, rows: (Done & { key: string })[]) =>
  await ground.database.write(
    system(),
    async (tx) => await ground.workflows.effects.append(tx, await getWholeRequest(tx, requestId), rows),
  );
const dated = (dueAt: Date): Done & { key: string } => ({ key, status: "pending", detail: "At its date.", dueAt, input: { plan: 1 } });
const told = (name: string): Done & { key: string } => ({
  key: "test.told",
  ...discordEffect({ kind: "message_channel", channelId: "80351110224678912", content: name, reason: "x" }, { id: name, detail: "Told." }),
});
const rowsOf = async (ground: Ground, requestId: string) =>
  (await ground.database.read.workflowEffect.findMany({ where: { requestId }, orderBy: { place: "asc" } })).map((row) => ({
    ...row,
    detail: row.detail === null ? null : worded(row.detail),
    lastError: row.lastError === null ? null : worded(row.lastError),
  }));
const count = async ({ database: { read } }: Ground) => [await read.auditEntry.count(), await read.outboxEvent.count()];

/** Leaves a trace that can be counted. */
const trace: Run = async ({ tx, request }) => {
  await tx.db.setting.create({ data: { key: `trace.${uuid7()}`, value: request.id, updatedAt: tx.now } });
  return { status: "done", detail: "It was done at its date.", undo: { before: 1 } };
};
const traces = async ({ database }: Ground): Promise<number> =>
  await database.read.setting.count({ where: { key: { startsWith: "trace." } } });

test("what was left for a date is done once, at its date, by whichever of two instances comes first", async () => {
  const ground = await createGround();
  const other = await second(ground);
  const id = await file(ground);
  await leave(ground, id, [dated(addSeconds(ground.services.clock.now(), 3600))]);
  const [one, two] = [instance(ground, { run: trace }), instance(other, { run: trace })];
  expect(await one.deliver()).toBe(0);
  expect(await rowsOf(ground, id)).toMatchObject([{ status: "pending", attempts: 0 }]);
  for (const each of new Set([ground, other])) each.pass(3601);
  const before = await count(ground);
  const ended = await Promise.all([one.deliver(), two.deliver(), one.deliver(), two.deliver()]);
  expect(ended.reduce((sum, each) => sum + each)).toBe(1);
  expect(await traces(ground)).toBe(1);
  expect(await rowsOf(ground, id)).toMatchObject([{ status: "done", attempts: 1, dueAt: null, undo: { before: 1 }, lastError: null }]);
  expect(await count(ground)).toEqual(before.map((rows) => rows + 1));
  const [request] = await ground.database.read.workflowRequest.findMany();
  expect(request).toMatchObject({ revision: 1 });
  expect(request?.updatedAt).toEqual(request?.createdAt);
  expect(await one.deliver()).toBe(0);
  expect(await ground.audit.verify(ground.callOf({}))).toMatchObject({ ok: true });
});

/** Whoever asked for what failed hears of it. */
const toldRequester = { key: "notice.requester", status: "done", detail: "Message to the requester: it could not be carried out." };

test("a date that cannot be kept fails with its reason, and leaves nothing half done", async () => {
  const ground = await createGround();
  const id = await file(ground);
  await leave(ground, id, [dated(ground.services.clock.now())]);
  const detail = "The roles have changed since.";
  const { asked, deliver } = instance(ground, {
    async run(due, row) {
      await trace(due, row);
      throw new ProblemError("invalid_transition", { detail });
    },
  });
  const before = await count(ground);
  expect(await deliver()).toBe(2);
  expect(await traces(ground)).toBe(0);
  expect(await rowsOf(ground, id)).toMatchObject([
    { status: "failed", attempts: 1, lastError: detail, dueAt: null, undo: null },
    toldRequester,
  ]);
  expect(asked.map(({ action }) => action)).toMatchObject([{ kind: "message_user", content: expect.stringContaining(detail) }]);
  expect(await count(ground)).toEqual(before.map((rows) => rows + 2));
  expect(await deliver()).toBe(0);
});

test("what fails for now is tried again, later each time, and fails for good after twelve tries", async () => {
  const ground = await createGround();
  const id = await file(ground);
  await leave(ground, id, [dated(ground.services.clock.now())]);
  const { deliver } = instance(ground, { run: () => Promise.reject(new Error("secret words of a library")) });
  const before = await count(ground);
  for (let tried = 1; tried < 12; tried += 1) {
    expect(await deliver()).toBe(0);
    const [row] = await rowsOf(ground, id);
    expect(row).toMatchObject({ status: "pending", attempts: tried });
    expect(row?.lastError).not.toContain("secret");
    expect(row?.dueAt?.getTime()).toBeGreaterThan(ground.services.clock.now().getTime() + 3000);
    expect(await deliver()).toBe(0);
    expect(await rowsOf(ground, id)).toMatchObject([{ attempts: tried }]);
    ground.pass(4600);
  }
  expect(await count(ground)).toEqual(before);
  expect(await deliver()).toBe(2);
  expect(await rowsOf(ground, id)).toMatchObject([{ status: "failed", attempts: 12, dueAt: null }, toldRequester]);
  expect(await count(ground)).toEqual(before.map((rows) => rows + 2));
});

test("an effect may put itself off, and one that nobody knows any more fails", async () => {
  const ground = await createGround();
  const [id, unknown] = [await file(ground), await file(ground)];
  const now = ground.services.clock.now();
  await leave(ground, id, [dated(now)]);
  await leave(ground, unknown, [{ ...dated(now), key: "test.forgotten" }]);
  const dueAt = addSeconds(now, 7200);
  await instance(ground, { run: () => Promise.resolve({ status: "pending", detail: "Not yet.", dueAt }) }).deliver();
  expect(await rowsOf(ground, id)).toMatchObject([{ status: "pending", attempts: 0, detail: "Not yet.", dueAt, input: { plan: 1 } }]);
  expect(await rowsOf(ground, unknown)).toMatchObject([{ status: "failed", attempts: 1 }, toldRequester]);
});

test(`ten messages of each of ${requestCount.toString()} requests are sent once each and in order, by two instances at the same time`, async () => {
  const ground = await createGround();
  const other = await second(ground);
  const ids: string[] = [];
  while (ids.length < requestCount) ids.push(await file(ground));
  const turns = "abcdefghij".split("");
  const messageCount = ids.length * turns.length;
  for (const turn of turns)
    await ground.database.write(system(), async (tx) => {
      for (const id of ids) await ground.workflows.effects.append(tx, await getWholeRequest(tx, id), [told(`${id} ${turn}`)]);
    });
  const sent: string[] = [];
  const perform = (action: DiscordAction): Performed => (sent.push(action.id), done);
  const instances = [instance(ground, { perform }), instance(other, { perform })];
  for (let rounds = 0; sent.length < messageCount && rounds < 20; rounds += 1) await Promise.all(instances.map(({ deliver }) => deliver()));
  expect(sent).toHaveLength(messageCount);
  expect(new Set(sent).size).toBe(messageCount);
  for (const id of ids) expect(sent.filter((one) => one.startsWith(id)).map((one) => one.at(-1))).toEqual(turns);
  expect(await ground.database.read.workflowEffect.groupBy({ by: ["status", "attempts"], _count: true })).toEqual([
    { status: "done", attempts: 1, _count: messageCount },
  ]);
});

const act = (name: string, kind: "kick" | "ban", userId: string): Done & { key: string } => ({
  key: "test.act",
  ...discordEffect({ kind, guildId: "80351110224678900", userId, reason: "x" }, { id: name, detail: "Done." }),
});

test("a message that waits to be tried again holds up later ones of its request, and nothing else", async () => {
  const ground = await createGround();
  const [stuck, free] = [await file(ground), await file(ground)];
  await leave(ground, stuck, [told("first"), told("second"), act("ban", "ban", freshId())]);
  await leave(ground, free, [told("other")]);
  const answers: Performed[] = [{ outcome: "retry", detail: "Discord could not be reached.", mayBeDone: true }];
  const { asked, deliver } = instance(ground, { perform: ({ id }) => (id === "first" ? (answers.pop() ?? done) : done) });
  expect(await deliver()).toBe(2);
  expect(asked.map(({ action }) => action.id).toSorted()).toEqual(["ban", "first", "other"]);
  expect(await rowsOf(ground, stuck)).toMatchObject([
    { status: "pending", attempts: 1, lastError: "Discord could not be reached." },
    { status: "pending", attempts: 0 },
    { status: "done" },
  ]);
  ground.pass(10);
  expect(await deliver()).toBe(2);
  expect(asked.slice(3)).toMatchObject([
    { action: { id: "first" }, mayBeDone: true },
    { action: { id: "second" }, mayBeDone: false },
  ]);
});

test("what is done to one person in one server stays in order, and nobody waits behind the retry of somebody else", async () => {
  const ground = await createGround();
  const people = [freshId(), freshId(), freshId(), freshId(), freshId()];
  for (const user of people) await leave(ground, await file(ground), [act(`${user} kick`, "kick", user), act(`${user} ban`, "ban", user)]);
  const [, , hindered = ""] = people;
  const later: Performed = { outcome: "retry", detail: "Not now.", mayBeDone: false, retryAfterMs: 90_000 };
  const { asked, deliver } = instance(ground, { perform: ({ id }) => (id === `${hindered} kick` ? later : done) });
  expect(await deliver()).toBe(8);
  const names = asked.map(({ action }) => action.id);
  expect(names.filter((name) => name.startsWith(hindered))).toEqual([`${hindered} kick`]);
  for (const user of people.filter((one) => one !== hindered))
    expect(names.filter((name) => name.startsWith(user))).toEqual([`${user} kick`, `${user} ban`]);
  const rows = await ground.database.read.workflowEffect.findMany({ where: { status: "pending" }, orderBy: { place: "asc" } });
  expect(rows.map(({ attempts }) => attempts)).toEqual([1, 0]);
  expect(rows[0]?.dueAt?.getTime()).toBeGreaterThan(ground.services.clock.now().getTime() + 80_000);
});

test.each(["connecting", "down", "fatal"] as const)(
  "while the link to Discord is %s nothing is sent, and dates are kept",
  async (state) => {
    const ground = await createGround();
    const [told1, id] = [await file(ground), await file(ground)];
    await leave(ground, told1, [told("waits")]);
    await leave(ground, id, [dated(ground.services.clock.now())]);
    const { asked, deliver } = instance(ground, { state, run: trace });
    expect(await deliver()).toBe(1);
    expect(asked).toEqual([]);
    expect(await rowsOf(ground, told1)).toMatchObject([{ status: "pending", attempts: 0 }]);
    expect(await traces(ground)).toBe(1);
  },
);

test("an action whose every try ends unheard has failed after twelve", async () => {
  const ground = await createGround();
  const id = await file(ground);
  await leave(ground, id, [told("lost")]);
  const { asked, deliver } = instance(ground, {
    perform() {
      throw new Error("the process ends here");
    },
  });
  for (let tried = 0; tried < 13; tried += 1) {
    await deliver();
    ground.pass(61);
  }
  expect(asked.map(({ mayBeDone }) => mayBeDone)).toEqual([false, ...Array.from({ length: 11 }, () => true)]);
  expect(await rowsOf(ground, id)).toMatchObject([{ status: "failed", attempts: 12, dueAt: null }]);
});

test("only the service itself delivers", async () => {
  const ground = await createGround();
  const { services } = ground;
  await expect(services.deliveries.deliverDue(ground.callOf({ scopes: "workflows.read" }))).rejects.toMatchObject({
    code: "permission_denied",
  });
});

test("pauses stay below an hour, never undercut what Discord asks for, and let no message be forgotten as sent", () => {
  const nonceLifeMs = 300_000;
  const now = new Date();
  const pauseOf = (action: DiscordAction, attempts: number, retryAfterMs = 0): number => {
    const outcome = outcomeOf(now, { action, attempts }, { outcome: "retry", detail: "Not now.", mayBeDone: true, retryAfterMs });
    return outcome.state === "later" ? outcome.dueAt.getTime() - now.getTime() : Infinity;
  };
  const ban: DiscordAction = { kind: "ban", id: "x", guildId: freshId(), userId: freshId(), reason: "x" };
  const message: DiscordAction = { kind: "message_user", id: "x", userId: freshId(), content: "x", reason: "x" };
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 11 }), fc.integer({ min: 0, max: 7_200_000 }), (attempts, leastMs) => {
      expect(pauseOf(ban, attempts, leastMs)).toBeGreaterThanOrEqual(leastMs);
      expect(pauseOf(ban, attempts)).toBeLessThanOrEqual(3_600_000 * 1.25);
      expect(pauseOf(ban, attempts)).toBeGreaterThanOrEqual(3750);
      expect(pauseOf(message, attempts)).toBeLessThanOrEqual(nonceLifeMs);
    }),
  );
  expect(pauseOf(ban, 12)).toBe(Infinity);
});
