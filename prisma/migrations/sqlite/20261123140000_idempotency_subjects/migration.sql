-- CreateTable
CREATE TABLE "idempotency_subjects" (
    "scope" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,

    PRIMARY KEY ("scope", "subject_id"),
    CONSTRAINT "idempotency_subjects_scope_fkey" FOREIGN KEY ("scope") REFERENCES "idempotency_records" ("scope") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE INDEX "idempotency_subjects_subject_id_idx" ON "idempotency_subjects"("subject_id");

-- The ids in the answers that are kept already: Discord ids are runs of 17 to 20 digits, all others UUIDs.
INSERT INTO "idempotency_subjects" ("scope", "subject_id")
WITH RECURSIVE
  "texts"("scope", "text") AS (
    SELECT "r"."scope", lower("t"."atom") FROM "idempotency_records" AS "r", json_tree(CAST("r"."body" AS TEXT)) AS "t" WHERE "t"."type" = 'text'
    UNION
    SELECT "r"."scope", lower("t"."key") FROM "idempotency_records" AS "r", json_tree(CAST("r"."body" AS TEXT)) AS "t" WHERE typeof("t"."key") = 'text'
  ),
  "walk"("scope", "text", "at") AS (
    SELECT "scope", "text", 1 FROM "texts" WHERE length("text") >= 17
    UNION ALL
    SELECT "scope", "text", "at" + 1 FROM "walk" WHERE "at" + 17 <= length("text")
  ),
  "digits"("length") AS (VALUES (17), (18), (19), (20))
SELECT "scope", substr("text", "at", "length") FROM "walk", "digits"
WHERE length(substr("text", "at", "length")) = "length"
  AND substr("text", "at", "length") NOT GLOB '*[^0-9]*'
  AND ("at" = 1 OR substr("text", "at" - 1, 1) NOT GLOB '[0-9]')
  AND substr("text", "at" + "length", 1) NOT GLOB '[0-9]'
UNION
SELECT "scope", substr("text", "at", 36) FROM "walk"
WHERE substr("text", "at", 36) LIKE '________-____-____-____-____________' AND substr("text", "at", 36) NOT GLOB '*[^0-9a-f-]*';
