-- AlterTable
ALTER TABLE "audit_entries" ADD COLUMN     "erased" TEXT;

-- AlterTable
ALTER TABLE "blacklist_records" ADD COLUMN     "review_told_for" TIMESTAMP(3),
ADD COLUMN     "supersedes_id" TEXT;

-- CreateTable
CREATE TABLE "blacklist_words" (
    "record_id" TEXT NOT NULL,
    "word" TEXT NOT NULL,
    "is_hidden" BOOLEAN NOT NULL,

    CONSTRAINT "blacklist_words_pkey" PRIMARY KEY ("record_id","word")
);

-- CreateTable
CREATE TABLE "blacklist_changes" (
    "seq" INTEGER NOT NULL,
    "record_id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "revision" INTEGER NOT NULL,
    "what" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "category" TEXT,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "blacklist_changes_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "cases" (
    "id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "type" TEXT NOT NULL,
    "title" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "is_confidential" BOOLEAN NOT NULL,
    "opened_by" TEXT,
    "lead_id" TEXT,
    "policies" JSONB NOT NULL,
    "origin_reference" TEXT,
    "outcome" TEXT,
    "outcome_reason" TEXT,
    "closed_by" TEXT,
    "closed_at" TIMESTAMP(3),
    "due_at" TIMESTAMP(3),
    "retention_until" TIMESTAMP(3),
    "deleted_at" TIMESTAMP(3),
    "deleted_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "cases_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "case_subjects" (
    "case_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "name" TEXT,

    CONSTRAINT "case_subjects_pkey" PRIMARY KEY ("case_id","kind","subject_id")
);

-- CreateTable
CREATE TABLE "case_members" (
    "case_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,

    CONSTRAINT "case_members_pkey" PRIMARY KEY ("case_id","user_id")
);

-- CreateTable
CREATE TABLE "case_labels" (
    "case_id" TEXT NOT NULL,
    "label" TEXT NOT NULL,

    CONSTRAINT "case_labels_pkey" PRIMARY KEY ("case_id","label")
);

-- CreateTable
CREATE TABLE "case_notes" (
    "id" TEXT NOT NULL,
    "case_id" TEXT NOT NULL,
    "body" TEXT NOT NULL,
    "author_id" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "edited_at" TIMESTAMP(3),
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "case_notes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "case_note_versions" (
    "note_id" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "body" TEXT NOT NULL,
    "changed_by" TEXT,
    "changed_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "case_note_versions_pkey" PRIMARY KEY ("note_id","revision")
);

-- CreateTable
CREATE TABLE "case_actions" (
    "id" TEXT NOT NULL,
    "case_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "points" INTEGER NOT NULL,
    "reason" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "by_id" TEXT,
    "expires_at" TIMESTAMP(3),
    "effect_ref" TEXT,
    "origin_reference" TEXT,
    "voided_at" TIMESTAMP(3),
    "voided_by" TEXT,
    "void_reason" TEXT,

    CONSTRAINT "case_actions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "case_links" (
    "id" TEXT NOT NULL,
    "case_id" TEXT NOT NULL,
    "rel" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "target_id" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "case_links_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "case_templates" (
    "key" TEXT NOT NULL,
    "content" JSONB NOT NULL,
    "updated_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "case_templates_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "case_words" (
    "case_id" TEXT NOT NULL,
    "source" TEXT NOT NULL,
    "word" TEXT NOT NULL,

    CONSTRAINT "case_words_pkey" PRIMARY KEY ("case_id","source","word")
);

-- CreateTable
CREATE TABLE "evidence_items" (
    "id" TEXT NOT NULL,
    "record_kind" TEXT NOT NULL,
    "record_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "title" TEXT,
    "note" TEXT,
    "url" TEXT,
    "record_ref" TEXT,
    "message" JSONB,
    "sha256" TEXT NOT NULL,
    "is_verified" BOOLEAN NOT NULL,
    "is_confidential" BOOLEAN NOT NULL,
    "captured_at" TIMESTAMP(3) NOT NULL,
    "captured_by" TEXT,
    "redacted_at" TIMESTAMP(3),
    "redacted_by" TEXT,
    "redact_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "evidence_items_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "evidence_files" (
    "evidence_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "name" TEXT,
    "mime" TEXT NOT NULL,
    "bytes" INTEGER NOT NULL,
    "sha256" TEXT,
    "status" TEXT NOT NULL,

    CONSTRAINT "evidence_files_pkey" PRIMARY KEY ("evidence_id","position")
);

-- CreateTable
CREATE TABLE "request_drafts" (
    "id" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "subject_kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "cause" TEXT NOT NULL,
    "cause_reference" TEXT,
    "open_key" TEXT,
    "status" TEXT NOT NULL,
    "filed_reference" TEXT,
    "ended_by" TEXT,
    "ended_at" TIMESTAMP(3),
    "created_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "request_drafts_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "blacklist_words_word_record_id_idx" ON "blacklist_words"("word", "record_id");

-- CreateIndex
CREATE INDEX "blacklist_changes_record_id_idx" ON "blacklist_changes"("record_id");

-- CreateIndex
CREATE UNIQUE INDEX "cases_number_key" ON "cases"("number");

-- CreateIndex
CREATE INDEX "cases_created_at_id_idx" ON "cases"("created_at", "id");

-- CreateIndex
CREATE INDEX "cases_status_due_at_idx" ON "cases"("status", "due_at");

-- CreateIndex
CREATE INDEX "cases_origin_reference_idx" ON "cases"("origin_reference");

-- CreateIndex
CREATE INDEX "cases_deleted_at_idx" ON "cases"("deleted_at");

-- CreateIndex
CREATE INDEX "case_subjects_kind_subject_id_idx" ON "case_subjects"("kind", "subject_id");

-- CreateIndex
CREATE INDEX "case_members_user_id_idx" ON "case_members"("user_id");

-- CreateIndex
CREATE INDEX "case_labels_label_idx" ON "case_labels"("label");

-- CreateIndex
CREATE INDEX "case_notes_case_id_created_at_idx" ON "case_notes"("case_id", "created_at");

-- CreateIndex
CREATE INDEX "case_actions_case_id_at_idx" ON "case_actions"("case_id", "at");

-- CreateIndex
CREATE INDEX "case_actions_user_id_at_idx" ON "case_actions"("user_id", "at");

-- CreateIndex
CREATE INDEX "case_links_kind_target_id_idx" ON "case_links"("kind", "target_id");

-- CreateIndex
CREATE UNIQUE INDEX "case_links_case_id_rel_kind_target_id_key" ON "case_links"("case_id", "rel", "kind", "target_id");

-- CreateIndex
CREATE INDEX "case_words_word_case_id_idx" ON "case_words"("word", "case_id");

-- CreateIndex
CREATE INDEX "evidence_items_record_kind_record_id_captured_at_idx" ON "evidence_items"("record_kind", "record_id", "captured_at");

-- CreateIndex
CREATE INDEX "evidence_files_sha256_idx" ON "evidence_files"("sha256");

-- CreateIndex
CREATE UNIQUE INDEX "request_drafts_open_key_key" ON "request_drafts"("open_key");

-- CreateIndex
CREATE INDEX "request_drafts_status_created_at_id_idx" ON "request_drafts"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "request_drafts_subject_kind_subject_id_idx" ON "request_drafts"("subject_kind", "subject_id");

-- CreateIndex
CREATE INDEX "audit_entries_at_idx" ON "audit_entries"("at");

-- CreateIndex
CREATE INDEX "blacklist_records_status_review_at_idx" ON "blacklist_records"("status", "review_at");

-- AddForeignKey
ALTER TABLE "blacklist_words" ADD CONSTRAINT "blacklist_words_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "blacklist_records"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_subjects" ADD CONSTRAINT "case_subjects_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_members" ADD CONSTRAINT "case_members_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_labels" ADD CONSTRAINT "case_labels_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_notes" ADD CONSTRAINT "case_notes_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_note_versions" ADD CONSTRAINT "case_note_versions_note_id_fkey" FOREIGN KEY ("note_id") REFERENCES "case_notes"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_actions" ADD CONSTRAINT "case_actions_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_links" ADD CONSTRAINT "case_links_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "case_words" ADD CONSTRAINT "case_words_case_id_fkey" FOREIGN KEY ("case_id") REFERENCES "cases"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "evidence_files" ADD CONSTRAINT "evidence_files_evidence_id_fkey" FOREIGN KEY ("evidence_id") REFERENCES "evidence_items"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The feed of changes begins with everything that was kept before there was one.
INSERT INTO "blacklist_changes" ("seq", "record_id", "number", "revision", "what", "kind", "category", "at")
SELECT row_number() OVER (ORDER BY v."changed_at", v."record_id", v."revision"), v."record_id", r."number", v."revision",
    CASE
        WHEN v."revision" = 1 THEN 'created'
        WHEN v."revision" = r."revision" AND r."status" IN ('revoked', 'expired') THEN r."status"
        ELSE 'updated'
    END,
    r."kind", r."category", v."changed_at"
FROM "blacklist_versions" v JOIN "blacklist_records" r ON r."id" = v."record_id";

INSERT INTO "counters" ("name", "value") SELECT 'blacklist_changes', COUNT(*) FROM "blacklist_changes" HAVING COUNT(*) > 0;

-- Words are compared byte by byte, whatever the language of the database: so the index serves their beginnings.
ALTER TABLE "blacklist_words" ALTER COLUMN "word" TYPE TEXT COLLATE "C";
ALTER TABLE "case_words" ALTER COLUMN "word" TYPE TEXT COLLATE "C";
