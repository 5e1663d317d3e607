// @module-tag both
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, test } from "vitest";
import { migrationsFolder } from "../../src/database/migrate-sqlite.ts";
import { createGround } from "../features/workflows-ground.ts";
import { keep, rowOf } from "../features/workflows-rows.ts";
import { execute } from "./sql.ts";

test("reasons that were copied into the summary of requests about the blacklist are taken out, and no other summary is", async () => {
  const ground = await createGround();
  const said = "Ran the raid from a second account.";
  const rows = [
    rowOf({ type: "blacklist-user", payload: { reason: said }, summary: said, reference: "BLU-REQ-000001" }),
    rowOf({ type: "blacklist-server", payload: { reason: said }, summary: said, reference: "BLS-REQ-000001" }),
    rowOf({ type: "blacklist-user", payload: { reason: said }, summary: "The raid of May.", reference: "BLU-REQ-000002" }),
    rowOf({ type: "punishment", payload: { reason: said }, summary: said, reference: "PUN-REQ-000001" }),
  ];
  await keep(ground, rows);
  const sql = await readFile(join(migrationsFolder(inject("dialect")), "20261124224900_private_summaries", "migration.sql"), "utf8");
  await execute(ground.url, sql);
  const after = await ground.database.read.workflowRequest.findMany({ orderBy: { reference: "asc" } });
  expect(after.map(({ reference, summary }) => [reference, summary])).toEqual([
    ["BLS-REQ-000001", ""],
    ["BLU-REQ-000001", ""],
    ["BLU-REQ-000002", "The raid of May."],
    ["PUN-REQ-000001", said],
  ]);
});
