import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about who may do what, in German. */
export const permissionsSentences: Sentences = {
  "Rank {rank} is not below your own rank {own}.": "Rang {rank} liegt nicht unter deinem Rang {own}.",
  "Only owners give or map a Discord role that can moderate or administer a server.":
    "Eine Discord-Rolle, mit der man einen Server moderieren oder verwalten kann, vergeben und verknüpfen nur Eigentümer.",
  "The acting user does not hold {keys} everywhere or for that long.": "Du hast {keys} nicht überall oder nicht so lange.",
  '"{key}" is not a permission of the catalog.': "„{key}“ ist kein Recht, das es hier gibt.",
  "Owners cannot be denied anything.": "Eigentümern lässt sich nichts verwehren.",
  "The denial would be over already.": "Das Verbot wäre schon vorbei.",
  "Entries about each of these permissions stand already.": "Zu jedem dieser Rechte gibt es schon einen Eintrag.",
  "The entries had ended or been replaced already.": "Die Einträge waren schon zu Ende oder ersetzt.",
  "The permissions are no longer denied.": "Die Rechte sind nicht mehr verwehrt.",
  "The permissions are no longer denied, but for entries that had ended or been replaced already.":
    "Die Rechte sind nicht mehr verwehrt; einzelne Einträge waren schon zu Ende oder ersetzt.",
  "Nobody would be an owner any more. Name another one first.": "Dann gäbe es keinen Eigentümer mehr. Benenne zuerst einen anderen.",
  "OWNER_IDS names this owner; take them out there.": "Dieser Eigentümer steht in OWNER_IDS; nimm ihn dort heraus.",
  "This owner is one by a Discord role; take the role away in Discord.":
    "Das ist ein Eigentümer durch eine Rolle in Discord; entziehe sie ihm dort.",
  "Nobody else is an owner.": "Sonst gibt es keinen Eigentümer.",
  "There is another owner again.": "Es gibt wieder einen anderen Eigentümer.",
  "Name at least one key.": "Nenne mindestens ein Recht.",
  "{key} is in {other} as well.": "{key} steht auch unter {other}.",
  "The service does not know this guild.": "Diesen Server kennt der Dienst nicht.",
  "There is no such staff role.": "Diese Rolle im Team gibt es nicht.",
  "API keys alone hold it, by their scopes.": "Das haben nur API-Schlüssel, durch ihre Rechte.",
  "{key} cannot be limited to one guild.": "{key} lässt sich nicht auf einen Server beschränken.",
  "It has to end in the future.": "Das Ende muss in der Zukunft liegen.",

  // What waits for a confirmation
  "Change what the staff role {role} holds: {parts}.": "Die Rechte der Rolle {role} ändern: {parts}.",
  "Change what the user {user} holds: {parts}.": "Die Rechte von {user} ändern: {parts}.",
  "allow {keys}": "erlaubt: {keys}",
  "deny {keys}": "verwehrt: {keys}",
  "clear {keys}": "ohne Regel: {keys}",
  "{key} in the guild {guild} until {at}": "{key} auf dem Server {guild} bis {at}",
  "{key} in the guild {guild}": "{key} auf dem Server {guild}",
  "{key} until {at}": "{key} bis {at}",
  "{count} more": "{count} weitere",

  // Why somebody holds a permission, or does not
  "They are an owner by the configuration of the service.": "Die Person ist Eigentümer laut Konfiguration des Dienstes.",
  "They are an owner by name.": "Die Person ist als Eigentümer benannt.",
  "They stay an owner because nobody else is one.": "Die Person bleibt Eigentümer, weil es sonst keinen gibt.",
  "They are an owner by the staff role {role}.": "Die Person ist Eigentümer durch die Rolle {role}.",
  "They are suspended.": "Die Person ist suspendiert.",
  "They are suspended in the guild {guild}.": "Die Person ist auf dem Server {guild} suspendiert.",
  "They are suspended until {at}.": "Die Person ist bis {at} suspendiert.",
  "They are suspended in the guild {guild} until {at}.": "Die Person ist auf dem Server {guild} bis {at} suspendiert.",
  "A severe blacklist record about them is in force.": "Es gilt ein schwerer Eintrag der Sperrliste über die Person.",
  "A severe blacklist record about them is in force until {at}.": "Bis {at} gilt ein schwerer Eintrag der Sperrliste über die Person.",
  "A severe blacklist record about them is in force in the guild {guild}.":
    "Auf dem Server {guild} gilt ein schwerer Eintrag der Sperrliste über die Person.",
  "A severe blacklist record about them is in force in the guild {guild} until {at}.":
    "Auf dem Server {guild} gilt bis {at} ein schwerer Eintrag der Sperrliste über die Person.",
  "They are on leave, and leave takes access away here.": "Die Person ist beurlaubt, und hier ruht so lange der Zugang.",
  "They are on leave until {at}, and leave takes access away here.":
    "Die Person ist bis {at} beurlaubt, und hier ruht so lange der Zugang.",
  "An entry of their own denies it.": "Ein persönlicher Eintrag verwehrt es.",
  "An entry of their own denies it in the guild {guild}.": "Ein persönlicher Eintrag verwehrt es auf dem Server {guild}.",
  "An entry of their own denies it until {at}.": "Ein persönlicher Eintrag verwehrt es bis {at}.",
  "An entry of their own denies it in the guild {guild} until {at}.":
    "Ein persönlicher Eintrag verwehrt es auf dem Server {guild} bis {at}.",
  "An entry of their own allows it.": "Ein persönlicher Eintrag erlaubt es.",
  "An entry of their own allows it in the guild {guild}.": "Ein persönlicher Eintrag erlaubt es auf dem Server {guild}.",
  "An entry of their own allows it until {at}.": "Ein persönlicher Eintrag erlaubt es bis {at}.",
  "An entry of their own allows it in the guild {guild} until {at}.":
    "Ein persönlicher Eintrag erlaubt es auf dem Server {guild} bis {at}.",
  "The staff role {role} denies it.": "Die Rolle {role} verwehrt es.",
  "The staff role {role} allows it.": "Die Rolle {role} erlaubt es.",
  "The staff role {role} is of the level {level}, which holds it by default.":
    "Die Rolle {role} hat die Stufe {level}, zu der es von vornherein gehört.",
  "API keys alone hold it, by their scopes; no person does.": "Das haben nur API-Schlüssel, durch ihre Rechte, und keine Person.",
  "Discord could not be asked which roles they hold.": "Discord ließ sich nicht fragen, welche Rollen die Person hat.",
  "It is a bot, and a bot has rights only if somebody names it.": "Das ist ein Bot, und ein Bot hat nur Rechte, wenn ihn jemand benennt.",
  "They hold no staff role.": "Die Person hat keine Rolle im Team.",

  // What options take
  "Write a permission key such as staff.read.": "Schreib ein Recht wie staff.read.",
  "Write 1–50 lower-case letters, digits, - or _, starting with a letter or digit.":
    "Schreib 1–50 Kleinbuchstaben, Ziffern, - oder _, am Anfang ein Buchstabe oder eine Ziffer.",
  "Name a staff role or a person, one of the two.": "Nenne eine Rolle im Team oder eine Person, eines von beiden.",
  "What a role holds counts everywhere.": "Was eine Rolle hat, gilt überall.",
  "{key} stands in the list twice for the same scope.": "{key} steht für denselben Bereich zweimal in der Liste.",
  "What is taken away has no end.": "Was wegfällt, hat kein Ende.",
};
