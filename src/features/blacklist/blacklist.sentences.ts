import type { Sentences } from "../../kernel/sentences.ts";

/** What the blacklist says, in German. */
export const blacklistSentences: Sentences = {
  "Ask about at most {count} ids at once.": "Frag nach höchstens {count} IDs auf einmal.",
  "A record is about a user or about a server: name one of them.": "Ein Eintrag betrifft eine Person oder einen Server: Nenne eines davon.",
  "Send expires_at or duration, not both.": "Nenne ein Ende oder eine Dauer, nicht beides.",
  "A user is listed for one of: {allowed}.": "Eine Person wird aus einem dieser Gründe eingetragen: {allowed}.",
  "A server is listed for one of: {allowed}.": "Ein Server wird aus einem dieser Gründe eingetragen: {allowed}.",
  "Only records of users have this.": "Das gibt es nur bei Einträgen über Personen.",
  "Only records of servers have this.": "Das gibt es nur bei Einträgen über Server.",
  "Write a date as 2026-11-20, or with its time in UTC as 2026-11-20T10:00:00Z.":
    "Schreib ein Datum als 2026-11-20, oder mit der Uhrzeit in UTC als 2026-11-20T10:00:00Z.",
  "The line is longer than 256 KiB.": "Die Zeile ist länger als 256 KiB.",
  "A quotation mark is missing or out of place.": "Ein Anführungszeichen fehlt oder steht falsch.",
  "There is no column {name}.": "Eine Spalte {name} gibt es nicht.",
  "The column {name} stands there twice.": "Die Spalte {name} steht zweimal da.",
  "The first line has to name the column {name}.": "In der ersten Zeile fehlt die Spalte {name}.",
  "The line has {cells} cells for {columns} columns.": "Die Zeile hat {cells} Felder bei {columns} Spalten.",
  "The record would end before it starts.": "Der Eintrag würde enden, bevor er beginnt.",
  "A record is an object.": "Ein Eintrag ist ein Objekt.",
  "The record did not count any longer when it was exported.": "Der Eintrag galt beim Export nicht mehr.",
  "A spreadsheet has rounded this id to {value}, and its digits are lost. Import the file from before, or mark the column as text first.":
    "Eine Tabelle hat diese ID zu {value} gerundet, ihre Ziffern sind verloren. Nimm die Datei von vorher, oder formatiere die Spalte zuerst als Text.",
  "A spreadsheet has made a number of this id. Mark the column as text first.":
    "Eine Tabelle hat aus dieser ID eine Zahl gemacht. Formatiere die Spalte zuerst als Text.",
  "The id has only {value} digits of 17–20; a spreadsheet may have cut it. Mark the column as text first.":
    "Die ID hat nur {value} von 17–20 Ziffern; vielleicht hat eine Tabelle sie gekürzt. Formatiere die Spalte zuerst als Text.",
  "The record is longer than 256 KiB.": "Der Eintrag ist länger als 256 KiB.",
  'This is no list of records in JSON, or it is cut off: write […] or {"records": […]}.':
    'Die Liste der Einträge endet nicht oder ist keine: Schreib […] oder {"records": […]}.',
  "This is not valid JSON.": "Das ist kein gültiges JSON.",
  "The line could not be written.": "Die Zeile ließ sich nicht schreiben.",
  "The record was erased.": "Der Eintrag wurde gelöscht.",
  "The record does not count any more.": "Der Eintrag gilt nicht mehr.",
  "The record would have expired meanwhile.": "Der Eintrag wäre inzwischen abgelaufen.",
  "Another record lists the subject in this scope now.": "Inzwischen gibt es dazu einen anderen Eintrag mit demselben Geltungsbereich.",
  "The record counts again.": "Der Eintrag gilt wieder.",
  "The record was revoked.": "Der Eintrag wurde zurückgenommen.",
  "The record was changed since it was revoked.": "Der Eintrag wurde geändert, seit er zurückgenommen wurde.",
  "The record is as it was before.": "Der Eintrag ist wieder wie vorher.",
  "What was changed since stays as it is: {kept}.": "Was seitdem geändert wurde, bleibt so: {kept}.",
  'At most {most} records go into one request; "provost blacklist import" takes any number.':
    "In eine Anfrage passen höchstens {most} Einträge; `provost blacklist import` nimmt beliebig viele.",
  "Erase the blacklist record {reference} for good": "Den Eintrag {reference} der Sperrliste endgültig löschen",
  "Name the servers of the scope.": "Nenne die Server, für die es gilt.",
  "Name at least one user or server.": "Nenne mindestens eine Person oder einen Server.",
  "The record that would be replaced is about you or about an account of yours.":
    "Der Eintrag, der ersetzt würde, betrifft dich oder ein Konto von dir.",
  "Send records, or CSV.": "Sende Einträge oder CSV.",
  "Name the record by its id or its number.": "Nenne den Eintrag mit seiner ID oder Nummer.",
};
