-- A fresh installation has a pool that callsigns come from; whoever has pools of their own keeps those alone.
INSERT INTO "callsign_pools" ("key", "name", "template", "ranges", "reserved", "skip", "rank_bands", "created_at", "updated_at")
SELECT 'default', 'Callsigns', '{n:03}', '[[1,999]]', '[]', '[]', '{}', CURRENT_TIMESTAMP(3), CURRENT_TIMESTAMP(3)
WHERE NOT EXISTS (SELECT 1 FROM "callsign_pools");
