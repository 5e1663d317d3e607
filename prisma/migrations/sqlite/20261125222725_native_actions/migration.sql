-- CreateTable
CREATE TABLE "native_actions" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "actor_id" TEXT,
    "reason" TEXT,
    "until" DATETIME,
    "entry_id" TEXT,
    "at" DATETIME NOT NULL,
    "recorded_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "native_log_positions" (
    "guild_id" TEXT NOT NULL PRIMARY KEY,
    "entry_id" TEXT NOT NULL,
    "updated_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "native_actions_user_id_at_id_idx" ON "native_actions"("user_id", "at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "native_actions_guild_id_entry_id_key" ON "native_actions"("guild_id", "entry_id");
