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
  "A list holds at most {count} entries.": "Eine Liste enthält höchstens {count} Einträge.",
  "Entry {count} of the page cannot be read at {pointer}: {detail}": "Eintrag {count} der Seite ist bei {pointer} nicht lesbar: {detail}",
  "Most lines of the file cannot be read, so nothing of it was taken.":
    "Die meisten Zeilen der Datei sind nicht lesbar, deshalb wurde nichts von ihr übernommen.",
  "Line {line}: {detail}": "Zeile {line}: {detail}",
  "The file is empty.": "Die Datei ist leer.",
  "The file is cut off.": "Die Datei ist abgeschnitten.",
  "The line is too long.": "Die Zeile ist zu lang.",
  "An earlier line says something else of the same.": "Eine frühere Zeile sagt darüber etwas anderes.",
  "This kind of entry is not known here.": "Diese Art von Eintrag ist hier nicht bekannt.",
  "A spreadsheet has rounded the id: format its column as text.":
    "Eine Tabellenkalkulation hat die ID gerundet: Formatiere ihre Spalte als Text.",
  "Write the code of an invite, or a link such as discord.gg/code.":
    "Schreibe den Code einer Einladung oder einen Link wie discord.gg/code.",
  "This is not a domain.": "Das ist keine Domain.",
  "This is an email address, not a domain.": "Das ist eine E-Mail-Adresse und keine Domain.",
  "This leads to a page, not to a domain.": "Das führt zu einer Seite und nicht zu einer Domain.",
  "Anybody can register a domain below this one, so it would stand for all of them.":
    "Unter dieser Domain kann jeder eine eigene anlegen, sie stünde also für alle.",
  "Something went wrong here while the list was read; the log says what.":
    "Beim Lesen der Liste ist hier etwas schiefgegangen; im Log steht, was.",
  "Others change the list at the same time: send the file again.": "Andere ändern die Liste zur selben Zeit: Sende die Datei noch einmal.",
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
