import { RosterFacts } from "./facts.ts";
import { isHalted, isLive } from "./states.ts";

/** What of a line of history says how somebody stands. */
export interface FoldedLine {
  id: string;
  /** Plain JSON of what it changes, whole or in part. */
  before: unknown;
  after: unknown;
  effectiveAt: Date;
  recordedAt: Date;
}

/** Which lines count: those in effect at a time, and those known by then. Every one by default. */
export interface FoldedTime {
  at?: Date | undefined;
  knownAt?: Date | undefined;
}

type Facts = Record<string, unknown>;
const Changed = RosterFacts.partial();

/** The part of a line in which before and after differ. */
export function changesOf({ before, after }: Pick<FoldedLine, "before" | "after">): { before: Facts; after: Facts } {
  const [from, to] = [objectOf(before), objectOf(after)];
  const names = [...new Set([...Object.keys(from), ...Object.keys(to)])].filter((name) => !isEqual(from[name], to[name]));
  const pick = (facts: Facts): Facts => Object.fromEntries(names.flatMap((name) => (name in facts ? [[name, facts[name]]] : [])));
  return { before: pick(from), after: pick(to) };
}

/** The lines that count, in the order in which they took effect. */
export function inEffect<Line extends FoldedLine>(lines: readonly Line[], { at, knownAt }: FoldedTime = {}): Line[] {
  return lines
    .filter((line) => (at === undefined || line.effectiveAt <= at) && (knownAt === undefined || line.recordedAt <= knownAt))
    .toSorted((a, b) => a.effectiveAt.getTime() - b.effectiveAt.getTime() || (a.id < b.id ? -1 : 1));
}

/**
 * How somebody stood at a time, as far as it was known at another: each line changes what it changes, so what is put right for an
 * earlier day shines through until a later line changes the same fact.
 * @returns null before the first line
 */
export function replayHistory(lines: readonly FoldedLine[], time: FoldedTime = {}): RosterFacts | null {
  return inEffect(lines, time).reduce<RosterFacts | null>(followed, null);
}

function followed(stand: RosterFacts | null, line: FoldedLine): RosterFacts | null {
  if (stand === null) return RosterFacts.safeParse({ ...objectOf(line.before), ...objectOf(line.after) }).data ?? null;
  const changed = Changed.safeParse(changesOf(line).after).data ?? {};
  return Object.keys(changed).length === 0 ? stand : coherent({ ...stand, ...changed } as RosterFacts, line.effectiveAt);
}

/** What goes with a status: a line of an earlier day may have left facts of another one behind. */
function coherent(facts: RosterFacts, at: Date): RosterFacts {
  const [stays, waits] = [isLive(facts), isHalted(facts)];
  return {
    ...facts,
    status_before: waits ? (facts.status_before ?? "active") : null,
    suspended_until: waits ? facts.suspended_until : null,
    trial_ends_at: stays && facts.status !== "active" ? facts.trial_ends_at : null,
    ended_at: stays ? null : (facts.ended_at ?? at.toISOString()),
  };
}

function objectOf(value: unknown): Facts {
  return typeof value === "object" && value !== null ? { ...value } : {};
}

function isEqual(one: unknown, other: unknown): boolean {
  return JSON.stringify(one ?? null) === JSON.stringify(other ?? null);
}
