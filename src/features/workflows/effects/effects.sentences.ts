import type { Sentences } from "../../../kernel/sentences.ts";
import { measureWords } from "./place-words.ts";

/** Which servers, in both languages: what people named is left as it is. */
const placeWords: readonly (readonly [english: string, german: string])[] = [
  ["{name}", "{name}"],
  ["{names} and {name}", "{names} und {name}"],
  ["{names} and {count} more", "{names} und {count} weitere"],
];
const germanMeasures: Readonly<Record<(typeof measureWords)[keyof typeof measureWords], string>> = {
  "ban from": "Bann von",
  "kick from": "Kick von",
  "timeout in": "Timeout auf",
  "end of the ban in": "Ende des Banns auf",
  "end of the timeout in": "Ende des Timeouts auf",
  "removal of the staff's Discord roles in": "Entzug der Discord-Rollen des Teams auf",
  "the Discord roles of the staff role in": "die Discord-Rollen der Teamrolle auf",
};
const germanUnits: Readonly<Record<string, string>> = {
  day: "Tag",
  days: "Tage",
  hour: "Stunde",
  hours: "Stunden",
  minute: "Minute",
  minutes: "Minuten",
  second: "Sekunde",
  seconds: "Sekunden",
};

/** What an approval will do in Discord, as parts of a sentence: the measure, the servers and the length. */
function plannedParts(): Sentences {
  const lengths = ["", ", permanently", ...Object.keys(germanUnits).map((unit) => `, {number} ${unit}`)];
  const lasting: ReadonlySet<string> = new Set([measureWords.ban, measureWords.timeout]);
  const germanLength = (length: string) =>
    length.replace("permanently", "dauerhaft").replace(/[a-z]+$/, (unit) => germanUnits[unit] ?? unit);
  return Object.fromEntries(
    Object.entries(germanMeasures).flatMap(([english, german]) =>
      placeWords.flatMap(([names, germanNames]) =>
        [
          [names, germanNames],
          [`all servers (${names})`, `allen Servern (${germanNames})`],
        ].flatMap(([where, germanWhere]) =>
          (lasting.has(english) ? lengths : [""]).map((length) => [
            `${english} ${where}${length}`,
            `${german} ${germanWhere}${germanLength(length)}`,
          ]),
        ),
      ),
    ),
  );
}

const listParts: Sentences = Object.fromEntries(
  placeWords.map(([names, germanNames]) => [`the blacklist of ${names}`, `die Sperrliste von ${germanNames}`]),
);

