import type { MatchRecord } from "./match-record.ts";
import type { MatchDraft } from "./matching.ts";

const roles: Readonly<Record<string, string>> = { owner: "Owner", manager: "Manager" };

/** What somebody is in a server, in a word. */
export function roleOf(relation: string): string {
  return roles[relation] ?? "Member";
}

/** What most matches have in common. */
export const plain = { serverId: null, viaUserId: null, confidence: 100, status: "open", graceUntil: null } as const;

/** What a record gives every match that stands on it. */
export function ofRecord(record: MatchRecord) {
  return { ...plain, recordId: record.id, reference: record.reference, revision: record.revision, severity: record.severity };
}

/** A record can name people it does not concern. */
export function exempting(record: MatchRecord, userId: string, draft: MatchDraft): MatchDraft {
  if (!record.exemptUserIds.includes(userId)) return draft;
  return { ...draft, status: "exempt", why: [...draft.why, { rule: "exempt", detail: "The record exempts this person." }] };
}
