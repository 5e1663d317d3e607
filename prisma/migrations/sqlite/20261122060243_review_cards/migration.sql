-- CreateTable
CREATE TABLE "review_cards" (
    "request_id" TEXT NOT NULL PRIMARY KEY,
    "guild_id" TEXT NOT NULL,
    "channel_id" TEXT NOT NULL,
    "message_id" TEXT,
    "shown" TEXT,
    "updated_at" DATETIME NOT NULL
);

-- CreateIndex
CREATE INDEX "review_cards_channel_id_message_id_idx" ON "review_cards"("channel_id", "message_id");
