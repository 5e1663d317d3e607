import type { Call } from "../../kernel/call.ts";
import type { Tx } from "../../database/database.ts";

/** Which record evidence is added to. */
export interface Place {
  kind: HostKind;
  /** Id or reference; of a request with its kind before it, as `poach/PCH-REQ-000001`. */
  key: string;
}

/** The features whose records hold evidence. */
export interface EvidenceHosts {
  /** @throws ProblemError record_not_found for a kind of record nobody stands for */
  of(place: Pick<Place, "kind">): EvidenceHost;
}

/** What evidence can belong to. */
export const hostKinds = ["case", "blacklist", "request"] as const;
export type HostKind = (typeof hostKinds)[number];

/** A record that evidence belongs to, as its feature tells it. */
export interface Host {
  id: string;
  reference: string;
  /** The person it is about, when it is one person. */
  subjectUserId: string | null;
  /** Only holders of this permission are told of events about it; undefined: anyone the type of the event names. */
  eventPermission?: string;
}

/** How a feature lets evidence be kept on its records. */
export interface EvidenceHost {
  /**
   * The record, for a caller who may read it.
   * @param key id or reference
   * @throws ProblemError permission_denied, record_not_found
   */
  read(call: Call, key: string): Promise<Host>;
  /**
   * The record inside a transaction that adds to it, under its lock, for a caller who may change it.
   * @throws ProblemError permission_denied, record_not_found, invalid_transition when nothing is added to it any more
   */
  open(tx: Tx, key: string): Promise<Host>;
  /**
   * Whether the caller may take away what the record rests on, whatever its status: nobody does it in their own matter or against
   * somebody above them.
   * @throws ProblemError permission_denied, record_not_found, conflict_of_interest, hierarchy_violation
   */
  requireRedactable(tx: Tx, key: string): Promise<void>;
}
