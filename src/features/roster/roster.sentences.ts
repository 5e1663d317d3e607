import type { Sentences } from "../../kernel/sentences.ts";

/** What the roster says, in German. */
export const rosterSentences: Sentences = {
  "A supervisor is another member of the staff.": "Vorgesetzt ist jemand anderes aus dem Team.",
  "Nobody of that id is on the roster.": "Mit dieser ID steht niemand auf der Teamliste.",
  "They come back after they left.": "Die Rückkehr liegt nach dem Weggang.",
  "They were not on the roster then.": "Damals stand die Person nicht auf der Teamliste.",
  "What has not come yet is not written down.": "Was noch nicht war, wird nicht eingetragen.",
  "A suspension ends after now.": "Eine Suspendierung endet in der Zukunft.",
  "This person is not on the roster.": "Diese Person steht nicht auf der Teamliste.",
  "This person is on the roster already: {status}.": "Diese Person steht schon auf der Teamliste: {status}.",
  "This person was on the roster and cannot come back to it: {status}.":
    "Diese Person stand auf der Teamliste und kann nicht zurück: {status}.",
  "The roster entry is {status}: this does not follow from there.": "Auf der Teamliste steht „{status}“: Davon führt kein Weg dorthin.",
  "The roster entry stands so already.": "So steht es schon auf der Teamliste.",
  "Start or end the leave with /staff/{user}/loa: the roster follows it.":
    "Beginne oder beende die Abwesenheit mit `/staff loa`: Die Teamliste folgt ihr.",
  "Only somebody on trial has an end of it.": "Ein Ende der Probezeit hat nur, wer auf Probe ist.",
  "Only a suspension or probation has an end.": "Ein Ende gibt es nur bei Suspendierung oder Bewährung.",
  "Its time is over.": "Die Zeit ist um.",
  "The roster entry is not there any more.": "Den Eintrag auf der Teamliste gibt es nicht mehr.",
  "Changed since and left as it is: {changed}. The entry is {status}.":
    "Seitdem geändert und so gelassen: {changed}. Der Eintrag steht auf „{status}“.",
  "staff role": "Rolle im Team",
  department: "Abteilung",
  supervisor: "Vorgesetzter",
  "The roster entry is {status} now.": "Auf der Teamliste steht jetzt „{status}“.",
  "The roster entry stood as before already.": "Auf der Teamliste stand es schon wie vorher.",

  // Audits
  "There is no such finding.": "Diesen Befund gibt es nicht.",
  "It ends in the future.": "Das Ende liegt in der Zukunft.",
  "It stays in reports, marked.": "Er bleibt in Berichten, mit einem Vermerk.",
  "It counts again.": "Er zählt wieder.",
  "Nobody had acknowledged it.": "Niemand hatte ihn hingenommen.",
  "Nobody acknowledges what was found about themselves.": "Niemand nimmt hin, was über ihn selbst gefunden wurde.",
  "There is no such pool of callsigns.": "Diesen Pool von Rufzeichen gibt es nicht.",
  "The entry is resigned, and the callsigns rest.": "Der Eintrag wird auf „ausgeschieden“ gesetzt, und die Rufzeichen ruhen.",
  "Holds no staff role any more, and is still on the roster.": "Hat keine Rolle im Team mehr und steht noch auf der Teamliste.",
  "Is in none of the guilds any more.": "Ist auf keinem der Server mehr.",
  "The Discord roles become those of the staff role.": "Die Rollen in Discord werden die der Rolle im Team.",
  "Does not hold the Discord role of {role}.": "Hat in Discord die Rolle für {role} nicht.",
  "Holds the Discord role of {role}, too.": "Hat in Discord auch die Rolle für {role}.",
  "Still holds the Discord role of {role}.": "Hat in Discord noch die Rolle für {role}.",
  "There is no staff role {role}.": "Eine Rolle {role} gibt es im Team nicht.",
  "No Discord role stands for {role}.": "Für {role} steht keine Rolle in Discord.",
  "They come on the roster with the highest of their staff roles.": "Die Person kommt mit ihrer höchsten Rolle auf die Teamliste.",
  "Holds {roles}.": "Hat {roles}.",
  "They get a callsign of the pool.": "Die Person bekommt ein Rufzeichen des Pools.",
  "Has no callsign of {pool}.": "Hat kein Rufzeichen aus {pool}.",
  "The name in the guild shows the callsign.": "Der Name auf dem Server zeigt das Rufzeichen.",
  "The name does not show {callsign}.": "Der Name zeigt {callsign} nicht.",
  "The trial was to end on {day}.": "Die Probezeit sollte am {day} enden.",
  "The trial is over: the entry is active.": "Die Probezeit ist vorbei: Der Eintrag wird aktiv.",
  "The entry is active again.": "Der Eintrag wird wieder aktiv.",
  "Stands on leave, and no leave runs.": "Gilt als beurlaubt, aber keine Abwesenheit läuft.",
  "Nothing for {days} days.": "Seit {days} Tagen nichts.",
  "They are suspended as staff, for as long as the entry is.": "Die Person wird suspendiert, so lange der Eintrag es ist.",
  "The entry is {status}, and the permissions still count.": "Der Eintrag steht auf „{status}“, und die Rechte gelten noch.",
  "{reference} is in force.": "{reference} gilt.",
  "A match is open.": "Ein Treffer ist offen.",
  "The grant has to be renewed.": "Die Freigabe muss erneuert werden.",
  "{permission} ends on {day}.": "{permission} endet am {day}.",
  "There is no fix for this: {detail}": "Dafür gibt es keine Abhilfe: {detail}",
  "The guilds are not known well enough now: try again later.": "Die Server sind gerade nicht gut genug bekannt: Versuche es später.",
  "There was nothing to change in Discord.": "In Discord war nichts zu ändern.",
  "Changes in Discord: {count}.": "Änderungen in Discord: {count}.",
  "It does not hold any more.": "Der Befund trifft nicht mehr zu.",
  "The entry is {status} now.": "Der Eintrag steht jetzt auf „{status}“.",
  "Callsigns that rest: {count}.": "Ruhende Rufzeichen: {count}.",
  "They are on the roster now: no staff role.": "Die Person steht jetzt auf der Teamliste, ohne Rolle.",
  "They are on the roster now: {role}.": "Die Person steht jetzt auf der Teamliste: {role}.",
  "They have {callsign} now.": "Die Person hat jetzt {callsign}.",
  "They are suspended as staff now.": "Die Person ist jetzt suspendiert.",
  "The run was ended by another one.": "Der Durchgang wurde durch einen anderen beendet.",
  "An audit of the roster runs already.": "Eine Prüfung der Teamliste läuft schon.",
  "{count} people have {callsign}: see POST /callsigns/repair.": "{count} Leute haben {callsign}: Siehe `/callsign repair`.",
  "{count} people hold {role}, which has {capacity} places.": "{count} Leute haben {role}, dafür gibt es {capacity} Plätze.",
  "{count} accounts of one person are on the roster.": "{count} Konten einer Person stehen auf der Teamliste.",

  // Synchronisation
  "They hold no staff role any more. Give them one, or end their entry: that is for a person to decide.":
    "Die Person hat keine Rolle im Team mehr. Gib ihr eine, oder beende ihren Eintrag: Das entscheidet ein Mensch.",
  "The entry is {status}: who has left comes back by an entry, not by a role.":
    "Der Eintrag steht auf „{status}“: Zurück kommt man durch einen Eintrag, nicht durch eine Rolle.",
  "The entry is {status}: the staff role stays.": "Der Eintrag steht auf „{status}“: Die Rolle bleibt.",
  "An owner's roles are not taken away.": "Eigentümern werden keine Rollen entzogen.",
  "The entry names no staff role that is configured: no role is given or taken.":
    "Der Eintrag nennt keine eingerichtete Rolle: Es wird keine vergeben oder entzogen.",
  "The entry is {status}: roles are left as they are unless asked for by name.":
    "Der Eintrag steht auf „{status}“: Rollen bleiben, wie sie sind, wenn sie nicht ausdrücklich genannt werden.",
  "The person is in none of the servers.": "Die Person ist auf keinem der Server.",
  "Discord shows nothing of this person.": "Discord zeigt von dieser Person nichts.",
  "Not asked for.": "Nicht verlangt.",
  "What differs is not what the plan was made of. Look at the plan again.":
    "Die Unterschiede sind nicht mehr die des Plans. Sieh dir den Plan noch einmal an.",
  "The role of the roster could not be given; this one stays until it is.":
    "Die Rolle der Teamliste ließ sich nicht vergeben; bis dahin bleibt diese.",
  "Brought in line with the roster.": "An die Teamliste angeglichen.",
  "The person is not on the roster: nothing is given or taken.":
    "Die Person steht nicht auf der Teamliste: Es wird nichts vergeben oder entzogen.",
  "Discord could not be reached for everything: ask again in a while.":
    "Discord war nicht für alles zu erreichen: Versuche es bald noch einmal.",

  // What forms and options take
  "Name the entry by its id or that of its person.": "Nenne den Eintrag mit seiner ID oder der seiner Person.",
  "Say why.": "Sag, warum.",
  "Name it by its id.": "Nenne ihn mit seiner ID.",
  "Name every finding once.": "Nenne jeden Befund nur einmal.",
  "How things stood then goes without {names}.": "Wie es damals stand, gibt es ohne {names}.",
  "Name the person or the callsign that is meant.": "Nenne die Person oder das Rufzeichen, um die es geht.",
};
