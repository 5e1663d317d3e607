-- DropIndex
DROP INDEX "audit_entries_subject_user_id_idx";

-- DropIndex
DROP INDEX "audit_entries_target_kind_target_id_idx";

-- DropIndex
DROP INDEX "audit_entries_action_idx";

-- DropIndex
DROP INDEX "audit_entries_actor_id_idx";

-- CreateIndex
CREATE INDEX "audit_entries_actor_id_seq_idx" ON "audit_entries"("actor_id", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_actor_id_action_seq_idx" ON "audit_entries"("actor_id", "action", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_action_seq_idx" ON "audit_entries"("action", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_target_id_seq_idx" ON "audit_entries"("target_id", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_target_reference_seq_idx" ON "audit_entries"("target_reference", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_subject_user_id_seq_idx" ON "audit_entries"("subject_user_id", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_client_id_seq_idx" ON "audit_entries"("client_id", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_via_seq_idx" ON "audit_entries"("via", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_outcome_seq_idx" ON "audit_entries"("outcome", "seq");

-- CreateIndex
CREATE INDEX "audit_entries_request_id_seq_idx" ON "audit_entries"("request_id", "seq");
