-- The reason of a leave is often about health. It belongs to the leave alone, which forgets it when it ends; the history of the roster keeps none.
UPDATE "roster_events" SET "reason" = NULL WHERE "event" IN ('loa_started', 'loa_ended');
