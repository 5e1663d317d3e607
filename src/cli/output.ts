import { worded } from "../kit/say.ts";

/** What a script may read: the answer alone, one line. */
export function print(line: string): void {
  process.stdout.write(`${worded(line)}\n`);
}

/** What a person reads: everything that is not the answer. */
export function printError(line: string): void {
  process.stderr.write(`${worded(line)}\n`);
}

/** Lines of a table with aligned columns. Control characters in cells show as `?`, so that no name can steer a terminal. */
export function table(header: readonly string[], rows: ReadonlyArray<readonly string[]>): string[] {
  const cells = [header, ...rows].map((row) => row.map((cell) => worded(cell).replace(/\p{C}/gu, "?")));
  const widths = header.map((_, column) => Math.max(...cells.map((row) => row[column]?.length ?? 0)));
  return cells.map((row) =>
    row
      .map((cell, column) => cell.padEnd(widths[column] ?? 0))
      .join("  ")
      .trimEnd(),
  );
}
