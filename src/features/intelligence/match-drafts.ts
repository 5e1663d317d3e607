import { say } from "../../kit/say.ts";
import type { WatchedServer, AgreementFact } from "../servers/facts.ts";
import type { RelatedServer } from "../servers/related.ts";
import type { LinkedAccount } from "../links/reach.ts";
import type { MatchKind } from "./intelligence.schema.ts";
import type { Severity } from "../../kernel/vocabulary.ts";
import type { MatchRecord } from "./match-record.ts";

/** A denied application that still counts. */
export interface Denial {
  id: string;
  reference: string;
  revision: number;
}

/** The same, found by what a person has. */
export interface Known {
  now: Date;
  recordsOfUser(userId: string): readonly MatchRecord[];
  recordsOfServer(hash: string): readonly MatchRecord[];
  relatedTo(hash: string): readonly RelatedServer[];
  watched(hash: string): readonly WatchedServer[];
  agreements(hash: string): readonly AgreementFact[];
}

/** What is compared of one person. */
export interface Person {
  userId: string;
  servers: readonly HeldServer[];
  linked: readonly LinkedAccount[];
  denials: readonly Denial[];
}

/** A server somebody is in now. */
export interface HeldServer {
  hash: string;
  /** owner | manager | member */
  relation: string;
}

/** One rule that made a match. The words are safe to show: they hold neither names nor reasons of a record. */
export interface Why {
  rule: string;
  detail: string;
}

/** What a match should be, going by what is known alone. */
export interface MatchDraft {
  kind: MatchKind;
  /** What the match is about: a blacklist record, a watched server, an agreement or a request. */
  recordId: string;
  reference: string;
  revision: number;
  serverId: string | null;
  viaUserId: string | null;
  severity: Severity;
  confidence: number;
  status: "open" | "grace" | "exempt";
  why: readonly Why[];
  suggestedAction: string;
  graceUntil: Date | null;
}

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
  return {
    ...draft,
    status: "exempt",
    why: [...draft.why, { rule: "exempt", detail: say("intelligence.the-record-exempts-this-person") }],
  };
}
