-- AlterTable
ALTER TABLE "case_actions" ADD COLUMN "notice" TEXT;

-- AlterTable
ALTER TABLE "workflow_requests" ADD COLUMN "is_direct" BOOLEAN NOT NULL DEFAULT false;
ALTER TABLE "workflow_requests" ADD COLUMN "look_due_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "looked_at" DATETIME;
ALTER TABLE "workflow_requests" ADD COLUMN "looked_by" TEXT;

-- CreateIndex
CREATE INDEX "workflow_requests_look_due_at_idx" ON "workflow_requests"("look_due_at");
