import type { Tx } from "../database/database.ts";
import type { TaskKind } from "../kit/task.ts";
import type { Attempt, Outcome } from "./outcome.ts";
import type { Waiting } from "./returns.ts";

/** An action that a source has taken on. Until its end is written, it may have been carried out. */
export interface Claimed extends Attempt {
  /** Whether an earlier attempt may have carried it out without an answer. */
  mayBeDone: boolean;
  /** Whether there were as many attempts as there are, and nobody knows how the last one ended: it is written down as failed. */
  isSpent?: boolean;
  /** Why it may no longer be done, though it was decided: it is written down as failed, and Discord is not asked. */
  refused?: string;
}

/** Why the bot does something, as reports of a failure name it. */
export interface CauseName {
  feature: "request" | "list";
  /** Of the request or of the list action. */
  id: string;
  /** Of the effect among those of the request, from 1; 0 for a list. */
  place: number;
  reference: string;
  /** Of a list action: the list, by its id. */
  list?: string;
}

/** What came of one look at a task. */
export interface Ended {
  cause: CauseName;
  /** Whether the outcome was this attempt's to write. Otherwise another one took the action on, or it was called off. */
  isWritten: boolean;
  /** Who may know of it, where not everybody who reads requests may. */
  permission?: string | undefined;
}

/**
 * Rows of one feature that each hold one action for one cause. The feature says what is due and how an outcome is written; everything that
 * is done to people in Discord because of them happens in `createDiscordActions`.
 */
export interface ActionSource<Claim extends Claimed> extends Pick<TaskKind, "due" | "nextDue">, Waiting {
  name: string;
  /**
   * Take an action on, with a lease. `undefined`: another one comes first, or nothing is left to do.
   * `handled`: it came to an end without Discord, such as one that was called off.
   */
  claim(tx: Tx, id: string): Promise<Claim | "handled" | undefined>;
  /** Write what came of it. */
  end(tx: Tx, claimed: Claim, outcome: Outcome): Promise<Ended>;
}
