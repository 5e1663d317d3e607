import { commitment, entryHash, genesis } from "./record.ts";
import { jsonObject } from "../../kernel/parsing.ts";
import type { StoredEntry } from "./entries.ts";
import type { AuditVerification } from "./audit.schema.ts";
import type { TimeSlices } from "../../kernel/time-slices.ts";
import type { HeldCheckpoints } from "./verify-checkpoints.ts";

type Kind = NonNullable<AuditVerification["kind"]>;
type Finding = [seq: number, kind: Kind];

/** Where entries come from: a database or an export. */
export interface ChainSource {
  /** Entries of these positions in order. */
  slices(from: number, to: number): AsyncIterable<readonly StoredEntry[]>;
  /** Entries after a position that say that they erased details; asked when the slices are read. */
  erasingAfter(seq: number): AsyncIterable<readonly StoredEntry[]>;
  knows(hash: string): Promise<boolean>;
  /** The first position with details and without an entry. */
  stray(): Promise<number | undefined>;
  /** Some entries or details were left out on purpose: what is absent is no finding. */
  isPartial: boolean;
}

export interface VerifyOptions {
  source: ChainSource;
  checkpoints: HeldCheckpoints;
  slices: TimeSlices;
  /** The first and the last position to look at. */
  from?: number | undefined;
  to?: number | undefined;
  /** A backup may end before the newest signed position. */
  mayEndEarly?: boolean;
  /** Told now and then how many entries were found good. */
  onProgress?: (entries: number) => void;
}

interface Walk {
  last: { seq: number; hash: string };
  entries: number;
  proved: number;
  missing: Ranges;
  erased: Ranges;
}

/**
 * Walk a chain, letting other work through, and name the first entry that is wrong. An entry that was changed, removed, added or
 * moved ends the walk: what follows it proves nothing.
 */
export async function verifyChain(options: VerifyOptions): Promise<AuditVerification> {
  const { source, checkpoints, from = 1, to, mayEndEarly = false } = options;
  const walk: Walk = { last: { seq: 0, hash: genesis }, entries: 0, proved: 0, missing: [], erased: [] };
  const found = (await walkChain(options, walk)) ?? (await atTheEnd(walk, source, checkpoints, { from, to, mayEndEarly }));
  return {
    ok: found === undefined,
    entries: walk.entries,
    checkpoints: walk.proved,
    ...(found !== undefined && { first_bad_seq: found[0], kind: found[1] }),
    ...(checkpoints.warnings.length > 0 && { checkpoint_warnings: checkpoints.warnings }),
  };
}

async function walkChain(
  { source, checkpoints, slices, from = 1, to, onProgress }: VerifyOptions,
  walk: Walk,
): Promise<Finding | undefined> {
  const until = to ?? Number.MAX_SAFE_INTEGER;
  const anchor = from - 1;
  let isFirst = true;
  for await (const slice of source.slices(anchor, until)) {
    for (const stored of slice) {
      const { seq, prevHash } = stored.entry;
      const isAnchor = isFirst && anchor > 0 && seq === anchor;
      if (isFirst && anchor > 0) walk.last = isAnchor ? stored.entry : { seq: anchor, hash: prevHash };
      isFirst = false;
      const found = isAnchor ? undefined : await judge(stored, walk, source, checkpoints);
      if (found !== undefined) return found;
      if (slices.isSpent()) await slices.next();
    }
    onProgress?.(walk.entries);
  }
  return undefined;
}

async function judge(stored: StoredEntry, walk: Walk, source: ChainSource, checkpoints: HeldCheckpoints): Promise<Finding | undefined> {
  const { entry, details } = stored;
  const kind = await flaw(stored, walk.last, source);
  if (kind !== undefined) return [kind === "entry_missing" ? walk.last.seq + 1 : Math.max(1, entry.seq), kind];
  for (const [hash, isProved] of checkpoints.at(entry.seq)) {
    if (hash !== entry.hash) return [entry.seq, "checkpoint_mismatch"];
    if (isProved) walk.proved += 1;
  }
  if (details === undefined && !source.isPartial) addPosition(walk.missing, entry.seq);
  noteErased(stored, walk);
  walk.last = entry;
  walk.entries += 1;
  return undefined;
}

