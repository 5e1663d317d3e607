// @module-tag both
import { readFileSync } from "node:fs";
import { expect, inject, test } from "vitest";
import { countStatements } from "../support/statement-counts.ts";
import { createWorld } from "../support/world.ts";

/** How many statements each operation takes, BEGIN and COMMIT among them; changed on purpose alone. */
const kept = JSON.parse(readFileSync("bench/statements.json", "utf8")) as Record<string, Record<string, number>>;

test("no operation takes more statements than it has to, and none asks for what cannot be there", async () => {
  const world = await createWorld();
  const { counts, empty } = await countStatements(world);
  expect(counts).toEqual(kept[inject("dialect")]);
  expect(empty).toEqual([]);
});
