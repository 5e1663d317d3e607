-- AlterTable
ALTER TABLE "agreements" ADD COLUMN "suspended_by" TEXT;

-- CreateTable
CREATE TABLE "workflow_steps" (
    "request_id" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "action" TEXT NOT NULL,
    "actor_id" TEXT,
    "client_id" TEXT,
    "via" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "from" TEXT,
    "to" TEXT NOT NULL,
    "note_public" TEXT,
    "note_internal" TEXT,
    "data" JSONB NOT NULL,

    PRIMARY KEY ("request_id", "revision"),
    CONSTRAINT "workflow_steps_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "workflow_comments" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "request_id" TEXT NOT NULL,
    "author_id" TEXT,
    "body" TEXT NOT NULL,
    "visibility" TEXT NOT NULL,
    "reply_to_id" TEXT,
    "created_at" DATETIME NOT NULL,
    "edited_at" DATETIME,
    "revision" INTEGER NOT NULL DEFAULT 1,
    CONSTRAINT "workflow_comments_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "workflow_effects" (
    "request_id" TEXT NOT NULL,
    "place" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "target_kind" TEXT,
    "target_id" TEXT,
    "target_reference" TEXT,
    "detail" TEXT NOT NULL,
    "input" JSONB,
    "undo" JSONB,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    "due_at" DATETIME,
    "at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,

    PRIMARY KEY ("request_id", "place"),
    CONSTRAINT "workflow_effects_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "poach_incidents" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "server_id" TEXT NOT NULL,
    "victim_server_id" TEXT NOT NULL,
    "offender_ids" JSONB NOT NULL,
    "method" TEXT NOT NULL,
    "occurred_at" DATETIME NOT NULL,
    "status" TEXT NOT NULL,
    "origin_reference" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "end_reason" TEXT
);

-- CreateTable
CREATE TABLE "poach_clearances" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_id" TEXT NOT NULL,
    "from_server_id" TEXT NOT NULL,
    "to_server_id" TEXT NOT NULL,
    "valid_until" DATETIME,
    "status" TEXT NOT NULL,
    "used_reference" TEXT,
    "origin_reference" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "end_reason" TEXT
);

-- CreateTable
CREATE TABLE "roster_entries" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "status_before" TEXT,
    "staff_role" TEXT,
    "department" TEXT,
    "supervisor_id" TEXT,
    "joined_at" DATETIME,
    "trial_ends_at" DATETIME,
    "suspended_until" DATETIME,
    "ended_at" DATETIME,
    "origin_reference" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "roster_events" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "entry_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "before" JSONB NOT NULL,
    "after" JSONB NOT NULL,
    "actor_id" TEXT,
    "cause_reference" TEXT,
    "reason" TEXT,
    "effective_at" DATETIME NOT NULL,
    "recorded_at" DATETIME NOT NULL,
    CONSTRAINT "roster_events_entry_id_fkey" FOREIGN KEY ("entry_id") REFERENCES "roster_entries" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "callsign_pools" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "department" TEXT,
    "template" TEXT NOT NULL,
    "ranges" JSONB NOT NULL,
    "reserved" JSONB NOT NULL,
    "skip" JSONB NOT NULL,
    "rank_bands" JSONB NOT NULL,
    "hold_days" INTEGER NOT NULL DEFAULT 90,
    "reservation_minutes" INTEGER NOT NULL DEFAULT 15,
    "nickname_template" TEXT,
    "case_rule" TEXT NOT NULL DEFAULT 'keep',
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "callsign_slots" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "pool" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "callsign" TEXT NOT NULL,
    "state" TEXT NOT NULL,
    "live_key" TEXT,
    "holder_key" TEXT,
    "user_id" TEXT,
    "since" DATETIME NOT NULL,
    "until" DATETIME,
    "origin_reference" TEXT,
    "ended_at" DATETIME,
    "created_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
-- Columns one by one: a table that others refer to is not built anew.
ALTER TABLE "workflow_requests" ADD COLUMN "priority_order" INTEGER NOT NULL DEFAULT 1;
ALTER TABLE "workflow_requests" ADD COLUMN "origin" JSONB;
ALTER TABLE "workflow_requests" ADD COLUMN "checks" JSONB;
ALTER TABLE "workflow_requests" ADD COLUMN "assignee_id" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "assigned_by" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "assigned_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "lease_expires_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "claimed_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "last_claimed_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "is_held" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "workflow_requests" ADD COLUMN "hold_by" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "hold_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "hold_reason" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "hold_reference" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "escalation_tier" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "workflow_requests" ADD COLUMN "escalated_by" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "escalated_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "escalation_reason" TEXT;
ALTER TABLE "workflow_requests" ADD COLUMN "questions" JSONB;
ALTER TABLE "workflow_requests" ADD COLUMN "info_due_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "paused_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "reversed_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "told" JSONB;
ALTER TABLE "workflow_requests" ADD COLUMN "remind_at" DATETIME;

