import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about people's data, in German. */
export const privacySentences: Sentences = {
  "The journal of deletions says so; this database did not know.":
    "So steht es im Verzeichnis der Löschungen; diese Datenbank wusste es nicht.",
  "Only the person themself can ask for that.": "Darum kann nur die Person selbst bitten.",
  "This person can be asked already.": "Diese Person darf schon gefragt werden.",
  "This is the last owner: name another one first.": "Das ist der letzte Eigentümer: Benenne zuerst einen anderen.",
  "Owners cannot be redacted.": "Die Daten von Eigentümern lassen sich nicht löschen.",
  "This person is staff: take their roles first.": "Diese Person gehört zum Team: Entziehe ihr zuerst die Rollen.",
  "Their data was deleted.": "Ihre Daten wurden gelöscht.",
};
