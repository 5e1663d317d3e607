import type { Tx } from "../../../database/database.ts";
import { lockGrant } from "./store.ts";

/** Whose consent ends. With `before` only what is not younger goes: the person has agreed again since. */
export interface EndedConsent {
  userId: string;
  before?: Date;
}

/** How a feature forgets what rests on a consent, in the transaction in which that ends. */
export type ConsentEnd = (tx: Tx, ended: EndedConsent) => Promise<void>;

export interface ConsentEnds {
  /** Each feature that stores what it learned through a consent registers how it forgets that, at start. */
  register(end: ConsentEnd): void;
  /**
   * Forget what rests on a person's consent. Takes the lock of the grant and then those of requests, so call it before those of links,
   * records and matches.
   */
  end(tx: Tx, ended: EndedConsent): Promise<void>;
}

/** What rests on people's consent ends with it: by revocation, by time, by their own deletion and by a redaction. */
export function createConsentEnds(): ConsentEnds {
  const ends: ConsentEnd[] = [];
  return {
    register(end: ConsentEnd): void {
      ends.push(end);
    },

    async end(tx: Tx, ended: EndedConsent): Promise<void> {
      await lockGrant(tx, ended.userId);
      for (const end of ends) await end(tx, ended);
    },
  };
}
