-- DropIndex
DROP INDEX "request_drafts_subject_kind_subject_id_idx";

-- DropIndex
DROP INDEX "roster_entries_status_idx";

-- DropIndex
DROP INDEX "servers_status_idx";

-- DropIndex
DROP INDEX "workflow_requests_assignee_id_status_idx";

-- DropIndex
DROP INDEX "workflow_requests_requester_id_idx";

-- DropIndex
DROP INDEX "workflow_requests_status_remind_at_idx";

-- DropIndex
DROP INDEX "workflow_requests_type_status_idx";

-- AlterTable
ALTER TABLE "cases" ADD COLUMN     "due_order" TIMESTAMP(3) NOT NULL DEFAULT '9999-12-31 23:59:59.999 +00:00';
UPDATE "cases" SET "due_order" = "due_at" WHERE "due_at" IS NOT NULL;

-- AlterTable
ALTER TABLE "workflow_requests" ADD COLUMN     "due_order" TIMESTAMP(3) NOT NULL DEFAULT '9999-12-31 23:59:59.999 +00:00',
ADD COLUMN     "is_restricted" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "queue_order" TEXT NOT NULL DEFAULT '29999-12-31T23:59:59.999Z';
UPDATE "workflow_requests" AS "r" SET
  "due_order" = COALESCE("due_decision_at", '9999-12-31 23:59:59.999'::timestamp(3)),
  "queue_order" = (3 - "priority_order")::text || to_char(COALESCE("due_decision_at", '9999-12-31 23:59:59.999'::timestamp(3)), 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"'),
  "is_restricted" = EXISTS (SELECT 1 FROM "workflow_subjects" AS "s" WHERE "s"."request_id" = "r"."id" AND "s"."kind" = 'restricted');
ALTER TABLE "workflow_requests" DROP COLUMN "priority_order";

-- CreateIndex
CREATE INDEX "cases_due_order_id_idx" ON "cases"("due_order", "id");

-- CreateIndex
CREATE INDEX "cases_status_created_at_id_idx" ON "cases"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "cases_type_created_at_id_idx" ON "cases"("type", "created_at", "id");

-- CreateIndex
CREATE INDEX "cases_lead_id_created_at_id_idx" ON "cases"("lead_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "cases_opened_by_created_at_id_idx" ON "cases"("opened_by", "created_at", "id");

-- CreateIndex
CREATE INDEX "cases_priority_idx" ON "cases"("priority");

-- CreateIndex
CREATE INDEX "cases_is_confidential_idx" ON "cases"("is_confidential");

-- CreateIndex
CREATE INDEX "cases_status_retention_until_idx" ON "cases"("status", "retention_until");

-- CreateIndex
CREATE INDEX "request_drafts_created_at_id_idx" ON "request_drafts"("created_at", "id");

-- CreateIndex
CREATE INDEX "request_drafts_type_idx" ON "request_drafts"("type");

-- CreateIndex
CREATE INDEX "request_drafts_subject_id_idx" ON "request_drafts"("subject_id");

-- CreateIndex
CREATE INDEX "request_drafts_cause_reference_idx" ON "request_drafts"("cause_reference");

-- CreateIndex
CREATE INDEX "roster_entries_created_at_id_idx" ON "roster_entries"("created_at", "id");

-- CreateIndex
CREATE INDEX "roster_entries_updated_at_id_idx" ON "roster_entries"("updated_at", "id");

-- CreateIndex
CREATE INDEX "roster_entries_status_created_at_id_idx" ON "roster_entries"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "roster_entries_supervisor_id_idx" ON "roster_entries"("supervisor_id");

-- CreateIndex
CREATE INDEX "roster_entries_nickname_idx" ON "roster_entries"("nickname");

-- CreateIndex
CREATE INDEX "roster_events_event_effective_at_idx" ON "roster_events"("event", "effective_at");

-- CreateIndex
CREATE INDEX "servers_created_at_id_idx" ON "servers"("created_at", "id");

-- CreateIndex
CREATE INDEX "servers_status_created_at_id_idx" ON "servers"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_updated_at_id_idx" ON "workflow_requests"("updated_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_due_order_id_idx" ON "workflow_requests"("due_order", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_queue_order_id_idx" ON "workflow_requests"("queue_order", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_type_created_at_id_idx" ON "workflow_requests"("type", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_status_created_at_id_idx" ON "workflow_requests"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_requester_id_created_at_id_idx" ON "workflow_requests"("requester_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_assignee_id_created_at_id_idx" ON "workflow_requests"("assignee_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_priority_idx" ON "workflow_requests"("priority");

-- CreateIndex
CREATE INDEX "workflow_requests_is_held_idx" ON "workflow_requests"("is_held");

-- CreateIndex
CREATE INDEX "workflow_requests_escalation_tier_idx" ON "workflow_requests"("escalation_tier");

-- CreateIndex
CREATE INDEX "workflow_requests_is_restricted_idx" ON "workflow_requests"("is_restricted");

-- CreateIndex
CREATE INDEX "workflow_requests_status_expires_at_idx" ON "workflow_requests"("status", "expires_at");

-- CreateIndex
CREATE INDEX "workflow_requests_remind_at_idx" ON "workflow_requests"("remind_at");
