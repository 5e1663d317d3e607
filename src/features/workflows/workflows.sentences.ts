import type { Sentences } from "../../kernel/sentences.ts";
import { effectSentences } from "./effects/effects.sentences.ts";

/** What requests say, in German. */
export const workflowsSentences: Sentences = {
  ...effectSentences,

  // Changing a request, and comments
  "Send what changes.": "Sende, was sich ändert.",
  "A field stands twice.": "Ein Feld steht zweimal da.",
  "Beside payload, only what describes a request stands here.": "Neben payload steht hier nur, was den Antrag beschreibt.",
  "Priority and urgency are set by staff.": "Wichtigkeit und Eile bestimmt das Team.",
  "A decision is a person's: name them in X-Acting-User.": "Entscheiden kann nur ein Mensch: Nenne ihn in X-Acting-User.",
  "Message to the requester: a comment.": "Nachricht an die Person, die den Antrag gestellt hat: ein Kommentar.",
  "On your own request you write to those who decide it.": "Zu deinem eigenen Antrag schreibst du denen, die ihn entscheiden.",
  "The request ended more than 30 days ago.": "Der Antrag ist seit mehr als 30 Tagen zu Ende.",
  "A request holds at most 1,000 comments.": "Ein Antrag hat höchstens 1.000 Kommentare.",
  "There is no such comment on this request.": "Diesen Kommentar hat der Antrag nicht.",
  "An internal comment is answered internally.": "Ein interner Kommentar wird intern beantwortet.",
  "Nobody but its author changes a comment.": "Einen Kommentar ändert nur, wer ihn geschrieben hat.",
  "The time in which a comment can be changed is over. Write another one.":
    "Der Kommentar lässt sich nicht mehr ändern. Schreib einen weiteren.",

  // Cards, buttons and menus
  "This card is of another version. Look it up anew.": "Diese Karte ist von einer anderen Version. Ruf sie neu auf.",
  "A web-hook wrote this, which is nobody's account. Use /request poach for the offender.":
    "Das hat ein Webhook geschrieben, also kein Konto einer Person. Nimm `/request poach` für den Täter.",
  "Nothing waits that you may take on.": "Es wartet nichts, was du übernehmen darfst.",
  "It is gone.": "Es gibt sie nicht mehr.",
  "Discord could not be reached, or the message is gone.": "Discord war nicht zu erreichen, oder die Nachricht gibt es nicht mehr.",

  // Checks
  "They never let us read their servers.": "Die Person hat uns nie erlaubt, ihre Server zu sehen.",
  "Their authorization has ended: {status}.": "Ihre Freigabe ist zu Ende: {status}.",
  "Their authorization has expired.": "Ihre Freigabe ist abgelaufen.",
  "Their authorization is in force and fresh.": "Ihre Freigabe gilt und ist frisch.",
  "Their servers were last read more than seven days ago.": "Ihre Server wurden vor mehr als sieben Tagen zuletzt gelesen.",
  "There is no open match.": "Es gibt keinen offenen Treffer.",
  "Open matches: {count}, of them grave: {grave}.": "Offene Treffer: {count}, davon schwere: {grave}.",
  "They are on the blacklist.": "Die Person steht auf der Sperrliste.",
  "A confirmed linked account of theirs is on the blacklist.": "Ein bestätigtes Zweitkonto der Person steht auf der Sperrliste.",
  "They are not on the blacklist.": "Die Person steht nicht auf der Sperrliste.",
  "No recruitment of them was denied.": "Keine Bewerbung der Person wurde abgelehnt.",
  "Denied before: {count}, last in {reference}.": "Schon abgelehnt: {count}-mal, zuletzt in {reference}.",
  "The account is {days} days old.": "Das Konto ist {days} Tage alt.",
  "No other account is linked to theirs.": "Mit dem Konto ist kein anderes verknüpft.",
  "Linked accounts: {confirmed} confirmed, {probable} probable.": "Verknüpfte Konten: {confirmed} bestätigt, {probable} wahrscheinlich.",
  "They are on the roster already: {status}.": "Die Person steht schon auf der Teamliste: {status}.",
  "They are not on the roster.": "Die Person steht nicht auf der Teamliste.",
  "No agreement between servers concerns them.": "Keine Absprache zwischen Servern betrifft die Person.",
  "An agreement between servers keeps us from recruiting them.":
    "Wegen einer Absprache zwischen Servern dürfen wir die Person nicht anwerben.",
  "Cleared by {references}.": "Freigegeben durch {references}.",
  "Ended with the consent it rested on.": "Endete mit der Freigabe, auf der sie beruhte.",

  // Filing
  "This suggestion is about the user {id}.": "In diesem Vorschlag geht es um {id}.",
  "This suggestion is about the server {id}.": "In diesem Vorschlag geht es um den Server {id}.",
  "The request holds {count} pieces of evidence; add files and messages to it instead.":
    "Der Antrag hat schon {count} Belege; hänge weitere als Dateien und Nachrichten an.",
  "There is nothing about you under this name.": "Unter dieser Kennung gibt es nichts über dich.",
  "This was denied a short while ago.": "Das wurde erst vor Kurzem abgelehnt.",
  "You have too many open requests about this subject.": "Du hast dazu schon zu viele offene Anträge.",
  "You have filed too many appeals today.": "Du hast heute zu viele Einsprüche eingelegt.",
  "The time to appeal this ended at {at}.": "Die Frist für einen Einspruch dagegen endete {at}.",
  "Leave this out: the staff decide whether the record counts until then.":
    "Lass das weg: Ob der Eintrag bis dahin gilt, entscheidet das Team.",
  "Only a record on the blacklist that counts can be suspended.": "Aussetzen lässt sich nur ein Eintrag auf der Sperrliste, der gilt.",
  "An appeal about it is open.": "Ein Einspruch dagegen ist offen.",
  "No open appeal suspends it any more.": "Kein offener Einspruch setzt ihn mehr aus.",
  "This question stands here twice.": "Diese Frage steht hier zweimal.",
  "You have filed too many requests in the last hour.": "Du hast in der letzten Stunde zu viele Anträge gestellt.",
  "Only http and https addresses are kept.": "Aufbewahrt werden nur Adressen mit http und https.",
  "This field is given by the service.": "Dieses Feld füllt der Dienst aus.",
  "Send invites as evidence. The register of servers keeps the one that is checked every day, as invite_code of the server.":
    "Sende Einladungen als Belege. Die eine, die jeden Tag geprüft wird, steht im Serververzeichnis als invite_code des Servers.",
  "Every member of a listed server is matched. Name those who are left out in exempt_user_ids.":
    "Jedes Mitglied eines gesperrten Servers ist ein Treffer. Nenne Ausnahmen in exempt_user_ids.",
  "A merger is not announced by the bot. Tell the members of both servers yourself.":
    "Der Bot kündigt eine Zusammenlegung nicht an. Sag den Mitgliedern beider Server selbst Bescheid.",
  "Both owners have to consent, whoever began it. Say in reason who asked for it.":
    "Beide Besitzer müssen zustimmen, egal wer angefangen hat. Schreib in reason, wer darum gebeten hat.",
  "Records of the source count for the target from the date of the merger and are not rewritten.":
    "Einträge des alten Servers gelten ab dem Tag der Zusammenlegung für den neuen und werden nicht umgeschrieben.",
  "Cases of confirmed accounts are shown together wherever include_alts asks for them; nothing has to be set.":
    "Fälle bestätigter Konten stehen überall zusammen, wo include_alts danach fragt; eingestellt wird dafür nichts.",
  "The source stays in the register as merged. Set another status of the server afterwards.":
    "Der alte Server bleibt als zusammengelegt im Verzeichnis. Setze danach einen anderen Status.",
  "This and /{path} name the same thing and disagree.": "Dies und {path} sagen zum Selben Verschiedenes.",
  "The payload is an object.": "Die payload ist ein Objekt.",
  "{name} was not sent; {value} is assumed.": "{name} fehlt; angenommen wird {value}.",
  "The fields that are not known here are larger than 4 KiB in all.": "Die hier unbekannten Felder sind zusammen größer als 4 KiB.",
  "This field is not known here; it was kept as it is.": "Dieses Feld gibt es hier nicht; es wurde unverändert aufbewahrt.",
  "Whom a request is about stays: withdraw it and file another one.":
    "Um wen es in einem Antrag geht, bleibt: Zieh ihn zurück, und stelle einen neuen.",
  "This field is not known here. The nearest is `{name}`, such as {words}.":
    "Dieses Feld ist hier nicht bekannt. Am nächsten kommt `{name}`, etwa {words}.",
  "Name the servers it applies in as `guild_ids`, or send `everywhere: true`. Served are: {names}.":
    "Nenne in `guild_ids` die Server, auf denen es gilt, oder sende `everywhere: true`. Das sind: {names}.",
  "Name servers or say everywhere, not both.": "Nenne Server oder alle, nicht beides.",
  "The bot does not serve the server {id}.": "Für den Server {id} ist der Bot nicht zuständig.",
  "This punishment holds in every server: leave the servers out.": "Diese Maßnahme gilt auf jedem Server: Lass die Server weg.",
  "The scope is the whole network: leave the servers out, or send `servers` as the scope.":
    "Es soll im ganzen Netzwerk gelten: Lass die Server weg, oder wähle einzelne Server.",
  "Several servers are called {name}: name them by id.": "Mehrere Server heißen {name}: Nenne sie mit ihrer ID.",
  "No server here is called {name}. There are: {names}.": "Kein Server hier heißt {name}. Es gibt: {names}.",
  "Name one or several of {names}, separated by commas.": "Nenne eines oder mehrere davon, mit Kommas: {names}.",
  "Name the draft by its id.": "Nenne den Vorschlag mit seiner ID.",
  "Name one of {values}.": "Nenne eines davon: {values}.",
  "Name each account once.": "Nenne jedes Konto nur einmal.",
  "Needed when the kind is {kind}.": "Das ist nötig, wenn es um Folgendes geht: {kind}.",
  "A demotion names the role it leads to.": "Eine Herabstufung nennt die Rolle, zu der sie führt.",
  "A server cannot merge with itself.": "Ein Server lässt sich nicht mit sich selbst zusammenlegen.",

  // Deciding
  "For this length the request needs more people: it has to be amended.":
    "Für diese Dauer braucht der Antrag mehr Leute: Er muss geändert werden.",
  "Others approved a shorter length: the request has to be amended.":
    "Andere haben einer kürzeren Dauer zugestimmt: Der Antrag muss geändert werden.",
  "A denial needs a reason of 10 to 1,000 characters.": "Eine Ablehnung braucht eine Begründung von 10 bis 1.000 Zeichen.",
  "A reversal needs a reason of 10 to 1,000 characters.": "Eine Rücknahme braucht eine Begründung von 10 bis 1.000 Zeichen.",
  "Ask 1 to 5 questions.": "Stelle 1 bis 5 Fragen.",
  "Send an answer or evidence.": "Gib eine Antwort oder einen Beleg.",
  "Send the fields that change in payload.": "Sende in payload die Felder, die sich ändern.",
  "Name the person.": "Nenne die Person.",
  "Say why it is escalated.": "Sag, warum er weitergegeben wird.",
  "Say why it is no longer escalated.": "Sag, warum er zurück auf die übliche Stufe kommt.",
  "Say why it is held.": "Sag, warum er angehalten wird.",
  "Say why it is released.": "Sag, warum er freigegeben wird.",
  "An objection needs a reason.": "Ein Widerspruch braucht eine Begründung.",
  "Say why it is opened again.": "Sag, warum er wieder geöffnet wird.",
  "This field stands twice.": "Dieses Feld steht zweimal da.",
  "reason and reason_public disagree.": "reason und reason_public sagen Verschiedenes.",
  "Say what is decided: {offered}.": "Sag, was entschieden wird: {offered}.",
  "These fields name different decisions.": "Diese Felder nennen verschiedene Entscheidungen.",
  "This is no decision. Offered here: {offered}.": "Das ist keine Entscheidung. Möglich sind: {offered}.",
  "To decide alone needs a reason of 20 characters or more.": "Wer allein entscheidet, begründet es mit mindestens 20 Zeichen.",
  "Say why it is void, or name the request that is kept in duplicate_of.":
    "Sag, warum er nichtig ist, oder nenne den Antrag, der statt seiner bleibt.",
  "This field belongs to {actions}.": "Dieses Feld gehört zu: {actions}.",
  "The request was changed since.": "Der Antrag wurde seitdem geändert.",
  "The payload of the request no longer fits its kind.": "Der Inhalt des Antrags passt nicht mehr zu seiner Art.",
  "The payload no longer fits its kind, so its effects cannot be carried out.":
    "Der Inhalt passt nicht mehr zur Art des Antrags, deshalb lässt er sich nicht ausführen.",
  "The approval is in force again.": "Die Zustimmung gilt wieder.",
  "The request stands as it was decided.": "Der Antrag bleibt, wie er entschieden wurde.",
  "There is no such request.": "Diesen Antrag gibt es nicht.",
  "Name another request of the same kind.": "Nenne einen anderen Antrag derselben Art.",
  "What is confidential is no duplicate of what everybody reads: say why it is void.":
    "Vertrauliches ist keine Wiederholung von etwas, das alle lesen: Sag, warum es nichtig ist.",
  "A {kind} request has no length.": "So ein Antrag hat keine Dauer: {kind}.",
  "Message to the channel it was filed in.": "Nachricht an den Kanal, in dem der Antrag gestellt wurde.",
  "Message to the requester: the request {said}.": "Nachricht an die Person, die den Antrag gestellt hat: {said}.",
  "was approved": "angenommen",
  "was denied": "abgelehnt",
  "was closed as void": "für nichtig erklärt",
  "was approved, and the approval was taken back": "angenommen, und die Zustimmung zurückgenommen",
  "was opened again": "wieder geöffnet",
  "needs your answer": "wartet auf eine Antwort",
  "Somebody else has claimed it. Say `steal` to take it over, which needs workflows.assign; to decide, no claim is needed.":
    "Jemand anderes hat ihn übernommen. Mit `steal` übernimmst du ihn trotzdem, wozu workflows.assign gehört; zum Entscheiden muss ihn niemand übernehmen.",
  "The person named cannot decide this request: they are partial, outranked or lack the permission.":
    "Diese Person kann darüber nicht entscheiden: Sie ist beteiligt, steht zu niedrig, oder ihr fehlt das Recht.",
  "It is held; it has to be released first.": "Er ist angehalten und muss erst freigegeben werden.",
  "It is held already.": "Er ist schon angehalten.",
  "It is not held.": "Er ist nicht angehalten.",
  "It ended more than 90 days ago; file a new request.": "Er ist seit mehr als 90 Tagen zu Ende; stelle einen neuen.",
  "Whoever decided alone does not reverse the decision alone.": "Wer allein entschieden hat, nimmt es nicht allein zurück.",
  "Only its requester withdraws a request; staff void it.":
    "Zurückziehen kann einen Antrag nur, wer ihn gestellt hat; das Team erklärt ihn für nichtig.",

  // Policies and statistics
  "What is grave needs at least as many approvals as what is not.":
    "Für Schweres braucht es mindestens so viele Zustimmungen wie für anderes.",
  "A first look is due no later than the decision.": "Der erste Blick ist spätestens mit der Entscheidung fällig.",
  "A request expires after its decision was due.": "Ein Antrag verfällt erst, wenn die Entscheidung fällig war.",
  "References of another kind begin with this.": "So beginnen schon die Kennungen einer anderen Art.",
  "An approval can need {needed} people, and {found} hold {permission}.":
    "Eine Zustimmung kann {needed} Leute brauchen, und {found} haben {permission}.",
  "A reversal can need {needed} people, and {found} hold {permission}.":
    "Eine Rücknahme kann {needed} Leute brauchen, und {found} haben {permission}.",
  "Write a whole number of seconds; in Discord a length such as 2h.": "Schreib eine Dauer wie 2h.",
  "Write 2–10 capital letters and digits, beginning with a letter.": "Schreib 2–10 Großbuchstaben und Ziffern, am Anfang ein Buchstabe.",
  "The period ends after it begins.": "Der Zeitraum endet nach seinem Beginn.",
  "A period has 366 days at most.": "Ein Zeitraum hat höchstens 366 Tage.",
};
