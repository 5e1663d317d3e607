-- CreateTable
CREATE TABLE "settings" (
    "key" TEXT NOT NULL,
    "value" JSONB NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "settings_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "counters" (
    "name" TEXT NOT NULL,
    "value" INTEGER NOT NULL,

    CONSTRAINT "counters_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "idempotency_records" (
    "scope" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "body" JSONB NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "idempotency_records_pkey" PRIMARY KEY ("scope")
);

-- CreateTable
CREATE TABLE "api_keys" (
    "id" TEXT NOT NULL,
    "key_id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "secret_hash" TEXT NOT NULL,
    "scopes" JSONB NOT NULL,
    "delegation" TEXT NOT NULL,
    "public_key" JSONB,
    "ip_allowlist" JSONB NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,
    "last_used_at" TIMESTAMP(3),
    "rotated_from" TEXT,
    "revoked_at" TIMESTAMP(3),
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "api_keys_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "owners" (
    "user_id" TEXT NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "created_by" TEXT NOT NULL,

    CONSTRAINT "owners_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "staff_roles" (
    "key" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "rank" INTEGER NOT NULL,
    "level" TEXT NOT NULL,
    "capacity" INTEGER,
    "callsign_pool" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "staff_roles_pkey" PRIMARY KEY ("key")
);

-- CreateTable
CREATE TABLE "staff_role_discord_roles" (
    "staff_role_key" TEXT NOT NULL,
    "guild_id" TEXT NOT NULL,
    "role_id" TEXT NOT NULL,

    CONSTRAINT "staff_role_discord_roles_pkey" PRIMARY KEY ("guild_id","role_id")
);

-- CreateTable
CREATE TABLE "role_permissions" (
    "staff_role_key" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "effect" TEXT NOT NULL,

    CONSTRAINT "role_permissions_pkey" PRIMARY KEY ("staff_role_key","permission")
);

-- CreateTable
CREATE TABLE "user_permissions" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "permission" TEXT NOT NULL,
    "effect" TEXT NOT NULL,
    "guild_id" TEXT,
    "reason" TEXT NOT NULL,
    "expires_at" TIMESTAMP(3),
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "user_permissions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "guilds" (
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "icon" TEXT,
    "owner_id" TEXT,
    "present" BOOLEAN NOT NULL,
    "synced_at" TIMESTAMP(3),
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "guilds_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "guild_roles" (
    "guild_id" TEXT NOT NULL,
    "id" TEXT NOT NULL,
    "name" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "color" INTEGER NOT NULL DEFAULT 0,
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "guild_roles_pkey" PRIMARY KEY ("guild_id","id")
);

-- CreateTable
CREATE TABLE "guild_members" (
    "guild_id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "username" TEXT NOT NULL,
    "global_name" TEXT,
    "nick" TEXT,
    "avatar" TEXT,
    "role_ids" JSONB NOT NULL,
    "present" BOOLEAN NOT NULL,
    "joined_at" TIMESTAMP(3),
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "guild_members_pkey" PRIMARY KEY ("guild_id","user_id")
);

-- CreateTable
CREATE TABLE "staff_profiles" (
    "user_id" TEXT NOT NULL,
    "department" TEXT,
    "timezone" TEXT,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "staff_profiles_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "authorization_sessions" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "scopes" JSONB NOT NULL,
    "request_reference" TEXT,
    "locale" TEXT,
    "return_to" TEXT,
    "requested_by_client" TEXT,
    "requested_by_user" TEXT,
    "token_hash" TEXT NOT NULL,
    "state_hash" TEXT,
    "cookie_hash" TEXT,
    "verifier" TEXT,
    "status" TEXT NOT NULL,
    "failure" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "opened_at" TIMESTAMP(3),
    "ended_at" TIMESTAMP(3),
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "authorization_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "authorizations" (
    "user_id" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "scopes" JSONB NOT NULL,
    "purposes" JSONB NOT NULL,
    "consent_version" TEXT NOT NULL,
    "access_token" TEXT,
    "refresh_token" TEXT,
    "token_expires_at" TIMESTAMP(3),
    "granted_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3),
    "refreshed_at" TIMESTAMP(3),
    "ended_at" TIMESTAMP(3),
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "authorizations_pkey" PRIMARY KEY ("user_id")
);

