import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about web-hooks, in German. */
export const webhooksSentences: Sentences = {
  "The address answered with status {status}.": "Die Adresse hat mit Status {status} geantwortet.",
  "The secret cannot be opened any more: give the web-hook a new one.":
    "Das Geheimnis lässt sich nicht mehr öffnen: Gib dem Webhook ein neues.",
  "The receiver wants nothing more: it answered with status 410.": "Der Empfänger will nichts mehr: Er hat mit Status 410 geantwortet.",
  "The receiver has not taken anything for five days.": "Der Empfänger hat fünf Tage lang nichts angenommen.",
  "The API key it acts for has ended, or may not follow events any more.":
    "Der API-Schlüssel, für den er handelt, gilt nicht mehr oder darf Ereignissen nicht mehr folgen.",
  "Whoever it acts for may not follow events any more.": "Wer hinter ihm steht, darf Ereignissen nicht mehr folgen.",
  "Another web-hook is called that.": "So heißt schon ein anderer Webhook.",
  "There are {all} web-hooks already: delete one first.": "Es gibt schon {all} Webhooks: Lösche zuerst einen.",
  "This key or person has {each} web-hooks already: delete one first.":
    "Dieser Schlüssel oder diese Person hat schon {each} Webhooks: Lösche zuerst einen.",
  "The secret was shown in the first answer and is not kept.": "Das Geheimnis stand in der ersten Antwort und wird nicht aufbewahrt.",
  "The event is no longer kept: events are kept for seven days, tests and gaps not at all.":
    "Das Ereignis ist nicht mehr da: Ereignisse werden sieben Tage aufbewahrt, Proben und Lücken gar nicht.",
  "Whoever the web-hook acts for may not see this event now.": "Wer hinter dem Webhook steht, darf dieses Ereignis jetzt nicht sehen.",
  "Name types of events, or prefix.* for several; GET /events lists them.":
    "Nenne Arten von Ereignissen oder prefix.* für mehrere; GET /events zählt sie auf.",
  "Name the web-hook by its id.": "Nenne den Webhook mit seiner ID.",
  "Name the delivery by its id.": "Nenne die Zustellung mit ihrer ID.",
};
