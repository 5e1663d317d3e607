import type { ProblemCode } from "../kernel/errors.ts";
import { texts } from "../kernel/texts.ts";

/** Codes that no command, button or form can end with: they are about requests over HTTP. Should one turn up, its title is shown. */
type HttpOnly =
  | "unknown_parameter"
  | "unsupported_version"
  | "invalid_credentials"
  | "credential_expired"
  | "assertion_invalid"
  | "assertion_replayed"
  | "acting_user_required"
  | "route_not_found"
  | "method_not_allowed"
  | "not_acceptable"
  | "request_timeout"
  | "unsupported_media_type"
  | "idempotency_in_progress"
  | "idempotency_key_reused"
  | "precondition_required"
  | "headers_too_large";

type Sentence = `refusal ${Exclude<ProblemCode, HttpOnly>}`;

const en = {
  "refusal malformed_request": "The file could not be read. Save it as plain text (UTF-8) and send it again.",
  "refusal invalid_cursor": "This list has changed. Give the command again.",
  "refusal credential_revoked": "The API key this was asked with has been revoked. Ask again in Discord.",
  "refusal permission_denied": "You can't {task} here. Ask an admin for the permission {permission}.",
  "refusal acting_user_not_staff": "You are not on the staff of {community}. Ask an admin if you should be.",
  "refusal cannot_grant_unheld": "You can't give away what you don't hold yourself: {permissions}. Ask somebody who holds it.",
  "refusal hierarchy_violation": "They stand as high as you on the staff, or higher. Ask somebody above them.",
  "refusal conflict_of_interest": "You are involved in this yourself. Ask somebody else on the staff to do it.",
  "refusal last_owner": "This is the last owner. Name another owner first.",
  "refusal record_not_found": "This does not exist, or you may not see it. Check what you named, or pick it from the suggestions.",
  "refusal duplicate_active_record": "This exists already. Change the one that is there.",
  "refusal duplicate_open": "There is an open request about this already: `{reference}`. Look at it with `/review show`.",
  "refusal already_decided": "This request was decided already. Look at it with `/review show`.",
  "refusal invalid_transition": "That can't be done as things stand now. Look at it again.",
  "refusal discord_would_refuse":
    "Discord would refuse this, so nothing was done. Check the permissions of the bot and the place of its role.",
  "refusal sync_in_progress": "This is being done right now. Wait until it is finished.",
  "refusal pool_exhausted": "This pool has no free number. Choose another pool, or ask for a wider range.",
  "refusal authorization_required": "They have not given access to their servers, or it has ended. Ask them with `/intel authorize`.",
  "refusal too_many_open_sessions": "Too many links for this person are open. Use one of them, or wait until one ends.",
  "refusal precondition_failed":
    "Somebody changed this since you looked at it, so nothing was done. Look at it again, then repeat your change.",
  "refusal body_too_large": "The file is too large.",
  "refusal validation_failed": "What you gave does not fit. Check it and try again.",
  "refusal member_not_in_guild": "They are not a member of this server. Check whom you named.",
  "refusal rate_limited": "That was too much in a short time, so nothing was done.",
  "refusal refresh_cooldown": "This person was read from Discord a short while ago.",
  "refusal cooldown": "This was denied a short while ago.",
  "refusal internal_error": "Something went wrong here. Tell whoever runs this service.",
  "refusal unsupported_operation": "This is switched off here. Ask whoever runs this service.",
  "refusal discord_error": "Discord did not accept this. If it goes on, check the permissions of the bot and the place of its role.",
  "refusal storage_busy": "There is a lot to do right now, so nothing was changed.",
  "refusal storage_full": "There is no room left to store anything. Tell whoever runs this service.",
  "refusal storage_readonly": "Nothing can be stored right now. Tell whoever runs this service.",
  "refusal roster_stale": "What is known of the members of this server is too old to decide by. It is being read again.",
  "refusal discord_unavailable": "Discord can't be reached right now, so nothing was done.",
  "refusal shutting_down": "The service is being restarted.",
  "refusal overloaded": "There is too much to do right now.",
  "refusal timeout": "This took too long. Check whether it was done before you try again.",
  "refusal confirmed": "It was confirmed, but could not be carried out. {why}",
  "refusal asker": "The person who asked may not do it any more. Somebody who may has to ask again.",
  "refusal community": "this community",
  "refusal not-allowed": "You may not do this here. Ask an admin.",
  "refusal permission": "Ask an admin for the permission {permission}.",
  "refusal existing": "Look at `{reference}`.",
  "refusal state": "That can't be done while it is *{state}*.",
  "refusal decided": "This request was decided already: {outcome} by {by}, {at}.",
  "refusal fields-more": "And {count} more.",
  "field snowflake": "{values} is not a Discord id. Use 17–20 digits.",
  "field snowflake many": "{values} are not Discord ids. Use 17–20 digits.",
  "field snowflake user": "{values} is not a Discord id. Use 17–20 digits, or pick the person with `{option}:`.",
  "field snowflake user many": "{values} are not Discord ids. Use 17–20 digits, or pick people with `{option}:`.",
  "field datetime": "Write a time such as `2026-12-24 18:00` (in UTC).",
  "field or": "Or:",
  "field id": "Use a Discord id of 17–20 digits.",
  "field pick": "Pick one of the suggestions.",
  "field unknown": "Leave out {fields}: it does not go with the rest.",
  "field suggested": "There is no {values} here. Pick one of the suggestions.",
  "field required": "Still missing: {fields}.",
  "field unreadable": "{fields}: You can change only what you may read.",
} as const satisfies Readonly<Record<Sentence, string>> & Readonly<Record<string, string>>;

