import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about API keys, in German. */
export const keysSentences: Sentences = {
  '"{name}" is neither a permission nor group.* nor *.': "„{name}“ ist weder ein Recht noch gruppe.* noch *.",
  "{count} scopes are not known.": "{count} Rechte sind nicht bekannt.",
  "The key is {state}; make a new one.": "Der Schlüssel gilt nicht mehr ({state}); lege einen neuen an.",
  "A public key belongs to signed delegation alone.": "Ein öffentlicher Schlüssel gehört nur zu unterschriebenen Nachweisen.",
  "Signed delegation needs the public key that assertions are verified with.":
    "Für unterschriebene Nachweise fehlt der öffentliche Schlüssel, der sie prüft.",
  "The end lies in the past. To end a key at once, revoke it.":
    "Das Ende liegt in der Vergangenheit. Um einen Schlüssel sofort zu beenden, nimm ihn zurück.",
  "A key lasts at most {days} days.": "Ein Schlüssel gilt höchstens {days} Tage.",
  "Without an acting user, a key ends no later than the one it is made with: {at}.":
    "Ohne handelnde Person endet ein Schlüssel spätestens mit dem, der ihn anlegt: {at}.",
  "Send expires_at or expires_days, not both.": "Nenne ein Ende oder eine Zahl von Tagen, nicht beides.",
  "The key was shown in the first answer and is not kept.": "Der Schlüssel stand in der ersten Antwort und wird nicht aufbewahrt.",
  "Name the key by the id of its record or by its key id.": "Nenne den Schlüssel mit seiner ID.",
  "Write a permission, group.* or *.": "Schreib ein Recht, gruppe.* oder *.",
  "Write 32 bytes as 43 characters of base64url.": "Schreib 32 Bytes als 43 Zeichen base64url.",
  "This is the private half. Keep it, and send the key without it.":
    "Das ist die geheime Hälfte. Behalte sie, und sende den Schlüssel ohne sie.",
  "Write an address or a range such as 203.0.113.0/24.": "Schreib eine Adresse oder einen Bereich wie 203.0.113.0/24.",

  // What waits for a confirmation
  'Give the API key "{name}" ({key}) a new secret: {parts}.': "Dem API-Schlüssel „{name}“ ({key}) ein neues Geheimnis geben: {parts}.",
  'Give the API key "{name}" ({key}) a new secret.': "Dem API-Schlüssel „{name}“ ({key}) ein neues Geheimnis geben.",
  'Change the API key "{name}" ({key}): {parts}.': "Den API-Schlüssel „{name}“ ({key}) ändern: {parts}.",
  'Change the API key "{name}" ({key}).': "Den API-Schlüssel „{name}“ ({key}) ändern.",
  'Revoke the API key "{name}" ({key}).': "Den API-Schlüssel „{name}“ ({key}) zurücknehmen.",
  "Make an API key: {parts}.": "Einen API-Schlüssel anlegen: {parts}.",
  'name "{name}"': "Name „{name}“",
  "scopes {keys}": "Rechte {keys}",
  "delegation {delegation}": "handelt für andere: {delegation}",
  "public key {key}": "öffentlicher Schlüssel {key}",
  "usable from anywhere": "von überall nutzbar",
  "usable from {names}": "nutzbar von {names}",
  "ends {day}": "endet {day}",
  "dangerous: {keys}": "gefährlich: {keys}",
};
