import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { createCardMessages } from "../../discord/rest/cards.ts";
import { createKeeping, type Posting } from "./keeping.ts";

/** Messages of the bot in channels: posted once, and kept as they should be. */
export const messages = feature({
  create({ discord, pauses, keyFor, database, logger }: Core) {
    const posting: Posting = {
      messages: createCardMessages(discord.rest, pauses.cardRetryMs),
      isReady: () => discord.status().state === "ready",
    };
    return { posting, keeping: createKeeping({ database, logger, fingerprintKey: keyFor("fingerprints") }) };
  },
});
