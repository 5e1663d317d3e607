-- A fresh installation has a pool that callsigns come from; whoever has pools of their own keeps those alone.
INSERT INTO "callsign_pools" ("key", "name", "template", "ranges", "reserved", "skip", "rank_bands", "created_at", "updated_at")
SELECT 'default', 'Callsigns', '{n:03}', '[[1,999]]', '[]', '[]', '{}', "now"."at", "now"."at"
FROM (SELECT strftime('%Y-%m-%dT%H:%M:%f', 'now') || '+00:00' AS "at") AS "now"
WHERE NOT EXISTS (SELECT 1 FROM "callsign_pools");
