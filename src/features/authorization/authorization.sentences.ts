import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about people's consent, in German. */
export const authorizationSentences: Sentences = {
  "The person has no grant and no open session.": "Die Person hat nichts freigegeben, und kein Link ist offen.",
  "An open request is about this person.": "Um diese Person geht es in einem offenen Antrag.",
  "The user has not granted access, or the grant has ended. Create an authorization session and send the user its address.":
    "Die Person hat keinen Zugriff erteilt, oder er ist zu Ende. Erstelle mit `/intel authorize` einen Link und schicke ihn ihr.",
  "The grant changed meanwhile.": "Die Freigabe hat sich inzwischen geändert.",
  "This installation keeps listed servers only.": "Hier werden nur eingetragene Server aufbewahrt.",
  "No return addresses are configured here.": "Hier sind keine Adressen für den Rückweg eingerichtet.",
  "The return addresses here are: {names}.": "Adressen für den Rückweg sind hier: {names}.",
  "What was stored of this person was deleted with the wish that they are not asked again.":
    "Was von dieser Person gespeichert war, wurde gelöscht; sie möchte nicht noch einmal gefragt werden.",
  "The user has {open} open sessions; the first ends at {at}.": "Für die Person sind schon {open} Links offen; der erste endet {at}.",
  "Discord's answer was not understood.": "Die Antwort von Discord war nicht zu verstehen.",
  "Discord's answer does not have the documented shape": "Die Antwort von Discord war nicht zu verstehen.",
  "The answer does not belong to this authorization.": "Die Antwort gehört nicht zu dieser Freigabe.",
  "Discord refused the application's id or secret.": "Discord hat die ID oder das Geheimnis der Anwendung abgelehnt.",
  "The person declined.": "Die Person hat abgelehnt.",
  "Discord does not know the scopes asked for.": "Discord kennt die gewünschten Freigaben nicht.",
  "Discord ended the authorization with an error.": "Discord hat die Freigabe mit einem Fehler beendet.",
  "The grant has ended or was used before.": "Die Freigabe ist zu Ende oder wurde schon benutzt.",
  "Discord does not grant the scopes asked for.": "Discord erteilt die gewünschten Freigaben nicht.",
  "Discord refused the token request.": "Discord hat den Zugriff nicht erneuert.",
  "Discord did not accept the person's token.": "Discord nimmt den Zugriff der Person nicht mehr an.",
  "The person did not allow this.": "Das hat die Person nicht erlaubt.",
  "Write a reference such as REC-REQ-000001.": "Schreib eine Kennung wie REC-REQ-000001.",
  "Write a locale such as en or pt-BR.": "Schreib eine Sprache wie de oder pt-BR.",
};
