-- Moves counters that stand where a transaction expects them once the transactions that it counts on have ended. A statement sees what was
-- committed when it began, so waiting and moving are statements of their own.
CREATE FUNCTION provost_move_counters(space INTEGER, predecessors JSON, moves JSON) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  number INTEGER;
  wanted RECORD;
BEGIN
  FOR number IN SELECT value::integer FROM json_array_elements_text(predecessors) LOOP
    PERFORM pg_advisory_xact_lock_shared(space, number);
  END LOOP;
  FOR wanted IN SELECT * FROM json_to_recordset(moves) AS m(name text, from_value integer, from_head text, value integer, head text) LOOP
    UPDATE counters c SET value = wanted.value, head = wanted.head
      WHERE c.name = wanted.name AND c.value = wanted.from_value AND c.head IS NOT DISTINCT FROM wanted.from_head;
    IF NOT FOUND THEN
      RAISE EXCEPTION 'the counter % does not stand where it was expected', wanted.name USING ERRCODE = 'serialization_failure';
    END IF;
  END LOOP;
END
$$;
