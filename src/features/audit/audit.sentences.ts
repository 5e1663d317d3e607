import type { Sentences } from "../../kernel/sentences.ts";

/** What the audit says, in German. */
export const auditSentences: Sentences = {
  "What is searched by text cannot be counted.": "Was über Text gesucht wird, lässt sich nicht zählen.",
  "This service signs no positions.": "Dieser Dienst unterschreibt keine Stände.",
  "It lies before `from`: there is nothing to check.": "Das liegt vor `from`: Es gibt nichts zu prüfen.",
};
