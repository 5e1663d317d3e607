import type { ImportedLine } from "../features/blacklist/import/import.schema.ts";
import type { ImportSummary } from "../features/blacklist/import/import.ts";

/** Wrong lines that are named on the terminal; the report names all of them. */
const namedLines = 20;
const plainEveryMs = 3000;
const rewrittenEveryMs = 100;

export type ImportProgress = ReturnType<typeof createProgress>;

/**
 * Shows how far an import is: in a line that rewrites itself on a terminal, in a line every few seconds elsewhere.
 * @param share how much was read, from 0 to 1
 */
export function createProgress(stream: NodeJS.WriteStream, share: () => number | undefined) {
  const began = performance.now();
  const everyMs = stream.isTTY ? rewrittenEveryMs : plainEveryMs;
  let shownAt = Number.NEGATIVE_INFINITY;
  let [lines, bad] = [0, 0];
  let isShown = false;
  let shownLines = 0;

  function show(): void {
    shownAt = performance.now();
    isShown = true;
    shownLines = lines;
    const rate = Math.round(lines / Math.max(0.001, (shownAt - began) / 1000));
    const part = share();
    const facts = [countLines(lines), `${rate.toString()} per second`, `${bad.toString()} wrong`];
    if (part !== undefined) facts.push(`${Math.floor(part * 100).toString()} % read`);
    stream.write(stream.isTTY ? `\r${facts.join(", ")}\u001b[K` : `${facts.join(", ")}\n`);
  }

  /** The line that rewrites itself is left as it is. */
  function leave(): void {
    if (stream.isTTY && isShown) stream.write("\n");
    isShown = false;
  }

  /** A line of its own; what rewrites itself goes on below it. */
  function t(text: string): void {
    isShown = false;
    stream.write(stream.isTTY ? `\r${text}\u001b[K\n` : `${text}\n`);
  }

  function name({ line, errors = [] }: ImportedLine): void {
    bad += 1;
    if (bad > namedLines) return;
    for (const { pointer, detail } of errors)
      t(`line ${line.toString()}: ${pointer === "" ? "" : `${pointer.slice(1)}: `}${detail}`.replaceAll(/\p{C}/gu, "?"));
    if (bad === namedLines) t("Further wrong lines are in the report alone (--report <file>).");
  }

  return {
    t,
    note(results: readonly ImportedLine[]): void {
      lines += results.length;
      for (const result of results) if (result.outcome === "refused" || result.outcome === "failed") name(result);
      if (performance.now() - shownAt >= everyMs) show();
    },
    /** Show how far it came, in a line that stays: what is printed next begins one of its own. */
    end(): void {
      if (!isShown || shownLines !== lines) show();
      leave();
    },
    [Symbol.dispose]: leave,
  };
}

function countLines(lines: number): string {
  return lines === 1 ? "1 line" : `${lines.toString()} lines`;
}

/** Such as `5000 lines: 4990 created, 10 refused`. */
export function sumLine({ lines, counts }: ImportSummary): string {
  const told = Object.entries(counts).flatMap(([outcome, count]) => (count > 0 ? [`${count.toString()} ${outcome}`] : []));
  return [countLines(lines), told.join(", ")].filter((part) => part !== "").join(": ");
}
