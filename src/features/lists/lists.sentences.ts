import type { Sentences } from "../../kernel/sentences.ts";

/** The German of what is said about lists, by the English sentence. */
export const listsSentences: Sentences = {
  "Name the list by its id, or write own for the blacklist of this community.":
    "Nenne die Liste mit ihrer ID, oder schreib own für die Sperrliste dieser Gemeinschaft.",
  "The request could not be filed. The log says why.": "Der Antrag ließ sich nicht stellen. Das Log sagt, warum.",
  "A list and category have one rule.": "Eine Liste und Kategorie hat eine einzige Regel.",
  "Name the role that is added.": "Nenne die Rolle, die vergeben wird.",
  "A role goes with the action role alone.": "Eine Rolle gehört nur zur Maßnahme Rolle.",
  "There is no such list.": "Diese Liste gibt es nicht.",
  "The server has no such role that can be added.": "Der Server hat keine solche Rolle, die vergeben werden kann.",
  "This role maps to a staff role: lists never give one.": "Diese Rolle gehört zu einer Rolle im Team: Listen vergeben keine solche.",
  "This role can moderate or administer the server: lists never give one.":
    "Mit dieser Rolle kann man den Server moderieren oder verwalten: Listen vergeben keine solche.",
  "Discord has not reported the permissions of this role yet. Try again in a minute.":
    "Discord hat die Rechte dieser Rolle noch nicht gemeldet. Versuch es in einer Minute noch einmal.",
  "The exemption would have ended already.": "Die Ausnahme wäre schon vorbei.",
  "They are staff.": "Die Person gehört zum Team.",
  "Lists do not give this role.": "Listen vergeben diese Rolle nicht.",
  "It was ended by hand in Discord.": "Es wurde in Discord von Hand beendet.",
  "Somebody else banned them, and I left that ban in place.":
    "Jemand anderes hat die Person gebannt; diesen Bann habe ich nicht verändert.",
  "{recordReference} lists this person, and the rules of the server propose a punishment.":
    "{recordReference} listet diese Person, und die Regeln des Servers schlagen eine Strafe vor.",
  "Only what has failed is tried again; this action is {state}.":
    "Nur was nicht geklappt hat, wird erneut versucht; diese Maßnahme ist {state}.",
  "Nothing waits here.": "Hier wartet nichts.",
};
