-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_evidence_items" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "record_kind" TEXT NOT NULL,
    "record_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "title" TEXT,
    "note" TEXT,
    "url" TEXT,
    "record_ref" TEXT,
    "message" JSONB,
    "salt" TEXT,
    "commitment" TEXT,
    "is_verified" BOOLEAN NOT NULL,
    "is_confidential" BOOLEAN NOT NULL,
    "captured_at" DATETIME NOT NULL,
    "captured_by" TEXT,
    "redacted_at" DATETIME,
    "redacted_by" TEXT,
    "redact_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_evidence_items" ("captured_at", "captured_by", "id", "is_confidential", "is_verified", "kind", "message", "note", "record_id", "record_kind", "record_ref", "redact_reason", "redacted_at", "redacted_by", "revision", "title", "url") SELECT "captured_at", "captured_by", "id", "is_confidential", "is_verified", "kind", "message", "note", "record_id", "record_kind", "record_ref", "redact_reason", "redacted_at", "redacted_by", "revision", "title", "url" FROM "evidence_items";
DROP TABLE "evidence_items";
ALTER TABLE "new_evidence_items" RENAME TO "evidence_items";
CREATE INDEX "evidence_items_record_kind_record_id_captured_at_idx" ON "evidence_items"("record_kind", "record_id", "captured_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- A hash by which short texts can be guessed stands nowhere any more: what was redacted loses it, and the entries of the audit that
-- hold one lose their details at the next start, which also gives every piece its commitment.
UPDATE "evidence_files" SET "sha256" = NULL WHERE "status" = 'redacted';
INSERT INTO "settings" ("key", "value", "updated_at")
SELECT 'evidence_commitments', '"due"', strftime('%Y-%m-%dT%H:%M:%f', 'now') || '+00:00'
WHERE EXISTS (SELECT 1 FROM "evidence_items") OR EXISTS (SELECT 1 FROM "audit_entries" WHERE "action" IN ('evidence.add', 'evidence.redact'));
