-- CreateTable
CREATE TABLE "evidence_chunks" (
    "sha256" TEXT NOT NULL,
    "position" INTEGER NOT NULL,
    "bytes" BYTEA NOT NULL,
    "kept_at" TIMESTAMP(3) NOT NULL,

    CONSTRAINT "evidence_chunks_pkey" PRIMARY KEY ("sha256","position")
);
