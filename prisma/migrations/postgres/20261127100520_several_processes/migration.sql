-- CreateTable
CREATE TABLE "nodes" (
    "id" TEXT NOT NULL,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "started_at" TIMESTAMP(3) NOT NULL,
    "heartbeat_at" TIMESTAMP(3) NOT NULL,
    "leads" JSONB,

    CONSTRAINT "nodes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "leadership" (
    "id" INTEGER NOT NULL,
    "epoch" INTEGER NOT NULL,
    "node_id" TEXT NOT NULL,
    "since" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "leadership_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "changes" (
    "id" TEXT NOT NULL,
    "topic" TEXT NOT NULL,
    "keys" JSONB,
    "xid" BIGINT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "changes_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "audit_checkpoints" (
    "id" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "line" JSONB NOT NULL,

    CONSTRAINT "audit_checkpoints_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "changes_xid_idx" ON "changes"("xid");

-- CreateIndex
CREATE INDEX "changes_at_idx" ON "changes"("at");

-- CreateIndex
CREATE INDEX "audit_checkpoints_at_idx" ON "audit_checkpoints"("at");

-- What processes hold in memory, and each has to hear of when another one changes it, whoever writes: the service, the command line, a
-- person with psql. A row of `changes` says what has changed, so that nothing is missed by who was not connected; the notification is a
-- hint to look there now. Its argument are the columns whose values say what a row is about.
CREATE FUNCTION provost_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  keys JSONB;
  is_shared BOOLEAN;
BEGIN
  IF NOT EXISTS (SELECT 1 FROM changed) THEN
    RETURN NULL;
  END IF;
  -- Where one process serves alone there is nobody to tell.
  EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.nodes)', TG_TABLE_SCHEMA) INTO is_shared;
  IF NOT is_shared THEN
    RETURN NULL;
  END IF;
  IF TG_NARGS > 0 THEN
    EXECUTE format('SELECT jsonb_agg(DISTINCT found.value) FROM changed, unnest(ARRAY[%s]::text[]) AS found(value) WHERE found.value IS NOT NULL', TG_ARGV[0]) INTO keys;
  END IF;
  EXECUTE format('INSERT INTO %I.changes (id, topic, keys, xid, at) VALUES ($1, $2, $3, $4, $5)', TG_TABLE_SCHEMA)
    USING gen_random_uuid()::text, TG_TABLE_NAME, keys, pg_current_xact_id()::text::bigint, (clock_timestamp() AT TIME ZONE 'UTC')::timestamp(3);
  PERFORM pg_notify('provost ' || TG_TABLE_SCHEMA, TG_TABLE_NAME);
  RETURN NULL;
END
$$;

-- Of what happens a reader has a position of its own: the notification is enough.
CREATE FUNCTION provost_notify() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  is_shared BOOLEAN;
BEGIN
  EXECUTE format('SELECT EXISTS (SELECT 1 FROM %I.nodes)', TG_TABLE_SCHEMA) INTO is_shared;
  IF NOT is_shared THEN
    RETURN NULL;
  END IF;
  PERFORM pg_notify('provost ' || TG_TABLE_SCHEMA, TG_TABLE_NAME);
  RETURN NULL;
END
$$;

CREATE TRIGGER outbox_events_notify AFTER INSERT ON "outbox_events" FOR EACH STATEMENT EXECUTE FUNCTION provost_notify();
CREATE TRIGGER webhooks_notify AFTER INSERT OR DELETE OR UPDATE OF "revision" ON "webhooks" FOR EACH STATEMENT EXECUTE FUNCTION provost_notify();

DO $$
DECLARE
  held TEXT[];
  event TEXT;
BEGIN
  FOREACH held SLICE 1 IN ARRAY ARRAY[
    ['settings', 'key'], ['api_keys', ''], ['owners', ''], ['staff_roles', ''], ['staff_role_discord_roles', ''], ['role_permissions', ''],
    ['user_permissions', ''], ['staff_profiles', ''], ['guilds', ''], ['guild_roles', ''], ['guild_members', 'user_id'],
    ['blacklist_records', 'id'], ['matches', 'user_id'], ['account_links', 'user_a, user_b'], ['followed_lists', ''],
    ['followed_entries', 'subject']
  ] LOOP
    FOREACH event IN ARRAY ARRAY['INSERT', 'UPDATE', 'DELETE'] LOOP
      EXECUTE format(
        'CREATE TRIGGER %I AFTER %s ON %I REFERENCING %s TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION provost_note_change(%s)',
        held[1] || '_changed_by_' || lower(event), event, held[1], CASE event WHEN 'DELETE' THEN 'OLD' ELSE 'NEW' END,
        CASE held[2] WHEN '' THEN '' ELSE quote_literal(held[2]) END
      );
    END LOOP;
  END LOOP;
END
$$;
