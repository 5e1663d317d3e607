-- CreateTable
CREATE TABLE "evidence_chunks" (
    "sha256" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "bytes" BLOB NOT NULL,
    "kept_at" DATETIME NOT NULL,

    PRIMARY KEY ("sha256", "position")
);
