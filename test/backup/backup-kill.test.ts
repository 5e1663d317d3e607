// @module-tag both
// @module-tag slow
import { spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, inject, test } from "vitest";
import { isThere } from "../../src/backup/disk.ts";
import { openSource } from "../../src/backup/source.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { createDice } from "../support/dice.ts";
import { sizeOf, tier } from "../support/size.ts";
import { addEvidence, contentOf, createEmptyPlace, createOperator, createSource, startLoad, type Operator, type Place } from "./ground.ts";
import { stopInstalled, whyNot } from "./installed-postgres.ts";

afterAll(stopInstalled);

const rounds = sizeOf({ quick: 3, all: 4, long: 100 });

/**
 * Run a command, and kill it after a time.
 * @returns whether it had ended by then, and for the next time how long it takes: a busy machine changes that from round to round
 */
async function killedAfter(
  ms: number,
  argv: readonly string[],
  env: Record<string, string>,
): Promise<{ isEnded: boolean; takesMs: number }> {
  const began = performance.now();
  const child = spawn(process.execPath, [(await installation()).program, ...argv], { env: operatorEnv(env), stdio: "ignore" });
  const ended = once(child, "exit");
  const timer = setTimeout(() => child.kill("SIGKILL"), ms);
  const [code] = (await ended) as [number | null];
  clearTimeout(timer);
  return { isEnded: code === 0, takesMs: code === 0 ? performance.now() - began : ms * 1.1 };
}

async function lasting(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}

const wholeIn = async (folder: string): Promise<string[]> =>
  (await readdir(folder)).filter((name) => /^provost-\d{8}T\d{6}Z(\.tar\.gz)?$/.test(name)).map((name) => join(folder, name));

async function hasTables({ url, dataDir }: Place): Promise<boolean> {
  if (inject("dialect") === "sqlite") return await isThere(join(dataDir, "provost.db"));
  const source = await openSource(url);
  const tables = await source.query("SELECT 1 AS one FROM pg_tables WHERE schemaname = current_schema()");
  await source.close();
  return tables.length > 0;
}

/** What a killed restore has left: nothing, something that nobody can start, or everything. */
async function stateOf(operator: Operator, place: Place, whole: Awaited<ReturnType<typeof contentOf>>): Promise<string> {
  if (await isThere(join(place.dataDir, "restoring"))) {
    const refused = await operator.provost(["serve"], operator.envOf(place));
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining("did not finish. Run `provost restore")]);
    return "refused";
  }
  if (!(await hasTables(place))) {
    expect((await readdir(place.dataDir)).filter((name) => !name.startsWith("server."))).toEqual([]);
    return "nothing";
  }
  expect(await contentOf(place)).toEqual(whole);
  expect(await operator.provost(["audit", "verify"], operator.envOf(place))).toMatchObject({ code: 0 });
  return "everything";
}

test.skipIf(whyNot !== undefined)(
  `a backup or a restore killed at any moment (${rounds.toString()} times each) leaves nothing that passes for whole and is not`,
  async () => {
    const seed = Date.now();
    const dice = createDice(seed);
    const part = (): number => dice.below(1000) / 1000;
    const operator = await createOperator();
    const { world, admin, place } = await createSource(operator);
    for (let files = 0; files < 12; files += 1) await addEvidence(world, admin, randomBytes(500_000));
    const env = operator.envOf(place);
    const backup = (isPlain: boolean) => ["backup", "--to", operator.backups, ...(isPlain ? ["--plain"] : [])];
    let backupMs = await lasting(() => operator.provost(backup(false), env));
    const found = {
      backups: { ended: 0, whole: 0, left: 0 },
      restores: { refused: 0, nothing: 0, everything: 0 } as Record<string, number>,
    };

    const load = startLoad(world, admin, 20);
    for (let round = 0; round < rounds; round += 1) {
      await rm(operator.backups, { recursive: true, force: true });
      // The start of a process takes a third of it, and cannot harm anything.
      const { isEnded, takesMs } = await killedAfter(backupMs * (0.3 + 0.9 * part()), backup(round % 2 === 1), env);
      backupMs = isEnded ? takesMs : Math.max(backupMs, takesMs);
      const whole = (await isThere(operator.backups)) ? await wholeIn(operator.backups) : [];
      found.backups.ended += isEnded ? 1 : 0;
      found.backups.whole += whole.length;
      if (await isThere(operator.backups))
        found.backups.left += (await readdir(operator.backups)).some((name) => name.includes("partial")) ? 1 : 0;
      expect(whole.length, `seed ${seed.toString()}`).toBeGreaterThanOrEqual(isEnded ? 1 : 0);
      for (const path of whole) {
        const { code, stderr } = await operator.provost(["backup", "verify", path], env);
        expect([code, stderr], `seed ${seed.toString()}, round ${round.toString()}`).toEqual([0, expect.any(String)]);
      }
    }
    await load.stop();

    await rm(operator.backups, { recursive: true, force: true });
    await operator.provost(backup(false), env);
    const [path = ""] = await wholeIn(operator.backups);
    const reference = await createEmptyPlace();
    let restoreMs = await lasting(() => operator.provost(["restore", path], operator.envOf(reference)));
    const whole = await contentOf(reference);
    expect(whole.broken).toEqual([]);
    for (let round = 0; round < rounds; round += 1) {
      const target = await createEmptyPlace();
      const { isEnded, takesMs } = await killedAfter(restoreMs * (0.3 + 0.9 * part()), ["restore", path], operator.envOf(target));
      restoreMs = isEnded ? takesMs : Math.max(restoreMs, takesMs);
      const state = await stateOf(operator, target, whole);
      found.restores[state] = (found.restores[state] ?? 0) + 1;
      if (state === "everything") continue;
      const again = await operator.provost(["restore", path], operator.envOf(target));
      expect(again.code, `seed ${seed.toString()}, round ${round.toString()}: ${again.stderr}`).toBe(0);
      expect(await contentOf(target)).toEqual(whole);
    }
    if (tier === "long") process.stdout.write(`${JSON.stringify(found)}\n`);
  },
  rounds * 30_000 + 120_000,
);
