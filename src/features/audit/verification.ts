import type { Database } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { createCheckpointFile } from "./checkpoint-file.ts";
import { createEntryReader, type EntryReader } from "./entries.ts";
import type { AuditVerification } from "./audit.schema.ts";
import type { PublicKey } from "./sign.ts";
import { createTimeSlices } from "../../kernel/time-slices.ts";
import { verifyChain, type ChainSource } from "./verify.ts";
import { readCheckpoints } from "./verify-checkpoints.ts";

export interface Bounds {
  from?: number | undefined;
  to?: number | undefined;
}

export interface VerificationDeps {
  database: Database;
  /** The file of signed positions and the key that proves them; absent where none are kept. */
  checkpoints?: { path: string; key: PublicKey; origin: () => Promise<string> };
}

/** How long hashing keeps the event loop to itself. */
const sliceMs = 4;

/** Verifies the live chain, one walk at a time: who asks the same meanwhile gets the answer of the running one. */
export function createVerification({ database, checkpoints }: VerificationDeps): (bounds: Bounds) => Promise<AuditVerification> {
  const rows = async (sql: string): Promise<string[]> =>
    (await database.read.$queryRaw<{ line: string }[]>(Prisma.raw(sql))).map(({ line }) => line);
  const source = databaseSource(createEntryReader(database.dialect, rows));
  const running = new Map<string, Promise<AuditVerification>>();
  let last: Promise<unknown> = Promise.resolve();

  async function run(bounds: Bounds): Promise<AuditVerification> {
    const slices = createTimeSlices(sliceMs);
    // The file first: what it names is committed before the chain's end is read.
    const held = await readCheckpoints(
      {
        lines: checkpoints === undefined ? [] : createCheckpointFile(checkpoints.path).read(),
        keys: checkpoints === undefined ? [] : [checkpoints.key],
        origin: await checkpoints?.origin(),
      },
      slices,
    );
    return verifyChain({ source, checkpoints: held, slices, ...bounds });
  }

  return (bounds) => {
    const key = `${String(bounds.from)}-${String(bounds.to)}`;
    const known = running.get(key);
    if (known !== undefined) return known;
    const mine = last.then(() => run(bounds)).finally(() => running.delete(key));
    last = mine.catch(() => undefined);
    running.set(key, mine);
    return mine;
  };
}

/** How many entries are read at once: a fraction of a millisecond. */
const slice = 200;
/** How many positions are looked through at once for entries that erased something. */
const wide = 4000;
const maxDistance = 2 ** 31;

/** The chain in a database, as far as it went when the walk began. */
export function databaseSource(reader: EntryReader): ChainSource {
  return {
    isPartial: false,
    knows: reader.knows,
    stray: reader.stray,
    async *slices(from, to) {
      const end = Math.min(to, await reader.head());
      // Positions begin with 1; whoever wrote entries before it shall not have hidden them.
      for (let after = from > 0 ? from - 1 : -maxDistance; after < end;) {
        const entries = await reader.slice(after, end, slice);
        if (entries.length === 0) return;
        yield entries;
        after = entries.at(-1)?.entry.seq ?? end;
      }
    },
    async *erasingAfter(seq) {
      const head = await reader.head();
      for (let after = seq; after < head; after += wide) yield await reader.erasing(after, Math.min(after + wide, head));
    },
  };
}
