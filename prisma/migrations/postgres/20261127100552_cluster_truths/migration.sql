-- CreateTable
CREATE TABLE "claims" (
    "name" TEXT NOT NULL,
    "holder" TEXT NOT NULL,
    "answer" JSONB,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "claims_pkey" PRIMARY KEY ("name")
);

-- CreateTable
CREATE TABLE "auth_failures" (
    "id" TEXT NOT NULL,
    "node_id" TEXT NOT NULL,
    "address_hash" TEXT NOT NULL,
    "count" INTEGER NOT NULL,
    "at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "auth_failures_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "leader_requests" (
    "id" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "input" JSONB NOT NULL,
    "answer" JSONB,
    "expires_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "leader_requests_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE INDEX "claims_expires_at_idx" ON "claims"("expires_at");

-- CreateIndex
CREATE INDEX "auth_failures_at_idx" ON "auth_failures"("at");

-- CreateIndex
CREATE INDEX "leader_requests_expires_at_idx" ON "leader_requests"("expires_at");
