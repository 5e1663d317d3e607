-- AlterTable
ALTER TABLE "matches" ADD COLUMN "exempt_until" DATETIME;
ALTER TABLE "matches" ADD COLUMN "via_user_id" TEXT;

-- CreateTable
CREATE TABLE "token_revocations" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "token" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" DATETIME NOT NULL,
    "created_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "servers" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "hash" TEXT NOT NULL,
    "name" TEXT,
    "icon" TEXT,
    "status" TEXT NOT NULL,
    "merged_into" TEXT,
    "owner_user_id" TEXT,
    "contacts" JSONB NOT NULL,
    "tags" JSONB NOT NULL,
    "note" TEXT,
    "invite_code" TEXT,
    "invite_status" TEXT,
    "invite_checked_at" DATETIME,
    "created_by" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "server_aliases" (
    "alias_id" TEXT NOT NULL PRIMARY KEY,
    "alias_hash" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    CONSTRAINT "server_aliases_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "servers" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "agreements" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "covers" TEXT NOT NULL,
    "cooling_off_days" INTEGER NOT NULL,
    "terms" TEXT,
    "starts_at" DATETIME NOT NULL,
    "ends_at" DATETIME,
    "status" TEXT NOT NULL,
    "origin_reference" TEXT,
    "created_by" TEXT,
    "created_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "end_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "agreement_parties" (
    "agreement_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "server_hash" TEXT NOT NULL,

    PRIMARY KEY ("agreement_id", "server_id"),
    CONSTRAINT "agreement_parties_agreement_id_fkey" FOREIGN KEY ("agreement_id") REFERENCES "agreements" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateTable
CREATE TABLE "account_links" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_a" TEXT NOT NULL,
    "user_b" TEXT NOT NULL,
    "active_key" TEXT,
    "confidence" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "basis" JSONB NOT NULL,
    "propagates" BOOLEAN NOT NULL,
    "primary_user_id" TEXT,
    "status" TEXT NOT NULL,
    "review_at" DATETIME,
    "origin_reference" TEXT,
    "created_by" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "ended_at" DATETIME,
    "ended_by" TEXT,
    "end_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1
);

-- CreateTable
CREATE TABLE "erasures" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "subject_hash" TEXT NOT NULL,
    "at" DATETIME NOT NULL,
    "applied_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "privacy_sessions" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "state_hash" TEXT,
    "cookie_hash" TEXT NOT NULL,
    "verifier" TEXT,
    "user_id" TEXT,
    "created_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "data_reads" (
    "user_id" TEXT NOT NULL,
    "what" TEXT NOT NULL,
    "reader_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "hour" DATETIME NOT NULL,
    "at" DATETIME NOT NULL,

    PRIMARY KEY ("user_id", "what", "reader_id", "client_id", "hour")
);

