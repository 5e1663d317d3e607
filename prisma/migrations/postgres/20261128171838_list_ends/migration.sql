-- AlterTable
ALTER TABLE "list_actions" ADD COLUMN     "shown_until" TIMESTAMP(3);

-- AlterTable
ALTER TABLE "list_checks" ADD COLUMN     "settles" TEXT;
