// @module-tag both
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { databaseBefore } from "./folders.ts";
import { execute } from "./sql.ts";

test("lines of history that an earlier version wrote lose the reasons of leaves, and no other reason", async () => {
  const url = await databaseBefore("_leave_reasons");
  const at = "'2026-11-20T10:00:00.000+00:00'";
  const rows = ["hired", "loa_started", "loa_ended", "terminated"].map(
    (event) => `('${event}', '80351110224678912', '${event}', '{}', '{}', 'staff', 'Because of ${event}.', ${at}, ${at})`,
  );
  const columns = "id, user_id, event, before, after, source, reason, effective_at, recorded_at";
  await execute(url, `INSERT INTO roster_events (${columns}) VALUES ${rows.join(", ")}`);
  const database = await openDatabase({ url, synchronous: "normal" });
  onTestFinished(() => database.close());
  const lines = await database.read.rosterEvent.findMany();
  expect(new Map(lines.map(({ event, reason }) => [event, reason]))).toEqual(
    new Map([
      ["hired", "Because of hired."],
      ["loa_started", null],
      ["loa_ended", null],
      ["terminated", "Because of terminated."],
    ]),
  );
});
