-- CreateTable
CREATE TABLE "claims" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "holder" TEXT NOT NULL,
    "answer" JSONB,
    "expires_at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "auth_failures" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "node_id" TEXT NOT NULL,
    "address_hash" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "leader_requests" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "kind" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "answer" JSONB,
    "expires_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "claims_expires_at_idx" ON "claims"("expires_at");

-- CreateIndex
CREATE INDEX "auth_failures_at_idx" ON "auth_failures"("at");

-- CreateIndex
CREATE INDEX "leader_requests_expires_at_idx" ON "leader_requests"("expires_at");
