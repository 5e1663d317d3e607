import { texts } from "../../kernel/texts.ts";

/** The texts about changes that wait for confirmation: commands, options and values by the keys of `keysOf` and `choiceKeys`, and what replies say. */
export const confirmationsTexts = texts({
  en: {
    confirm: "Agree to changes that wait for you, or decline them",
    "confirm list": "See what waits for your answer, and what you have asked for",
    "confirm show": "See what became of a change",
    "confirm accept": "Agree to a change, so that it happens",
    "confirm decline": "Decline a change, so that it does not happen",
    "confirm * code": "The change: pick one, or type its code",
    "confirm * reason": "The reason, shown to the person who asked",
    "confirm done": "Done: {summary}",
    "confirm second": "You have confirmed: {summary}\nNothing is changed yet: a second person has to confirm it {until}.",
    "confirm declined": "Declined: {summary}\nNothing was changed.",
    "confirm line": "Asked by {user}, waits for {who}, ends {until}",
    "confirm acting_user": "the person who asked",
    "confirm second_person": "a second person",
    "confirm then": ", then ",
    "empty confirm list": "Nothing waits for you.",
  },
  de: {
    confirm: "Änderungen zustimmen, die auf dich warten, oder sie ablehnen",
    "confirm list": "Ansehen, was auf deine Antwort wartet und worum du gebeten hast",
    "confirm show": "Ansehen, was aus einer Änderung geworden ist",
    "confirm accept": "Einer Änderung zustimmen, damit sie geschieht",
    "confirm decline": "Eine Änderung ablehnen, damit sie nicht geschieht",
    "confirm * code": "Die Änderung: Wähle eine oder tippe ihren Code",
    "confirm * reason": "Der Grund; ihn sieht die Person, die darum gebeten hat",
    "confirm done": "Erledigt: {summary}",
    "confirm second": "Du hast bestätigt: {summary}\nNoch ist nichts geändert: Eine zweite Person muss es bestätigen, Ende {until}.",
    "confirm declined": "Abgelehnt: {summary}\nEs wurde nichts geändert.",
    "confirm line": "Von {user} erbeten, wartet auf {who}, endet {until}",
    "confirm acting_user": "die Person, die darum gebeten hat",
    "confirm second_person": "eine zweite Person",
    "confirm then": ", dann ",
    "empty confirm list": "Auf dich wartet nichts.",
  },
});
