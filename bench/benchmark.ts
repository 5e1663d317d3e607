/** One benchmark: interleaves its baseline, ends by itself, answers a table whose ratios are what counts. */
export interface Benchmark {
  about: string;
  /** What `--only` takes, where it takes something. */
  parts?: readonly string[];
  run(options: BenchmarkOptions): Promise<Table>;
}

export interface BenchmarkOptions {
  /** How long one measurement lasts. */
  seconds: number;
  /** How often every variant is measured. */
  rounds: number;
  /** Some of its parts; none: all. */
  only: readonly string[];
  /** Text in the names of the cases that are measured, where a benchmark has cases; empty: all. */
  match: string;
  progress(line: string): void;
}

export interface Table {
  columns: readonly string[];
  rows: readonly (readonly string[])[];
  goals: readonly Goal[];
  /** On what and how it was measured, in one sentence. */
  note?: string;
  /** Drawn of it; the path is the repository's. */
  picture?: { path: string; svg: string };
}

/** A figure that has to be reached: a ratio with its baseline named, or an absolute one with its unit. */
export interface Goal {
  text: string;
  wanted: number;
  measured: number;
  /** Whether the figure has to be at least (unless said) or at most what is wanted. */
  bound?: "least" | "most";
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : (upper + (sorted[middle - 1] ?? upper)) / 2;
}

/** The value below which this share of the values lies. */
export function quantile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? Number.NaN;
}

/** The table as aligned text, goals below. */
export function formatTable({ columns, rows, goals, note }: Table): string {
  const widths = columns.map((column, index) => Math.max(column.length, ...rows.map((row) => row[index]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells.map((cell, index) => (index === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[index] ?? 0))).join("  ");
  const head = [...(note === undefined ? [] : [note, ""]), line(columns), line(widths.map((width) => "-".repeat(width)))];
  return [...head, ...rows.map(line), "", ...goals.map((goal) => verdict(goal))].join("\n");
}

/** Whether it is reached, and what was measured. */
export function verdict({ text, wanted, measured, bound = "least" }: Goal): string {
  const isReached = bound === "least" ? measured >= wanted : measured <= wanted;
  return `${isReached ? "reached" : "MISSED"}: ${text}: ${measured.toFixed(3)} (goal: at ${bound} ${wanted})`;
}
