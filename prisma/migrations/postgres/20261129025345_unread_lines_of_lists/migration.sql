-- AlterTable
ALTER TABLE "followed_lists" ADD COLUMN     "unread" INTEGER NOT NULL DEFAULT 0,
ADD COLUMN     "unread_lines" JSONB;
