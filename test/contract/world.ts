import { systemCall } from "../../src/kernel/call.ts";
import { beforeAll, inject } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type Answer, type Level, type World, type WorldOptions } from "../support/world.ts";
import { judgeOf, type Judge } from "./judge.ts";

/** Judges by the settings of a world, which are all that its document depends on: it is made for the first of them only. */
const judges = new Map<string, Judge>();

/** A world in which an answer that its own document does not allow fails its request. */
export async function createJudgedWorld(options: WorldOptions = {}): Promise<World> {
  let judge: Judge | undefined;
  const world = await createWorld({
    ...options,
    onAnswer(asked, answer) {
      const problems = judge?.check(asked, answer) ?? [];
      if (problems.length > 0) throw new Error(problems.join("\n"));
      options.onAnswer?.(asked, answer);
    },
  });
  const settings = JSON.stringify(options.env ?? {});
  judge = judges.get(settings) ?? judgeOf(world.app.http.document());
  judges.set(settings, judge);
  return world;
}

/** One judged world for the tests of a file that do not disturb each other. */
export function shareWorld(options: WorldOptions = {}): { readonly world: World } {
  let world: World | undefined;
  beforeAll(async () => {
    let end = (): Promise<void> => Promise.resolve();
    world = await createJudgedWorld({ ...options, onEnd: (way) => (end = way) });
    return end;
  });
  return {
    get world() {
      if (world === undefined) throw new Error("the world exists only while tests run");
      return world;
    },
  };
}

type Rows = Record<string, unknown>[];

/** What was read last of a database, and how far its log was then. */
const readings = new WeakMap<object, { mark: string; rows: Promise<Record<string, string[]>> }>();

/**
 * Every row of every table, but for when a key was last used, what the service works off by itself, and the entries that say that somebody was refused. They are read again
 * only if something was committed since: most of what is asked about is refused, and commits nothing.
 */
export async function everyRow({ app: { database, lists } }: Pick<World, "app">): Promise<Record<string, string[]>> {
  const last = readings.get(database);
  if (last !== undefined && last.mark === (await commitMark(database))) return last.rows;
  // What servers do about whom was listed before is done by now.
  await lists.worker.catchUp(systemCall("job", "catch up"));
  const mark = await commitMark(database);
  const rows = readRows(database);
  if (mark !== undefined) readings.set(database, { mark, rows });
  return rows;
}

/** Changes with every commit of any process: reads have a connection of their own. Source: https://sqlite.org/pragma.html#pragma_data_version. */
async function commitMark({ read }: Database): Promise<string | undefined> {
  if (inject("dialect") !== "sqlite") return undefined;
  const [row] = await read.$queryRaw<{ data_version: bigint | number }[]>`PRAGMA data_version`;
  return row?.data_version.toString();
}

async function readRows({ read }: Database): Promise<Record<string, string[]>> {
  const tables = await Promise.all(
    Object.keys(Prisma.ModelName)
      .filter((model) => model !== "ListCheck")
      .map(async (model) => {
        const key = (model.charAt(0).toLowerCase() + model.slice(1)) as "setting";
        const rows = (await read[key].findMany()) as unknown as Rows;
        return [model, rows.map((row) => text(lasting(row))).toSorted()] as const;
      }),
  );
  return withoutDenied(Object.fromEntries(tables));
}

/** Without when a key was last used, and for how long the state of a guild is known to be true, which is noted each minute. */
function lasting({ lastUsedAt: _, ...row }: Rows[number]): object {
  const { syncedAt: __, updatedAt: ___, ...guild } = row;
  return "syncedAt" in row ? guild : row;
}

/** Who is refused leaves an entry, a little later; its details go with it, and where the audit ends. */
function withoutDenied(tables: Record<string, string[]>): Record<string, string[]> {
  const counters = (tables["Counter"] ?? []).filter((row) => !row.includes('"name":"audit"'));
  const seqOf = (row: string): number => (JSON.parse(row) as { seq: number }).seq;
  const entries = (tables["AuditEntry"] ?? []).filter((row) => !row.includes('"outcome":"denied"'));
  const kept = new Set(entries.map(seqOf));
  return {
    ...tables,
    Counter: counters,
    AuditEntry: entries,
    AuditPayload: (tables["AuditPayload"] ?? []).filter((row) => kept.has(seqOf(row))),
  };
}

const text = (row: unknown): string =>
  JSON.stringify(row, (_key, value: unknown) => (typeof value === "bigint" ? value.toString() : value));

/** A person goes the whole way from the session to the grant. Answers where they end. */
export async function authorize(world: World, person: User, as: { by: User; account?: User }) {
  const session = await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: as.by });
  if (session.status !== 201) throw new Error(`no session: ${JSON.stringify(session.body)}`);
  const end = await world.sandbox.as(as.account ?? person).authorize(session.body.url, { approve: true });
  return { session: session.body, ...end };
}

/** Staff who see the commands: Discord shows them to administrators only until the guild allows more. */
export async function staffAtConsole(world: World, level: Level): Promise<User> {
  const person = await world.staff(level);
  const console = world.guild.createRole("console", { permissions: ["Administrator"] });
  world.guild.setRoles(person, [world.roles[level], console]);
  return person;
}

/** Ask until an answer is as wanted. @returns it, and the milliseconds that took */
export async function until(
  ask: () => Promise<Answer>,
  isWanted: (answer: Answer) => boolean,
  limit: number,
): Promise<{ answer: Answer; ms: number }> {
  const start = performance.now();
  for (;;) {
    const answer = await ask();
    const ms = performance.now() - start;
    if (isWanted(answer)) return { answer, ms };
    if (ms > limit) throw new Error(`not within ${limit.toString()} ms; last: ${answer.status.toString()} ${JSON.stringify(answer.body)}`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
