-- RedefineTables
PRAGMA defer_foreign_keys=ON;
PRAGMA foreign_keys=OFF;
CREATE TABLE "new_idempotency_records" (
    "scope" TEXT NOT NULL PRIMARY KEY,
    "fingerprint" TEXT NOT NULL,
    "status" INTEGER NOT NULL,
    "body" TEXT NOT NULL,
    "created_at" DATETIME NOT NULL,
    "expires_at" DATETIME NOT NULL
);
INSERT INTO "new_idempotency_records" ("body", "created_at", "expires_at", "fingerprint", "scope", "status") SELECT "body", "created_at", "expires_at", "fingerprint", "scope", "status" FROM "idempotency_records";
DROP TABLE "idempotency_records";
ALTER TABLE "new_idempotency_records" RENAME TO "idempotency_records";
CREATE INDEX "idempotency_records_expires_at_idx" ON "idempotency_records"("expires_at");
PRAGMA foreign_keys=ON;
PRAGMA defer_foreign_keys=OFF;