-- CreateTable
CREATE TABLE "user_servers" (
    "user_id" TEXT NOT NULL,
    "server_hash" TEXT NOT NULL,
    "details" TEXT NOT NULL,
    "relation" TEXT NOT NULL,
    "first_seen_at" TIMESTAMP(3) NOT NULL,
    "last_seen_at" TIMESTAMP(3) NOT NULL,
    "left_at" TIMESTAMP(3),

    CONSTRAINT "user_servers_pkey" PRIMARY KEY ("user_id","server_hash")
);

-- CreateTable
CREATE TABLE "matches" (
    "id" TEXT NOT NULL,
    "user_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "record_id" TEXT NOT NULL,
    "record_reference" TEXT NOT NULL,
    "record_revision" INTEGER NOT NULL,
    "server_id" TEXT,
    "severity" TEXT NOT NULL,
    "confidence" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "why" JSONB NOT NULL,
    "suggested_action" TEXT,
    "grace_until" TIMESTAMP(3),
    "resolution" JSONB,
    "first_seen_at" TIMESTAMP(3) NOT NULL,
    "last_seen_at" TIMESTAMP(3) NOT NULL,
    "closed_at" TIMESTAMP(3),
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "matches_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "blacklist_records" (
    "id" TEXT NOT NULL,
    "number" INTEGER NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,
    "subject_hash" TEXT,
    "subject_name" TEXT,
    "scope" TEXT NOT NULL,
    "server_ids" JSONB NOT NULL,
    "active_key" TEXT,
    "category" TEXT NOT NULL,
    "severity" TEXT NOT NULL,
    "severity_order" INTEGER NOT NULL,
    "status" TEXT NOT NULL,
    "reason_public" TEXT,
    "reason_internal" TEXT,
    "recommended_action" TEXT,
    "member_policy" TEXT,
    "grace_period_seconds" INTEGER,
    "exempt_user_ids" JSONB NOT NULL,
    "evidence" JSONB NOT NULL,
    "tags" JSONB NOT NULL,
    "source" TEXT NOT NULL,
    "origin_reference" TEXT,
    "created_by" TEXT,
    "approved_by" JSONB NOT NULL,
    "starts_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3),
    "review_at" TIMESTAMP(3),
    "last_reviewed_at" TIMESTAMP(3),
    "revoked_at" TIMESTAMP(3),
    "revoked_by" TEXT,
    "revoke_reason" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "blacklist_records_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "blacklist_versions" (
    "record_id" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "snapshot" JSONB NOT NULL,
    "changed_by" TEXT,
    "changed_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "blacklist_versions_pkey" PRIMARY KEY ("record_id","revision")
);

-- CreateTable
CREATE TABLE "workflow_requests" (
    "id" TEXT NOT NULL,
    "reference" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "status" TEXT NOT NULL,
    "priority" TEXT NOT NULL,
    "urgent" BOOLEAN NOT NULL,
    "title" TEXT NOT NULL,
    "summary" TEXT NOT NULL,
    "payload" JSONB NOT NULL,
    "extra" JSONB NOT NULL,
    "payload_revision" INTEGER NOT NULL DEFAULT 1,
    "requester_id" TEXT,
    "requester_name" TEXT,
    "client_id" TEXT,
    "requested_via" TEXT NOT NULL,
    "evidence" JSONB NOT NULL,
    "related" JSONB NOT NULL,
    "external_id" TEXT,
    "approvals_required" INTEGER NOT NULL,
    "decision" JSONB,
    "effects" JSONB NOT NULL,
    "links" JSONB NOT NULL,
    "due_first_touch_at" TIMESTAMP(3),
    "due_decision_at" TIMESTAMP(3),
    "expires_at" TIMESTAMP(3),
    "first_touched_at" TIMESTAMP(3),
    "decided_at" TIMESTAMP(3),
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "workflow_requests_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "workflow_subjects" (
    "request_id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_id" TEXT NOT NULL,

    CONSTRAINT "workflow_subjects_pkey" PRIMARY KEY ("request_id","kind","subject_id")
);

