// @module-tag postgres
import { setTimeout } from "node:timers/promises";
import fc from "fast-check";
import { expect, inject, onTestFinished, test, vi } from "vitest";
import { nextNumber } from "../../src/database/counter.ts";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createKnownEnds } from "../../src/database/known-ends.ts";
import type { SeriesName, Tx } from "../../src/database/tx.ts";
import { createTestDatabase } from "../support/database.ts";
import { runsOf } from "../support/size.ts";
import { createGate, sampleCall, seriesOf } from "./samples.ts";
import { execute } from "./sql.ts";

const isPostgres = inject("dialect") === "postgres";
const all = { audit: seriesOf("audit"), events: seriesOf("events") };

async function fresh(options?: Parameters<typeof createTestDatabase>[0]): Promise<{ url: string; database: Database }> {
  const made = await createTestDatabase(options);
  onTestFinished(made.drop);
  return made;
}

/** Insert what there can be only one of, which is on its way before its number is certain. */
function insertNumbered(tx: Tx, name: string, number: number): void {
  tx.insert([{ model: "Setting", rows: [{ key: `${name}=${number.toString()}`, value: 1, updatedAt: tx.now }] }]);
}

/** Add an entry, with a number that is taken last. */
const add = (database: Database, entry: string, then: (tx: Tx) => void = () => undefined): Promise<number> =>
  database.write(sampleCall(), async (tx) => {
    const number = await nextNumber(tx, "case", { isLast: true });
    insertNumbered(tx, "case", number);
    tx.append(all.audit, entry);
    then(tx);
    return number;
  });

/** One that has sent everything but its end, which is held up. @returns how to let it end, and what came of it */
async function addHeldUp(database: Database, entry: string, end: () => void = () => undefined) {
  const [sent, gate] = [createGate(), createGate()];
  const hold = async (): Promise<void> => {
    sent.open();
    await gate.opened;
    end();
  };
  const added = add(database, entry, (tx) => tx.beforeCommit(hold));
  added.catch(() => undefined);
  await sent.opened;
  return { letEnd: gate.open, added };
}

/** The entries of a series with the one before each, in order. @throws AssertionError when it has gaps or another order */
async function entriesOf(database: Database, name: SeriesName = "audit"): Promise<string[]> {
  const rows = await database.read.setting.findMany({ where: { key: { startsWith: `${name}:` } }, orderBy: { key: "asc" } });
  const found = rows.map(({ value }) => value as { entry: string; before: string | null });
  expect(rows.map(({ key }) => Number(key.slice(-6)))).toEqual(found.map((_, index) => index + 1));
  expect(found.map(({ before }) => before || null)).toEqual(found.map((_, index) => found[index - 1]?.entry ?? null));
  return found.map(({ entry }) => entry);
}

test.runIf(isPostgres)("a transaction has its numbers while the one ahead of it is still at work, and ends after it", async () => {
  const { database } = await fresh();
  await add(database, "first");
  const ended: string[] = [];
  const numbers: number[] = [];
  const { letEnd, added } = await addHeldUp(database, "ahead", () => void ended.push("ahead"));
  const next = ["b", "c"].map((entry) =>
    database
      .write(sampleCall(), async (tx) => {
        numbers.push(await nextNumber(tx, "case", { isLast: true }));
        tx.append(all.audit, entry);
      })
      .then(() => ended.push(entry)),
  );
  await vi.waitFor(() => expect(numbers).toEqual([3, 4]));
  expect(ended).toEqual([]);
  letEnd();
  await Promise.all([added, ...next]);
  expect(ended[0]).toBe("ahead");
  const [first, second, ...others] = await entriesOf(database);
  expect([first, second, ...others.toSorted()]).toEqual(["first", "ahead", "b", "c"]);
});

