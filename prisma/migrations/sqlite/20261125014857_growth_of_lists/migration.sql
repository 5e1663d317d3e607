-- DropIndex
DROP INDEX "blacklist_words_word_record_id_idx";

-- CreateIndex
CREATE INDEX "blacklist_changes_kind_seq_idx" ON "blacklist_changes"("kind", "seq");

-- CreateIndex
CREATE INDEX "blacklist_changes_kind_category_seq_idx" ON "blacklist_changes"("kind", "category", "seq");

-- CreateIndex
CREATE INDEX "blacklist_records_status_starts_at_idx" ON "blacklist_records"("status", "starts_at");

-- CreateIndex
CREATE INDEX "blacklist_records_kind_created_at_id_idx" ON "blacklist_records"("kind", "created_at", "id");

-- CreateIndex
CREATE INDEX "blacklist_records_category_created_at_id_idx" ON "blacklist_records"("category", "created_at", "id");

-- CreateIndex
CREATE INDEX "blacklist_records_severity_created_at_id_idx" ON "blacklist_records"("severity", "created_at", "id");

-- CreateIndex
CREATE INDEX "blacklist_records_status_created_at_id_idx" ON "blacklist_records"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "blacklist_words_is_hidden_word_record_id_idx" ON "blacklist_words"("is_hidden", "word", "record_id");
