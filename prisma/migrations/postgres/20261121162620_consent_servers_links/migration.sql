-- AlterTable
ALTER TABLE "authorization_sessions" ADD COLUMN     "detail" TEXT NOT NULL DEFAULT 'full';

-- AlterTable
ALTER TABLE "authorizations" ADD COLUMN     "detail" TEXT NOT NULL DEFAULT 'full';

-- AlterTable
ALTER TABLE "blacklist_records" ADD COLUMN     "include_alts" TEXT NOT NULL DEFAULT 'confirmed';

-- AlterTable
ALTER TABLE "matches" ADD COLUMN     "exempt_until" TIMESTAMP(3),
ADD COLUMN     "via_user_id" TEXT;

-- AlterTable
ALTER TABLE "user_servers" ALTER COLUMN "details" DROP NOT NULL;

-- CreateTable
CREATE TABLE "token_revocations" (
    "id" TEXT NOT NULL,
    "token" TEXT NOT NULL,
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMP(3) NOT NULL,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "token_revocations_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "servers" (
    "id" TEXT NOT NULL,
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
    "invite_checked_at" TIMESTAMP(3),
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "servers_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "server_aliases" (
    "alias_id" TEXT NOT NULL,
    "alias_hash" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,

    CONSTRAINT "server_aliases_pkey" PRIMARY KEY ("alias_id")
);

-- CreateTable
CREATE TABLE "agreements" (
    "id" TEXT NOT NULL,
    "covers" TEXT NOT NULL,
    "cooling_off_days" INTEGER NOT NULL,
    "terms" TEXT,
    "starts_at" TIMESTAMP(3) NOT NULL,
    "ends_at" TIMESTAMP(3),
    "status" TEXT NOT NULL,
    "origin_reference" TEXT,
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "ended_at" TIMESTAMP(3),
    "end_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "agreements_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "agreement_parties" (
    "agreement_id" TEXT NOT NULL,
    "server_id" TEXT NOT NULL,
    "server_hash" TEXT NOT NULL,

    CONSTRAINT "agreement_parties_pkey" PRIMARY KEY ("agreement_id","server_id")
);

-- CreateTable
CREATE TABLE "account_links" (
    "id" TEXT NOT NULL,
    "user_a" TEXT NOT NULL,
    "user_b" TEXT NOT NULL,
    "active_key" TEXT,
    "confidence" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "basis" JSONB NOT NULL,
    "propagates" BOOLEAN NOT NULL,
    "primary_user_id" TEXT,
    "status" TEXT NOT NULL,
    "review_at" TIMESTAMP(3),
    "origin_reference" TEXT,
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "ended_at" TIMESTAMP(3),
    "ended_by" TEXT,
    "end_reason" TEXT,
    "revision" INTEGER NOT NULL DEFAULT 1,

    CONSTRAINT "account_links_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "erasures" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "subject_hash" TEXT NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,
    "applied_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "erasures_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "privacy_sessions" (
    "id" TEXT NOT NULL,
    "state_hash" TEXT,
    "cookie_hash" TEXT NOT NULL,
    "verifier" TEXT,
    "user_id" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "privacy_sessions_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "data_reads" (
    "user_id" TEXT NOT NULL,
    "what" TEXT NOT NULL,
    "reader_id" TEXT NOT NULL,
    "client_id" TEXT NOT NULL,
    "hour" TIMESTAMP(3) NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "data_reads_pkey" PRIMARY KEY ("user_id","what","reader_id","client_id","hour")
);

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
CREATE INDEX "authorizations_status_refreshed_at_idx" ON "authorizations"("status", "refreshed_at");

-- CreateIndex
CREATE INDEX "blacklist_records_updated_at_idx" ON "blacklist_records"("updated_at");

-- CreateIndex
CREATE INDEX "matches_via_user_id_idx" ON "matches"("via_user_id");

-- CreateIndex
CREATE INDEX "matches_status_grace_until_idx" ON "matches"("status", "grace_until");

-- CreateIndex
CREATE INDEX "matches_status_exempt_until_idx" ON "matches"("status", "exempt_until");

-- CreateIndex
CREATE INDEX "matches_closed_at_idx" ON "matches"("closed_at");

-- AddForeignKey
ALTER TABLE "server_aliases" ADD CONSTRAINT "server_aliases_server_id_fkey" FOREIGN KEY ("server_id") REFERENCES "servers"("id") ON DELETE CASCADE ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "agreement_parties" ADD CONSTRAINT "agreement_parties_agreement_id_fkey" FOREIGN KEY ("agreement_id") REFERENCES "agreements"("id") ON DELETE CASCADE ON UPDATE CASCADE;
