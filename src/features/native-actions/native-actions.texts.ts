import { texts } from "../../kernel/texts.ts";

/** The texts about what others did in Discord. */
export const nativeActionsTexts = texts({
  en: {
    "intel by-hand": "See who banned, kicked or timed out people by hand: one person, or everybody in this server",
    "intel by-hand action": "Only what was done in this way",
    "intel by-hand pick": "Look at one of these",
    "intel by-hand user": "Whom it was done to; everybody in this server if left out",
    "intel by-hand pruned": "members removed: {count} · days inactive: {days}",
    "intel by-hand removed": "members removed: {count}",
    "intel by-hand automod": "AutoMod: {rule}",
    "intel by-hand unknown": "not known: the bot may not view the audit log, or it names nobody",
    "intel by-hand unseen":
      "The bot may not view the audit log of {guilds}: what is done there by hand is not recorded, except bans without who. Give its role the permission View Audit Log there.",
    "intel by-hand make-case": "Make it a case",
    "intel by-hand suggest-listing": "Suggest listing",
    "menu by-hand": "What was done by hand",
  },
  de: {
    "intel by-hand": "Sehen, wer jemanden von Hand gebannt, entfernt oder stumm gestellt hat: eine Person oder alle hier",
    "intel by-hand action": "Nur, was auf diese Weise geschah",
    "intel by-hand pick": "Eines davon ansehen",
    "intel by-hand user": "Wen es betrifft; ohne Angabe alle auf diesem Server",
    "intel by-hand pruned": "entfernte Mitglieder: {count} · Tage inaktiv: {days}",
    "intel by-hand removed": "entfernte Mitglieder: {count}",
    "intel by-hand automod": "AutoMod: {rule}",
    "intel by-hand unknown": "unbekannt: Der Bot darf das Audit-Log nicht ansehen, oder es nennt niemanden",
    "intel by-hand unseen":
      "Der Bot darf das Audit-Log von {guilds} nicht ansehen: Was dort von Hand geschieht, wird nicht festgehalten, nur Banns ohne den Namen. Gib seiner Rolle dort das Recht „Audit-Log anzeigen“.",
    "intel by-hand make-case": "Fall daraus machen",
    "intel by-hand suggest-listing": "Sperrung vorschlagen",
    "menu by-hand": "Was von Hand geschah",
  },
});
