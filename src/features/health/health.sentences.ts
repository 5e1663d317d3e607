import type { Sentences } from "../../kernel/sentences.ts";

/** What the health checks say, in German. */
export const healthSentences: Sentences = {
  "The database does not answer.": "Die Datenbank antwortet nicht.",
  "The head of the audit cannot be signed: {reason}": "Das Ende des Protokolls lässt sich nicht unterschreiben: {reason}",
  "Discord takes no messages of the bot in channel {channel}: {detail}":
    "Discord nimmt im Kanal {channel} keine Nachrichten des Bots an: {detail}",
  "Review cards could not be brought up to date.": "Die Karten der Anträge ließen sich nicht auf den neuesten Stand bringen.",
  "An alert of server {guild} was left out at {at}: {detail}": "Ein Hinweis für den Server {guild} wurde {at} ausgelassen: {detail}",
  "{count} alerts of server {guild} were left out, the last one at {at}: {detail}":
    "{count} Hinweise für den Server {guild} wurden ausgelassen, der letzte {at}: {detail}",
  "It could not be worded.": "Er ließ sich nicht formulieren.",
  "The gateway link is {state}.": "Die Verbindung zu Discord steht nicht ({state}).",
  "The guild state has not been read yet.": "Die Server wurden noch nicht gelesen.",
  "The process that is connected to Discord has not answered this one yet.":
    "Der Prozess, der mit Discord verbunden ist, hat diesem noch nicht geantwortet.",
  "No process says that it is connected to Discord, for {seconds} seconds.":
    "Seit {seconds} Sekunden sagt kein Prozess, dass er mit Discord verbunden ist.",
  "The last known guild state answers.": "Es gilt der letzte bekannte Stand der Server.",
  "The bot is not in {ids} of GUILD_IDS. Invite it there, or take them out of GUILD_IDS and restart.":
    "Der Bot ist nicht auf {ids} aus GUILD_IDS. Lade ihn dort ein, oder nimm sie aus GUILD_IDS heraus und starte neu.",
  "The bot may not view the audit log in {ids}, so what moderators do there by hand is not recorded, except bans without who. Give the bot's role the permission View Audit Log there.":
    "Der Bot darf das Audit-Log auf {ids} nicht ansehen. Was Moderatoren dort von Hand tun, wird deshalb nicht festgehalten, nur Banns ohne den Namen. Gib der Rolle des Bots dort das Recht „Audit-Log anzeigen“.",
  "The bot is in servers that are not served: {names}. For each: remove the bot from it, or add its id to GUILD_IDS and restart.":
    "Der Bot ist auf Servern, für die der Dienst nicht zuständig ist: {names}. Nimm ihn dort heraus, oder trage ihre IDs in GUILD_IDS ein und starte neu.",
  "Discord has sent {count} event that could not be understood since the start, the last at {at}; the log says which.":
    "Discord hat seit dem Start {count} unverständliches Ereignis gesendet, {at}; das Log sagt, welches.",
  "Discord has sent {count} events that could not be understood since the start, the last at {at}; the log says which.":
    "Discord hat seit dem Start {count} unverständliche Ereignisse gesendet, das letzte {at}; das Log sagt, welche.",
  "The job {name} has run since {at} and keeps the others from running. Restart the service.":
    "Die Aufgabe {name} läuft seit {at} und hält die anderen auf. Starte den Dienst neu.",
  "The job {name} has failed every minute since {at}. The log says why.":
    "Die Aufgabe {name} schlägt seit {at} jede Minute fehl. Das Log sagt, warum.",
  "The job {name} failed at {at}. The log says why.": "Die Aufgabe {name} schlug {at} fehl. Das Log sagt, warum.",
  "What approvals left to be done": "Was Genehmigungen zu tun ließen,",
  "What servers do about listed people": "Was Server mit gelisteten Personen tun,",
  "The followed list {name} is stopped and waits for a reset: {problem}":
    "Die Liste {name}, der ihr folgt, ist angehalten und muss von vorn begonnen werden: {problem}",
  "The followed list {name} cannot be read: {problem}": "Die Liste {name}, der ihr folgt, ist nicht lesbar: {problem}",
  "And {count} more.": "Und {count} weitere.",
  "{what} is late: {count} due, the oldest since {at}. Look at the connection to Discord first, then at the log.":
    "{what} verspätet sich: {count} fällig, das älteste seit {at}. Sieh zuerst nach der Verbindung zu Discord, dann ins Log.",
  "The check took too long.": "Die Prüfung hat zu lange gedauert.",
  "The check could not be made.": "Die Prüfung war nicht möglich.",
};
