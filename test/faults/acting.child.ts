import BetterSqlite3 from "better-sqlite3";
import pg from "pg";
import { createApp } from "../../src/app.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import type { DiscordActions } from "../../src/kernel/discord-port.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Look, Order, Sabotage } from "./acting-orders.ts";

/**
 * The whole service in a process of its own, with a clock that is told what time it is. It does what is due when it is told to, besides what
 * it does by itself, and dies between two statements that it says to its database.
 */
const { ACTING_EPOCH: epoch = "0", ACTING_SLOWNESS: slowness = "1", ACTING_OFFSET: begun = "0", ...env } = process.env;
let offset = Number(begun);
const now = () => Math.floor(Number(epoch) + (Date.now() - Number(epoch)) / Number(slowness)) + offset;

type Method = (this: unknown, ...given: unknown[]) => unknown;
let statementsLeft = Infinity;

/** Count what is said to the database by this method, and die before the statement that is one too many. */
function hook(owner: object, name: string): void {
  const methods = owner as Record<string, Method>;
  const method = methods[name];
  if (method === undefined) throw new Error(`this version of the driver has no ${name}`);
  methods[name] = function counted(this: unknown, ...given) {
    statementsLeft -= 1;
    if (statementsLeft < 0) process.kill(process.pid, "SIGKILL");
    return method.apply(this, given);
  };
}
const memory = new BetterSqlite3(":memory:");
const statement = Object.getPrototypeOf(memory.prepare("SELECT 1")) as object;
memory.close();
for (const name of ["run", "get", "all", "iterate"]) hook(statement, name);
hook(BetterSqlite3.prototype, "exec");
hook(pg.Client.prototype, "query");

const reading = readConfig(env);
if (!reading.ok) throw new Error(reading.lines.join("\n"));
const app = await createApp({ ...reading, clock: { now: () => new Date(now()) }, isScheduled: false, logTo: process.stderr });
await app.start();
const job = () => systemCall("job", uuid7());

/** What the service could leave out, so that it is seen to be noticed. */
const sabotages: Readonly<Record<Sabotage, (real: DiscordActions["perform"]) => DiscordActions["perform"]>> = {
  "refusals are done": (real) => async (action, earlier) => {
    const performed = await real(action, earlier);
    return performed.outcome === "failed" ? { outcome: "done", detail: "Done.", changed: true } : performed;
  },
  "nothing is tried again": (real) => async (action, earlier) => {
    const performed = await real(action, earlier);
    return performed.outcome === "retry" ? { outcome: "failed", detail: performed.detail } : performed;
  },
  "attempts are forgotten": (real) => async (action) => {
    const performed = await real(action);
    return performed.outcome === "done" && performed.detail.endsWith("already.") ? { ...performed, changed: false } : performed;
  },
  "ends stay as they were": (real) => (action, earlier) =>
    action.kind === "timeout" && action.from !== undefined
      ? Promise.resolve({ outcome: "done", detail: "Done.", changed: true })
      : real(action, earlier),
};
const { perform } = app.discord.actions;

const heard = async (): Promise<void> => {
  await app.guildState.feed.stored();
  await app.nativeWatch.idle();
};

async function settle(): Promise<void> {
  await heard();
  for (let round = 0; round < 3; round += 1) {
    await app.deliveries.deliverDue(job());
    await app.lists.worker.catchUp(job());
  }
  await heard();
}

async function look(people: readonly string[]): Promise<Look> {
  const { read } = app.database;
  const of = { in: [...people] };
  const effects = await read.workflowEffect.findMany({
    where: { key: { startsWith: "discord." }, request: { subjects: { some: { kind: "user", subjectId: of } } } },
    include: { request: { select: { reference: true, subjects: { where: { kind: "user", subjectId: of } } } } },
  });
  const actions = await read.listAction.findMany({ where: { userId: of } });
  const references = [
    ...effects.filter(({ status }) => status === "failed").map(({ request }) => request.reference),
    ...actions.filter(({ state }) => state === "failed").map(({ recordReference }) => recordReference),
  ];
  const told = await read.outboxEvent.findMany({ where: { type: "discord_action.failed" } });
  const noted = await read.auditEntry.findMany({
    where: { outcome: "failed", targetReference: { in: references } },
    select: { targetReference: true },
  });
  return {
    effects: effects.map(({ key, status, dueAt, lastError, request }) => ({
      userId: request.subjects[0]?.subjectId ?? "",
      reference: request.reference,
      key,
      status,
      dueAt: dueAt?.getTime() ?? null,
      lastError,
    })),
    actions: actions.map(({ userId, state, dueAt, lastError, recordReference: reference }) => ({
      userId,
      reference,
      state,
      dueAt: dueAt?.getTime() ?? null,
      lastError,
    })),
    told: told.map(({ data }) => (data as { reference?: string }).reference ?? "").filter((reference) => references.includes(reference)),
    noted: noted.map(({ targetReference }) => targetReference ?? ""),
  };
}

async function obey(order: Order): Promise<unknown> {
  switch (order.do) {
    case "time":
      offset = order.offset;
      return;
    case "arm":
      statementsLeft = order.statements;
      return;
    case "is leader":
      return app.cluster.isLeader() && app.discord.status().state === "ready" && !app.guildState.freshness().stale;
    case "hear":
      return await heard();
    case "settle":
      return await settle();
    case "look":
      return await look(order.people);
    case "sabotage":
      app.discord.actions = { perform: order.by === null ? perform : sabotages[order.by](perform) };
      return;
    case "forget failures":
      return await app.database.write(job(), ({ db }) => db.outboxEvent.deleteMany({ where: { type: "discord_action.failed" } }));
  }
}

process.on("message", ({ id, order }: { id: number; order: Order }) => {
  obey(order).then(
    (answer) => process.send?.({ id, answer: answer ?? null }),
    (error: unknown) => process.send?.({ id, error: error instanceof Error ? (error.stack ?? error.message) : String(error) }),
  );
});
process.send?.({ url: app.address() });