-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_authorization_sessions" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "user_id" TEXT NOT NULL,
    "purpose" TEXT NOT NULL,
    "scopes" JSONB NOT NULL,
    "detail" TEXT NOT NULL DEFAULT 'full',
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
    "created_at" DATETIME NOT NULL,
    "opened_at" DATETIME,
    "ended_at" DATETIME,
    "expires_at" DATETIME NOT NULL
);
INSERT INTO "new_authorization_sessions" ("cookie_hash", "created_at", "ended_at", "expires_at", "failure", "id", "locale", "opened_at", "purpose", "request_reference", "requested_by_client", "requested_by_user", "return_to", "scopes", "state_hash", "status", "token_hash", "user_id", "verifier") SELECT "cookie_hash", "created_at", "ended_at", "expires_at", "failure", "id", "locale", "opened_at", "purpose", "request_reference", "requested_by_client", "requested_by_user", "return_to", "scopes", "state_hash", "status", "token_hash", "user_id", "verifier" FROM "authorization_sessions";
DROP TABLE "authorization_sessions";
ALTER TABLE "new_authorization_sessions" RENAME TO "authorization_sessions";
CREATE UNIQUE INDEX "authorization_sessions_token_hash_key" ON "authorization_sessions"("token_hash");
CREATE UNIQUE INDEX "authorization_sessions_state_hash_key" ON "authorization_sessions"("state_hash");
CREATE INDEX "authorization_sessions_user_id_status_idx" ON "authorization_sessions"("user_id", "status");
CREATE INDEX "authorization_sessions_expires_at_idx" ON "authorization_sessions"("expires_at");
CREATE TABLE "new_authorizations" (
    "user_id" TEXT NOT NULL PRIMARY KEY,
    "status" TEXT NOT NULL,
    "scopes" JSONB NOT NULL,
    "detail" TEXT NOT NULL DEFAULT 'full',
    "purposes" JSONB NOT NULL,
    "consent_version" TEXT NOT NULL,
    "access_token" TEXT,
    "refresh_token" TEXT,
    "token_expires_at" DATETIME,
    "granted_at" DATETIME NOT NULL,
    "expires_at" DATETIME,
    "refreshed_at" DATETIME,
    "ended_at" DATETIME,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_authorizations" ("access_token", "consent_version", "ended_at", "expires_at", "granted_at", "purposes", "refresh_token", "refreshed_at", "revision", "scopes", "status", "token_expires_at", "user_id") SELECT "access_token", "consent_version", "ended_at", "expires_at", "granted_at", "purposes", "refresh_token", "refreshed_at", "revision", "scopes", "status", "token_expires_at", "user_id" FROM "authorizations";
DROP TABLE "authorizations";
ALTER TABLE "new_authorizations" RENAME TO "authorizations";
CREATE INDEX "authorizations_status_refreshed_at_idx" ON "authorizations"("status", "refreshed_at");
CREATE TABLE "new_blacklist_records" (
    "id" TEXT NOT NULL PRIMARY KEY,
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
    "include_alts" TEXT NOT NULL DEFAULT 'confirmed',
    "evidence" JSONB NOT NULL,
    "tags" JSONB NOT NULL,
    "source" TEXT NOT NULL,
    "origin_reference" TEXT,
    "created_by" TEXT,
    "approved_by" JSONB NOT NULL,
    "starts_at" DATETIME NOT NULL,
    "expires_at" DATETIME,
    "review_at" DATETIME,
    "last_reviewed_at" DATETIME,
    "revoked_at" DATETIME,
    "revoked_by" TEXT,
    "revoke_reason" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1
);
INSERT INTO "new_blacklist_records" ("active_key", "approved_by", "category", "created_at", "created_by", "evidence", "exempt_user_ids", "expires_at", "grace_period_seconds", "id", "kind", "last_reviewed_at", "member_policy", "number", "origin_reference", "reason_internal", "reason_public", "recommended_action", "review_at", "revision", "revoke_reason", "revoked_at", "revoked_by", "scope", "server_ids", "severity", "severity_order", "source", "starts_at", "status", "subject_hash", "subject_id", "subject_name", "tags", "updated_at") SELECT "active_key", "approved_by", "category", "created_at", "created_by", "evidence", "exempt_user_ids", "expires_at", "grace_period_seconds", "id", "kind", "last_reviewed_at", "member_policy", "number", "origin_reference", "reason_internal", "reason_public", "recommended_action", "review_at", "revision", "revoke_reason", "revoked_at", "revoked_by", "scope", "server_ids", "severity", "severity_order", "source", "starts_at", "status", "subject_hash", "subject_id", "subject_name", "tags", "updated_at" FROM "blacklist_records";
DROP TABLE "blacklist_records";
ALTER TABLE "new_blacklist_records" RENAME TO "blacklist_records";
CREATE UNIQUE INDEX "blacklist_records_number_key" ON "blacklist_records"("number");
CREATE UNIQUE INDEX "blacklist_records_active_key_key" ON "blacklist_records"("active_key");
CREATE INDEX "blacklist_records_kind_subject_id_idx" ON "blacklist_records"("kind", "subject_id");
CREATE INDEX "blacklist_records_subject_hash_idx" ON "blacklist_records"("subject_hash");
CREATE INDEX "blacklist_records_status_expires_at_idx" ON "blacklist_records"("status", "expires_at");
CREATE INDEX "blacklist_records_created_at_id_idx" ON "blacklist_records"("created_at", "id");
CREATE INDEX "blacklist_records_updated_at_idx" ON "blacklist_records"("updated_at");
CREATE TABLE "new_user_servers" (
    "user_id" TEXT NOT NULL,
    "server_hash" TEXT NOT NULL,
    "details" TEXT,
    "relation" TEXT NOT NULL,
    "first_seen_at" DATETIME NOT NULL,
    "last_seen_at" DATETIME NOT NULL,
    "left_at" DATETIME,

    PRIMARY KEY ("user_id", "server_hash")
);
INSERT INTO "new_user_servers" ("details", "first_seen_at", "last_seen_at", "left_at", "relation", "server_hash", "user_id") SELECT "details", "first_seen_at", "last_seen_at", "left_at", "relation", "server_hash", "user_id" FROM "user_servers";
DROP TABLE "user_servers";
ALTER TABLE "new_user_servers" RENAME TO "user_servers";
CREATE INDEX "user_servers_server_hash_idx" ON "user_servers"("server_hash");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;

-- CreateIndex
CREATE INDEX "token_revocations_next_attempt_at_idx" ON "token_revocations"("next_attempt_at");

-- CreateIndex
CREATE UNIQUE INDEX "servers_hash_key" ON "servers"("hash");

-- CreateIndex
CREATE INDEX "servers_status_idx" ON "servers"("status");

-- CreateIndex
CREATE INDEX "servers_merged_into_idx" ON "servers"("merged_into");

-- CreateIndex
CREATE UNIQUE INDEX "server_aliases_alias_hash_key" ON "server_aliases"("alias_hash");

-- CreateIndex
CREATE INDEX "server_aliases_server_id_idx" ON "server_aliases"("server_id");

-- CreateIndex
CREATE INDEX "agreements_status_ends_at_idx" ON "agreements"("status", "ends_at");

-- CreateIndex
CREATE INDEX "agreement_parties_server_hash_idx" ON "agreement_parties"("server_hash");

-- CreateIndex
CREATE INDEX "agreement_parties_server_id_idx" ON "agreement_parties"("server_id");

-- CreateIndex
CREATE UNIQUE INDEX "account_links_active_key_key" ON "account_links"("active_key");

-- CreateIndex
CREATE INDEX "account_links_user_a_status_idx" ON "account_links"("user_a", "status");

-- CreateIndex
CREATE INDEX "account_links_user_b_status_idx" ON "account_links"("user_b", "status");

-- CreateIndex
CREATE INDEX "account_links_status_review_at_idx" ON "account_links"("status", "review_at");

-- CreateIndex
CREATE INDEX "erasures_subject_hash_kind_idx" ON "erasures"("subject_hash", "kind");

-- CreateIndex
CREATE UNIQUE INDEX "privacy_sessions_state_hash_key" ON "privacy_sessions"("state_hash");

-- CreateIndex
CREATE UNIQUE INDEX "privacy_sessions_cookie_hash_key" ON "privacy_sessions"("cookie_hash");

-- CreateIndex
CREATE INDEX "privacy_sessions_expires_at_idx" ON "privacy_sessions"("expires_at");

-- CreateIndex
CREATE INDEX "data_reads_at_idx" ON "data_reads"("at");

-- CreateIndex
CREATE INDEX "matches_via_user_id_idx" ON "matches"("via_user_id");

-- CreateIndex
CREATE INDEX "matches_status_grace_until_idx" ON "matches"("status", "grace_until");

-- CreateIndex
CREATE INDEX "matches_status_exempt_until_idx" ON "matches"("status", "exempt_until");

-- CreateIndex
CREATE INDEX "matches_closed_at_idx" ON "matches"("closed_at");