test.runIf(isPostgres)("what counted on a transaction that came to nothing is done again with the numbers there are", async () => {
  const { database } = await fresh();
  await add(database, "first");
  const { letEnd, added } = await addHeldUp(database, "failing", () => {
    throw new Error("refused at the end");
  });
  let tries = 0;
  const next = ["b", "c", "d"].map((entry) => add(database, entry, () => void (tries += 1)));
  await vi.waitFor(() => expect(tries).toBe(3));
  letEnd();
  await expect(added).rejects.toThrow("refused at the end");
  expect((await Promise.all(next)).toSorted((a, b) => a - b)).toEqual([2, 3, 4]);
  expect((await entriesOf(database)).toSorted()).toEqual(["b", "c", "d", "first"]);
});

test.runIf(isPostgres)("who takes a number early and goes on, and who takes it last meanwhile, do not wait for each other", async () => {
  const outcomes: string[] = [];
  const { database } = await fresh({ onTransaction: ({ outcome }) => void outcomes.push(outcome) });
  await add(database, "first");
  const [took, gate] = [createGate(), createGate()];
  const early = database.write(sampleCall(), async (tx) => {
    const number = await nextNumber(tx, "case");
    took.open();
    await gate.opened;
    tx.append(all.audit, "early");
    return number;
  });
  await took.opened;
  const last = add(database, "last");
  await setTimeout(100);
  gate.open();
  expect(await Promise.all([early, last])).toEqual([2, 3]);
  expect(await entriesOf(database)).toEqual(["first", "early", "last"]);
  expect(outcomes).toEqual(["committed", "committed", "committed"]);
});

test.runIf(isPostgres)("a lock that is on its way comes before the number that is asked for with it", async () => {
  const outcomes: string[] = [];
  const { database } = await fresh({ onTransaction: ({ outcome }) => void outcomes.push(outcome) });
  await add(database, "first");
  const [locked, gate] = [createGate(), createGate()];
  const early = database.write(sampleCall(), async (tx) => {
    await tx.lock("something");
    locked.open();
    await gate.opened;
    tx.append(all.audit, "early");
    return await nextNumber(tx, "case");
  });
  await locked.opened;
  const last = database.write(sampleCall(), async (tx) => {
    const [, number] = await Promise.all([tx.lock("something"), nextNumber(tx, "case", { isLast: true })]);
    return number;
  });
  await setTimeout(100);
  gate.open();
  expect(await Promise.all([early, last])).toEqual([2, 3]);
  expect(outcomes).toEqual(["committed", "committed", "committed"]);
});

test("a transaction that has ended while it waited for a counter lets the next one in", async () => {
  const open = createKnownEnds();
  const held = (): Promise<void> => Promise.resolve();
  const [first, second, third] = [1, 2, 3].map((number) => open({ space: 1, number, held, answered: held }));
  await first?.take("case", true);
  const waiting = second?.take("case", true);
  const next = third?.take("case", true);
  await setTimeout(1);
  second?.ended("refused");
  first?.move("case", { number: 1, head: null });
  first?.sent();
  await expect(waiting).rejects.toThrow("has ended");
  expect(await next).toEqual({ number: 1, head: null });
});

test.runIf(isPostgres)("a counter that another program has moved is read again, and nobody is refused", async () => {
  const { url, database } = await fresh();
  await add(database, "first");
  await execute(
    url,
    `INSERT INTO settings (key, value, updated_at) VALUES ('audit:000002', '{"entry":"theirs","before":"first"}', now()), ('case=2', '1', now())`,
  );
  await execute(
    url,
    "UPDATE counters SET value = 2, head = 'theirs' WHERE name = 'audit'; UPDATE counters SET value = 7 WHERE name = 'case'",
  );
  const numbers = await Promise.all(["b", "c", "d"].map((entry) => add(database, entry)));
  expect(numbers.toSorted((a, b) => a - b)).toEqual([8, 9, 10]);
  expect((await entriesOf(database)).slice(0, 2)).toEqual(["first", "theirs"]);
});

