import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about staff and their roles, in German. */
export const staffSentences: Sentences = {
  "The service does not know this guild; is the bot a member of it?": "Diesen Server kennt der Dienst nicht; ist der Bot darauf?",
  "The suspension had ended already.": "Die Suspendierung war schon zu Ende.",
  "Owners cannot be suspended.": "Eigentümer lassen sich nicht suspendieren.",
  "The suspension would be over already.": "Die Suspendierung wäre schon vorbei.",
  "A suspension that lasts as long runs already.": "Es läuft schon eine Suspendierung, die so lange dauert.",
  "The suspension was lifted.": "Die Suspendierung wurde aufgehoben.",
  "The suspension was lifted; another one still runs.": "Die Suspendierung wurde aufgehoben; eine andere läuft noch.",
  "A leave begins within a year of now.": "Eine Abwesenheit beginnt innerhalb eines Jahres.",
  "A leave ends after it begins, and after now.": "Eine Abwesenheit endet nach ihrem Beginn und in der Zukunft.",
  "Send until or duration, not both.": "Nenne ein Ende oder eine Dauer, nicht beides.",
  "Write a time of day such as 22:00.": "Schreib eine Uhrzeit wie 22:00.",
  "The leave is over.": "Die Abwesenheit ist vorbei.",
  "Name a Discord role that stands for this staff role.": "Nenne eine Rolle in Discord, die für diese Rolle steht.",
  "The level {level} is above your own level {own}.": "Die Stufe {level} liegt über deiner Stufe {own}.",
  "{name} has no such role.": "{name} hat diese Rolle nicht.",
  "Delete the staff role {key}.": "Die Rolle {key} löschen.",
  "Create the staff role {key}: level {level}, rank {rank}, {count} Discord role.":
    "Die Rolle {key} anlegen: Stufe {level}, Rang {rank}, {count} Rolle in Discord.",
  "Create the staff role {key}: level {level}, rank {rank}, {count} Discord roles.":
    "Die Rolle {key} anlegen: Stufe {level}, Rang {rank}, {count} Rollen in Discord.",
  "Change the staff role {key}: level {level}, rank {rank}, {count} Discord role.":
    "Die Rolle {key} ändern: Stufe {level}, Rang {rank}, {count} Rolle in Discord.",
  "Change the staff role {key}: level {level}, rank {rank}, {count} Discord roles.":
    "Die Rolle {key} ändern: Stufe {level}, Rang {rank}, {count} Rollen in Discord.",
  "The Discord role {id} already stands for the staff role {key}.": "Die Rolle {id} in Discord steht schon für {key}.",
  "This Discord role is in the list already.": "Diese Rolle in Discord steht schon in der Liste.",
  "Everybody holds @everyone; it cannot stand for a staff role.": "@everyone haben alle; es kann für keine Rolle im Team stehen.",
  "Nobody would be an owner any more.": "Dann gäbe es keinen Eigentümer mehr.",
  "Nobody suspends or reinstates themselves.": "Niemand suspendiert sich selbst oder setzt sich wieder ein.",
  "A suspension ends after it begins.": "Eine Suspendierung endet nach ihrem Beginn.",
  "Write an IANA time zone such as Europe/Berlin.": "Schreib eine Zeitzone wie Europe/Berlin.",
};
