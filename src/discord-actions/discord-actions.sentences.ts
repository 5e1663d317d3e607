import type { Sentences } from "../kernel/sentences.ts";

/** Why Discord would refuse an action of the bot, in German. */
export const discordActionSentences: Sentences = {
  // What the bot can't do
  "ban them": "Bannen",
  "unban them": "Entbannen",
  "kick them": "Kicken",
  "time them out": "Ein Timeout",
  "lift their timeout": "Den Timeout aufheben",
  "change their nickname": "Den Nickname ändern",
  "give them the role": "Die Rolle geben",
  "remove their role": "Die Rolle nehmen",
  "Ban Members": "Mitglieder bannen",
  "Kick Members": "Mitglieder kicken",
  "Timeout Members": "Mitglieder in den Timeout versetzen",
  "Manage Roles": "Rollen verwalten",
  "Manage Nicknames": "Nicknames verwalten",

  // Why
  "I can't {act} in {name}: I'm no longer in that server.": "{act} geht auf {name} nicht: Ich bin nicht mehr auf dem Server.",
  "I can't {act} in {name}: that would be me.": "{act} geht auf {name} nicht: Das wäre ich selbst.",
  "I can't {act} in {name}: they own the server, and Discord protects its owner.":
    "{act} geht auf {name} nicht: Der Person gehört der Server, und Discord schützt den Inhaber.",
  "I can't {act} in {name}: I'm timed out there until {until}.": "{act} geht auf {name} nicht: Ich bin dort bis {until} im Timeout.",
  "I can't {act} in {name}: I don't have the permission {permission} there.":
    "{act} geht auf {name} nicht: Mir fehlt dort das Recht {permission}.",
  "I can't {act} in {name}: the role was deleted.": "{act} geht auf {name} nicht: Sie wurde gelöscht.",
  "I can't {act} in {name}: every member has it.": "{act} geht auf {name} nicht: Die hat jedes Mitglied.",
  "I can't {act} {role} in {name}: it belongs to a bot, an integration or the boosts, so only Discord gives it.":
    "{act} geht auf {name} nicht: {role} gehört zu einem Bot, einer Integration oder den Boosts, und nur Discord vergibt sie.",
  "I can't {act} {role} in {name}: it is my own highest role.": "{act} geht auf {name} nicht: {role} ist meine eigene höchste Rolle.",
  "I can't {act} {role} in {name}: my highest role, {mine}, is below it.":
    "{act} geht auf {name} nicht: Meine höchste Rolle, {mine}, steht unter {role}.",
  "I can't kick them in {name}: they are not a member there.": "Kicken geht auf {name} nicht: Die Person ist dort kein Mitglied.",
  "I can't {act} in {name}: their role {role} is an administrator's, and Discord doesn't time out administrators.":
    "{act} geht auf {name} nicht: Mit der Rolle {role} ist die Person Administrator, und die lassen sich in Discord nicht in den Timeout versetzen.",
  "I can't {act} in {name}: my highest role, {mine}, is their highest role too.":
    "{act} geht auf {name} nicht: Meine höchste Rolle, {mine}, ist auch die der Person.",
  "I can't {act} in {name}: my highest role, {mine}, is below their role {role}.":
    "{act} geht auf {name} nicht: Meine höchste Rolle, {mine}, steht unter der Rolle {role} der Person.",

  "In {name} I don't have what is needed there: {permissions}.": "Auf {name} fehlt mir, was dort nötig ist: {permissions}.",

  // What would help
  "Invite me again.": "Lade mich wieder ein.",
  "Lift my timeout.": "Hebe es auf.",
  "Give it to my role under Server Settings → Roles.": "Gib es meiner Rolle unter Servereinstellungen → Rollen.",
  "Choose another one.": "Nimm eine andere.",
  "Give me a role above it under Server Settings → Roles.": "Gib mir unter Servereinstellungen → Rollen eine höhere.",
  "Move {mine} above it under Server Settings → Roles.": "Zieh {mine} unter Servereinstellungen → Rollen darüber.",
  "Take that role away first.": "Nimm ihr zuerst die Rolle.",
  "Check who you named.": "Prüfe, wen du angegeben hast.",

  // What failed
  "An action in Discord failed at {at} and was not tried again.":
    "Eine Maßnahme in Discord hat {at} nicht geklappt und wurde nicht erneut versucht.",
  "{count} actions in Discord failed in the last 7 days and were not tried again, the newest at {at}.":
    "{count} Maßnahmen in Discord haben in den letzten 7 Tagen nicht geklappt und wurden nicht erneut versucht, die neueste {at}.",
  "Try again from the alerts channel, the request, or `/blacklist failed`.":
    "Versuch es erneut: im Alarmkanal, beim Antrag oder mit `/blacklist failed`.",

  // Nothing to do, or not yet
  "They are already banned in {name}.": "Die Person ist auf {name} schon gebannt.",
  "They are not banned in {name}.": "Die Person ist auf {name} nicht gebannt.",
  "They are already timed out in {name} until {until}.": "Die Person ist auf {name} schon bis {until} im Timeout.",
  "They are not timed out in {name}.": "Die Person ist auf {name} nicht im Timeout.",
  "They already have the role {role} in {name}.": "Die Person hat die Rolle {role} auf {name} schon.",
  "They do not have the role {role} in {name}.": "Die Person hat die Rolle {role} auf {name} nicht.",
  "They are not in {name}.": "Die Person ist nicht auf {name}.",
  "I'll do it when they return.": "Ich hole es nach, sobald sie zurück ist.",
};
