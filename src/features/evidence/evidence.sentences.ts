import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about evidence, in German. */
export const evidenceSentences: Sentences = {
  "Send the file as multipart/form-data.": "Sende die Datei als multipart/form-data.",
  "A record holds at most {count} pieces of evidence.": "Mehr als {count} Belege passen nicht dazu.",
  "Discord shows nothing of this message that can be kept. Where that is so for every message, the bot lacks the message content intent.":
    "Discord zeigt von dieser Nachricht nichts, was sich aufbewahren ließe. Ist das bei jeder Nachricht so, fehlt dem Bot der Message Content Intent.",
  "Discord does not show the bot what this message says, because the bot lacks the Message Content Intent. Whoever runs the bot switches it on in Discord's developer portal, on the page Bot.":
    "Discord zeigt dem Bot nicht, was in dieser Nachricht steht, denn ihm fehlt der Message Content Intent. Wer den Bot betreibt, schaltet ihn im Developer Portal von Discord auf der Seite „Bot“ ein.",
  "This is a message of Discord's own ({kind}) without a text, so there is nothing to keep.":
    "Das ist eine Systemnachricht von Discord ({kind}) ohne Text, also gibt es nichts aufzubewahren.",
  "This message is empty: it has no text, file, embed, poll, sticker or anything else that can be kept.":
    "Diese Nachricht ist leer: Sie hat keinen Text, keine Datei, kein Embed, keine Umfrage, keinen Sticker und auch sonst nichts, was sich aufbewahren ließe.",
  "There is no such channel in a server of this community, or the bot or you do not see it. If you see it, give the bot the permission to view it.":
    "Diesen Kanal gibt es auf keinem Server dieser Community, oder der Bot oder du kannst ihn nicht sehen. Siehst du ihn, dann gib dem Bot das Recht, ihn anzusehen.",
  "The bot may not read messages in this channel: give it the permission to view it and to read its history.":
    "Der Bot darf in diesem Kanal keine Nachrichten lesen: Gib ihm das Recht, den Kanal anzusehen und den Nachrichtenverlauf zu lesen.",
  "There is no such message in this channel: it was deleted, or the id is wrong.":
    "Diese Nachricht gibt es in diesem Kanal nicht: Sie wurde gelöscht, oder die ID stimmt nicht.",
  "Name the message by `message` or by `message_url`.": "Nenne die Nachricht mit `message` oder mit `message_url`.",
  "The file is not there as it was kept; the operator has to look.":
    "Die Datei ist nicht mehr so da, wie sie aufbewahrt wurde; das muss sich der Betreiber ansehen.",
  "It is redacted already.": "Der Inhalt ist schon entfernt.",
  "Send the link of a message in a server: https://discord.com/channels/…/…/…":
    "Sende den Link zu einer Nachricht auf einem Server: https://discord.com/channels/…/…/…",
  "Name the evidence by its id.": "Nenne den Beleg mit seiner ID.",
};
