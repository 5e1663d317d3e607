-- AlterTable
ALTER TABLE "workflow_votes" ADD COLUMN     "lapsed_at" TIMESTAMP(3);