-- CreateTable
CREATE TABLE "workflow_votes" (
    "request_id" TEXT NOT NULL,
    "actor_id" TEXT NOT NULL,
    "payload_revision" INTEGER NOT NULL,
    "verdict" TEXT NOT NULL,
    "note" TEXT,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "workflow_votes_pkey" PRIMARY KEY ("request_id","actor_id","payload_revision")
);

-- CreateTable
CREATE TABLE "audit_entries" (
    "seq" INTEGER NOT NULL,
    "id" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "action" TEXT NOT NULL,
    "outcome" TEXT NOT NULL,
    "actor_id" TEXT,
    "client_id" TEXT,
    "via" TEXT NOT NULL,
    "target_kind" TEXT,
    "target_id" TEXT,
    "target_reference" TEXT,
    "subject_user_id" TEXT,
    "guild_id" TEXT,
    "request_id" TEXT NOT NULL,
    "permission_used" TEXT,
    "break_glass" BOOLEAN NOT NULL,
    "payload_commitment" TEXT NOT NULL,
    "prev_hash" TEXT NOT NULL,
    "hash" TEXT NOT NULL,

    CONSTRAINT "audit_entries_pkey" PRIMARY KEY ("seq")
);

-- CreateTable
CREATE TABLE "audit_payloads" (
    "seq" INTEGER NOT NULL,
    "salt" TEXT NOT NULL,
    "payload" JSONB NOT NULL,

    CONSTRAINT "audit_payloads_pkey" PRIMARY KEY ("seq")
);

-- CreateIndex
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records"("expires_at");

-- CreateIndex
CREATE UNIQUE INDEX "api_keys_key_id_key" ON "api_keys"("key_id");

-- CreateIndex
CREATE INDEX "staff_role_discord_roles_staff_role_key_idx" ON "staff_role_discord_roles"("staff_role_key");

-- CreateIndex
CREATE INDEX "user_permissions_user_id_idx" ON "user_permissions"("user_id");

-- CreateIndex
CREATE INDEX "user_permissions_expires_at_idx" ON "user_permissions"("expires_at");

-- CreateIndex
CREATE INDEX "guild_members_user_id_idx" ON "guild_members"("user_id");

-- CreateIndex
CREATE UNIQUE INDEX "authorization_sessions_token_hash_key" ON "authorization_sessions"("token_hash");

-- CreateIndex
CREATE UNIQUE INDEX "authorization_sessions_state_hash_key" ON "authorization_sessions"("state_hash");

-- CreateIndex
CREATE INDEX "authorization_sessions_user_id_status_idx" ON "authorization_sessions"("user_id", "status");

-- CreateIndex
CREATE INDEX "authorization_sessions_expires_at_idx" ON "authorization_sessions"("expires_at");

-- CreateIndex
CREATE INDEX "user_servers_server_hash_idx" ON "user_servers"("server_hash");

-- CreateIndex
CREATE INDEX "matches_record_id_idx" ON "matches"("record_id");

-- CreateIndex
CREATE INDEX "matches_user_id_status_idx" ON "matches"("user_id", "status");

-- CreateIndex
CREATE UNIQUE INDEX "matches_user_id_kind_record_id_key" ON "matches"("user_id", "kind", "record_id");

