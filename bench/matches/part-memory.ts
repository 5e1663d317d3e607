import { createCandidateIndex } from "../../src/features/intelligence/candidates.ts";
import type { BenchmarkOptions } from "../benchmark.ts";
import { hashOf, heldBytes, million, type Findings } from "./part.ts";

/** What a million records take, put in one by one, beside a set and a map of the same hashes. */
export function measureMemory({ progress }: BenchmarkOptions): Findings {
  const ours = grown(() => {
    const index = createCandidateIndex(hashOf);
    for (let number = 1; number <= million; number += 1)
      index.put({ number, kind: "server", subjectId: "", subjectHash: hashOf(`m${number}`) });
    return index;
  });
  progress(`a million records take ${ours.toFixed(1)} MB`);
  const set = grown(() => {
    const hashes = new Set<string>();
    for (let number = 1; number <= million; number += 1) hashes.add(hashOf(`m${number}`));
    return hashes;
  });
  const map = grown(() => {
    const numbers = new Map<string, number>();
    for (let number = 1; number <= million; number += 1) numbers.set(hashOf(`m${number}`), number);
    return numbers;
  });
  return {
    rows: [
      ["a million records in the index", "MB", ours.toFixed(1), "", ""],
      ["  in a set of strings", "MB", set.toFixed(1), "", `ratio ${(ours / set).toFixed(2)}`],
      ["  in a map of strings", "MB", map.toFixed(1), "", `ratio ${(ours / map).toFixed(2)}`],
    ],
    goals: [{ text: "MB of memory per million records", wanted: 100, measured: ours, bound: "most" }],
  };
}

/** What is held once something was made, in MB. */
function grown(make: () => { size: number }): number {
  const before = heldBytes();
  const made = make();
  const after = heldBytes();
  if (made.size < million * 0.99) throw new Error(`only ${made.size} of a million records were kept`);
  return (after - before) / 1e6;
}
