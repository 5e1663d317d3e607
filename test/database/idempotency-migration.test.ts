// @module-tag both
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { forgetAnswers } from "../../src/database/idempotency.ts";
import { databaseBefore } from "./folders.ts";
import { sampleCall } from "./samples.ts";
import { execute } from "./sql.ts";

const person = "80351110224678912";
const record = "019ab1c2-0000-7000-8000-0123456789ab";
const bodies = {
  a: { text: `<@${person}> left` },
  b: { [record]: 1 },
  c: [`/records/${record}/files`],
  d: { about: "80351110224678913" },
  e: null,
};

test("answers kept before there was a table of subjects are forgotten, too", async () => {
  const url = await databaseBefore("_idempotency_subjects");
  const at = "'2026-11-20T10:00:00.000+00:00'";
  const rows = Object.entries(bodies).map(([scope, body]) => `('${scope}', 'body', 201, '${JSON.stringify(body)}', ${at}, ${at})`);
  await execute(
    url,
    `INSERT INTO idempotency_records (scope, fingerprint, status, body, created_at, expires_at) VALUES ${rows.join(", ")}`,
  );
  const database = await openDatabase({ url, synchronous: "normal" });
  onTestFinished(() => database.close());
  expect(await database.read.idempotencySubject.findMany({ orderBy: { scope: "asc" } })).toEqual([
    { scope: "a", subjectId: person },
    { scope: "b", subjectId: record },
    { scope: "c", subjectId: record },
    { scope: "d", subjectId: bodies.d.about },
  ]);
  await database.write(sampleCall(), (tx) => forgetAnswers(tx, person));
  await database.write(sampleCall(), (tx) => forgetAnswers(tx, record));
  const left = await database.read.idempotencyRecord.findMany({ orderBy: { scope: "asc" } });
  expect(left.map(({ scope }) => scope)).toEqual(["d", "e"]);
});