-- CreateIndex
CREATE UNIQUE INDEX "blacklist_records_number_key" ON "blacklist_records"("number");

-- CreateIndex
CREATE UNIQUE INDEX "blacklist_records_active_key_key" ON "blacklist_records"("active_key");

-- CreateIndex
CREATE INDEX "blacklist_records_kind_subject_id_idx" ON "blacklist_records"("kind", "subject_id");

-- CreateIndex
CREATE INDEX "blacklist_records_subject_hash_idx" ON "blacklist_records"("subject_hash");

-- CreateIndex
CREATE INDEX "blacklist_records_status_expires_at_idx" ON "blacklist_records"("status", "expires_at");

-- CreateIndex
CREATE INDEX "blacklist_records_created_at_id_idx" ON "blacklist_records"("created_at", "id");

-- CreateIndex
CREATE UNIQUE INDEX "workflow_requests_reference_key" ON "workflow_requests"("reference");

-- CreateIndex
CREATE INDEX "workflow_requests_type_status_idx" ON "workflow_requests"("type", "status");

-- CreateIndex
CREATE INDEX "workflow_requests_created_at_id_idx" ON "workflow_requests"("created_at", "id");

-- CreateIndex
CREATE INDEX "workflow_requests_requester_id_idx" ON "workflow_requests"("requester_id");

-- CreateIndex
CREATE INDEX "workflow_subjects_kind_subject_id_idx" ON "workflow_subjects"("kind", "subject_id");

-- CreateIndex
CREATE UNIQUE INDEX "audit_entries_id_key" ON "audit_entries"("id");

-- CreateIndex
CREATE UNIQUE INDEX "audit_entries_hash_key" ON "audit_entries"("hash");

-- CreateIndex
CREATE INDEX "audit_entries_actor_id_idx" ON "audit_entries"("actor_id");

-- CreateIndex
CREATE INDEX "audit_entries_action_idx" ON "audit_entries"("action");

-- CreateIndex
CREATE INDEX "audit_entries_target_kind_target_id_idx" ON "audit_entries"("target_kind", "target_id");

-- CreateIndex
CREATE INDEX "audit_entries_subject_user_id_idx" ON "audit_entries"("subject_user_id");

-- AddForeignKey
ALTER TABLE "staff_role_discord_roles" ADD CONSTRAINT "staff_role_discord_roles_staff_role_key_fkey" FOREIGN KEY ("staff_role_key") REFERENCES "staff_roles"("key") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "role_permissions" ADD CONSTRAINT "role_permissions_staff_role_key_fkey" FOREIGN KEY ("staff_role_key") REFERENCES "staff_roles"("key") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "blacklist_versions" ADD CONSTRAINT "blacklist_versions_record_id_fkey" FOREIGN KEY ("record_id") REFERENCES "blacklist_records"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workflow_subjects" ADD CONSTRAINT "workflow_subjects_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "workflow_votes" ADD CONSTRAINT "workflow_votes_request_id_fkey" FOREIGN KEY ("request_id") REFERENCES "workflow_requests"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- The audit is append-only. Details may be erased, but never changed.
CREATE FUNCTION "refuse_audit_change"() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'the audit is append-only: % on % is refused', TG_OP, TG_TABLE_NAME USING ERRCODE = 'restrict_violation';
END;
$$;

CREATE TRIGGER "audit_entries_refuse_change" BEFORE UPDATE OR DELETE ON "audit_entries"
    FOR EACH ROW EXECUTE FUNCTION "refuse_audit_change"();

CREATE TRIGGER "audit_entries_refuse_truncate" BEFORE TRUNCATE ON "audit_entries"
    FOR EACH STATEMENT EXECUTE FUNCTION "refuse_audit_change"();

CREATE TRIGGER "audit_payloads_refuse_update" BEFORE UPDATE ON "audit_payloads"
    FOR EACH ROW EXECUTE FUNCTION "refuse_audit_change"();
