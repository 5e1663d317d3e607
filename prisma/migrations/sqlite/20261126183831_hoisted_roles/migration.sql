-- AlterTable
ALTER TABLE "guild_roles" ADD COLUMN "hoist" BOOLEAN NOT NULL DEFAULT false;
