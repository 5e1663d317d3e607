/** One benchmark: interleaves its baseline, ends by itself, answers a table whose ratios are what counts. */
export interface Benchmark {
  about: string;
  run(options: BenchmarkOptions): Promise<Table>;
}

export interface BenchmarkOptions {
  /** How long one measurement lasts. */
  seconds: number;
  /** How often every variant is measured. */
  rounds: number;
  progress(line: string): void;
}

export interface Table {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  goals: readonly Goal[];
}

/** A ratio that has to be reached, with its baseline named. */
export interface Goal {
  text: string;
  wanted: number;
  measured: number;
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** The table as aligned text, goals below. */
export function formatTable({ columns, rows, goals }: Table): string {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ");
  const verdicts = goals.map(
    ({ text, wanted, measured }) => `${measured >= wanted ? "reached" : "MISSED "}  ${text}: ${measured.toFixed(3)} (goal ${wanted})`,
  );
  return [line(columns), line(widths.map((width) => "-".repeat(width))), ...rows.map((row) => line(row)), "", ...verdicts].join("\n");
}
