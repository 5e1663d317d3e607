import { catalog } from "../../src/kernel/permissions.ts";
import type { Decision } from "../../src/kernel/call.ts";
import { createRandom } from "./community.ts";
import { createNaiveModel } from "./naive.ts";
import type { Staffed } from "./staffed.ts";

export interface DecisionOrder {
  seconds: number;
  rounds: number;
}

/** Decisions per second of processor time, round by round: a busy machine changes them least. */
export interface DecisionRates {
  /** The whole catalog for one person after the other, as access answers ask. */
  ours: number[];
  naive: number[];
  /** Any permission of anybody. */
  oursAtRandom: number[];
  naiveAtRandom: number[];
  /** Made of every reason read, so that reading them cannot be left out. */
  sink: number;
}

interface Questions {
  /** The place of each question's person and permission. */
  who: Uint16Array;
  what: Uint8Array;
}

type Decide = (userId: string, permission: string) => Decision;

const keys = catalog.map((entry) => entry.key);
const warmSeconds = 0.3;
const blockSize = 1 << 14;
/** Of these, every permission is checked. */
const wholePeople = 100;

/** Compare so many random decisions, and all about some people, with the naive model, reasons and all. @returns how many. @throws Error at the first that differs */
export function checkDecisions({ app, community, ids }: Staffed, count: number): number {
  const naive = createNaiveModel(community, ids);
  const random = createRandom(7);
  const any = (from: readonly string[]): string => from[Math.floor(random() * from.length)] ?? "";
  const questions = Array.from({ length: count }, () => [any(ids), any(keys)] as const);
  questions.push(...ids.slice(0, wholePeople).flatMap((id) => keys.map((key) => [id, key] as const)));
  for (const [id, key] of questions) {
    const [found, wanted] = [app.access.of(id).decide(key), naive(id, key)].map((decision) => JSON.stringify(decision));
    if (found !== wanted) throw new Error(`${key} of ${id} was decided as ${found ?? ""} instead of ${wanted ?? ""}`);
  }
  return questions.length;
}

/** Both ways in turn, on the same questions. */
export async function measureDecisions({ app, community, ids }: Staffed, { seconds, rounds }: DecisionOrder): Promise<DecisionRates> {
  const ours: Decide = (userId, permission) => app.access.of(userId).decide(permission);
  const naive = createNaiveModel(community, ids);
  const inTurn = askInTurn(ids);
  const atRandom = askAtRandom(ids);
  const measured = [
    ["ours", ours, inTurn],
    ["naive", naive, inTurn],
    ["oursAtRandom", ours, atRandom],
    ["naiveAtRandom", naive, atRandom],
  ] as const;
  const rates: DecisionRates = { ours: [], naive: [], oursAtRandom: [], naiveAtRandom: [], sink: 0 };
  for (let round = 0; round <= rounds; round += 1) {
    for (const [name, decide, questions] of measured) {
      // Timers and sockets have their turn between two measurements.
      await new Promise(setImmediate);
      const { perSecond, sink } = decideAll(decide, ids, questions, round === 0 ? warmSeconds : seconds);
      rates.sink += sink;
      if (round > 0) rates[name].push(perSecond);
    }
  }
  return rates;
}

function askInTurn(ids: readonly string[]): Questions {
  const length = ids.length * keys.length;
  const who = Uint16Array.from({ length }, (_, index) => Math.floor(index / keys.length));
  return { who, what: Uint8Array.from({ length }, (_, index) => index % keys.length) };
}

function askAtRandom(ids: readonly string[]): Questions {
  const random = createRandom(11);
  const length = ids.length * keys.length;
  const who = Uint16Array.from({ length }, () => Math.floor(random() * ids.length));
  return { who, what: Uint8Array.from({ length }, () => Math.floor(random() * keys.length)) };
}

function decideAll(decide: Decide, ids: readonly string[], { who, what }: Questions, seconds: number): { perSecond: number; sink: number } {
  const endsAt = performance.now() + seconds * 1000;
  const before = process.cpuUsage();
  let done = 0;
  let sink = 0;
  while (performance.now() < endsAt) {
    for (let step = 0; step < blockSize; step += 1, done += 1) {
      const index = done % who.length;
      const { allowed, reasons } = decide(ids[who[index] ?? 0] ?? "", keys[what[index] ?? 0] ?? "");
      for (const { source } of reasons) sink += source.length;
      if (allowed) sink += 1;
    }
  }
  const { user, system } = process.cpuUsage(before);
  return { perSecond: (done / (user + system)) * 1e6, sink };
}
