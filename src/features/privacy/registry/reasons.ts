/** What stays of a person after a redaction, and why. docs/privacy.md has the same table. */
export const kept = {
  blacklist: {
    what: "blacklist records: their reasons, evidence, tags and earlier versions, without the name",
    why: "otherwise nobody could explain why an account is listed, or recognize it when it returns",
  },
  request: {
    what: "requests with their texts, comments, votes, decisions and what they sent to people, without the requester's name",
    why: "otherwise nobody could explain a decision",
  },
  case: {
    what: "cases with their titles, notes, labels, actions and outcomes, without the names of their subjects",
    why: "as for requests",
  },
  evidence: {
    what: "captured messages, files and other evidence, until they are redacted, or deleted with their record",
    why: "a decision rests on them; staff redact a single piece at the record",
  },
  roster: {
    what: "the history of the roster with its reasons, except those of leaves; callsigns and the department",
    why: "who held a callsign on a date, and why, belongs to later decisions",
  },
  incident: {
    what: "incidents of poaching that were approved",
    why: "they count against a server",
  },
  redaction: {
    what: "the confirmation of the redaction itself, with its reason",
    why: "it shows that two people agreed to it",
  },
} as const satisfies Readonly<Record<string, { what: string; why: string }>>;
export type KeptGroup = keyof typeof kept;

/** Why a text about a person is not in their own export. docs/privacy.md says the same. */
export const unshown = {
  staff: "what staff wrote for themselves",
  others: "what speaks of other people",
  copy: "copies of what the download shows already",
} as const;
export type Unshown = keyof typeof unshown;
