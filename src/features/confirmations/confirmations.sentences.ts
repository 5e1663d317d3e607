import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about changes that wait for a confirmation, in German. */
export const confirmationsSentences: Sentences = {
  "This version cannot carry it out. Ask again.": "Diese Version kann das nicht ausführen. Beantrage es noch einmal.",
  "It is too much to be shown whole to whoever has to confirm it. Split it into several changes.":
    "Es ist zu viel, um es der Person, die es bestätigen muss, ganz zu zeigen. Teile es in mehrere Änderungen auf.",
  "Only people confirm.": "Bestätigen können nur Menschen.",
  "Confirm it in Discord with /confirm accept.": "Bestätige es in Discord mit `/confirm accept`.",
  "The person who asked has to confirm it first.": "Zuerst muss bestätigen, wer es wollte.",
  "Only the person who asked can say anything about it.": "Dazu kann nur etwas sagen, wer es wollte.",
  "It was asked with an API key that somebody made who does not hold {permission} any more. Ask again with another one.":
    "Der API-Schlüssel, mit dem es kam, ist von jemandem, der {permission} nicht mehr hat. Versuche es mit einem anderen.",
  "What was asked does not fit any more.": "Das passt so nicht mehr.",
  "It was confirmed but not carried out: {detail}": "Es wurde bestätigt, aber nicht ausgeführt: {detail}",
  "This change has to be confirmed: name the person who asks.": "Diese Änderung muss bestätigt werden: Nenne, wer sie will.",
  "It would do more now than when it was asked. Ask again.": "Es würde jetzt mehr bewirken als zu Anfang. Beantrage es noch einmal.",
  "{count} changes of this person wait for a confirmation already: confirm or decline some of them.":
    "{count} Änderungen dieser Person warten schon auf eine Bestätigung: Bestätige einige davon, oder lehne sie ab.",
  "The second person is neither the one who asked nor the one it is done to.":
    "Die zweite Person ist weder die, die es wollte, noch die, die es betrifft.",
  "The second person stands above what is changed.": "Die zweite Person muss über dem stehen, was geändert wird.",
  "The second person says yes in Discord with /confirm accept, or by a signed assertion.":
    "Die zweite Person bestätigt in Discord mit `/confirm accept` oder mit einem unterschriebenen Nachweis.",
  "You made the API key that this was asked with. Somebody else has to confirm it, or it is asked again in Discord.":
    "Den API-Schlüssel, mit dem das kam, hast du angelegt. Jemand anderes muss es bestätigen, oder es wird in Discord neu beantragt.",
  "This API key was made by the one who asked. Confirm it in Discord with /confirm accept.":
    "Diesen API-Schlüssel hat angelegt, wer es wollte. Bestätige es in Discord mit `/confirm accept`.",
  "Name the change by its id or its code of 6 characters.": "Nenne die Änderung mit ihrer ID oder ihrem Code aus 6 Zeichen.",
};
