-- DropIndex
DROP INDEX "roster_events_callsign_effective_at_idx";

-- DropIndex
DROP INDEX "roster_events_event_effective_at_idx";

-- DropIndex
DROP INDEX "roster_events_user_id_effective_at_idx";

-- CreateIndex
CREATE INDEX "roster_events_user_id_effective_at_id_idx" ON "roster_events"("user_id", "effective_at", "id");

-- CreateIndex
CREATE INDEX "roster_events_callsign_effective_at_id_idx" ON "roster_events"("callsign", "effective_at", "id");

-- CreateIndex
CREATE INDEX "roster_events_event_effective_at_id_idx" ON "roster_events"("event", "effective_at", "id");
