-- CreateIndex
CREATE INDEX "followed_entries_kind_starts_at_idx" ON "followed_entries"("kind", "starts_at");

-- CreateIndex
CREATE INDEX "followed_entries_kind_expires_at_idx" ON "followed_entries"("kind", "expires_at");

-- CreateIndex
CREATE INDEX "poach_clearances_status_valid_until_idx" ON "poach_clearances"("status", "valid_until");
