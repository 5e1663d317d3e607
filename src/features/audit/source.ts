import type { EntryReader } from "./entries.ts";
import type { ChainSource } from "./verify.ts";

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
