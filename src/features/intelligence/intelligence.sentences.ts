import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about matches, in German. */
export const intelligenceSentences: Sentences = {
  "The record exempts this person.": "Der Eintrag nimmt diese Person aus.",
  "The person has an active blacklist record.": "Die Person hat einen Eintrag auf der Sperrliste, der gilt.",
  "A confirmed linked account has an active blacklist record.": "Ein bestätigtes Zweitkonto steht auf der Sperrliste.",
  "A probable linked account has an active blacklist record.": "Ein wahrscheinliches Zweitkonto steht auf der Sperrliste.",
  "An application of this person was denied within the last 180 days.":
    "Eine Bewerbung dieser Person wurde in den letzten 180 Tagen abgelehnt.",
  "{position} of a server that has an active blacklist record.": "{position} auf einem Server, der auf der Sperrliste steht.",
  "{position} of a server that is another id of one with an active blacklist record.":
    "{position} auf einem Server, der nur eine andere ID eines Servers auf der Sperrliste ist.",
  "{position} of a server that was merged with one that has an active blacklist record.":
    "{position} auf einem Server, der mit einem auf der Sperrliste zusammengelegt wurde.",
  "{position} of a server that is watched.": "{position} auf einem Server, der beobachtet wird.",
  "{position} of a server with which a no-poach agreement is in force.":
    "{position} auf einem Server, mit dem eine Absprache gegen Abwerbung gilt.",
  "The match is about you or about an account of yours.": "In dem Treffer geht es um dich oder um ein Konto von dir.",
  "An exemption ends in the future.": "Eine Ausnahme endet in der Zukunft.",
  "An exemption lasts a year at most.": "Eine Ausnahme dauert höchstens ein Jahr.",
  "Only an exemption has an end.": "Nur eine Ausnahme hat ein Ende.",
};
