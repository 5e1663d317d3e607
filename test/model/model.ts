import type { Caller, Severity, Subject } from "./steps.ts";

/** A blacklist record as the model has it. Times are units since the sequence began. */
export interface Listed {
  id: string;
  number: string;
  about: Subject;
  scope: "network" | "servers";
  severity: Severity;
  tags: string[];
  hasSecret: boolean;
  from: number;
  until: number | null;
  isRevoked: boolean;
  /** The revision that was seen last, and how far sweeps that nobody waited for may have taken it since. */
  revision: { least: number; most: number };
  /** Which of its two turns, the start and the end, the model has counted into `most`. */
  turned: { start: boolean; end: boolean };
  /** Whether it was made to begin at a later time. */
  beginsLater: boolean;
  by: Caller;
}

export interface Note {
  id: string;
  by: Caller;
  at: number;
  texts: string[];
}

export interface Opened {
  id: string;
  number: string;
  about: Subject;
  confidential: boolean;
  by: Caller;
  lead: Caller | null;
  team: Caller[];
  status: "open" | "active" | "closed";
  outcome: string | null;
  revision: number;
  /** How often anything was written about it. */
  writes: number;
  notes: Note[];
}

export interface Model {
  now: number;
  records: Listed[];
  cases: Opened[];
  /** How many things were said, so that every text is another one. */
  said: number;
}

export const emptyModel = (): Model => ({ now: 0, records: [], cases: [], said: 0 });

/** What an answer has to be. */
export interface Expected {
  status: number;
  /** What the body has at least. */
  body?: object;
  /** Fields that `data` must not have. */
  absent?: readonly string[];
  /** Whatever else must hold of `data`; throws when it does not. */
  holds?(data: any): void;
}

export interface Asked {
  method: string;
  path: string;
  body?: object;
  ifMatch?: string;
}

/** One verb: how it is asked, what has to come of it, and what it does to the model. Undefined: there is nothing to do it to. */
export interface Plan {
  by: Caller;
  asked: Asked;
  expected: Expected;
  learn?(data: any): void;
}

/** One of several by its place, counted around; undefined: there are none. */
export function nth<Thing>(things: readonly Thing[], place: number): Thing | undefined {
  return things[place % Math.max(1, things.length)];
}
