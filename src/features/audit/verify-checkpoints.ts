import type { ReadLine } from "./checkpoint-file.ts";
import type { AuditVerification } from "./audit.schema.ts";
import { createLineCheck, type CheckpointLine, type PublicKey } from "./sign.ts";
import type { TimeSlices } from "../../kernel/time-slices.ts";

type Warning = NonNullable<AuditVerification["checkpoint_warnings"]>[number];

/** Signed positions as they are held against a chain. */
export type HeldCheckpoints = Awaited<ReturnType<typeof readCheckpoints>>;

export interface CheckpointOptions {
  lines: AsyncIterable<ReadLine> | Iterable<ReadLine>;
  keys: readonly PublicKey[];
  /** The installation the chain belongs to; undefined where the copy does not say. */
  origin: string | undefined;
  /** Positions signed after this time are of entries the copy cannot have. */
  until?: string;
}

const none: ReadonlyMap<string, boolean> = new Map();

/**
 * Read signed positions. A line of a key that is not at hand is compared, too, since whoever changed the database alone could not
 * change the file; only its signature proves nothing. Lines that a proved line says were left behind by a restored backup are counted,
 * and not compared.
 * @returns `at`: what the chain must have at a position: hashes, each with whether its signature is proved; `newest`: the last position
 * the chain must reach, 0 without any; `lines`: those that count, in the order of the file; `forged`: the first position whose line is
 * not as it was signed
 */
export async function readCheckpoints({ lines, keys, origin, until }: CheckpointOptions, slices: TimeSlices) {
  const check = createLineCheck(keys);
  let kept: KeptLine[] = [];
  const counts = new Map<Warning["kind"], number>();
  const warn = (kind: Warning["kind"], more = 1): void => void (more > 0 && counts.set(kind, (counts.get(kind) ?? 0) + more));
  let forged: number | undefined;

  for await (const line of lines) {
    if (slices.isSpent()) await slices.next();
    if (line === "unreadable") {
      warn("unreadable_line");
      continue;
    }
    const isProved = check(line);
    if (isProved === false) forged = Math.min(forged ?? line.seq, line.seq);
    else if (isProved === undefined && origin !== undefined && line.origin !== origin) warn("other_installation");
    else if (until !== undefined && line.at > until) warn("newer_than_copy");
    else {
      if (isProved === true && line.restored !== undefined && (origin === undefined || line.origin === origin)) {
        const counting = kept.filter((one) => !isVoid(one.line, line));
        warn("restored", kept.length - counting.length);
        kept = counting;
      }
      kept.push({ line, isProved: isProved === true });
    }
  }
  warn("other_key", kept.filter(({ isProved }) => !isProved).length);
  return {
    ...byPosition(kept, origin),
    lines: kept.map(({ line }) => line),
    ...(forged !== undefined && { forged }),
    warnings: [...counts].map(([kind, count]) => ({ kind, count })),
  };
}

interface KeptLine {
  line: CheckpointLine;
  isProved: boolean;
}

/** Whether a line was made void by a later one. A copy of such a line further down the file makes nothing void that was signed after it. */
function isVoid({ origin, seq, at }: CheckpointLine, by: CheckpointLine): boolean {
  return origin === by.origin && seq > by.seq && at <= by.at;
}

function byPosition(kept: readonly KeptLine[], origin: string | undefined) {
  const held = new Map<number, Map<string, boolean>>();
  let newest = 0;
  for (const { line, isProved } of kept) {
    // A line of our own key for another installation would mean that the id in the database was changed.
    const hash = origin === undefined || line.origin === origin ? line.hash : `of ${line.origin}`;
    const hashes = held.get(line.seq) ?? new Map<string, boolean>();
    held.set(line.seq, hashes.set(hash, isProved || hashes.get(hash) === true));
    newest = Math.max(newest, line.seq);
  }
  return { at: (seq: number) => held.get(seq) ?? none, newest };
}
