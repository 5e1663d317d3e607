-- AlterTable
ALTER TABLE "callsign_slots" ADD COLUMN "reserved_by" TEXT;

-- CreateTable
CREATE TABLE "roster_audits" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "scope" JSONB NOT NULL,
    "checks" JSONB NOT NULL,
    "comparison" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "actor_id" TEXT,
    "started_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "members_scanned" INTEGER NOT NULL DEFAULT 0,
    "summary" JSONB NOT NULL,
    "compared_to" TEXT,
    "new_count" INTEGER NOT NULL DEFAULT 0,
    "resolved_count" INTEGER NOT NULL DEFAULT 0
);

-- CreateTable
CREATE TABLE "roster_findings" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "audit_id" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "key" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "user_id" TEXT,
    "detail" TEXT NOT NULL,
    "facts" JSONB NOT NULL,
    "fix" JSONB,
    "is_new" BOOLEAN NOT NULL,
    "since" DATETIME NOT NULL,
    "fixed_at" DATETIME,
    "fixed_by" TEXT,
    CONSTRAINT "roster_findings_audit_id_fkey" FOREIGN KEY ("audit_id") REFERENCES "roster_audits" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "roster_acknowledgements" (
    "key" TEXT NOT NULL PRIMARY KEY,
    "code" TEXT NOT NULL,
    "user_id" TEXT,
    "reason" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "until" DATETIME
);

-- CreateTable
CREATE TABLE "callsign_repairs" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "plan_hash" TEXT NOT NULL,
    "pool" TEXT,
    "fixes" JSONB NOT NULL,
    "undo" JSONB NOT NULL,
    "actor_id" TEXT,
    "at" DATETIME NOT NULL,
    "undo_until" DATETIME NOT NULL,
    "undone_at" DATETIME,
    "undone_by" TEXT
);

-- Tables that others refer to are never rebuilt: their rows would be deleted with them.
ALTER TABLE "roster_entries" ADD COLUMN "notes" TEXT;
ALTER TABLE "roster_entries" ADD COLUMN "held_roles" JSONB;
ALTER TABLE "roster_entries" ADD COLUMN "in_guild" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "roster_entries" ADD COLUMN "nickname" TEXT;
ALTER TABLE "roster_entries" ADD COLUMN "synced_at" DATETIME;
CREATE INDEX "roster_entries_department_status_idx" ON "roster_entries"("department", "status");

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_roster_events" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "entry_id" TEXT,
    "user_id" TEXT NOT NULL,
    "event" TEXT NOT NULL,
    "before" JSONB NOT NULL,
    "after" JSONB NOT NULL,
    "former_role" TEXT,
    "staff_role" TEXT,
    "pool" TEXT,
    "callsign" TEXT,
    "source" TEXT NOT NULL DEFAULT 'staff',
    "actor_id" TEXT,
    "cause_reference" TEXT,
    "reason" TEXT,
    "effective_at" DATETIME NOT NULL,
    "recorded_at" DATETIME NOT NULL,
    CONSTRAINT "roster_events_entry_id_fkey" FOREIGN KEY ("entry_id") REFERENCES "roster_entries" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);
INSERT INTO "new_roster_events" ("actor_id", "after", "before", "cause_reference", "effective_at", "entry_id", "event", "id", "reason", "recorded_at", "user_id") SELECT "actor_id", "after", "before", "cause_reference", "effective_at", "entry_id", "event", "id", "reason", "recorded_at", "user_id" FROM "roster_events";
DROP TABLE "roster_events";
ALTER TABLE "new_roster_events" RENAME TO "roster_events";
CREATE INDEX "roster_events_user_id_effective_at_idx" ON "roster_events"("user_id", "effective_at");
CREATE INDEX "roster_events_callsign_effective_at_idx" ON "roster_events"("callsign", "effective_at");
CREATE INDEX "roster_events_staff_role_effective_at_idx" ON "roster_events"("staff_role", "effective_at");
CREATE INDEX "roster_events_former_role_effective_at_idx" ON "roster_events"("former_role", "effective_at");
CREATE INDEX "roster_events_effective_at_id_idx" ON "roster_events"("effective_at", "id");
CREATE INDEX "roster_events_source_recorded_at_idx" ON "roster_events"("source", "recorded_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- CreateIndex
CREATE INDEX "roster_audits_comparison_started_at_idx" ON "roster_audits"("comparison", "started_at");

-- CreateIndex
CREATE INDEX "roster_audits_started_at_idx" ON "roster_audits"("started_at");

-- CreateIndex
CREATE INDEX "roster_findings_audit_id_position_idx" ON "roster_findings"("audit_id", "position");

-- CreateIndex
CREATE INDEX "roster_findings_user_id_idx" ON "roster_findings"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "roster_findings_audit_id_key_key" ON "roster_findings"("audit_id", "key");

-- CreateIndex
CREATE INDEX "roster_acknowledgements_user_id_idx" ON "roster_acknowledgements"("user_id");

-- CreateIndex
CREATE INDEX "callsign_repairs_at_idx" ON "callsign_repairs"("at");

-- CreateIndex
CREATE INDEX "callsign_slots_pool_number_idx" ON "callsign_slots"("pool", "number");
