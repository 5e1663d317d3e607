-- DropIndex
DROP INDEX "workflow_effects_status_due_at_idx";

-- CreateIndex
CREATE INDEX "workflow_effects_status_due_at_request_id_place_idx" ON "workflow_effects"("status", "due_at", "request_id", "place");
