-- AlterTable
ALTER TABLE "guild_members" ADD COLUMN     "is_bot" BOOLEAN NOT NULL DEFAULT false;

-- AlterTable
ALTER TABLE "native_actions" ADD COLUMN     "count" INTEGER,
ADD COLUMN     "days" INTEGER,
ADD COLUMN     "rule" TEXT,
ALTER COLUMN "user_id" DROP NOT NULL;

-- CreateIndex
CREATE INDEX "native_actions_guild_id_at_id_idx" ON "native_actions"("guild_id", "at", "id");

-- CreateIndex
CREATE INDEX "native_actions_guild_id_kind_at_id_idx" ON "native_actions"("guild_id", "kind", "at", "id");
