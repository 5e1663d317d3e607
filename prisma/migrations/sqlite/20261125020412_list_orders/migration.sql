-- DropIndex
DROP INDEX "request_drafts_subject_kind_subject_id_idx";

-- DropIndex
DROP INDEX "roster_entries_status_idx";

-- DropIndex
DROP INDEX "servers_status_idx";

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_cases" (
    "id" TEXT NOT NULL PRIMARY KEY,
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
    "closed_at" DATETIME,
    "due_at" DATETIME,
    "due_order" DATETIME NOT NULL DEFAULT '9999-12-31 23:59:59.999 +00:00',
    "retention_until" DATETIME,
    "deleted_at" DATETIME,
    "deleted_by" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_cases" ("closed_at", "closed_by", "created_at", "deleted_at", "deleted_by", "due_at", "id", "is_confidential", "lead_id", "number", "opened_by", "origin_reference", "outcome", "outcome_reason", "policies", "priority", "retention_until", "revision", "status", "title", "type", "updated_at", "due_order") SELECT "closed_at", "closed_by", "created_at", "deleted_at", "deleted_by", "due_at", "id", "is_confidential", "lead_id", "number", "opened_by", "origin_reference", "outcome", "outcome_reason", "policies", "priority", "retention_until", "revision", "status", "title", "type", "updated_at", COALESCE("due_at", '9999-12-31T23:59:59.999+00:00') FROM "cases";
DROP TABLE "cases";
ALTER TABLE "new_cases" RENAME TO "cases";
CREATE UNIQUE INDEX "cases_number_key" ON "cases"("number");
CREATE INDEX "cases_created_at_id_idx" ON "cases"("created_at", "id");
CREATE INDEX "cases_due_order_id_idx" ON "cases"("due_order", "id");
CREATE INDEX "cases_status_created_at_id_idx" ON "cases"("status", "created_at", "id");
CREATE INDEX "cases_type_created_at_id_idx" ON "cases"("type", "created_at", "id");
CREATE INDEX "cases_lead_id_created_at_id_idx" ON "cases"("lead_id", "created_at", "id");
CREATE INDEX "cases_opened_by_created_at_id_idx" ON "cases"("opened_by", "created_at", "id");
CREATE INDEX "cases_priority_idx" ON "cases"("priority");
CREATE INDEX "cases_is_confidential_idx" ON "cases"("is_confidential");
CREATE INDEX "cases_origin_reference_idx" ON "cases"("origin_reference");
CREATE INDEX "cases_deleted_at_idx" ON "cases"("deleted_at");
CREATE INDEX "cases_status_due_at_idx" ON "cases"("status", "due_at");
CREATE INDEX "cases_status_retention_until_idx" ON "cases"("status", "retention_until");
CREATE TABLE "new_workflow_requests" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "reference" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "queue_order" TEXT NOT NULL DEFAULT '29999-12-31T23:59:59.999Z',
    "due_order" DATETIME NOT NULL DEFAULT '9999-12-31 23:59:59.999 +00:00',
    "is_restricted" BOOLEAN NOT NULL DEFAULT false,
    "urgent" BOOLEAN NOT NULL,
    "title" TEXT NOT NULL,
    "summary" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "extra" JSONB NOT NULL,
    "payload_revision" INTEGER NOT NULL DEFAULT 1,
    "requester_id" TEXT,
    "requester_name" TEXT,
    "client_id" TEXT,
    "requested_via" TEXT NOT NULL,
    "origin" JSONB,
    "evidence" JSONB NOT NULL,
    "related" JSONB NOT NULL,
    "external_id" TEXT,
    "approvals_required" INTEGER NOT NULL,
    "decision" JSONB,
    "links" JSONB NOT NULL,
    "checks" JSONB,
    "assignee_id" TEXT,
    "assigned_by" TEXT,
    "assigned_at" DATETIME,
    "lease_expires_at" DATETIME,
    "claimed_at" DATETIME,
    "last_claimed_at" DATETIME,
    "is_held" BOOLEAN NOT NULL DEFAULT false,
    "hold_by" TEXT,
    "hold_at" DATETIME,
    "hold_reason" TEXT,
    "hold_reference" TEXT,
    "escalation_tier" INTEGER NOT NULL DEFAULT 0,
    "escalated_by" TEXT,
    "escalated_at" DATETIME,
    "escalation_reason" TEXT,
    "questions" JSONB,
    "info_due_at" DATETIME,
    "paused_at" DATETIME,
    "due_first_touch_at" DATETIME,
    "due_decision_at" DATETIME,
    "expires_at" DATETIME,
    "first_touched_at" DATETIME,
    "decided_at" DATETIME,
    "reversed_at" DATETIME,
    "told" JSONB,
    "remind_at" DATETIME,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_workflow_requests" ("approvals_required", "assigned_at", "assigned_by", "assignee_id", "checks", "claimed_at", "client_id", "created_at", "decided_at", "decision", "due_decision_at", "due_first_touch_at", "escalated_at", "escalated_by", "escalation_reason", "escalation_tier", "evidence", "expires_at", "external_id", "extra", "first_touched_at", "hold_at", "hold_by", "hold_reason", "hold_reference", "id", "info_due_at", "is_held", "last_claimed_at", "lease_expires_at", "links", "origin", "paused_at", "payload", "payload_revision", "priority", "questions", "reference", "related", "remind_at", "requested_via", "requester_id", "requester_name", "reversed_at", "revision", "status", "summary", "title", "told", "type", "updated_at", "urgent", "due_order", "queue_order", "is_restricted") SELECT "approvals_required", "assigned_at", "assigned_by", "assignee_id", "checks", "claimed_at", "client_id", "created_at", "decided_at", "decision", "due_decision_at", "due_first_touch_at", "escalated_at", "escalated_by", "escalation_reason", "escalation_tier", "evidence", "expires_at", "external_id", "extra", "first_touched_at", "hold_at", "hold_by", "hold_reason", "hold_reference", "id", "info_due_at", "is_held", "last_claimed_at", "lease_expires_at", "links", "origin", "paused_at", "payload", "payload_revision", "priority", "questions", "reference", "related", "remind_at", "requested_via", "requester_id", "requester_name", "reversed_at", "revision", "status", "summary", "title", "told", "type", "updated_at", "urgent", COALESCE("due_decision_at", '9999-12-31T23:59:59.999+00:00'), (3 - "priority_order") || strftime('%Y-%m-%dT%H:%M:%fZ', COALESCE("due_decision_at", '9999-12-31T23:59:59.999+00:00')), EXISTS (SELECT 1 FROM "workflow_subjects" AS "s" WHERE "s"."request_id" = "workflow_requests"."id" AND "s"."kind" = 'restricted') FROM "workflow_requests";
