import { spawnSync } from "node:child_process";
import { parseArgs } from "node:util";

/** What is generated, and the tests that send it. */
const kinds: Readonly<Record<string, string>> = {
  inputs: "test/http/garbage.test.ts",
  requests: "test/contract/fuzz.test.ts",
  events: "test/discord/gateway-fuzz.test.ts",
  interactions: "test/discord/interactions-fuzz.test.ts",
};

const usage = `npm run test:fuzz -- [${Object.keys(kinds).join(" | ")}] [--runs n] [--seed n]

Sends what no decent client would: raw inputs on the socket, generated requests, broken events of the gateway and wild interactions.
All of them in their long sizes unless told; a failure names the seed that repeats it.
`;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { runs: { type: "string" }, seed: { type: "string" }, help: { type: "boolean" } },
});
const strange = positionals.find((kind) => !(kind in kinds));
const isWrong = [values.runs, values.seed].some((text) => text !== undefined && !/^\d+$/.test(text));
if (values.help === true || strange !== undefined || isWrong) {
  process.stdout.write(usage);
  process.exit(values.help === true ? 0 : 64);
}
const files = (positionals.length > 0 ? positionals : Object.keys(kinds)).map((kind) => kinds[kind] ?? "");
const env = {
  ...process.env,
  TEST_TIER: "long",
  ...(values.runs !== undefined && { RUNS: values.runs }),
  ...(values.seed !== undefined && { SEED: values.seed }),
};
process.exit(spawnSync("npx", ["vitest", "run", ...files], { stdio: "inherit", env }).status ?? 1);