async function flaw({ entry, details }: StoredEntry, last: Walk["last"], source: ChainSource): Promise<Kind | undefined> {
  const isNext = entry.seq === last.seq + 1;
  if (entry.seq < 1) return "entry_inserted";
  if (entry.seq <= last.seq) return "order_changed";
  if (!isNext && !source.isPartial) return "entry_missing";
  if (isNext && entry.prevHash !== last.hash) return (await source.knows(entry.prevHash)) ? "order_changed" : "entry_inserted";
  if (!isSelfConsistent(entry)) return "entry_changed";
  if (details !== undefined && commitment(details.salt, details.payload) !== entry.payloadCommitment) return "payload_changed";
  return undefined;
}

/** Whether the columns give the hash; a time that is none gives no hash. */
function isSelfConsistent(entry: StoredEntry["entry"]): boolean {
  const { hash, ...columns } = entry;
  return !Number.isNaN(entry.at.getTime()) && hash === entryHash(columns);
}

function noteErased(one: StoredEntry, walk: Walk): void {
  const { erased, seq } = one.entry;
  if (erased !== null && isSelfConsistent(one.entry)) walk.erased.push(...readRanges(erased, seq));
  else if (erased === null) walk.erased.push(...rangesInDetails(one));
}

/** Entries from before the column say in their own details what they erased. */
function rangesInDetails({ entry, details }: StoredEntry): Ranges {
  const { ranges = null, details_erased: count } = jsonObject(jsonObject(details?.payload)["after"]);
  return typeof count === "number" ? readRanges(JSON.stringify(ranges), entry.seq) : [];
}

async function atTheEnd(
  walk: Walk,
  source: ChainSource,
  checkpoints: HeldCheckpoints,
  { from, to, mayEndEarly }: { from: number; to: number | undefined; mayEndEarly: boolean },
): Promise<Finding | undefined> {
  const findings: Finding[] = [];
  const lost = await firstLost(walk, source);
  if (lost !== undefined) findings.push([lost, "details_missing"]);
  const end = Math.max(walk.last.seq, from - 1);
  if (checkpoints.newest > end && to === undefined && !mayEndEarly && !source.isPartial) findings.push([end + 1, "tail_missing"]);
  const stray = to === undefined ? await source.stray() : undefined;
  if (stray !== undefined) findings.push([Math.max(stray, 1), "entry_missing"]);
  if (checkpoints.forged !== undefined) findings.push([checkpoints.forged, "checkpoint_forged"]);
  return findings.toSorted(([a], [b]) => a - b)[0];
}

/** The first entry whose details are gone while no entry says so. They may have been erased while the walk was under way. */
async function firstLost(walk: Walk, source: ChainSource): Promise<number | undefined> {
  const lost = firstUncovered(walk.missing, walk.erased);
  if (lost === undefined) return undefined;
  for await (const slice of source.erasingAfter(walk.last.seq)) for (const one of slice) noteErased(one, walk);
  return firstUncovered(walk.missing, walk.erased);
}

/** Runs of positions, first and last, in order. */
export type Ranges = [number, number][];

/** Add a position that is greater than all there are. */
export function addPosition(ranges: Ranges, seq: number): void {
  const last = ranges.at(-1);
  if (last !== undefined && last[1] === seq - 1) last[1] = seq;
  else ranges.push([seq, seq]);
}

/** What the text of `erased` says, up to a position; nothing for a text of another form. */
export function readRanges(text: string, before: number): Ranges {
  try {
    const said: unknown = JSON.parse(text);
    if (!Array.isArray(said)) return [];
    return said.filter(isRange).map(([first, last]) => [first, Math.min(last, before - 1)]);
  } catch {
    return [];
  }
}

function isRange(value: unknown): value is [number, number] {
  return Array.isArray(value) && value.length === 2 && value.every((end) => Number.isSafeInteger(end));
}

/** The first position of `ranges` that none of `covers` holds. */
export function firstUncovered(ranges: Ranges, covers: Ranges): number | undefined {
  const sorted = covers.toSorted(([a], [b]) => a - b);
  let reached = 0;
  let at = 0;
  for (const [first, last] of ranges) {
    let wanted = first;
    while (wanted <= last) {
      for (let next = sorted[at]; next !== undefined && next[0] <= wanted; next = sorted[(at += 1)]) reached = Math.max(reached, next[1]);
      if (reached < wanted) return wanted;
      wanted = reached + 1;
    }
  }
  return undefined;
}
