-- DropIndex
DROP INDEX "user_permissions_user_id_idx";

-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN "notice_days" INTEGER;

-- CreateTable
CREATE TABLE "user_permission_sets" (
    "user_id" TEXT NOT NULL PRIMARY KEY,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "confirmations" (
    "id" TEXT NOT NULL PRIMARY KEY,
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
    "created_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "outbox_events" (
    "seq" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "id" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "type" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "data" JSONB NOT NULL
);

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_owners" (
    "user_id" TEXT NOT NULL PRIMARY KEY,
    "created_at" DATETIME NOT NULL,
    "created_by" TEXT NOT NULL,
    "retained" BOOLEAN NOT NULL DEFAULT false
);
INSERT INTO "new_owners" ("created_at", "created_by", "user_id") SELECT "created_at", "created_by", "user_id" FROM "owners";
DROP TABLE "owners";
ALTER TABLE "new_owners" RENAME TO "owners";
CREATE TABLE "new_staff_profiles" (
    "user_id" TEXT NOT NULL PRIMARY KEY,
    "department" TEXT,
    "timezone" TEXT,
    "availability" TEXT NOT NULL DEFAULT 'available',
    "quiet_hours" JSONB,
    "leave_from" DATETIME,
    "leave_until" DATETIME,
    "leave_reason" TEXT,
    "leave_by" TEXT,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_staff_profiles" ("department", "revision", "timezone", "updated_at", "user_id") SELECT "department", "revision", "timezone", "updated_at", "user_id" FROM "staff_profiles";
DROP TABLE "staff_profiles";
ALTER TABLE "new_staff_profiles" RENAME TO "staff_profiles";
CREATE INDEX "staff_profiles_leave_until_idx" ON "staff_profiles"("leave_until");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

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
CREATE UNIQUE INDEX "user_permissions_user_id_permission_guild_id_key" ON "user_permissions"("user_id", "permission", "guild_id");

-- CreateIndex
CREATE INDEX "workflow_votes_actor_id_at_idx" ON "workflow_votes"("actor_id", "at");
