import { readFileSync } from "node:fs";

interface Documented {
  name: string;
  type: string;
  labels: string[];
}

const quoted = (text: string): string[] => [...text.matchAll(/`(\w+)`/g)].map(([, word = ""]) => word);

/** The metrics of the tables of the operator's page. Another test compares them with a real scrape. */
export function documentedMetrics(): Documented[] {
  const rows = readFileSync("docs/operating.md", "utf8").matchAll(/^\| (`(?:provost|process|nodejs)_[^|]+) \| (\w+) +\| ([^|]*)\|/gm);
  return [...rows].flatMap(([, names = "", type = "", labels = ""]) =>
    quoted(names).map((name) => ({ name, type, labels: quoted(labels) })),
  );
}
