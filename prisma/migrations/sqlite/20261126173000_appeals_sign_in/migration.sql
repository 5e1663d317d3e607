-- AlterTable
ALTER TABLE "privacy_sessions" ADD COLUMN "page" TEXT NOT NULL DEFAULT 'privacy';
ALTER TABLE "privacy_sessions" ADD COLUMN "about" TEXT;
