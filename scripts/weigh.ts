import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { measure, tableOf, type Weights } from "./weigh/measure.ts";

/**
 * Prints how much there is to read, and by how many mechanisms each job is done, with what changed since `weights.json` was kept.
 * `--keep` keeps what is lower now; `--root <folder>` weighs another checkout.
 */
const file = fileURLToPath(new URL("./weigh/weights.json", import.meta.url));
const at = process.argv.indexOf("--root");
const root = at === -1 ? fileURLToPath(new URL("..", import.meta.url)) : (process.argv[at + 1] ?? ".");

const before = JSON.parse(readFileSync(file, "utf8")) as Weights;
const { sizes, weights } = measure(root);
process.stdout.write(`${[...tableOf(sizes, {}), "", ...tableOf(weights, before)].join("\n")}\n`);
if (process.argv.includes("--keep")) {
  const least = Object.entries(weights).map(([name, weight]) => [name, Math.min(weight, before[name] ?? weight)]);
  writeFileSync(file, `${JSON.stringify(Object.fromEntries(least), null, 2)}\n`);
}
