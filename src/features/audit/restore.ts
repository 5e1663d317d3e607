import { z } from "zod";
import type { Database } from "../../database/database.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { text } from "../../kernel/fields.ts";
import { createCheckpointFile } from "./checkpoint-file.ts";
import type { Checkpoints, LeftBehind } from "./checkpoints.ts";
import { createTimeSlices } from "../../kernel/time-slices.ts";
import { readCheckpoints } from "./verify-checkpoints.ts";
import type { FoundEntry } from "./walk.ts";
import { columnsOf } from "./entries.ts";

export const RestoreInput = z.strictObject({ reason: text(10, 1000) });
export type RestoreInput = z.input<typeof RestoreInput>;

/** Positions whose hashes are read at once. */
const slice = 500;

export interface RestoreDeps {
  read: Database["read"];
  keeper: Checkpoints;
  path: string;
  origin: () => Promise<string>;
}

/**
 * Which signed positions the chain no longer has.
 * @throws ProblemError unsupported_operation when it has all of them, or when it is another chain from its first entry on
 */
export async function findLeftBehind({ read, keeper, path, origin }: RestoreDeps): Promise<LeftBehind> {
  const id = await origin();
  const { lines } = await readCheckpoints(
    { lines: createCheckpointFile(path).read(), keys: [keeper.key], origin: id },
    createTimeSlices(50),
  );
  const own = lines.filter((line) => line.origin === id);
  const hashes = new Map<number, string>();
  for (let from = 0; from < own.length; from += slice) {
    const seqs = own.slice(from, from + slice).map(({ seq }) => seq);
    const rows = await read.auditEntry.findMany({ where: { seq: { in: seqs } }, select: { seq: true, hash: true } });
    for (const { seq, hash } of rows) hashes.set(seq, hash);
  }
  const first = Math.min(...own.filter(({ seq, hash }) => hashes.get(seq) !== hash).map(({ seq }) => seq));
  if (!Number.isFinite(first)) throw refused("There is nothing to accept: the chain has every signed position.");
  const to = await read.auditEntry.findFirst({
    where: { seq: { lt: first } },
    orderBy: { seq: "desc" },
    select: { seq: true, hash: true },
  });
  if (to === null) throw refused("The chain has nothing in common with the signed positions. Move their file aside, and keep it.");
  const gone = own.filter(({ seq }) => seq > to.seq);
  const times = gone.map(({ at }) => at).toSorted();
  return { to, from: Math.max(...gone.map(({ seq }) => seq)), count: gone.length, since: times[0] ?? "", until: times.at(-1) ?? "" };
}

function refused(detail: string): ProblemError {
  return new ProblemError("unsupported_operation", { detail });
}

/** The first line of an export. */
export interface ExportHead {
  v: 1;
  origin: string;
  made_at: string;
  filters: object;
  /** Whether every entry up to the end of the chain, and every detail that is kept, is in it. */
  complete: boolean;
}

/** Lines of NDJSON: the head, an entry per line, the end. */
export async function* exportLines(
  head: ExportHead,
  parts: AsyncIterable<readonly FoundEntry[]>,
  seesDetails: boolean,
): AsyncGenerator<string, void, void> {
  yield line(head);
  let entries = 0;
  for await (const part of parts) {
    entries += part.length;
    if (part.length > 0) yield part.map((entry) => line(exported(entry, seesDetails))).join("");
  }
  yield line({ end: true, entries });
}

function exported({ row, payload }: FoundEntry, seesDetails: boolean): object {
  const details = payload === undefined || !seesDetails ? {} : { salt: payload.salt, payload: payload.payload };
  return { ...columnsOf(row), ...details };
}

function line(value: object): string {
  return `${JSON.stringify(value)}\n`;
}