DROP TABLE "workflow_requests";
ALTER TABLE "new_workflow_requests" RENAME TO "workflow_requests";
CREATE UNIQUE INDEX "workflow_requests_reference_key" ON "workflow_requests"("reference");
CREATE INDEX "workflow_requests_created_at_id_idx" ON "workflow_requests"("created_at", "id");
CREATE INDEX "workflow_requests_updated_at_id_idx" ON "workflow_requests"("updated_at", "id");
CREATE INDEX "workflow_requests_due_order_id_idx" ON "workflow_requests"("due_order", "id");
CREATE INDEX "workflow_requests_queue_order_id_idx" ON "workflow_requests"("queue_order", "id");
CREATE INDEX "workflow_requests_type_created_at_id_idx" ON "workflow_requests"("type", "created_at", "id");
CREATE INDEX "workflow_requests_status_created_at_id_idx" ON "workflow_requests"("status", "created_at", "id");
CREATE INDEX "workflow_requests_requester_id_created_at_id_idx" ON "workflow_requests"("requester_id", "created_at", "id");
CREATE INDEX "workflow_requests_assignee_id_created_at_id_idx" ON "workflow_requests"("assignee_id", "created_at", "id");
CREATE INDEX "workflow_requests_priority_idx" ON "workflow_requests"("priority");
CREATE INDEX "workflow_requests_is_held_idx" ON "workflow_requests"("is_held");
CREATE INDEX "workflow_requests_escalation_tier_idx" ON "workflow_requests"("escalation_tier");
CREATE INDEX "workflow_requests_is_restricted_idx" ON "workflow_requests"("is_restricted");
CREATE INDEX "workflow_requests_status_due_decision_at_idx" ON "workflow_requests"("status", "due_decision_at");
CREATE INDEX "workflow_requests_status_expires_at_idx" ON "workflow_requests"("status", "expires_at");
CREATE INDEX "workflow_requests_remind_at_idx" ON "workflow_requests"("remind_at");
CREATE INDEX "workflow_requests_external_id_idx" ON "workflow_requests"("external_id");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

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
