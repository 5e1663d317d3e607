-- AlterTable
ALTER TABLE "api_keys" ADD COLUMN "makers" JSONB;
