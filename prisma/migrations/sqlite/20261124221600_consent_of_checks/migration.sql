-- Checks that rest on a consent say whose it is. Where that consent is over already, what they found is forgotten.
-- Whether matches through other accounts were counted is not known, so they may have been.
UPDATE "workflow_requests" SET "checks" = (
  SELECT json_group_array(json(CASE
    WHEN json_extract("check"."value", '$.key') NOT IN ('authorization', 'matches', 'no_poach') THEN "check"."value"
    WHEN EXISTS (
      SELECT 1 FROM "authorizations"
      WHERE "user_id" = json_extract("workflow_requests"."payload", '$.user_id') AND "status" IN ('active', 'reauthorization_required')
    ) THEN json_patch(
      json_set("check"."value", '$.consent_of', json_extract("workflow_requests"."payload", '$.user_id')),
      CASE json_extract("check"."value", '$.key') WHEN 'matches' THEN '{"through_accounts": true}' ELSE '{}' END
    )
    ELSE json_set("check"."value", '$.result', 'ended', '$.detail', 'Ended with the consent it rested on.')
  END)) FROM json_each("workflow_requests"."checks") AS "check"
) WHERE json_type("checks") = 'array';
