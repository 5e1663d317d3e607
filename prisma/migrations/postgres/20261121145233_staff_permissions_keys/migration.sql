-- DropIndex
DROP INDEX "user_permissions_user_id_idx";

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN     "notice_days" INTEGER;

-- AlterTable
ALTER TABLE "owners" ADD COLUMN     "retained" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "staff_profiles" ADD COLUMN     "availability" TEXT NOT NULL DEFAULT 'available',
ADD COLUMN     "leave_by" TEXT,
ADD COLUMN     "leave_from" TIMESTAMP(3),
ADD COLUMN     "leave_reason" TEXT,
ADD COLUMN     "leave_until" TIMESTAMP(3),
ADD COLUMN     "quiet_hours" JSONB;

-- CreateTable
CREATE TABLE "user_permission_sets" (
    "user_id" TEXT NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "user_permission_sets_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "confirmations" (
    "id" TEXT NOT NULL,
    "code" TEXT NOT NULL,
    "action" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "summary" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "needs" JSONB NOT NULL,
    "keys" JSONB NOT NULL,
    "subject_user_id" TEXT,
    "rank" INTEGER NOT NULL,
    "actor_id" TEXT NOT NULL,
    "client_id" TEXT,
    "status" TEXT NOT NULL,
    "answers" JSONB NOT NULL,
    "failure" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,
    "ended_at" TIMESTAMP(3),
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "confirmations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "outbox_events" (
    "seq" INTEGER NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "type" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "data" JSONB NOT NULL,

    CONSTRAINT "outbox_events_pkey" PRIMARY KEY ("seq")
);

-- CreateIndex
CREATE UNIQUE INDEX "confirmations_code_key" ON "confirmations"("code");

-- CreateIndex
CREATE INDEX "confirmations_status_expires_at_idx" ON "confirmations"("status", "expires_at");

-- CreateIndex
CREATE INDEX "confirmations_actor_id_status_idx" ON "confirmations"("actor_id", "status");

-- CreateIndex
CREATE UNIQUE INDEX "outbox_events_id_key" ON "outbox_events"("id");

-- CreateIndex
CREATE INDEX "outbox_events_at_idx" ON "outbox_events"("at");

-- CreateIndex
CREATE INDEX "staff_profiles_leave_until_idx" ON "staff_profiles"("leave_until");

-- CreateIndex
CREATE UNIQUE INDEX "user_permissions_user_id_permission_guild_id_key" ON "user_permissions"("user_id", "permission", "guild_id");

-- CreateIndex
CREATE INDEX "workflow_votes_actor_id_at_idx" ON "workflow_votes"("actor_id", "at");
