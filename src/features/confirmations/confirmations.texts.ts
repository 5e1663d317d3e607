import { texts } from "../../kernel/texts.ts";

/** The texts about changes that wait for confirmation: commands, options and values by the keys of `keysOf` and `choiceKeys`, and what replies say. */
export const confirmationsTexts = texts({
  en: {
    confirm: "Changes that wait for your word",
    "confirm list": "What waits for you, and what you have asked for",
    "confirm show": "What became of a change",
    "confirm accept": "Let a change happen",
    "confirm decline": "Keep a change from happening",
    "confirm * code": "Which change: pick one, or type its code",
    "confirm * reason": "Shown to the person who asked",
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
    confirm: "Änderungen, die auf dein Wort warten",
    "confirm list": "Was auf dich wartet, und worum du gebeten hast",
    "confirm show": "Was aus einer Änderung geworden ist",
    "confirm accept": "Eine Änderung geschehen lassen",
    "confirm decline": "Eine Änderung verhindern",
    "confirm * code": "Welche Änderung: wähle eine oder tippe ihren Code",
    "confirm * reason": "Sieht die Person, die darum gebeten hat",
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
