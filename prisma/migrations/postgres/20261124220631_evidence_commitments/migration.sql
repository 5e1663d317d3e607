-- AlterTable
ALTER TABLE "evidence_items" DROP COLUMN "sha256",
ADD COLUMN     "commitment" TEXT,
ADD COLUMN     "salt" TEXT;

-- A hash by which short texts can be guessed stands nowhere any more: what was redacted loses it, and the entries of the audit that
-- hold one lose their details at the next start, which also gives every piece its commitment.
UPDATE "evidence_files" SET "sha256" = NULL WHERE "status" = 'redacted';
INSERT INTO "settings" ("key", "value", "updated_at")
SELECT 'evidence_commitments', '"due"', now()
WHERE EXISTS (SELECT 1 FROM "evidence_items") OR EXISTS (SELECT 1 FROM "audit_entries" WHERE "action" IN ('evidence.add', 'evidence.redact'));