-- What was done by earlier approvals, told row by row.
INSERT INTO "workflow_effects" ("request_id", "place", "key", "status", "target_kind", "target_id", "target_reference", "detail", "at", "updated_at")
SELECT r."id", e."key" + 1, json_extract(e."value", '$.key'), json_extract(e."value", '$.status'),
  json_extract(e."value", '$.target.kind'), json_extract(e."value", '$.target.id'), json_extract(e."value", '$.target.reference'),
  json_extract(e."value", '$.detail'), r."updated_at", r."updated_at"
FROM "workflow_requests" r, json_each(r."effects") e;

-- What is open is looked at once, so that its reminders are known.
UPDATE "workflow_requests" SET "remind_at" = COALESCE("due_first_touch_at", "created_at")
WHERE "status" IN ('pending', 'in_review', 'needs_info', 'escalated');

UPDATE "workflow_requests" SET "priority_order" = CASE "priority" WHEN 'low' THEN 0 WHEN 'high' THEN 2 WHEN 'critical' THEN 3 ELSE 1 END;

ALTER TABLE "workflow_requests" DROP COLUMN "effects";
CREATE INDEX "workflow_requests_assignee_id_status_idx" ON "workflow_requests"("assignee_id", "status");
CREATE INDEX "workflow_requests_status_due_decision_at_idx" ON "workflow_requests"("status", "due_decision_at");
CREATE INDEX "workflow_requests_status_remind_at_idx" ON "workflow_requests"("status", "remind_at");
CREATE INDEX "workflow_requests_external_id_idx" ON "workflow_requests"("external_id");
CREATE TABLE "new_workflow_votes" (
    "request_id" TEXT NOT NULL,
    "about" TEXT NOT NULL DEFAULT 'decision',
    "actor_id" TEXT NOT NULL,
    "payload_revision" INTEGER NOT NULL,
    "verdict" TEXT NOT NULL,
    "note" TEXT,
    "at" DATETIME NOT NULL,

    PRIMARY KEY ("request_id", "about", "actor_id", "payload_revision"),
    CONSTRAINT "workflow_votes_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "new_workflow_votes" ("actor_id", "at", "note", "payload_revision", "request_id", "verdict") SELECT "actor_id", "at", "note", "payload_revision", "request_id", "verdict" FROM "workflow_votes";
DROP TABLE "workflow_votes";
ALTER TABLE "new_workflow_votes" RENAME TO "workflow_votes";
CREATE INDEX "workflow_votes_actor_id_at_idx" ON "workflow_votes"("actor_id", "at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- CreateIndex
CREATE INDEX "workflow_steps_actor_id_at_idx" ON "workflow_steps"("actor_id", "at");

-- CreateIndex
CREATE INDEX "workflow_steps_at_idx" ON "workflow_steps"("at");

-- CreateIndex
CREATE INDEX "workflow_comments_request_id_created_at_id_idx" ON "workflow_comments"("request_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_effects_status_due_at_idx" ON "workflow_effects"("status", "due_at");

-- CreateIndex
CREATE INDEX "workflow_effects_target_kind_target_id_idx" ON "workflow_effects"("target_kind", "target_id");

-- CreateIndex
CREATE INDEX "poach_incidents_server_id_status_occurred_at_idx" ON "poach_incidents"("server_id", "status", "occurred_at");

-- CreateIndex
CREATE INDEX "poach_incidents_origin_reference_idx" ON "poach_incidents"("origin_reference");

-- CreateIndex
CREATE INDEX "poach_clearances_user_id_status_idx" ON "poach_clearances"("user_id", "status");

-- CreateIndex
CREATE INDEX "poach_clearances_origin_reference_idx" ON "poach_clearances"("origin_reference");

-- CreateIndex
CREATE UNIQUE INDEX "roster_entries_user_id_key" ON "roster_entries"("user_id");

-- CreateIndex
CREATE INDEX "roster_entries_status_idx" ON "roster_entries"("status");

-- CreateIndex
CREATE INDEX "roster_entries_staff_role_status_idx" ON "roster_entries"("staff_role", "status");

-- CreateIndex
CREATE INDEX "roster_entries_status_suspended_until_idx" ON "roster_entries"("status", "suspended_until");

-- CreateIndex
CREATE INDEX "roster_events_user_id_effective_at_idx" ON "roster_events"("user_id", "effective_at");

-- CreateIndex
CREATE INDEX "roster_events_effective_at_id_idx" ON "roster_events"("effective_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "callsign_slots_live_key_key" ON "callsign_slots"("live_key");

-- CreateIndex
CREATE UNIQUE INDEX "callsign_slots_holder_key_key" ON "callsign_slots"("holder_key");

-- CreateIndex
CREATE INDEX "callsign_slots_pool_state_idx" ON "callsign_slots"("pool", "state");

-- CreateIndex
CREATE INDEX "callsign_slots_user_id_idx" ON "callsign_slots"("user_id");

-- CreateIndex
CREATE INDEX "callsign_slots_callsign_idx" ON "callsign_slots"("callsign");

-- CreateIndex
CREATE INDEX "callsign_slots_state_until_idx" ON "callsign_slots"("state", "until");
