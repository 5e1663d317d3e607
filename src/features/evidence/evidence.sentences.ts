import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about evidence, in German. */
export const evidenceSentences: Sentences = {
  "Send the file as multipart/form-data.": "Sende die Datei als multipart/form-data.",
  "A record holds at most {count} pieces of evidence.": "Mehr als {count} Belege passen nicht dazu.",
  "Discord shows nothing of this message that can be kept. Where that is so for every message, the bot lacks the message content intent.":
    "Discord zeigt von dieser Nachricht nichts, was sich aufbewahren ließe. Ist das bei jeder Nachricht so, fehlt dem Bot der Message Content Intent.",
  "There is no such message, or the bot or you do not see it.":
    "Diese Nachricht gibt es nicht, oder der Bot oder du kannst sie nicht sehen.",
  "Name the message by `message` or by `message_url`.": "Nenne die Nachricht mit `message` oder mit `message_url`.",
  "The file is not there as it was kept; the operator has to look.":
    "Die Datei ist nicht mehr so da, wie sie aufbewahrt wurde; das muss sich der Betreiber ansehen.",
  "It is redacted already.": "Der Inhalt ist schon entfernt.",
  "Send the link of a message in a server: https://discord.com/channels/…/…/…":
    "Sende den Link zu einer Nachricht auf einem Server: https://discord.com/channels/…/…/…",
  "Name the evidence by its id.": "Nenne den Beleg mit seiner ID.",
};
