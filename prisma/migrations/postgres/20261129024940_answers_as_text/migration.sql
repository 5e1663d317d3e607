-- AlterTable
ALTER TABLE "idempotency_records" ALTER COLUMN "body" SET DATA TYPE TEXT;
