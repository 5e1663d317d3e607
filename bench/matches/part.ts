import { createHash } from "node:crypto";
import type { Goal } from "../benchmark.ts";
import { collectGarbage } from "../../src/heap.ts";

/** What one part of the benchmark found. */
export interface Findings {
  rows: string[][];
  goals: Goal[];
}

export const million = 1_000_000;

/** A text of the form of a keyed hash, the same for the same seed. */
export function hashOf(seed: string): string {
  return createHash("sha256").update(seed).digest("base64url");
}

/** Bytes this process holds after everything unused is gone, typed arrays included. */
export function heldBytes(): number {
  for (let turn = 0; turn < 3; turn += 1) collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
