-- CreateTable
CREATE TABLE "list_checks" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_id" TEXT,
    "guild_id" TEXT
);

-- CreateTable
CREATE TABLE "list_exemptions" (
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "reason" TEXT NOT NULL,
    "until" DATETIME,
    "created_by" TEXT,
    "created_at" DATETIME NOT NULL,

    PRIMARY KEY ("guild_id", "user_id")
);

-- CreateTable
CREATE TABLE "list_actions" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "list_id" TEXT NOT NULL,
    "record_id" TEXT NOT NULL,
    "record_reference" TEXT NOT NULL,
    "stance" TEXT NOT NULL,
    "action" TEXT,
    "role_id" TEXT,
    "seconds" INTEGER,
    "state" TEXT NOT NULL,
    "standing_key" TEXT,
    "joined_at" DATETIME NOT NULL,
    "may_be_done" BOOLEAN NOT NULL DEFAULT false,
    "changed" BOOLEAN NOT NULL DEFAULT false,
    "until" DATETIME,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,
    "due_at" DATETIME,
    "batch_id" TEXT,
    "request_reference" TEXT,
    "created_at" DATETIME NOT NULL,
    "allowed_at" DATETIME,
    "updated_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "list_checks_user_id_idx" ON "list_checks"("user_id");

-- CreateIndex
CREATE INDEX "list_exemptions_user_id_idx" ON "list_exemptions"("user_id");

-- CreateIndex
CREATE INDEX "list_exemptions_until_idx" ON "list_exemptions"("until");

-- CreateIndex
CREATE UNIQUE INDEX "list_actions_standing_key_key" ON "list_actions"("standing_key");

-- CreateIndex
CREATE INDEX "list_actions_user_id_guild_id_idx" ON "list_actions"("user_id", "guild_id");

-- CreateIndex
CREATE INDEX "list_actions_state_updated_at_idx" ON "list_actions"("state", "updated_at");

-- CreateIndex
CREATE INDEX "list_actions_state_due_at_id_idx" ON "list_actions"("state", "due_at", "id");

-- CreateIndex
CREATE INDEX "list_actions_guild_id_stance_allowed_at_idx" ON "list_actions"("guild_id", "stance", "allowed_at");

-- CreateIndex
CREATE INDEX "list_actions_guild_id_state_batch_id_idx" ON "list_actions"("guild_id", "state", "batch_id");

-- CreateIndex
CREATE INDEX "list_actions_batch_id_idx" ON "list_actions"("batch_id");

-- CreateTable
CREATE TABLE "alert_positions" (
    "guild_id" TEXT NOT NULL PRIMARY KEY,
    "seq" INTEGER NOT NULL,
    "updated_at" DATETIME NOT NULL
);