/** What approvals do, in German: before, afterwards, and when it is taken back. */
export const effectSentences: Sentences = {
  "There was nothing in force any more.": "Es galt schon nichts mehr.",
  "{reference} is overturned, reduced or sent back, as the decision says; asked for: {desired}.":
    "{reference} wird aufgehoben, gemildert oder zurückverwiesen, wie entschieden wird; gewünscht: {desired}.",
  "There is nothing of the name that this appeals against.": "Das, wogegen sich der Einspruch richtet, gibt es nicht.",
  "Only a request goes back to those who decided it.": "Nur ein Antrag geht an die zurück, die ihn entschieden haben.",
  "The appeal was answered; nothing is changed by it.": "Der Einspruch ist beantwortet; es ändert sich nichts.",
  "There was nothing to take back.": "Es gab nichts zurückzunehmen.",
  "To reduce it, send {names}.": "Um es zu mildern, sende {names}.",
  "Appeal {reference} was granted.": "Dem Einspruch {reference} wurde stattgegeben.",
  "{count} recorded actions count no longer.": "{count} festgehaltene Maßnahmen zählen nicht mehr.",
  "The record was revoked.": "Der Eintrag wurde zurückgenommen.",
  "{reference} was reversed. I take back what I did for it in Discord.":
    "{reference} wurde zurückgenommen. Was ich dafür in Discord getan habe, mache ich rückgängig.",
  "{reference} is decided anew.": "Über {reference} wird neu entschieden.",
  "The record was reduced.": "Der Eintrag wurde gemildert.",
  "What was recorded was reduced.": "Was festgehalten war, wurde gemildert.",
  "Look at it again.": "Sieh es dir noch einmal an.",
  "{reference} stands; its panel is asked to look at it again.":
    "{reference} bleibt bestehen; wer entschieden hat, soll es noch einmal ansehen.",

  // Cases
  "A case was opened.": "Ein Fall wurde geöffnet.",
  "It was added to the open case.": "Es kam zum offenen Fall hinzu.",
  "A case is opened, for the lead and the team alone when the request is confidential.":
    "Ein Fall wird geöffnet; ist der Antrag vertraulich, nur für Leitung und Mitarbeitende.",
  "It is added to the open case about the subject; without one a case is opened.":
    "Es kommt zum offenen Fall hinzu; gibt es keinen, wird einer geöffnet.",
  "The {action} is recorded in the case with {points} points.": "Im Fall wird festgehalten: {action}, {points} Punkte.",
  "The {action} was recorded with {points} points.": "Festgehalten: {action}, {points} Punkte.",
  "A request to blacklist the user is suggested; a person files it.":
    "Ein Antrag auf Sperrung der Person wird vorgeschlagen; stellen muss ihn ein Mensch.",
  "{reference} refers the user to the blacklist.": "{reference} schlägt die Person für die Sperrliste vor.",
  "It is suggested already.": "Das ist schon vorgeschlagen.",
  "The request was suggested.": "Der Antrag wurde vorgeschlagen.",
  "The suggestion was dismissed.": "Der Vorschlag wurde verworfen.",
  "The suggestion was filed or dismissed already.": "Der Vorschlag war schon gestellt oder verworfen.",

  // Discord
  "Reversal in Discord: {what}": "Rücknahme in Discord: {what}",
  "It cannot be undone in Discord.": "In Discord lässt sich das nicht rückgängig machen.",
  "Message about the reversal.": "Nachricht über die Rücknahme.",
  "Timeout in {name} until {until}.": "Timeout auf {name} bis {until}.",
  "Kick from {name}.": "Kick von {name}.",
  "Ban from {name}.": "Bann von {name}.",
  "End of the timeout in {name}.": "Ende des Timeouts auf {name}.",
  "End of the ban in {name}.": "Ende des Banns auf {name}.",
  "Role {role} in {name}.": "Rolle {role} auf {name}.",
  "Role of the staff in {name}.": "Rolle des Teams auf {name}.",
  "Removal of the role {role} in {name}.": "Entzug der Rolle {role} auf {name}.",
  "Removal of a role of the staff in {name}.": "Entzug einer Rolle des Teams auf {name}.",
  "On approval: {measure}.": "Bei Zustimmung: {measure}.",
  ...plannedParts(),
  "The Discord roles of the staff role are given, where they are a member.":
    "Die Rollen in Discord werden vergeben, wo die Person Mitglied ist.",
  "No Discord role stands for the staff role where they are a member.":
    "Wo die Person Mitglied ist, steht keine Rolle in Discord für die Rolle im Team.",
  "The Discord roles of the staff are taken from them.": "Der Person werden in Discord die Rollen des Teams entzogen.",
  "They hold no other Discord role of the staff.": "Die Person hat in Discord keine andere Rolle des Teams.",
  "The bot is not in {name}.": "Auf {name} ist der Bot nicht.",
  "The bot is in no server.": "Der Bot ist auf keinem Server.",
  "They hold no further Discord role of the staff there.": "Die Person hat dort in Discord keine weitere Rolle des Teams.",
  "Switched off in the decision of {action}.": "In der Entscheidung abgeschaltet ({action}).",
  "It was called off before it was done.": "Es wurde abgesagt, bevor es geschah.",
  "It was called off while it was being done.": "Es wurde abgesagt, während es geschah.",
  "It was ended by hand in Discord.": "Es wurde in Discord von Hand beendet.",
  "It was ended by hand in Discord by {user}.": "Es wurde in Discord von {user} von Hand beendet.",
  "A later decision says otherwise.": "Eine spätere Entscheidung sagt etwas anderes.",
  "It stays: another approval asks for the same.": "Es bleibt: Eine andere Zustimmung verlangt dasselbe.",
  "It stays: a list asks for the same.": "Es bleibt: Eine Liste verlangt dasselbe.",
  "It stays until {at}: another approval asks for it.": "Es bleibt bis {at}: Eine andere Zustimmung verlangt es.",
  "It stays until {at}: a list asks for it.": "Es bleibt bis {at}: Eine Liste verlangt es.",
  "End of the timeout.": "Ende des Timeouts.",
  "New end of the timeout: {at}.": "Neues Ende des Timeouts: {at}.",
  "Message to the person: the new end.": "Nachricht an die Person: das neue Ende.",
  "It ends when it did before.": "Es endet wieder wie zuvor.",
  "An approval of this request does: {keys}.": "Eine Zustimmung zu diesem Antrag bewirkt: {keys}.",
  "This effect is the point of the request.": "Darum geht es in dem Antrag; das lässt sich nicht abschalten.",
  "Nobody knows how the last attempt ended.": "Niemand weiß, wie der letzte Versuch ausgegangen ist.",
  "It was not sent: the act failed.": "Sie wurde nicht gesendet, weil die Maßnahme scheiterte.",
  "Message to the person: it was not carried out.": "Nachricht an die Person: Es kam nicht dazu.",
  "Message to the person: it was carried out after all.": "Nachricht an die Person: Es kam doch noch dazu.",
  "Message to whoever changed the decision: it could not be carried out.":
    "Nachricht an die Person, die die Entscheidung geändert hat: Es ließ sich nicht ausführen.",
  "It was carried out in Discord after all.": "Es ist in Discord doch noch ausgeführt worden.",
  "Message to the requester: it could not be carried out.":
    "Nachricht an die Person, die den Antrag gestellt hat: Es ließ sich nicht ausführen.",
  "The person who decided it may no longer give this role.": "Wer das entschieden hat, darf diese Rolle nicht mehr vergeben.",
  "Nothing is known any more of how this is done.": "Es ist nicht mehr bekannt, wie das geht.",
  "What was left to be done no longer fits.": "Was noch zu tun war, passt nicht mehr.",
  "It failed unexpectedly; the log of the service says more.": "Es ist unerwartet gescheitert; mehr steht im Log des Dienstes.",
  "Only what has failed is tried again; this effect is {status}.": "Nur Gescheitertes wird noch einmal versucht; dies ist: {status}.",

  // Recruitments that are held
  "An open recruitment is held already.": "Eine offene Bewerbung ist schon angehalten.",
  "Somebody holds an open recruitment already.": "Eine offene Bewerbung hat schon jemand angehalten.",
  "An open recruitment is held.": "Eine offene Bewerbung wird angehalten.",
  "The recruitment was not held any more.": "Die Bewerbung war nicht mehr angehalten.",
  "Somebody else holds the recruitment, and that stays.": "Jemand anderes hat die Bewerbung angehalten, und dabei bleibt es.",
  "The recruitment is not held any more.": "Die Bewerbung ist nicht mehr angehalten.",
  "Another request holds the recruitment now.": "Jetzt hält ein anderer Antrag die Bewerbung an.",
  "Their open recruitment requests are held.": "Offene Bewerbungen der Person werden angehalten.",
  "There is no open recruitment request.": "Es gibt keine offene Bewerbung.",
  "The recruitment request is gone.": "Die Bewerbung gibt es nicht mehr.",

  // The blacklist and linked accounts
  "It was done by an older version and cannot be taken back by itself: look at the record.":
    "Das hat eine ältere Version getan; es lässt sich nicht von selbst zurücknehmen: Sieh dir den Eintrag an.",
  "The subject is put on the blacklist; an active record is strengthened instead.":
    "Es kommt ein Eintrag auf die Sperrliste; gibt es schon einen, wird er verschärft.",
  "The subject is put on {list}; an active record there is strengthened instead.":
    "Es kommt ein Eintrag auf {list}; gibt es dort schon einen, wird er verschärft.",
  ...listParts,
  "Its time is over.": "Die Zeit ist um.",
  "Everyone concerned is compared with the record.": "Alle, die es betrifft, werden mit dem Eintrag verglichen.",
  "The accounts are linked, each with each; a link there is becomes surer instead.":
    "Die Konten werden verknüpft, jedes mit jedem; eine vorhandene Verknüpfung wird sicherer.",
  "The link of the two accounts was strengthened.": "Die Verknüpfung der beiden Konten wurde sicherer.",
  "The two accounts were linked.": "Die beiden Konten wurden verknüpft.",
  "It was done before reversals could take it back: end the link.":
    "Das stammt aus der Zeit, bevor sich das zurücknehmen ließ: Beende die Verknüpfung.",
  "The active record was strengthened.": "Der geltende Eintrag wurde verschärft.",
  "A record was created.": "Ein Eintrag wurde angelegt.",
  "{added} added, {changed} changed, {removed} removed.": "{added} neue, {changed} geänderte, {removed} entfernte Treffer.",

  // Mergers of servers
  "The plan of the merger is frozen: it is called off if the servers change before its date.":
    "Der Plan der Zusammenlegung steht fest: Ändern sich die Server vorher, fällt sie aus.",
  "The plan was frozen as {hash}.": "Der Plan steht fest: {hash}.",
  "The plan was given up.": "Der Plan wurde aufgegeben.",
  "At {at} the source becomes part of the target: records, matches, agreements and staff follow.":
    "Ab {at} gehört der aufgehende Server zum bleibenden: Einträge, Treffer, Absprachen und Team folgen.",
  "The servers are merged at {at}.": "Die Server werden {at} zusammengelegt.",
  "The servers or their agreements changed since the plan was frozen; file the merger again.":
    "Die Server oder ihre Absprachen haben sich seit dem Plan geändert; beantrage die Zusammenlegung neu.",
  "The person who approved it may no longer give the staff roles of the plan.":
    "Wer zugestimmt hat, darf die Teamrollen des Plans nicht mehr vergeben.",
  "The user {id} has not signed the agreement.": "{id} hat die Vereinbarung nicht unterzeichnet.",
  "The owner of server {id} has not consented.": "Der Eigentümer von Server {id} hat nicht zugestimmt.",
  "The servers were merged; {moved} of {all} staff members moved.":
    "Die Server wurden zusammengelegt; {moved} von {all} Leuten aus dem Team sind umgezogen.",
  "The merger was carried out more than 30 days ago and cannot be taken back.":
    "Die Zusammenlegung ist mehr als 30 Tage her und lässt sich nicht zurücknehmen.",
  "The servers stand for themselves again.": "Die Server stehen wieder für sich.",

  // Messages
  "On approval: message to the person.": "Bei Zustimmung: Nachricht an die Person.",
  "The person gets no message: this stays among staff.": "Die Person bekommt keine Nachricht: Das bleibt im Team.",
  "Message to the person.": "Nachricht an die Person.",
  "The owner of the offending server is warned by message, if the register names them.":
    "Der Eigentümer des abwerbenden Servers wird durch eine Nachricht gewarnt, wenn das Verzeichnis ihn nennt.",
  "The register names no owner of the server.": "Das Verzeichnis nennt keinen Eigentümer des Servers.",
  "Warning to the owner of the server.": "Warnung an die Person, der der Server gehört.",
  "On approval: welcome message.": "Bei Zustimmung: Begrüßung.",
  "There is no trial to look back on.": "Es gibt keine Probezeit, über die zu entscheiden wäre.",
  "The requester is reminded to decide when the trial ends.": "Wer den Antrag gestellt hat, wird am Ende der Probezeit erinnert.",
  "Nobody had to be reminded: the trial was over.": "Niemand musste erinnert werden: Die Probezeit war schon vorbei.",
  "The trial was made longer: the requester is reminded when it ends.":
    "Die Probezeit wurde verlängert: Wer den Antrag gestellt hat, wird an ihrem Ende erinnert.",
  "The requester is reminded to decide about the trial.":
    "Wer den Antrag gestellt hat, wird an die Entscheidung über die Probezeit erinnert.",
  "The user {id} does not have the staff role {role} that the plan moves them from.":
    "{id} hat nicht die Teamrolle {role}, aus der der Plan die Person versetzt.",
  "Welcome message.": "Begrüßung.",

  // The roster
  "They join the roster.": "Die Person kommt auf die Teamliste.",
  "They join the roster on a trial of {days} days.": "Die Person kommt auf die Teamliste, {days} Tage auf Probe.",
  "They are on the roster.": "Die Person steht auf der Teamliste.",
  "They are on the roster, on trial until {day}.": "Die Person steht auf der Teamliste, auf Probe bis {day}.",
  "They are put on probation.": "Die Person kommt auf Bewährung.",
  "They are suspended on the roster.": "Die Person wird auf der Teamliste suspendiert.",
  "They are on probation until it is lifted.": "Die Person ist auf Bewährung, bis jemand sie aufhebt.",
  "They are on probation until {day}.": "Die Person ist bis {day} auf Bewährung.",
  "They are suspended on the roster until it is lifted.": "Die Person ist auf der Teamliste suspendiert, bis jemand es aufhebt.",
  "They are suspended on the roster until {day}.": "Die Person ist auf der Teamliste bis {day} suspendiert.",
  "Their staff role becomes none.": "Die Person hat danach keine Rolle im Team.",
  "Their staff role becomes {role}.": "Die Person hat danach die Rolle {role}.",
  "The staff role is not below the one they have.": "Die Rolle liegt nicht unter der, die die Person hat.",
  "Their staff role on the roster is none.": "Auf der Teamliste hat die Person keine Rolle.",
  "Their staff role on the roster is {role}.": "Auf der Teamliste hat die Person die Rolle {role}.",
  "They leave the roster.": "Die Person verlässt die Teamliste.",
  "They are terminated on the roster.": "Die Person ist auf der Teamliste entlassen.",

  // Agreements, clearances and poaching
  "The agreement is made between the servers, from its start to its end.":
    "Zwischen den Servern gilt die Absprache, von ihrem Beginn bis zu ihrem Ende.",
  "Nothing was made: it would be over before it begins, or it names fewer than two servers.":
    "Nichts wurde vereinbart: Sie wäre vor ihrem Beginn zu Ende, oder sie nennt weniger als zwei Server.",
  "The agreement was made and begins at {at}.": "Die Absprache steht und beginnt {at}.",
  "The agreement was made.": "Die Absprache gilt.",
  "The agreement had ended already.": "Die Absprache war schon zu Ende.",
  "The agreement was ended.": "Die Absprache wurde beendet.",
  "Agreements with the server are suspended while it is listed.": "Absprachen mit dem Server ruhen, solange er auf der Sperrliste steht.",
  "There is no agreement with the server.": "Mit dem Server gibt es keine Absprache.",
  "{count} agreements were suspended.": "{count} Absprachen ruhen jetzt.",
  "The user may be recruited once in spite of an agreement between the servers.":
    "Die Person darf trotz einer Absprache zwischen den Servern einmal angeworben werden.",
  "The clearance was given.": "Die Freigabe wurde erteilt.",
  "A clearance of the applicant, if there is one, is used up.": "Eine Freigabe der Person wird verbraucht, wenn es eine gibt.",
  "There is no clearance to use.": "Es gibt keine Freigabe, die sich verbrauchen ließe.",
  "The clearance was used.": "Die Freigabe wurde verbraucht.",
  "{count} reports of poaching in 180 days, the last one {reference}.":
    "{count} Meldungen von Abwerbung in 180 Tagen, die letzte {reference}.",
  "{count} reports of poaching were approved in 180 days.": "In 180 Tagen wurden {count} Meldungen von Abwerbung bestätigt.",
  "A request to blacklist the server is suggested.": "Ein Antrag auf Sperrung des Servers wird vorgeschlagen.",
  "The incident counts against the server for 180 days; from {count} on, a blacklist request is suggested.":
    "Der Vorfall zählt 180 Tage gegen den Server; ab {count} wird ein Antrag auf Sperrung vorgeschlagen.",
  "The incident was recorded; {count} count against the server.": "Der Vorfall ist festgehalten; {count} zählen gegen den Server.",

  // Callsigns and permissions
  "They are given a callsign of the pool {pool}.": "Die Person bekommt ein Rufzeichen aus dem Pool {pool}.",
  "There is no pool of callsigns named {pool}: make it, or amend the request.":
    "Einen Pool {pool} gibt es nicht: Lege ihn an, oder ändere den Antrag.",
  "The pool {pool} has no free callsign.": "Der Pool {pool} hat kein freies Rufzeichen.",
  "They keep the callsign {callsign}.": "Die Person behält das Rufzeichen {callsign}.",
  "They have the callsign {callsign}.": "Die Person hat das Rufzeichen {callsign}.",
  "Their callsigns rest: nobody else gets the numbers meanwhile.":
    "Die Rufzeichen der Person ruhen: So lange bekommt niemand sonst die Nummern.",
  "They have no callsign.": "Die Person hat kein Rufzeichen.",
  "Resting now: {names}.": "Jetzt ruhen: {names}.",
  "Their permissions are taken away meanwhile.": "Der Person werden so lange die Rechte entzogen.",
  "They no longer work on requests meanwhile.": "Die Person bearbeitet so lange keine Anträge.",
  "A server has no permissions to take away.": "Ein Server hat keine Rechte, die sich entziehen ließen.",
  "They no longer work on requests until it is lifted.": "Die Person bearbeitet keine Anträge, bis jemand es aufhebt.",
  "They no longer work on requests until {day}.": "Die Person bearbeitet bis {day} keine Anträge.",
  "Their permissions are taken away until it is lifted.": "Der Person sind die Rechte entzogen, bis jemand es aufhebt.",
  "Their permissions are taken away until {day}.": "Der Person sind bis {day} die Rechte entzogen.",
};
