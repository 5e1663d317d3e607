-- AlterTable
ALTER TABLE "case_actions" ADD COLUMN     "notice" TEXT;

-- AlterTable
ALTER TABLE "workflow_requests" ADD COLUMN     "is_direct" BOOLEAN NOT NULL DEFAULT false,
ADD COLUMN     "look_due_at" TIMESTAMP(3),
ADD COLUMN     "looked_at" TIMESTAMP(3),
ADD COLUMN     "looked_by" TEXT;

-- CreateIndex
CREATE INDEX "workflow_requests_look_due_at_idx" ON "workflow_requests"("look_due_at");
