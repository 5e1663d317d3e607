import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

/** What is generated, and the tests that send it. */
const kinds: Readonly<Record<string, string>> = {
  inputs: "test/http/garbage.test.ts",
  requests: "test/contract/fuzz.test.ts",
  events: "test/discord/gateway-fuzz.test.ts",
  interactions: "test/discord/interactions-fuzz.test.ts",
  lists: "test/foreign/lists.test.ts",
  imports: "test/foreign/imports.test.ts",
  receivers: "test/foreign/receivers.test.ts",
  discord: "test/foreign/discord.test.ts",
  clients: "test/foreign/clients.test.ts",
};

const usage = `npm run test:fuzz -- [${Object.keys(kinds).join(" | ")}] [--runs n] [--seed n] [--minutes n]

Sends what no decent writer would: raw inputs on the socket, generated requests, broken events of the gateway and wild interactions; and, through
every entrance of foreign data, lists of others, imports, answers to web-hooks, answers of Discord, and messages of AI clients.
All of them in their long sizes unless told; a failure names the seed that repeats it. With --minutes each kind is repeated with the next seed until
so many minutes are over, and the first failure ends it.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string" }, seed: { type: "string" }, minutes: { type: "string" }, help: { type: "boolean" } },
});
const strange = positionals.find((kind) => !Object.hasOwn(kinds, kind));
const isWrong = [values.runs, values.seed, values.minutes].some((text) => text !== undefined && !/^\d+$/.test(text));
if (values.help === true || strange !== undefined || isWrong) {
  process.stdout.write(usage);
  process.exit(values.help === true ? 0 : 64);
}
const chosen = positionals.length > 0 ? positionals : Object.keys(kinds);

/** @returns what the tests end with */
function fuzz(some: readonly string[], seed: string | undefined): number {
  const env = {
    ...process.env,
    TEST_TIER: "long",
    ...(values.runs !== undefined && { RUNS: values.runs }),
    ...(seed !== undefined && { SEED: seed }),
  };
  const files = some.map((kind) => kinds[kind] ?? "");
  return spawnSync("npx", ["vitest", "run", ...files], { stdio: "inherit", env }).status ?? 1;
}

/** One kind again and again. @returns whether nothing was found */
function repeat(kind: string, minutes: number): boolean {
  const first = Number(values.seed ?? Date.now());
  const end = Date.now() + minutes * 60_000;
  const runs = values.runs === undefined ? "" : ` --runs ${values.runs}`;
  for (let seed = first; ; seed += 1) {
    if (fuzz([kind], seed.toString()) !== 0) {
      console.error(`Found with seed ${seed.toString()}: npm run test:fuzz -- ${kind} --seed ${seed.toString()}${runs}`);
      return false;
    }
    const done = seed - first + 1;
    console.info(`${kind}: ${done.toString()} times without a finding, with the seeds ${first.toString()} to ${seed.toString()}`);
    if (Date.now() >= end) return true;
  }
}

const { minutes } = values;
if (minutes === undefined) process.exit(fuzz(chosen, values.seed));
process.exit(chosen.every((kind) => repeat(kind, Number(minutes))) ? 0 : 1);
