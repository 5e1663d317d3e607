-- AlterTable
ALTER TABLE "callsign_slots" ADD COLUMN     "reserved_by" TEXT;

-- AlterTable
ALTER TABLE "roster_entries" ADD COLUMN     "held_roles" JSONB,
ADD COLUMN     "in_guild" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "nickname" TEXT,
ADD COLUMN     "notes" TEXT,
ADD COLUMN     "synced_at" TIMESTAMP(3);

-- AlterTable
ALTER TABLE "roster_events" ADD COLUMN     "callsign" TEXT,
ADD COLUMN     "former_role" TEXT,
ADD COLUMN     "pool" TEXT,
ADD COLUMN     "source" TEXT NOT NULL DEFAULT 'staff',
ADD COLUMN     "staff_role" TEXT,
ALTER COLUMN "entry_id" DROP NOT NULL;

-- CreateTable
CREATE TABLE "roster_audits" (
    "id" TEXT NOT NULL,
    "scope" JSONB NOT NULL,
    "checks" JSONB NOT NULL,
    "comparison" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "trigger" TEXT NOT NULL,
    "actor_id" TEXT,
    "started_at" TIMESTAMP(3) NOT NULL,
    "ended_at" TIMESTAMP(3),
    "members_scanned" INTEGER NOT NULL DEFAULT 0,
    "summary" JSONB NOT NULL,
    "compared_to" TEXT,
    "new_count" INTEGER NOT NULL DEFAULT 0,
    "resolved_count" INTEGER NOT NULL DEFAULT 0,

    CONSTRAINT "roster_audits_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "roster_findings" (
    "id" TEXT NOT NULL,
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
    "since" TIMESTAMP(3) NOT NULL,
    "fixed_at" TIMESTAMP(3),
    "fixed_by" TEXT,

    CONSTRAINT "roster_findings_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "roster_acknowledgements" (
    "key" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "user_id" TEXT,
    "reason" TEXT NOT NULL,
    "by" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "until" TIMESTAMP(3),

    CONSTRAINT "roster_acknowledgements_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "callsign_repairs" (
    "id" TEXT NOT NULL,
    "plan_hash" TEXT NOT NULL,
    "pool" TEXT,
    "fixes" JSONB NOT NULL,
    "undo" JSONB NOT NULL,
    "actor_id" TEXT,
    "at" TIMESTAMP(3) NOT NULL,
    "undo_until" TIMESTAMP(3) NOT NULL,
    "undone_at" TIMESTAMP(3),
    "undone_by" TEXT,

    CONSTRAINT "callsign_repairs_pkey" PRIMARY KEY ("id")
);

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
CREATE INDEX "roster_entries_department_status_idx" ON "roster_entries"("department", "status");

-- CreateIndex
CREATE INDEX "roster_events_callsign_effective_at_idx" ON "roster_events"("callsign", "effective_at");

-- CreateIndex
CREATE INDEX "roster_events_staff_role_effective_at_idx" ON "roster_events"("staff_role", "effective_at");

-- CreateIndex
CREATE INDEX "roster_events_former_role_effective_at_idx" ON "roster_events"("former_role", "effective_at");

-- CreateIndex
CREATE INDEX "roster_events_source_recorded_at_idx" ON "roster_events"("source", "recorded_at");

-- AddForeignKey
ALTER TABLE "roster_findings" ADD CONSTRAINT "roster_findings_audit_id_fkey" FOREIGN KEY ("audit_id") REFERENCES "roster_audits"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- CreateIndex
CREATE INDEX "callsign_slots_pool_number_idx" ON "callsign_slots"("pool", "number");
