import type { Logger } from "../../../database/database.ts";
import type { Journal, JournalLine } from "./journal.ts";

/**
 * A journal with a copy in another place, for whoever puts a whole folder back from a backup: what one of the two has lost, the
 * other gives back. The copy is written after the journal and may fail; then it is told once and made good at the next start.
 */
export function withCopy(journal: Journal, copy: Journal, logger: Logger): Journal {
  let isTold = false;

  async function attempt<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      if (!isTold) logger.warn({ err: error }, "the copy of the journal of deletions cannot be kept; back the journal up yourself");
      isTold = true;
      return undefined;
    }
  }

  return {
    async append(lines) {
      await journal.append(lines);
      await attempt(() => copy.append(lines));
    },

    async read() {
      const own = await journal.read();
      const other = await attempt(() => copy.read());
      if (other === undefined) return own;
      const lost = without(other.lines, own.lines);
      if (lost.length > 0) logger.warn({ lines: lost.length }, "lines that the journal of deletions had lost were taken from its copy");
      await journal.append(lost);
      await attempt(() => copy.append(without(own.lines, other.lines)));
      return { lines: [...own.lines, ...lost].toSorted(byTime), isCut: own.isCut };
    },
  };
}

function without(lines: readonly JournalLine[], known: readonly JournalLine[]): JournalLine[] {
  const ids = new Set(known.map(({ id }) => id));
  return lines.filter(({ id }) => !ids.has(id));
}

function byTime(a: JournalLine, b: JournalLine): number {
  return a.at.getTime() - b.at.getTime() || (a.id < b.id ? -1 : 1);
}
