-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_request_drafts" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "type" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "subject_kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "cause" TEXT NOT NULL,
    "cause_reference" TEXT,
    "case_number" INTEGER,
    "open_key" TEXT,
    "status" TEXT NOT NULL,
    "filed_reference" TEXT,
    "ended_by" TEXT,
    "ended_at" DATETIME,
    "created_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT "request_drafts_case_number_fkey" FOREIGN KEY ("case_number") REFERENCES "cases" ("number") ON DELETE SET NULL ON UPDATE CASCADE
);
INSERT INTO "new_request_drafts" ("cause", "cause_reference", "created_at", "ended_at", "ended_by", "filed_reference", "id", "open_key", "payload", "revision", "status", "subject_id", "subject_kind", "type") SELECT "cause", "cause_reference", "created_at", "ended_at", "ended_by", "filed_reference", "id", "open_key", "payload", "revision", "status", "subject_id", "subject_kind", "type" FROM "request_drafts";
DROP TABLE "request_drafts";
ALTER TABLE "new_request_drafts" RENAME TO "request_drafts";
CREATE UNIQUE INDEX "request_drafts_open_key_key" ON "request_drafts"("open_key");
CREATE INDEX "request_drafts_created_at_id_idx" ON "request_drafts"("created_at", "id");
CREATE INDEX "request_drafts_status_created_at_id_idx" ON "request_drafts"("status", "created_at", "id");
CREATE INDEX "request_drafts_type_idx" ON "request_drafts"("type");
CREATE INDEX "request_drafts_subject_id_idx" ON "request_drafts"("subject_id");
CREATE INDEX "request_drafts_cause_reference_idx" ON "request_drafts"("cause_reference");
CREATE INDEX "request_drafts_case_number_idx" ON "request_drafts"("case_number");

-- Which case suggested what is there already.
UPDATE "request_drafts" SET "case_number" = (SELECT "number" FROM "cases" WHERE "number" = CAST(substr("cause_reference", 6) AS INTEGER))
WHERE "cause_reference" GLOB 'CASE-[0-9]*';

PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
