-- AlterTable
ALTER TABLE "list_actions" ADD COLUMN     "shown_until" TIMESTAMP(3);
