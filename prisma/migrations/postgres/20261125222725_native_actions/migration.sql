-- CreateTable
CREATE TABLE "native_actions" (
    "id" TEXT NOT NULL,
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "actor_id" TEXT,
    "reason" TEXT,
    "until" TIMESTAMP(3),
    "entry_id" TEXT,
    "at" TIMESTAMP(3) NOT NULL,
    "recorded_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "native_actions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "native_log_positions" (
    "guild_id" TEXT NOT NULL,
    "entry_id" TEXT NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "native_log_positions_pkey" PRIMARY KEY ("guild_id")
);

-- CreateIndex
CREATE INDEX "native_actions_user_id_at_id_idx" ON "native_actions"("user_id", "at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "native_actions_guild_id_entry_id_key" ON "native_actions"("guild_id", "entry_id");
