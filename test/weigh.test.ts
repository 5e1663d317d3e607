// @module-tag sqlite
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { measure, walks, type Weights } from "../scripts/weigh/measure.ts";

const root = join(import.meta.dirname, "..");
const kept = JSON.parse(readFileSync(join(root, "scripts/weigh/weights.json"), "utf8")) as Weights;
const { weights } = measure(root);

test("nothing that is weighed grows unless `scripts/weigh/weights.json` is changed with it", () => {
  const grown = Object.entries(weights).filter(([name, weight]) => weight > (kept[name] ?? -1));
  expect(grown.map(([name, weight]) => `${name}: ${weight.toString()}, not ${String(kept[name])}`)).toEqual([]);
});

test("nothing is kept that is weighed no more", () => {
  expect(Object.keys(kept).toSorted()).toEqual(Object.keys(weights).toSorted());
});

test("who follows a walk finds in each file what it names, and opens no file twice", () => {
  for (const [name, hops] of Object.entries(walks(root))) {
    expect([name, new Set(hops.map(([file]) => file)).size]).toEqual([name, hops.length]);
    for (const [file, symbol] of hops) expect([file, readFileSync(join(root, file), "utf8").includes(symbol)]).toEqual([file, true]);
  }
});
