import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about linked accounts, in German. */
export const linksSentences: Sentences = {
  "A link holds {count} grounds at most.": "Eine Verknüpfung hat höchstens {count} Anhaltspunkte.",
  "The main account is one of the two.": "Das Hauptkonto ist eines der beiden.",
  "The time for review is ahead.": "Der Zeitpunkt der Prüfung liegt in der Zukunft.",
  "Nobody looked at it again in time.": "Niemand hat sie rechtzeitig noch einmal geprüft.",
  "An account is not linked with itself.": "Ein Konto wird nicht mit sich selbst verknüpft.",
  "The link was erased.": "Die Verknüpfung wurde gelöscht.",
  "The link had ended already.": "Die Verknüpfung war schon zu Ende.",
  "The link was ended.": "Die Verknüpfung wurde beendet.",
  "There is no link between these accounts.": "Diese Konten sind nicht verknüpft.",
  "Nobody links or unlinks accounts of their own.": "Niemand verknüpft oder trennt eigene Konten.",
  "A suspected link never propagates.": "Eine vermutete Verknüpfung wirkt nie auf andere Konten.",
  "Send review_at or review_after, not both.": "Nenne einen Zeitpunkt der Prüfung oder eine Frist, nicht beides.",
  "These accounts are linked already.": "Diese Konten sind schon verknüpft.",
  "A group holds {count} accounts at most; this link would make a larger one.":
    "Höchstens {count} Konten gehören zusammen; mit dieser Verknüpfung wären es mehr.",
  "An account has {count} links at most.": "Ein Konto hat höchstens {count} Verknüpfungen.",
  "The link is as it was before.": "Die Verknüpfung ist wieder wie vorher.",
  "This is about you or about an account of yours.": "Das betrifft dich oder ein Konto von dir.",
  "Name the link by its id.": "Nenne die Verknüpfung mit ihrer ID.",
};
