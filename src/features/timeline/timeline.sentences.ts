import type { Sentences } from "../../kernel/sentences.ts";

/** What somebody's timeline says, in German. */
export const timelineSentences: Sentences = {
  "Was asked for access.": "Wurde um Zugriff gebeten.",
  "Said no when asked for access.": "Hat auf die Bitte um Zugriff Nein gesagt.",
  "Did not answer in time when asked for access.": "Hat auf die Bitte um Zugriff nicht rechtzeitig geantwortet.",
  "Being asked for access was called off.": "Die Bitte um Zugriff wurde zurückgezogen.",
  "Being asked for access ended in a failure.": "Die Bitte um Zugriff ist gescheitert.",
  "Granted access.": "Hat Zugriff erteilt.",
  "Access, or being asked for it, was taken back.": "Der Zugriff oder die Bitte darum wurde zurückgenommen.",
  "Discord no longer accepts the grant.": "Discord nimmt die Freigabe nicht mehr an.",
  "The grant ran out.": "Die Freigabe ist abgelaufen.",
  "What they had shared was deleted, as they wished.": "Was die Person freigegeben hatte, wurde auf ihren Wunsch gelöscht.",
  "What they had shared was deleted again: an older backup had brought it back.":
    "Was die Person freigegeben hatte, wurde noch einmal gelöscht: Eine ältere Sicherung hatte es zurückgebracht.",
  "What they had shared was deleted by staff.": "Was die Person freigegeben hatte, wurde vom Team gelöscht.",
  "A match was looked at and decided about.": "Über einen Treffer wurde entschieden.",
  "Was suspended from staff.": "Wurde suspendiert.",
  "Was reinstated as staff.": "Wurde wieder eingesetzt.",
  "Took leave, or planned it.": "Hat sich abgemeldet oder das geplant.",
  "Came back from leave, or called it off.": "Ist zurück oder hat die Abwesenheit abgesagt.",
  "Personal permissions were changed.": "Persönliche Rechte wurden geändert.",
  "Personal permissions ran out.": "Persönliche Rechte sind abgelaufen.",
  "Became an owner.": "Wurde Eigentümer.",
  "Is no longer an owner.": "Ist nicht mehr Eigentümer.",
  "Matches a record: {kind}, {severity}.": "Passt zu einem Eintrag: {kind}, {severity}.",
  "No longer matches a record: {kind}, {status}.": "Passt nicht mehr zu einem Eintrag: {kind}, {status}.",
  "Blacklist record {event}: {category}, {severity}.": "Eintrag der Sperrliste, {event}: {category}, {severity}.",
  "Blacklist record {event}: {category}, {severity}. {reason}": "Eintrag der Sperrliste, {event}: {category}, {severity}. {reason}",
  "A request was filed: {kind}.": "Ein Antrag wurde gestellt: {kind}.",
  "A request was decided: {kind}, {status}.": "Über einen Antrag wurde entschieden: {kind}, {status}.",
  "Linked with the account {id}.": "Mit dem Konto {id} verknüpft.",
  "No longer linked with the account {id}.": "Nicht mehr mit dem Konto {id} verknüpft.",
  "A case was opened: {kind}.": "Ein Fall wurde geöffnet: {kind}.",
  "A case was closed: {kind}, {outcome}.": "Ein Fall wurde geschlossen: {kind}, {outcome}.",
  "Was banned by hand on the server {guild}.": "Wurde auf dem Server {guild} von Hand gebannt.",
  "Was unbanned by hand on the server {guild}.": "Der Bann auf dem Server {guild} wurde von Hand aufgehoben.",
  "Was kicked by hand from the server {guild}.": "Wurde von Hand vom Server {guild} entfernt.",
  "Was timed out by hand on the server {guild} until {at}.": "Bekam auf dem Server {guild} von Hand einen Timeout bis {at}.",
  "AutoMod timed them out on the server {guild}, by the rule: {rule}":
    "Bekam auf dem Server {guild} von AutoMod einen Timeout, nach der Regel: {rule}",
  "A timeout was lifted by hand on the server {guild}.": "Ein Timeout auf dem Server {guild} wurde von Hand aufgehoben.",
  "Was banned by hand on the server {guild}. Reason given: {reason}": "Wurde auf dem Server {guild} von Hand gebannt. Grund: {reason}",
  "Was unbanned by hand on the server {guild}. Reason given: {reason}":
    "Der Bann auf dem Server {guild} wurde von Hand aufgehoben. Grund: {reason}",
  "Was kicked by hand from the server {guild}. Reason given: {reason}": "Wurde von Hand vom Server {guild} entfernt. Grund: {reason}",
  "Was timed out by hand on the server {guild} until {at}. Reason given: {reason}":
    "Bekam auf dem Server {guild} von Hand einen Timeout bis {at}. Grund: {reason}",
  "A timeout was lifted by hand on the server {guild}. Reason given: {reason}":
    "Ein Timeout auf dem Server {guild} wurde von Hand aufgehoben. Grund: {reason}",
  "One or several of {kinds}, separated by commas.": "Eines oder mehrere davon, mit Kommas: {kinds}.",
};
