-- What notes changes asked for its tables by a statement that was planned anew each time, which took an eighth of the time of a new record.
-- The schema is written into the functions, as who changes a row may have another search path than the service.
DO $do$
BEGIN
  EXECUTE format($function$
CREATE OR REPLACE FUNCTION provost_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  keys JSONB;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM %1$I.nodes) OR NOT EXISTS (SELECT 1 FROM changed) THEN
    RETURN NULL;
  END IF;
  IF TG_NARGS > 0 THEN
    EXECUTE format('SELECT jsonb_agg(DISTINCT found.value) FROM changed, unnest(ARRAY[%%s]::text[]) AS found(value) WHERE found.value IS NOT NULL', TG_ARGV[0]) INTO keys;
  END IF;
  INSERT INTO %1$I.changes (id, topic, keys, xid, at) VALUES (gen_random_uuid()::text, TG_TABLE_NAME, keys, pg_current_xact_id()::text::bigint, (clock_timestamp() AT TIME ZONE 'UTC')::timestamp(3));
  PERFORM pg_notify('provost ' || TG_TABLE_SCHEMA, TG_TABLE_NAME);
  RETURN NULL;
END
$$;
CREATE OR REPLACE FUNCTION provost_notify() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF EXISTS (SELECT 1 FROM %1$I.nodes) THEN
    PERFORM pg_notify('provost ' || TG_TABLE_SCHEMA, TG_TABLE_NAME);
  END IF;
  RETURN NULL;
END
$$;
  $function$, current_schema());
END
$do$;
