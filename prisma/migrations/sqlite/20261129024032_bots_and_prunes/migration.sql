-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_guild_members" (
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "global_name" TEXT,
    "nick" TEXT,
    "avatar" TEXT,
    "role_ids" JSONB NOT NULL,
    "present" BOOLEAN NOT NULL,
    "joined_at" DATETIME,
    "is_bot" BOOLEAN NOT NULL DEFAULT false,
    "updated_at" DATETIME NOT NULL,

    PRIMARY KEY ("guild_id", "user_id")
);
INSERT INTO "new_guild_members" ("avatar", "global_name", "guild_id", "joined_at", "nick", "present", "role_ids", "updated_at", "user_id", "username") SELECT "avatar", "global_name", "guild_id", "joined_at", "nick", "present", "role_ids", "updated_at", "user_id", "username" FROM "guild_members";
DROP TABLE "guild_members";
ALTER TABLE "new_guild_members" RENAME TO "guild_members";
CREATE INDEX "guild_members_user_id_idx" ON "guild_members"("user_id");
CREATE TABLE "new_native_actions" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT,
    "kind" TEXT NOT NULL,
    "actor_id" TEXT,
    "reason" TEXT,
    "until" DATETIME,
    "rule" TEXT,
    "count" INTEGER,
    "days" INTEGER,
    "entry_id" TEXT,
    "at" DATETIME NOT NULL,
    "recorded_at" DATETIME NOT NULL
);
INSERT INTO "new_native_actions" ("actor_id", "at", "entry_id", "guild_id", "id", "kind", "reason", "recorded_at", "until", "user_id") SELECT "actor_id", "at", "entry_id", "guild_id", "id", "kind", "reason", "recorded_at", "until", "user_id" FROM "native_actions";
DROP TABLE "native_actions";
ALTER TABLE "new_native_actions" RENAME TO "native_actions";
CREATE INDEX "native_actions_user_id_at_id_idx" ON "native_actions"("user_id", "at", "id");
CREATE INDEX "native_actions_guild_id_at_id_idx" ON "native_actions"("guild_id", "at", "id");
CREATE INDEX "native_actions_guild_id_kind_at_id_idx" ON "native_actions"("guild_id", "kind", "at", "id");
CREATE UNIQUE INDEX "native_actions_guild_id_entry_id_key" ON "native_actions"("guild_id", "entry_id");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
