-- CreateTable
CREATE TABLE "nodes" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "host" TEXT NOT NULL,
    "pid" INTEGER NOT NULL,
    "version" TEXT NOT NULL,
    "started_at" DATETIME NOT NULL,
    "heartbeat_at" DATETIME NOT NULL,
    "leads" JSONB
);

-- CreateTable
CREATE TABLE "leadership" (
    "id" INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    "epoch" INTEGER NOT NULL,
    "node_id" TEXT NOT NULL,
    "since" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "changes" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "topic" TEXT NOT NULL,
    "keys" JSONB,
    "xid" BIGINT NOT NULL,
    "at" DATETIME NOT NULL
);

-- CreateTable
CREATE TABLE "audit_checkpoints" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "at" DATETIME NOT NULL,
    "line" JSONB NOT NULL
);

-- CreateIndex
CREATE INDEX "changes_xid_idx" ON "changes"("xid");

-- CreateIndex
CREATE INDEX "changes_at_idx" ON "changes"("at");

-- CreateIndex
CREATE INDEX "audit_checkpoints_at_idx" ON "audit_checkpoints"("at");
