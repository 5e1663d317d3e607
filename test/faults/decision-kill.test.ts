// @module-tag postgres
// @module-tag slow
import { spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { expect, inject, onTestFinished, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { installation } from "../cli/installation.ts";
import { createEmptyCopy } from "../support/database.ts";
import { sqliteFile } from "../../src/database/dialect.ts";
import {
  callOf,
  decide,
  deliver,
  differences,
  everyRow,
  inShape,
  openOn,
  type Decision,
  type Job,
  type Opened,
  type Orders,
} from "./decision-kill.ts";
import { sizeOf, tier } from "../support/size.ts";

type Tables = Record<string, string[]>;

const isPostgres = inject("dialect") === "postgres";
/** How many places of each decision are tried; the long run tries all. */
const isAll = tier === "long";
const places = sizeOf({ quick: isPostgres ? 2 : 3, all: 8, long: Infinity });
const limit = { timeout: isAll ? 1_800_000 : 180_000 };
/** Copies that one process decides on before it is killed. */
const atOnce = 12;
const reason = "A reason that is long enough for everything.";
const [requester, ada, ben, cyn] = ["9001", "9002", "9003", "9004"].map((id) => `${id}1110224678912`) as [string, string, string, string];
const subject = "80351110224670001";
const listing = { user_id: subject, category: "raid", severity: "high", server_ids: ["80351110224678912"], reason };

async function file({ services }: Opened, type: string, body: object): Promise<string> {
  return (await services.workflows.create(callOf(requester), type as "punishment", body)).id;
}
const act = (opened: Opened, actor: string, type: string, key: string, body: Record<string, unknown>) =>
  opened.services.workflows.decide(callOf(actor), type, key, body);

/** What stands before each decision, and the decision. The subject is on the roster, and asks for another position. */
const scenes: Readonly<Record<string, (opened: Opened) => Promise<Omit<Decision, "scope">>>> = {
  async approve(opened) {
    const first = await file(opened, "recruitment", { user_id: subject, position: "moderator" });
    await act(opened, ada, "recruitment", first, { decision: "approve", override: true, reason });
    await file(opened, "recruitment", { user_id: subject, position: "trainer" });
    return {
      actor: ada,
      type: "blacklist-user",
      key: await file(opened, "blacklist-user", listing),
      body: { decision: "approve", reason },
    };
  },
  async reverse(opened) {
    const { type, key } = await (scenes["approve"] ?? stop)(opened);
    await act(opened, ada, type, key, { decision: "approve" });
    await act(opened, ben, type, key, { decision: "reverse", reason });
    return { actor: cyn, type, key, body: { decision: "reverse", reason } };
  },
  async deny(opened) {
    return { actor: ada, type: "blacklist-user", key: await file(opened, "blacklist-user", listing), body: { decision: "deny", reason } };
  },
  async void(opened) {
    const kept = await file(opened, "blacklist-user", { ...listing, user_id: "80351110224670002" });
    const evidence = [{ kind: "link", url: "https://example.org/one" }];
    const key = await file(opened, "blacklist-user", { ...listing, evidence });
    return { actor: ada, type: "blacklist-user", key, body: { decision: "void", duplicate_of: kept } };
  },
};
function stop(): never {
  throw new Error("no such scene");
}

/** A database where the decision is due, which is copied for each place. */
async function prepare(name: string) {
  const copy = await createEmptyCopy();
  onTestFinished(copy.remove);
  const opened = await openOn(copy.url);
  const decision: Decision = { ...(await (scenes[name] ?? stop)(opened)), scope: `the-key-of-${name}` };
  const before = await everyRow(opened);
  await opened.close();
  return { url: copy.url, decision, before };
}

async function copyOf(url: string): Promise<string> {
  if (isPostgres) return await copyPostgres(url);
  const folder = await mkdtemp(join(inject("directory"), "kill-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await copyFile(sqliteFile(url), join(folder, "provost.db"));
  return `file:${join(folder, "provost.db")}`;
}

async function copyPostgres(url: string): Promise<string> {
  const [from, to, server] = [new URL(url), new URL(url), new URL(url)];
  to.pathname = `/kill_${randomUUID().replaceAll("-", "")}`;
  server.pathname = "/postgres";
  const run = async (sql: string): Promise<void> => {
    const client = new pg.Client({ connectionString: server.href });
    await client.connect();
    await client.query(sql).finally(() => client.end());
  };
  await run(`CREATE DATABASE ${to.pathname.slice(1)} TEMPLATE ${from.pathname.slice(1)} STRATEGY file_copy`);
  onTestFinished(() => run(`DROP DATABASE IF EXISTS ${to.pathname.slice(1)} WITH (FORCE)`));
  return to.href;
}

/** A process that decides what it is told to, until it is killed. */
async function startVictim() {
  const child = spawn(process.execPath, [(await installation()).children.decisionKill], { stdio: "pipe" });
  onTestFinished(() => void child.kill("SIGKILL"));
  const ended = once(child, "close");
  let failed = "";
  child.stderr.on("data", (part: Buffer) => (failed += part.toString()));
  const answers = createInterface(child.stdout)[Symbol.asyncIterator]();
  const expectKilled = async (): Promise<void> => {
    const [, signal] = (await ended) as [number | null, string | null];
    expect([signal, failed]).toEqual(["SIGKILL", ""]);
  };
  return {
    /** Let it decide on all of these. Answers what was said to each database once it stands, or nothing if it was killed by a job. */
    async decide(orders: Orders): Promise<string[][]> {
      child.stdin.write(`${JSON.stringify(orders)}\n`);
      const { value } = (await answers.next()) as { value?: string };
      if (value !== undefined) return JSON.parse(value) as string[][];
      await expectKilled();
      return [];
    },
    async kill(): Promise<void> {
      child.kill("SIGKILL");
      await expectKilled();
    },
  };
}
type Victim = Awaited<ReturnType<typeof startVictim>>;

/** Kill processes that stand in the middle of these, the given one first. Each is told no more than it can hold at once. */
async function killAt<T extends Job>(first: Victim, decision: Decision, jobs: readonly T[], look: (job: T) => Promise<void>) {
  for (let start = 0; start < jobs.length; start += atOnce) {
    const victim = start === 0 ? first : await startVictim();
    const some = jobs.slice(start, start + atOnce);
    await victim.decide({ decision, jobs: some });
    await victim.kill();
    for (const job of some) await look(job);
  }
}

interface Wanted {
  decision: Decision;
  before: Tables;
  after: Tables;
}

/** Nothing of the decision, or all of it once; the same request again, under the same key, makes it all, once. */
async function expectAllOrNothing(place: string, url: string, { decision, before, after }: Wanted): Promise<"nothing" | "everything"> {
  const opened = await openOn(url);
  try {
    const found = await everyRow(opened);
    const isNothing = differences(found, before).length === 0;
    if (!isNothing) expect(differences(inShape(found), after), place).toEqual([]);
    const { replayed } = await decide(opened, decision);
    expect(replayed, place).toBe(!isNothing);
    expect(differences(inShape(await everyRow(opened)), after), `again, ${place}`).toEqual([]);
    expect((await opened.services.audit.verify(systemCall("job", uuid7()), {})).ok, place).toBe(true);
    return isNothing ? "nothing" : "everything";
  } finally {
    await opened.close();
  }
}

/** The places to try: all, or the first, the last and a spread between them. */
function spread(last: number): number[] {
  const all = Array.from({ length: last + 1 }, (_, index) => index);
  if (isAll || all.length <= places) return all;
  // The place before the last is always among them: whatever is written on its own after the rest would be missing there.
  const some = Array.from({ length: places - 1 }, (_, index) => Math.round((index * last) / (places - 2)));
  return [...new Set([...some, last - 1])];
}

/** In the suite only the decision with every effect there is; the long run tries the others, too. */
const tried = isAll ? Object.keys(scenes) : ["approve"];
/** Where a place is: after how many statements, and after which. */
const placeOf = (said: readonly string[], count: number): string =>
  `after statement ${count.toString()} of ${said.length.toString()}: ${said[count - 1] ?? "none"}`;

test.each(tried)("a process killed after any step of the decision to %s leaves nothing of it, or everything once", limit, async (name) => {
  const { url, decision, before } = await prepare(name);
  const whole = await copyOf(url);
  const victim = await startVictim();
  const [said = []] = await victim.decide({ decision, jobs: [{ url: whole, statements: null }] });
  const opened = await openOn(whole);
  const after = inShape(await everyRow(opened));
  await opened.close();
  expect(after).not.toEqual(inShape(before));
  const statements = said.filter((text) => !["BEGIN", "COMMIT"].includes(text) || isPostgres);
  const jobs: Job[] = [];
  for (const place of spread(statements.length)) jobs.push({ url: await copyOf(url), statements: place });
  const wanted = { decision, before, after };
  const found: Record<"nothing" | "everything", number> = { nothing: 0, everything: 0 };
  await killAt(victim, decision, jobs, async (job) => {
    found[await expectAllOrNothing(placeOf(statements, job.statements ?? 0), job.url, wanted)] += 1;
  });
  expect(found.nothing).toBeGreaterThan(0);
  expect(await expectAllOrNothing("after COMMIT, before the answer", whole, wanted)).toBe("everything");
  if (isAll)
    process.stdout.write(
      `${name}: ${statements.length.toString()} statements, ${jobs.length.toString()} places, ${JSON.stringify(found)}\n`,
    );
});

test.runIf(!isPostgres).each([
  ["before COMMIT", "nothing"],
  ["after COMMIT", "everything"],
] as const)("a process that dies in the call right %s leaves %s", limit, async (dieAt, left) => {
  const { url, decision, before } = await prepare("deny");
  const whole = await copyOf(url);
  const opened = await openOn(whole);
  await decide(opened, decision);
  const after = inShape(await everyRow(opened));
  await opened.close();
  const copy = await copyOf(url);
  const victim = await startVictim();
  expect(await victim.decide({ decision, jobs: [{ url: copy, statements: null, dieAt }] })).toEqual([]);
  expect(await expectAllOrNothing(`right ${dieAt}`, copy, { decision, before, after })).toBe(left);
});

/** After a kill in the middle of a delivery: the message goes out, is never sent twice as if for the first time, and is ended once. */
async function expectSentOnce(place: string, url: string, sent: string): Promise<void> {
  const opened = await openOn(url, 600);
  try {
    await deliver(opened, sent);
    const asked = (await readFile(sent, "utf8")).trim().split("\n");
    expect(asked.length, place).toBeLessThanOrEqual(2);
    expect(new Set(asked.map((line) => line.split(" ")[0])).size, place).toBe(1);
    // What is asked for after an attempt nobody saw the end of says so: the bot looks before it acts, and a message keeps its name.
    for (const again of asked.slice(1)) expect(again, place).toMatch(/ again$/);
    const { read } = opened.services.database;
    expect(await read.workflowEffect.findMany({ select: { key: true, status: true, dueAt: true } }), place).toEqual([
      { key: "notice.requester", status: "done", dueAt: null },
    ]);
    expect(await read.auditEntry.count({ where: { action: "workflow.effect" } }), place).toBe(1);
    expect(await deliver(opened, sent), place).toBe(0);
    expect((await readFile(sent, "utf8")).trim().split("\n"), place).toEqual(asked);
    expect((await opened.services.audit.verify(systemCall("job", uuid7()), {})).ok, place).toBe(true);
  } finally {
    await opened.close();
  }
}

test("a process killed after any step of a delivery leaves a message that goes out once", limit, async () => {
  const { url, decision } = await prepare("deny");
  const due = await openOn(url);
  await decide(due, decision);
  await due.close();
  const notes = await mkdtemp(join(inject("directory"), "sent-"));
  onTestFinished(() => rm(notes, { recursive: true, force: true }));
  const jobAt = async (statements: number | null): Promise<Job & { sent: string }> => ({
    url: await copyOf(url),
    statements,
    sent: join(notes, String(statements)),
  });
  const whole = await jobAt(null);
  const victim = await startVictim();
  const [said = []] = await victim.decide({ decision, jobs: [whole] });
  const steps = said.filter((text) => !["BEGIN", "COMMIT"].includes(text) || isPostgres);
  expect(steps).toContain("the bot acts");
  const jobs = await Promise.all(spread(steps.length).map(jobAt));
  await killAt(victim, decision, jobs, (job) => expectSentOnce(placeOf(steps, job.statements ?? 0), job.url, job.sent));
  await expectSentOnce("after it all", whole.url, whole.sent);
});
