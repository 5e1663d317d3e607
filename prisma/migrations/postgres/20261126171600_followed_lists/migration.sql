-- CreateTable
CREATE TABLE "followed_lists" (
    "id" TEXT NOT NULL,
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
    "next_read_at" TIMESTAMP(3),
    "last_read_at" TIMESTAMP(3),
    "cursor" TEXT,
    "taken" JSONB NOT NULL,
    "last_seq" INTEGER NOT NULL,
    "unexplained" INTEGER NOT NULL,
    "explainable" INTEGER NOT NULL,
    "readings" INTEGER NOT NULL,
    "created_by" TEXT,
    "created_at" TIMESTAMP(3) NOT NULL,
    "updated_at" TIMESTAMP(3) NOT NULL,
    "revision" INTEGER NOT NULL,

    CONSTRAINT "followed_lists_pkey" PRIMARY KEY ("id")
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
    "starts_at" TIMESTAMP(3),
    "expires_at" TIMESTAMP(3),
    "updated_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "followed_entries_pkey" PRIMARY KEY ("list_id","origin_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "followed_lists_name_key" ON "followed_lists"("name");

-- CreateIndex
CREATE INDEX "followed_lists_state_next_read_at_idx" ON "followed_lists"("state", "next_read_at");

-- CreateIndex
CREATE INDEX "followed_entries_kind_subject_idx" ON "followed_entries"("kind", "subject");

-- CreateIndex
CREATE INDEX "followed_entries_list_id_number_idx" ON "followed_entries"("list_id", "number");

-- AddForeignKey
ALTER TABLE "followed_entries" ADD CONSTRAINT "followed_entries_list_id_fkey" FOREIGN KEY ("list_id") REFERENCES "followed_lists"("id") ON DELETE CASCADE ON UPDATE CASCADE;
