-- The reason of a request about the blacklist becomes the internal reason of a record: copied into the summary, everybody who reads requests read it.
UPDATE "workflow_requests" SET "summary" = ''
WHERE "type" IN ('blacklist-server', 'blacklist-user') AND "summary" = "payload"->>'reason';
