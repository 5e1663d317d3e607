import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about lists of others, in German. */
export const followsSentences: Sentences = {
  "The answer is too long.": "Die Antwort ist zu lang.",
  "The list refuses the key.": "Die Liste lehnt den Schlüssel ab.",
  "The list answers with status {status}.": "Die Liste antwortet mit Status {status}.",
  "The answer is not the feed of a Provost.": "Die Antwort ist nicht die eines Provost.",
  "The key of the list cannot be opened any more; set it again.": "Der Schlüssel der Liste lässt sich nicht mehr öffnen; setze ihn neu.",
  "The list does not know how far it was read: it may have been set up anew.":
    "Die Liste weiß nicht, wie weit sie gelesen wurde: Vielleicht wurde sie neu eingerichtet.",
  "The list tells otherwise what it told before.": "Die Liste sagt anderes als vorher.",
  "The list leaves entries out.": "Die Liste lässt Einträge aus.",
  "The list is out of order.": "Die Liste ist nicht in ihrer Reihenfolge.",
  "The list contradicts itself.": "Die Liste widerspricht sich.",
  "The columns of the file are not those of an export.": "Die Spalten der Datei sind nicht die eines Exports.",
  "A file holds at most {count} entries.": "Eine Datei enthält höchstens {count} Einträge.",
  "Line {line} of the file cannot be read.": "Zeile {line} der Datei ist nicht lesbar.",
  "Line {line} of the file lists the same again.": "Zeile {line} der Datei nennt dasselbe noch einmal.",
  "Another list is called that.": "So heißt schon eine andere Liste.",
  "Only another Provost is asked with a key.": "Nur ein anderer Provost wird mit einem Schlüssel gefragt.",
  "Send the key for the new address, too.": "Sende auch den Schlüssel für die neue Adresse.",
  "The list is stopped: look why, and reset it.": "Die Liste ist angehalten: Sieh nach, warum, und beginne sie von vorn.",
  "The list has no address: send its file.": "Die Liste hat keine Adresse: Sende ihre Datei.",
  "The list is read from its address.": "Die Liste wird von ihrer Adresse gelesen.",
  "Name the address of the other Provost.": "Nenne die Adresse des anderen Provost.",
  "Send an API key of the other Provost.": "Sende einen API-Schlüssel des anderen Provost.",
  "Write an address that begins with https://.": "Schreibe eine Adresse, die mit https:// beginnt.",
  "Write the API key as you got it.": "Schreibe den API-Schlüssel so, wie du ihn bekommen hast.",
  "Only people and servers can stand on your own blacklist.": "Nur Personen und Server können auf eurer eigenen Sperrliste stehen.",
  "Name the list by its id.": "Nenne die Liste mit ihrer ID.",
};