test.runIf(isPostgres)("a connection that breaks with numbers on their way leaves no gap", async () => {
  const { url, database } = await fresh();
  await add(database, "first");
  const { letEnd, added } = await addHeldUp(database, "broken");
  const next = [add(database, "b"), add(database, "c")];
  await vi.waitFor(async () => {
    const [row] = await database.read.$queryRaw<{ count: bigint }[]>`
      SELECT COUNT(*) AS count FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`;
    expect(Number(row?.count)).toBe(2);
  });
  await execute(
    url,
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND state = 'idle in transaction' AND pid <> pg_backend_pid()",
  );
  letEnd();
  await expect(added).rejects.toThrow();
  expect((await Promise.all(next)).toSorted((a, b) => a - b)).toEqual([2, 3]);
  expect((await entriesOf(database)).toSorted()).toEqual(["b", "c", "first"]);
});

test.runIf(isPostgres)(
  "two programs that write at once leave no gap and break no chain, whichever numbers they take when and whoever fails where",
  async () => {
    const step = fc.record({
      by: fc.constantFrom(0, 1),
      entries: fc.array(fc.constantFrom("audit", "events"), { maxLength: 3 }),
      fails: fc.constantFrom("never", "never", "early", "late"),
      numbers: fc.subarray(["case", "blacklist"]),
      isLast: fc.boolean(),
      pauseMs: fc.nat(3),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 30 }), fc.boolean(), async (wanted, isAlone) => {
        const { url, database, drop } = await createTestDatabase();
        const other = await openDatabase({ url });
        try {
          const done = await Promise.allSettled(
            wanted.map(async ({ by, entries, fails, numbers, isLast, pauseMs }, index) => {
              await setTimeout(pauseMs);
              return await (by === 0 || isAlone ? database : other).write(sampleCall(), async (tx) => {
                const taken: [string, number][] = [];
                for (const [at, name] of numbers.entries()) {
                  const number = await nextNumber(tx, name, { isLast: isLast && at === numbers.length - 1 });
                  taken.push([name, number]);
                  insertNumbered(tx, name, number);
                }
                for (const [place, name] of entries.entries()) tx.append(all[name], `${index.toString()}.${place.toString()}`);
                if (fails === "early") throw new Error("refused");
                if (fails === "late") tx.beforeCommit(() => Promise.reject(new Error("refused")));
                return taken;
              });
            }),
          );
          expect(done.map(({ status }) => status)).toEqual(wanted.map(({ fails }) => (fails === "never" ? "fulfilled" : "rejected")));
          const kept = done.flatMap((one) => (one.status === "fulfilled" ? one.value : []));
          for (const counter of ["case", "blacklist"]) {
            const numbers = kept.flatMap(([name, number]) => (name === counter ? [number] : [])).toSorted((a, b) => a - b);
            expect(numbers).toEqual(numbers.map((_, index) => index + 1));
          }
          for (const name of ["audit", "events"] as const) {
            const added = wanted.flatMap(({ entries, fails }, index) =>
              entries.flatMap((one, place) => (fails === "never" && one === name ? [`${index.toString()}.${place.toString()}`] : [])),
            );
            expect((await entriesOf(database, name)).toSorted()).toEqual(added.toSorted());
          }
        } finally {
          await other.close();
          await drop();
        }
      }),
      { numRuns: runsOf(25) },
    );
  },
);

test.runIf(isPostgres)("numbers of transactions begin anew where the lock that names them ends", async () => {
  const { database } = await fresh({ transactionsBefore: 2 ** 31 - 3 });
  const numbers = await Promise.all(["a", "b", "c", "d", "e", "f"].map((entry) => add(database, entry)));
  expect(numbers.toSorted((one, other) => one - other)).toEqual([1, 2, 3, 4, 5, 6]);
  expect((await entriesOf(database)).toSorted()).toEqual(["a", "b", "c", "d", "e", "f"]);
});
