import type { Sentences } from "../../kernel/sentences.ts";

/** The German of what is said about lists, by the English sentence. */
export const listsSentences: Sentences = {
  "A list and category have one rule.": "Eine Liste und Kategorie hat eine einzige Regel.",
  "Name the role that is added.": "Nenne die Rolle, die vergeben wird.",
  "A role goes with the action role alone.": "Eine Rolle gehört nur zur Maßnahme Rolle.",
  "There is no such list.": "Diese Liste gibt es nicht.",
  "The server has no such role that can be added.": "Der Server hat keine solche Rolle, die vergeben werden kann.",
  "The exemption would have ended already.": "Die Ausnahme wäre schon vorbei.",
  "Nothing waits here.": "Hier wartet nichts.",
};
