-- AlterTable
ALTER TABLE "privacy_sessions" ADD COLUMN     "about" TEXT,
ADD COLUMN     "page" TEXT NOT NULL DEFAULT 'privacy';
