import type { Sentences } from "../../kernel/sentences.ts";

/** What no single feature says: parsing, validation, permissions, Discord and the database. */
export const commonSentences: Sentences = {
  // Forms, files and pages of the commands
  "Discord did not give the file.": "Discord hat die Datei nicht herausgegeben.",
  "This is not known any more. Give the command again.": "Das ist nicht mehr bekannt. Gib den Befehl noch einmal.",
  "This is too large for a message. Take it over HTTP or the command line.":
    "Das ist zu groß für eine Nachricht. Über HTTP oder die Befehlszeile ist es zu haben.",
  "This command is not known any more.": "Diesen Befehl gibt es nicht mehr.",
  "This is too old. Give the command again.": "Das ist zu lange her. Gib den Befehl noch einmal.",
  "This is not yours to answer: somebody else gave the command. Give it yourself.":
    "Das ist nicht deine Frage: Den Befehl hat jemand anderes gegeben. Gib ihn selbst.",
  "This was answered already, and counts once.": "Das ist schon beantwortet und zählt nur einmal.",

  // Lengths and times as people type them
  "Write a length of time, such as 2 weeks, 1h30m or 30d.": "Schreib eine Dauer wie 2 Wochen, 1h30m oder 30d.",
  "Write a length of time or a date, such as 2 weeks, 30d or 2027-01-31.":
    "Schreib eine Dauer oder ein Datum, etwa 2 Wochen, 30d oder 31.01.2027.",
  "Write a date or a time, such as 2027-01-31, 2027-01-31 18:00 or in 2 days.":
    "Schreib ein Datum oder einen Zeitpunkt, etwa 31.01.2027, 31.01.2027 18:00 oder in 2 Tagen.",
  "Write a date or a time, such as 2026-01-31, 2026-01-31 18:00 or 2 days ago.":
    "Schreib ein Datum oder einen Zeitpunkt, etwa 31.01.2026, 31.01.2026 18:00 oder vor 2 Tagen.",

  // The database
  "The database is that of another installation than at the start, so nothing is written. Put the right one back, or restart the service.":
    "Die Datenbank gehört zu einer anderen Installation als beim Start, deshalb wird nichts geschrieben. Stelle die richtige wieder her oder starte den Dienst neu.",
  "The database file was removed or replaced while the service runs, so nothing is written. Put it back, or restart the service.":
    "Die Datei der Datenbank wurde im laufenden Betrieb entfernt oder ersetzt, deshalb wird nichts geschrieben. Stelle sie wieder her oder starte den Dienst neu.",
  "The write-ahead log of the database was removed or replaced while the service runs, so no write is confirmed any more. Restart the service.":
    "Das Write-Ahead-Log der Datenbank wurde im laufenden Betrieb entfernt oder ersetzt, deshalb wird kein Schreibvorgang mehr bestätigt. Starte den Dienst neu.",

  // What the bot did in Discord
  "They are not in the server.": "Die Person ist nicht auf dem Server.",
  "They already had the role.": "Die Person hatte die Rolle schon.",
  "They got the role.": "Die Person hat die Rolle bekommen.",
  "They did not have the role.": "Die Person hatte die Rolle nicht.",
  "They lost the role.": "Die Person hat die Rolle verloren.",
  "They already had that name.": "Die Person hieß schon so.",
  "Their nickname was changed.": "Der Nickname wurde geändert.",
  "The timeout would already be over.": "Der Timeout wäre schon vorbei.",
  "They are already timed out until {at}.": "Die Person ist schon bis {at} im Timeout.",
  "The timeout now ends at {at}.": "Der Timeout endet jetzt {at}.",
  "They were timed out for 28 days, the longest Discord allows.": "Die Person ist für 28 Tage im Timeout; mehr erlaubt Discord nicht.",
  "They were timed out.": "Die Person ist im Timeout.",
  "They were not timed out.": "Die Person war nicht im Timeout.",
  "They have another timeout, which I left in place.": "Die Person hat einen anderen Timeout, den ich nicht verändert habe.",
  "Their timeout was lifted.": "Der Timeout wurde aufgehoben.",
  "They were kicked.": "Die Person wurde gekickt.",
  "They were already banned.": "Die Person war schon gebannt.",
  "They were banned.": "Die Person wurde gebannt.",
  "They were not banned.": "Die Person war nicht gebannt.",
  "Their ban was lifted.": "Der Bann wurde aufgehoben.",
  "The message was sent.": "Die Nachricht wurde gesendet.",
  "Discord has no account with this ID.": "Bei Discord gibt es kein Konto mit dieser ID.",
  "They don't accept messages from me.": "Die Person nimmt keine Nachrichten von mir an.",
  "A filter of the server blocked the message.": "Ein Filter des Servers hat die Nachricht blockiert.",
  "The channel no longer exists.": "Den Kanal gibt es nicht mehr.",
  "I'm not in that server.": "Ich bin nicht auf diesem Server.",
  "The role no longer exists.": "Die Rolle gibt es nicht mehr.",
  "I'm not in the server, or I can't see the channel.": "Ich bin nicht auf dem Server oder kann den Kanal nicht sehen.",
  "I'm missing a permission, or my role is too low.": "Mir fehlt ein Recht, oder meine Rolle steht zu niedrig.",
  "Discord is limiting messages right now.": "Discord begrenzt gerade Nachrichten.",
  "They are not in the server. I'll do it when they return.":
    "Die Person ist nicht auf dem Server. Ich hole es nach, sobald sie zurück ist.",
  "The server requires two-factor authentication, and the account that owns me doesn't use it.":
    "Der Server verlangt Zwei-Faktor-Anmeldung, und das Konto, dem ich gehöre, nutzt sie nicht.",
  "The message would be empty.": "Die Nachricht wäre leer.",
  "I can't send messages in this kind of channel.": "In so einem Kanal kann ich nicht schreiben.",
  "Discord rejected the values.": "Discord hat die Angaben abgelehnt.",
  "Discord refused it (code {code}).": "Discord hat es abgelehnt (Code {code}).",
  "Discord is limiting this right now.": "Discord begrenzt das gerade.",
  "Discord could not be reached.": "Discord war nicht zu erreichen.",
  "Discord refused the call.": "Discord hat den Aufruf abgelehnt.",
  "Discord answered with something else.": "Discord hat etwas anderes geantwortet.",
  "I don't act in that server.": "Auf diesem Server handle ich nicht.",

  // The connection to Discord
  "Discord refuses the bot token. In the developer portal open Bot, reset the token, put the new one into `DISCORD_TOKEN`, then restart.":
    "Discord hat das Token des Bots abgelehnt. Öffne im Entwicklerportal den Bereich Bot, setze das Token zurück, trage das neue in `DISCORD_TOKEN` ein und starte neu.",
  "Discord refuses to show the bot the members of its servers. In the developer portal open Bot, switch on Server Members Intent under Privileged Gateway Intents, then restart.":
    "Discord verweigert dem Bot die Mitglieder. Öffne im Entwicklerportal den Bereich Bot, schalte unter Privileged Gateway Intents den Server Members Intent ein und starte neu.",
  "Discord does not know what the bot asks for. Update Provost.": "Discord weiß nicht, was der Bot verlangt. Aktualisiere Provost.",
  "Discord does not offer this version of its API any more. Update Provost.":
    "Discord bietet diese Version seiner Schnittstelle nicht mehr an. Aktualisiere Provost.",
  "The bot is in more servers than one connection may serve. Take it out of the servers that are not in `GUILD_IDS`.":
    "Der Bot ist auf mehr Servern, als eine Verbindung bedienen darf. Nimm ihn von den Servern, die nicht in `GUILD_IDS` stehen.",
  "Discord refuses the shard number of the connection. Restart the service.":
    "Discord lehnt die Shard-Nummer der Verbindung ab. Starte den Dienst neu.",
  "Discord closed the gateway for good with code {code}.": "Discord hat die Verbindung endgültig beendet, mit dem Code {code}.",
  "The link to Discord failed unexpectedly; see the log, then restart.":
    "Die Verbindung zu Discord ist unerwartet abgebrochen; sieh ins Log und starte dann neu.",
  "Discord's gateway cannot be reached; trying again.": "Discord ist gerade nicht zu erreichen; es wird weiter versucht.",
  "The session starts Discord allows in a day are nearly used up; the link waits for the next day.":
    "Die Anmeldungen, die Discord je Tag erlaubt, sind fast verbraucht; die Verbindung wartet bis morgen.",
  "Discord's gateway did not come back.": "Die Verbindung zu Discord kam nicht zurück.",
  "Discord did not answer in time.": "Discord hat nicht rechtzeitig geantwortet.",
  "Discord cannot be reached.": "Discord ist nicht zu erreichen.",

  // Permissions
  "Discord could not be asked about the person.": "Discord ließ sich nicht nach der Person fragen.",
  "Name the staff member this is done for in X-Acting-User.": "Nenne in X-Acting-User, für wen aus dem Team das geschieht.",
  "You can change only what you may read.": "Du kannst nur ändern, was du lesen darfst.",
  "You may not read this field.": "Dieses Feld darfst du nicht lesen.",
  "The API key lacks {required}.": "Dem API-Schlüssel fehlt {required}.",
  "The acting user lacks {required}.": "Dir fehlt {required}.",
  "The API key does not hold {keys}.": "Der API-Schlüssel hat {keys} nicht.",
  "The acting user does not hold {keys}.": "Du hast {keys} nicht.",
  "The acting user has no access at present.": "Du hast zurzeit keinen Zugang.",

  // Validation
  "1 field is wrong.": "Eine Angabe stimmt nicht.",
  "{count} fields are wrong.": "{count} Angaben stimmen nicht.",
  "Send ids as strings of 17–20 digits; a JSON number has lost precision.":
    "Sende IDs als Text aus 17–20 Ziffern; als JSON-Zahl verlieren sie Stellen.",
  "Send ids as strings of 17–20 digits.": "Eine Discord-ID hat 17–20 Ziffern.",
  "A Discord id has no zero in front.": "Eine Discord-ID beginnt nicht mit einer Null.",
  "The id is larger than any Discord id.": "So große IDs gibt es bei Discord nicht.",
  "The text holds a character that cannot be stored.": "Der Text enthält ein Zeichen, das sich nicht speichern lässt.",
  "Addresses, devices and fingerprints are not stored. Say in plain words what was seen, without IP or network addresses, user agents or digests.":
    "Adressen, Geräte und Fingerabdrücke werden nicht gespeichert. Beschreibe in Worten, was zu sehen war, ohne IP- oder Netzadressen, Browserkennungen oder Prüfsummen.",
  "The body is not valid JSON.": "Der Inhalt ist kein gültiges JSON.",
  "The body nests deeper than {depth} levels.": "Der Inhalt ist tiefer als {depth} Ebenen verschachtelt.",
  'The file is not UTF-8. Save it as "CSV UTF-8" first.': "Die Datei ist nicht in UTF-8. Speichere sie zuerst als „CSV UTF-8“.",
  "The body is not valid UTF-8.": "Der Inhalt ist kein gültiges UTF-8.",
  "Send this parameter once.": "Diese Angabe darf nur einmal stehen.",
  "This parameter is not known here.": "Diese Angabe gibt es hier nicht.",
  "A mistyped filter would list everything, so unknown parameters are refused.":
    "Mit einem vertippten Filter stünde alles in der Liste, deshalb werden unbekannte Angaben abgelehnt.",
  "The date is later than any that can be kept.": "So späte Zeitpunkte lassen sich nicht speichern.",
  "The date is outside the years 1 to 8999.": "Das Datum liegt nicht in den Jahren 1 bis 8999.",
  "The date is earlier than any that can be kept.": "So frühe Zeitpunkte lassen sich nicht speichern.",
  "At most 100 years; leave it out or send null where permanent is meant.":
    "Höchstens 100 Jahre; lass es weg, wenn es auf Dauer sein soll.",
  "Write a duration such as 30d.": "Schreib eine Dauer wie 30d.",

  // What is asked at addresses that people name.
  "The address leads into a private network, which the operator has not allowed.":
    "Die Adresse führt in ein privates Netz, das der Betreiber nicht erlaubt hat.",
  "The address has to begin with https.": "Die Adresse muss mit https beginnen.",
  "The name of the address is not known.": "Den Namen in der Adresse gibt es nicht.",
  "The address did not answer in time.": "Die Adresse hat nicht rechtzeitig geantwortet.",
  "The address cannot be reached.": "Die Adresse ist nicht erreichbar.",
  "Leave names, passwords and # out of the address.": "Lass Namen, Passwörter und # aus der Adresse weg.",
  "Write the whole address: this one is shortened.": "Schreibe die ganze Adresse: Diese ist gekürzt.",
  "The port of the address has to be 443, or 1024 or above.": "Der Port der Adresse muss 443 oder mindestens 1024 sein.",
};
