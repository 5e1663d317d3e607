import type { Sentences } from "../../kernel/sentences.ts";

/** What schemas and refusals say, in German by the English sentence. */
export const refusalSentences: Sentences = {
  "This field is required.": "Diese Angabe fehlt.",
  "This field is not known here.": "Diese Angabe gibt es hier nicht.",
  "This must not be empty.": "Das darf nicht leer sein.",
  "A text is needed here.": "Hier muss ein Text stehen.",
  "A number is needed here.": "Hier muss eine Zahl stehen.",
  "A whole number is needed here.": "Hier muss eine ganze Zahl stehen.",
  "A list is needed here.": "Hier muss eine Liste stehen.",
  "An object is needed here.": "Hier muss ein Objekt stehen.",
  "Use true or false.": "Nimm true oder false.",
  "Use null.": "Nimm null.",
  "Use one of: {values}.": "Nimm eines davon: {values}.",
  "Use at most 1 character.": "Nimm höchstens 1 Zeichen.",
  "Use at most {count} characters.": "Nimm höchstens {count} Zeichen.",
  "Use at least {count} characters.": "Nimm mindestens {count} Zeichen.",
  "Use exactly {count} characters.": "Nimm genau {count} Zeichen.",
  "Use at most 1 entry.": "Nimm höchstens 1 Eintrag.",
  "Use at most {count} entries.": "Nimm höchstens {count} Einträge.",
  "Use at least 1 entry.": "Nimm mindestens 1 Eintrag.",
  "Use at least {count} entries.": "Nimm mindestens {count} Einträge.",
  "Use exactly {count} entries.": "Nimm genau {count} Einträge.",
  "Use a number of at most {count}.": "Nimm eine Zahl bis höchstens {count}.",
  "Use a number of at least {count}.": "Nimm eine Zahl ab mindestens {count}.",
  "Use a number below {count}.": "Nimm eine Zahl unter {count}.",
  "Use a number above {count}.": "Nimm eine Zahl über {count}.",
  "Use a multiple of {count}.": "Nimm ein Vielfaches von {count}.",
  "Use {value}.": "Nimm {value}.",
  "Write a time such as 2026-11-20T10:00:00.000Z.": "Schreib einen Zeitpunkt wie 2026-11-20T10:00:00.000Z.",
  "Write a date such as 2026-11-20.": "Schreib ein Datum wie 2026-11-20.",
  "Write the id as it was shown: 36 characters with hyphens.": "Schreib die ID, wie sie gezeigt wurde: 36 Zeichen mit Bindestrichen.",
  "Write a whole address such as https://example.org.": "Schreib eine ganze Adresse wie https://example.org.",
  "This is not in the form that is expected here.": "Das ist nicht so geschrieben, wie es hier erwartet wird.",
  "What stands here does not fit.": "Was hier steht, passt nicht.",
  "Name the plan of a dry run: 64 hexadecimal digits.": "Nenne den Plan eines Probelaufs: 64 hexadezimale Ziffern.",
  "Make a dry run first, and name its plan.": "Mach zuerst einen Probelauf, und nenne seinen Plan.",
  "Name at least one user or server.": "Nenne mindestens eine Person oder einen Server.",
  "They hold no staff role.": "Die Person hat keine Rolle im Team.",
  "No staff role of theirs allows it.": "Keine Rolle dieser Person erlaubt es.",
  "A file holds at most {size}.": "Eine Datei darf höchstens {size} groß sein.",
  "This subject has an active record in this scope already.": "Dazu gibt es in diesem Bereich schon einen geltenden Eintrag.",
  "{callsign} is a callsign of several pools: {pools}. Say which pool is meant.":
    "{callsign} ist ein Rufzeichen mehrerer Pools: {pools}. Sag, welcher Pool gemeint ist.",
  "A server is blacklisted by a record: add one to the blacklist.":
    "Ein Server kommt durch einen Eintrag auf die Sperrliste: Leg dort einen an.",
  "You or another account of yours filed this request, is its subject, or is otherwise involved: somebody else has to decide it.":
    "Du oder ein anderes Konto von dir hat diesen Antrag gestellt, ist davon betroffen oder sonst beteiligt: Jemand anderes muss entscheiden.",
  "The subject stands as high as you on the staff, or higher: somebody above them has to decide.":
    "Die betroffene Person steht im Team so hoch wie du oder höher: Jemand über ihr muss entscheiden.",
  "You are involved in this request, so you do not take part in what is said about it.":
    "Du bist an diesem Antrag beteiligt und nimmst deshalb nicht an dem teil, was darüber gesagt wird.",
};
