import { createCandidateIndex } from "../../src/features/intelligence/candidates.ts";
import { median, type BenchmarkOptions } from "../benchmark.ts";
import { hashOf, million, type Findings } from "./part.ts";

const servers = 200;
const hits = 3;
/** Different people, so that nothing is found because it was just looked for. */
const people = 500;

/** One person's list against a million records, read from text each time as from a database, beside a set of strings. */
export function measureScans({ seconds, rounds, progress }: BenchmarkOptions): Findings {
  const index = createCandidateIndex(hashOf);
  const listed = new Set<string>();
  for (let number = 1; number <= million; number += 1) {
    const subjectHash = hashOf(`s${number}`);
    index.put({ number, kind: "server", subjectId: "", subjectHash });
    listed.add(subjectHash);
  }
  const lists = Array.from({ length: people }, (_, person) => JSON.stringify(listOf(person)));
  const viaIndex = (hashes: string[]): number => index.find(hashes, []).size;
  const viaSet = (hashes: string[]): number => hashes.filter((hash) => listed.has(hash)).length;
  for (const [person, list] of lists.entries()) {
    const found = viaIndex(JSON.parse(list) as string[]);
    if (found !== hits || viaSet(JSON.parse(list) as string[]) !== hits)
      throw new Error(`person ${person} has ${found} candidates, not ${hits}`);
  }
  progress(`the candidates of ${people} people are the ${hits} records that concern them`);
  const forMs = (Math.min(1, seconds) * 1000) / 2;
  const times: { ours: number[]; set: number[]; parse: number[] } = { ours: [], set: [], parse: [] };
  for (let round = 0; round < rounds * 2; round += 1) {
    times.ours.push(perList(lists, viaIndex, forMs));
    times.set.push(perList(lists, viaSet, forMs));
    times.parse.push(perList(lists, ({ length }) => length, forMs));
  }
  const row = (name: string, values: readonly number[], note = ""): string[] => [
    name,
    "µs",
    median(values).toFixed(1),
    Math.max(...values).toFixed(1),
    note,
  ];
  const ratio = median(times.ours.map((time, round) => time / (times.set[round] ?? Number.NaN)));
  return {
    rows: [
      row(`${servers} servers against a million records`, times.ours),
      row("  against a set of strings", times.set, `ratio ${ratio.toFixed(2)}`),
      row("  reading the list alone", times.parse),
    ],
    goals: [{ text: `µs for ${servers} servers against a million records`, wanted: 100, measured: median(times.ours), bound: "most" }],
  };
}

function listOf(person: number): string[] {
  return Array.from({ length: servers }, (_, place) =>
    place % 67 === 5 && place < 67 * hits ? hashOf(`s${1 + ((person * 7919 + place * 104_729) % million)}`) : hashOf(`o${person}:${place}`),
  );
}

/** Microseconds one list takes. */
function perList(lists: readonly string[], scan: (hashes: string[]) => number, forMs: number): number {
  const began = performance.now();
  let done = 0;
  let found = 0;
  while (performance.now() - began < forMs) {
    for (const list of lists) found += scan(JSON.parse(list) as string[]);
    done += lists.length;
  }
  if (found === 0) throw new Error("nothing was found");
  return ((performance.now() - began) * 1000) / done;
}
