import type { Sentences } from "../../kernel/sentences.ts";

/** What is said about servers and what holds between them, in German. */
export const serversSentences: Sentences = {
  "The incident was voided already.": "Der Vorfall zählte schon nicht mehr.",
  "The incident does not count any more.": "Der Vorfall zählt nicht mehr.",
  "The server was taken out of the other one already.": "Der Server war schon wieder herausgelöst.",
  "The server stands for itself again.": "Der Server steht wieder für sich.",
  "A server cannot be merged into itself.": "Ein Server geht nicht in sich selbst auf.",
  "The source is part of another server already.": "Der aufgehende Server gehört schon zu einem anderen.",
  "The target is part of another server itself.": "Der bleibende Server gehört selbst zu einem anderen.",
  "The target is gone.": "Den bleibenden Server gibt es nicht mehr.",
  "A server is not an alias of itself.": "Ein Server ist keine weitere ID von sich selbst.",
  "This server is registered already.": "Dieser Server ist schon eingetragen.",
  "One of these ids belongs to a registered server already.": "Eine dieser IDs gehört schon zu einem eingetragenen Server.",
  "Only a server of the status merged is part of another one.": "Nur ein zusammengelegter Server gehört zu einem anderen.",
  "Name the server it is part of now.": "Nenne den Server, zu dem er jetzt gehört.",
  "Register this server first.": "Trage diesen Server zuerst ein.",
  "This server is part of another one itself: name that one.": "Dieser Server gehört selbst zu einem anderen: Nenne den.",
  "It was made until then.": "Sie galt bis dahin.",
  "The agreements are as they were before.": "Die Absprachen sind wieder wie vorher.",
  "{done} of {all} agreements are as they were before; the others ended or changed meanwhile.":
    "{done} von {all} Absprachen sind wieder wie vorher; die anderen sind inzwischen beendet oder geändert.",
  "It was valid until then.": "Sie galt bis dahin.",
  "The clearance would be over already.": "Die Freigabe wäre schon vorbei.",
  "The clearance was over already.": "Die Freigabe war schon vorbei.",
  "The clearance was revoked after it had been used.": "Die Freigabe wurde zurückgenommen, nachdem sie benutzt war.",
  "The clearance was revoked.": "Die Freigabe wurde zurückgenommen.",
  "The clearance is over or used already.": "Die Freigabe ist vorbei oder schon benutzt.",
  "The clearance was revoked or given back already.": "Die Freigabe war schon zurückgenommen oder zurückgegeben.",
  "The clearance can be used again.": "Die Freigabe lässt sich wieder benutzen.",
  "Send the hash of the icon, not its address.": "Sende die Prüfsumme des Bildes, nicht seine Adresse.",
  "Send the code of the invite, not its address.": "Sende den Code der Einladung, nicht ihre Adresse.",
};
