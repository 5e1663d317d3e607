import type { Sentences } from "../../kernel/sentences.ts";

/** Readers of somebody's data whose name is not known, in German. */
export const privacyPageSentences: Sentences = {
  "A staff member": "Jemand aus dem Team",
  "A moderation client (gone since)": "Ein Programm des Teams (inzwischen entfernt)",
  "A moderation client ({name})": "Ein Programm des Teams ({name})",
};
