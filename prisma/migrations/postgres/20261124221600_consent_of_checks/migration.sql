-- Checks that rest on a consent say whose it is. Where that consent is over already, what they found is forgotten.
-- Whether matches through other accounts were counted is not known, so they may have been.
UPDATE "workflow_requests" SET "checks" = (
  SELECT jsonb_agg(CASE
    WHEN "check"."value" ->> 'key' NOT IN ('authorization', 'matches', 'no_poach') THEN "check"."value"
    WHEN EXISTS (
      SELECT 1 FROM "authorizations"
      WHERE "user_id" = "workflow_requests"."payload" ->> 'user_id' AND "status" IN ('active', 'reauthorization_required')
    ) THEN "check"."value" || jsonb_build_object('consent_of', "workflow_requests"."payload" -> 'user_id')
      || CASE "check"."value" ->> 'key' WHEN 'matches' THEN '{"through_accounts": true}'::jsonb ELSE '{}'::jsonb END
    ELSE "check"."value" || '{"result": "ended", "detail": "Ended with the consent it rested on."}'
  END ORDER BY "check"."place") FROM jsonb_array_elements("workflow_requests"."checks") WITH ORDINALITY AS "check" ("value", "place")
) WHERE jsonb_typeof("checks") = 'array' AND jsonb_array_length("checks") > 0;
