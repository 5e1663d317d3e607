-- AlterTable
ALTER TABLE "counters" ADD COLUMN     "head" TEXT;

-- The audit goes on where it stands.
INSERT INTO "counters" ("name", "value", "head")
SELECT 'audit', "seq", "hash" FROM "audit_entries" WHERE "seq" = (SELECT MAX("seq") FROM "audit_entries");