/** What a refusal says in Discord. Of a code: the whole sentence, where nothing more special is known. */
export const refusalTexts = texts({
  en,
  de: {
    "refusal malformed_request": "Die Datei ließ sich nicht lesen. Speichere sie als einfachen Text (UTF-8) und schick sie noch einmal.",
    "refusal invalid_cursor": "Diese Liste hat sich geändert. Gib den Befehl noch einmal.",
    "refusal credential_revoked": "Der API-Schlüssel, mit dem das angefragt wurde, ist widerrufen. Frag es in Discord neu an.",
    "refusal permission_denied": "Du kannst hier nicht: {task}. Bitte einen Admin um das Recht {permission}.",
    "refusal acting_user_not_staff": "Du gehörst nicht zum Team von {community}. Wende dich an einen Admin, falls das nicht stimmt.",
    "refusal cannot_grant_unheld": "Was du selbst nicht hast, kannst du nicht vergeben: {permissions}. Bitte jemanden darum, der es hat.",
    "refusal hierarchy_violation": "Die Person steht im Team so hoch wie du oder höher. Wende dich an jemanden, der über ihr steht.",
    "refusal conflict_of_interest": "Du bist selbst beteiligt. Bitte jemand anderen aus dem Team, es zu tun.",
    "refusal last_owner": "Das ist der letzte Eigentümer. Benenne zuerst einen anderen.",
    "refusal record_not_found":
      "Das gibt es nicht, oder du darfst es nicht sehen. Prüfe, was du angegeben hast, oder wähle es aus den Vorschlägen.",
    "refusal duplicate_active_record": "Das gibt es schon. Ändere, was schon da ist.",
    "refusal duplicate_open": "Dazu gibt es schon einen offenen Antrag: `{reference}`. Sieh ihn dir mit `/review show` an.",
    "refusal already_decided": "Über diesen Antrag ist schon entschieden. Sieh ihn dir mit `/review show` an.",
    "refusal invalid_transition": "So, wie es jetzt steht, geht das nicht. Sieh es dir noch einmal an.",
    "refusal discord_would_refuse":
      "Discord würde das ablehnen; deshalb ist nichts passiert. Prüfe die Rechte des Bots und den Platz seiner Rolle.",
    "refusal sync_in_progress": "Das läuft gerade schon. Warte, bis es fertig ist.",
    "refusal pool_exhausted": "In diesem Pool ist keine Nummer frei. Wähle einen anderen Pool, oder bitte um einen größeren Bereich.",
    "refusal authorization_required":
      "Die Person hat keinen Zugriff auf ihre Server erlaubt, oder die Erlaubnis ist abgelaufen. Frag sie mit `/intel authorize` danach.",
    "refusal too_many_open_sessions": "Für diese Person sind schon zu viele Links offen. Nimm einen davon, oder warte, bis einer abläuft.",
    "refusal precondition_failed":
      "Das hat jemand geändert, seit du es angesehen hast; deshalb ist nichts passiert. Sieh es dir neu an und wiederhole deine Änderung.",
    "refusal body_too_large": "Die Datei ist zu groß.",
    "refusal validation_failed": "Deine Angaben passen so nicht. Prüfe sie und versuche es noch einmal.",
    "refusal member_not_in_guild": "Die Person ist nicht auf diesem Server. Prüfe, wen du angegeben hast.",
    "refusal rate_limited": "Das war zu viel in kurzer Zeit; deshalb ist nichts passiert.",
    "refusal refresh_cooldown": "Diese Person wurde eben erst aus Discord gelesen.",
    "refusal cooldown": "Das wurde vor Kurzem erst abgelehnt.",
    "refusal internal_error": "Hier ist etwas schiefgegangen. Sag es dem Betreiber dieses Dienstes.",
    "refusal unsupported_operation": "Das ist hier abgeschaltet. Frag den Betreiber dieses Dienstes.",
    "refusal discord_error": "Discord hat das nicht angenommen. Bleibt es dabei, prüfe die Rechte des Bots und den Platz seiner Rolle.",
    "refusal storage_busy": "Gerade ist viel los; es wurde nichts geändert.",
    "refusal storage_full": "Der Speicher ist voll. Sag es dem Betreiber dieses Dienstes.",
    "refusal storage_readonly": "Gerade lässt sich nichts speichern. Sag es dem Betreiber dieses Dienstes.",
    "refusal roster_stale": "Was über die Mitglieder dieses Servers bekannt ist, ist dafür zu alt. Es wird gerade neu gelesen.",
    "refusal discord_unavailable": "Discord ist gerade nicht erreichbar; deshalb ist nichts passiert.",
    "refusal shutting_down": "Der Dienst wird gerade neu gestartet.",
    "refusal overloaded": "Gerade ist zu viel los.",
    "refusal timeout": "Das hat zu lange gedauert. Prüfe, ob es geschehen ist, bevor du es noch einmal versuchst.",
    "refusal confirmed": "Es wurde bestätigt, ließ sich aber nicht ausführen. {why}",
    "refusal asker": "Die Person, die es wollte, darf das nicht mehr. Jemand, der es darf, muss es neu anfragen.",
    "refusal community": "dieser Community",
    "refusal not-allowed": "Das darfst du hier nicht. Wende dich an einen Admin.",
    "refusal permission": "Bitte einen Admin um das Recht {permission}.",
    "refusal existing": "Sieh dir `{reference}` an.",
    "refusal state": "Das geht nicht, solange der Stand *{state}* ist.",
    "refusal decided": "Über diesen Antrag ist schon entschieden: {outcome}, von {by}, {at}.",
    "refusal fields-more": "Und {count} weitere.",
    "field snowflake": "{values} ist keine Discord-ID. Nimm 17–20 Ziffern.",
    "field snowflake many": "{values} sind keine Discord-IDs. Nimm 17–20 Ziffern.",
    "field snowflake user": "{values} ist keine Discord-ID. Nimm 17–20 Ziffern, oder wähle die Person mit `{option}:` aus.",
    "field snowflake user many": "{values} sind keine Discord-IDs. Nimm 17–20 Ziffern, oder wähle Personen mit `{option}:` aus.",
    "field datetime": "Schreib einen Zeitpunkt wie `2026-12-24 18:00` (in UTC).",
    "field or": "Oder:",
    "field id": "Nimm eine Discord-ID aus 17–20 Ziffern.",
    "field pick": "Wähle einen der Vorschläge.",
    "field unknown": "Lass {fields} weg: Das passt nicht zum Rest.",
    "field suggested": "{values} gibt es hier nicht. Wähle einen der Vorschläge.",
    "field required": "Es fehlt noch: {fields}.",
    "field unreadable": "{fields}: Du kannst nur ändern, was du auch lesen darfst.",
  },
});
