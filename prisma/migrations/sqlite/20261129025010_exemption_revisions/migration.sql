-- AlterTable
ALTER TABLE "list_exemptions" ADD COLUMN "revision" INTEGER NOT NULL DEFAULT 1;
