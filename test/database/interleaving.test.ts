// @module-tag both
import fc from "fast-check";
import { expect, test } from "vitest";
import type { Database } from "../../src/database/database.ts";
import { nextNumber } from "../../src/database/counter.ts";
import type { PrismaClient } from "../../src/generated/sqlite/client.ts";
import { addOwner, ownerIds, sampleCall } from "./samples.ts";
import { createSqliteDatabase } from "./sqlite-file.ts";
import { runsOf } from "../support/size.ts";

const runs = runsOf(200);

type Step = "write" | "read" | "read outside";
type Actor = { kind: "transaction"; steps: Step[]; end: "commit" | "roll back" } | { kind: "single write" } | { kind: "read" };

/** The rows of one actor. Nobody sees them while it is `open`; they appear together before it is `acknowledged`, or never. */
interface History {
  rows: string[];
  state: "open" | "ending" | "acknowledged" | "undone";
}

const step = fc.constantFrom<Step>("write", "read", "read outside");
const actor: fc.Arbitrary<Actor> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("transaction" as const),
      steps: fc.array(step, { minLength: 1, maxLength: 4 }),
      end: fc.constantFrom("commit" as const, "roll back" as const),
    }),
  },
  fc.record({ kind: fc.constant("single write" as const) }),
  fc.record({ kind: fc.constant("read" as const) }),
);

class Cancelled extends Error {}

/** A read outside sees all of what was acknowledged before it, nothing that was open or undone all the while, and else all or nothing. */
function checkRead(seen: readonly string[], before: ReadonlyMap<History, History["state"]>): void {
  const visible = new Set(seen);
  for (const [{ rows, state }, earlier] of before) {
    const shown = rows.filter((row) => visible.has(row)).length;
    if (earlier === "acknowledged") expect(shown).toBe(rows.length);
    else if (state === "open" || state === "undone") expect(shown).toBe(0);
    else expect([0, rows.length]).toContain(shown);
  }
  const named = [...before.keys()].flatMap(({ rows }) => rows);
  expect(named).toEqual(expect.arrayContaining([...seen]));
}

async function play(database: Database, scheduler: fc.Scheduler, actors: readonly Actor[], run: number): Promise<void> {
  const histories = actors.map((): History => ({ rows: [], state: "open" }));
  const pause = () => scheduler.schedule(Promise.resolve());

  async function readOutside(): Promise<void> {
    const before = new Map(histories.map((history) => [history, history.state]));
    checkRead(await ownerIds(database.read), before);
  }

  /** Rows are named before they are written, so that a premature sight of them is recognised. */
  const plan = (index: number, count: number) =>
    Array.from({ length: count }, (_, row) => `${run.toString()}-${index.toString()}-${row.toString()}`);

  async function transaction({ steps, end }: Extract<Actor, { kind: "transaction" }>, index: number, history: History): Promise<void> {
    const names = plan(index, steps.length);
    const written: string[] = [];
    history.rows = names.filter((_, row) => steps[row] === "write");
    const outcome = database.write(sampleCall(), async (tx) => {
      await nextNumber(tx, run.toString());
      for (const [row, name] of names.entries()) {
        await pause();
        if (steps[row] === "write") {
          await addOwner(tx, name);
          written.push(name);
        } else if (steps[row] === "read outside") await readOutside();
        else expect((await ownerIds(tx.db)).filter((id) => history.rows.includes(id))).toEqual(written);
      }
      await pause();
      history.state = end === "commit" ? "ending" : "undone";
      if (end === "roll back") throw new Cancelled();
    });
    if (end === "commit") {
      await outcome;
      history.state = "acknowledged";
    } else await expect(outcome).rejects.toBeInstanceOf(Cancelled);
  }

  async function perform(each: Actor, index: number): Promise<void> {
    const history = histories[index] as History;
    await pause();
    if (each.kind === "read") return readOutside();
    if (each.kind === "transaction") return transaction(each, index, history);
    const [name = ""] = (history.rows = plan(index, 1));
    history.state = "ending";
    await addOwner({ db: database.read as unknown as PrismaClient }, name);
    history.state = "acknowledged";
  }

  await scheduler.waitFor(Promise.all(actors.map(perform)));
  const kept = histories.filter(({ state }) => state === "acknowledged").flatMap(({ rows }) => rows);
  expect(await ownerIds(database.read)).toEqual(kept.toSorted());
  const committed = actors.filter((each) => each.kind === "transaction" && each.end === "commit").length;
  expect((await database.read.counter.findUnique({ where: { name: run.toString() } }))?.value ?? 0).toBe(committed);
  await database.write(sampleCall(), (tx) => tx.db.owner.deleteMany());
}

test("transactions, single writes and reads in any order show and keep only what was acknowledged", async () => {
  const { database } = await createSqliteDatabase();
  let run = 0;
  const property = fc.asyncProperty(fc.scheduler(), fc.array(actor, { minLength: 2, maxLength: 7 }), (scheduler, actors) =>
    play(database, scheduler, actors, (run += 1)),
  );
  await fc.assert(
    property.beforeEach(async () => {
      await database.write(sampleCall(), (tx) => tx.db.owner.deleteMany());
    }),
    { numRuns: runs },
  );
  expect(run).toBe(runs);
});
