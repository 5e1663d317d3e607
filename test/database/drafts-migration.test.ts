// @module-tag both
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { databaseBefore } from "./folders.ts";
import { execute } from "./sql.ts";

test("drafts that an earlier version wrote belong to the case that suggests them, and to no other", async () => {
  const url = await databaseBefore("_drafts_of_cases");
  const at = "'2026-11-20T10:00:00.000+00:00'";
  const caseColumns = "id, number, type, title, status, priority, is_confidential, policies, created_at, updated_at";
  await execute(
    url,
    `INSERT INTO cases (${caseColumns}) VALUES ('c7', 7, 'other', 'A matter', 'open', 'normal', true, '[]', ${at}, ${at})`,
  );
  const causes = { own: "'CASE-000007'", gone: "'CASE-000008'", request: "'CASE-APL-000007'", other: "'MAT-000007'", none: "NULL" };
  const rows = Object.entries(causes).map(
    ([id, cause]) => `('${id}', 'punishment', '{}', 'user', '80351110224678912', 'Points.', ${cause}, 'open', ${at})`,
  );
  const columns = "id, type, payload, subject_kind, subject_id, cause, cause_reference, status, created_at";
  await execute(url, `INSERT INTO request_drafts (${columns}) VALUES ${rows.join(", ")}`);
  const database = await openDatabase({ url, synchronous: "normal" });
  onTestFinished(() => database.close());
  const drafts = await database.read.requestDraft.findMany();
  expect(new Map(drafts.map(({ id, caseNumber }) => [id, caseNumber]))).toEqual(
    new Map(Object.keys(causes).map((id) => [id, id === "own" ? 7 : null])),
  );
});
