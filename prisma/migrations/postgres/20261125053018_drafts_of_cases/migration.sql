-- AlterTable
ALTER TABLE "request_drafts" ADD COLUMN     "case_number" INTEGER;

-- Which case suggested what is there already.
UPDATE "request_drafts" SET "case_number" = (SELECT "number" FROM "cases" WHERE "number" = CAST(substr("cause_reference", 6) AS INTEGER))
WHERE "cause_reference" ~ '^CASE-[0-9]{1,9}$';

-- CreateIndex
CREATE INDEX "request_drafts_case_number_idx" ON "request_drafts"("case_number");

-- AddForeignKey
ALTER TABLE "request_drafts" ADD CONSTRAINT "request_drafts_case_number_fkey" FOREIGN KEY ("case_number") REFERENCES "cases"("number") ON DELETE SET NULL ON UPDATE CASCADE;
