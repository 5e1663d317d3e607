-- AlterTable
ALTER TABLE "list_actions" ADD COLUMN "shown_until" DATETIME;

-- AlterTable
ALTER TABLE "list_checks" ADD COLUMN "settles" TEXT;
