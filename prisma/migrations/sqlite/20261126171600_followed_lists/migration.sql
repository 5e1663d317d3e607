-- CreateTable
CREATE TABLE "followed_lists" (
    "id" TEXT NOT NULL PRIMARY KEY,
    "name" TEXT NOT NULL,
    "kind" TEXT NOT NULL,
    "address" TEXT,
    "key" TEXT,
    "categories" JSONB NOT NULL,
    "trust" INTEGER NOT NULL,
    "interval_minutes" INTEGER NOT NULL,
    "state" TEXT NOT NULL,
    "problem" TEXT,
    "failures" INTEGER NOT NULL,
    "next_read_at" DATETIME,
    "last_read_at" DATETIME,
    "cursor" TEXT,
    "taken" JSONB NOT NULL,
    "last_seq" INTEGER NOT NULL,
    "unexplained" INTEGER NOT NULL,
    "explainable" INTEGER NOT NULL,
    "readings" INTEGER NOT NULL,
    "created_by" TEXT,
    "created_at" DATETIME NOT NULL,
    "updated_at" DATETIME NOT NULL,
    "revision" INTEGER NOT NULL
);

-- CreateTable
CREATE TABLE "followed_entries" (
    "list_id" TEXT NOT NULL,
    "origin_id" TEXT NOT NULL,
    "number" TEXT NOT NULL,
    "revision" INTEGER NOT NULL,
    "kind" TEXT,
    "subject" TEXT,
    "category" TEXT,
    "severity" TEXT,
    "recommended_action" TEXT,
    "starts_at" DATETIME,
    "expires_at" DATETIME,
    "updated_at" DATETIME NOT NULL,

    PRIMARY KEY ("list_id", "origin_id"),
    CONSTRAINT "followed_entries_list_id_fkey" FOREIGN KEY ("list_id") REFERENCES "followed_lists" ("id") ON DELETE CASCADE ON UPDATE CASCADE
);

-- CreateIndex
CREATE UNIQUE INDEX "followed_lists_name_key" ON "followed_lists"("name");

-- CreateIndex
CREATE INDEX "followed_lists_state_next_read_at_idx" ON "followed_lists"("state", "next_read_at");

-- CreateIndex
CREATE INDEX "followed_entries_kind_subject_idx" ON "followed_entries"("kind", "subject");

-- CreateIndex
CREATE INDEX "followed_entries_list_id_number_idx" ON "followed_entries"("list_id", "number");
