// @module-tag both
import { expect, onTestFinished, test } from "vitest";
import { openDatabase } from "../../src/database/database.ts";
import { databaseBefore } from "./folders.ts";
import { execute } from "./sql.ts";

const at = "'2026-11-20T10:00:00.000+00:00'";
const columns = "id, record_kind, record_id, kind, note, sha256, is_verified, is_confidential, captured_at, redacted_at";
const hash = "a".repeat(64);

test.each([
  ["a database with evidence has its hashes replaced at the next start", true],
  ["a fresh database has nothing to replace", false],
])("%s", async (_name, hasEvidence) => {
  const url = await databaseBefore("_evidence_commitments");
  if (hasEvidence) {
    const values = (id: string, redactedAt: string) =>
      `('${id}', 'case', 'case-1', 'file', NULL, '${hash}', false, false, ${at}, ${redactedAt})`;
    await execute(url, `INSERT INTO evidence_items (${columns}) VALUES ${values("kept", "NULL")}, ${values("gone", at)}`);
    const file = (id: string, status: string) => `('${id}', 0, 'text/plain', 1, '${hash}', '${status}')`;
    await execute(
      url,
      `INSERT INTO evidence_files (evidence_id, position, mime, bytes, sha256, status) VALUES ${file("kept", "stored")}, ${file("gone", "redacted")}`,
    );
  }
  const database = await openDatabase({ url, synchronous: "normal" });
  onTestFinished(() => database.close());
  const files = await database.read.evidenceFile.findMany({ orderBy: { evidenceId: "asc" } });
  expect(files.map(({ evidenceId, sha256 }) => [evidenceId, sha256])).toEqual(
    hasEvidence
      ? [
          ["gone", null],
          ["kept", hash],
        ]
      : [],
  );
  expect(await database.read.evidenceItem.count()).toBe(files.length);
  const due = await database.read.setting.findUnique({ where: { key: "evidence_commitments" } });
  expect(due?.value).toBe(hasEvidence ? "due" : undefined);
});
