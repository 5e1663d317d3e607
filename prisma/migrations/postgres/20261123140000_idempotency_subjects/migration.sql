-- CreateTable
CREATE TABLE "idempotency_subjects" (
    "scope" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,

    CONSTRAINT "idempotency_subjects_pkey" PRIMARY KEY ("scope","subject_id")
);

-- CreateIndex
CREATE INDEX "idempotency_subjects_subject_id_idx" ON "idempotency_subjects"("subject_id");

-- AddForeignKey
ALTER TABLE "idempotency_subjects" ADD CONSTRAINT "idempotency_subjects_scope_fkey" FOREIGN KEY ("scope") REFERENCES "idempotency_records"("scope") ON DELETE CASCADE ON UPDATE CASCADE;

-- The ids in the answers that are kept already: Discord ids are runs of 17 to 20 digits, all others UUIDs.
INSERT INTO "idempotency_subjects" ("scope", "subject_id")
SELECT DISTINCT "scope", lower("found"[1])
FROM "idempotency_records",
  regexp_matches("body"::text, '((?<![0-9])[0-9]{17,20}(?![0-9])|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12})', 'g') AS "found";
