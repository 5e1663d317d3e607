import { type Goal, median, type Table } from "../benchmark.ts";
import type { Sample } from "../processes.ts";
import { type Operation, operations, type Peer } from "./peer.ts";

/** What was measured of one server. */
export interface Measured {
  peer: Peer;
  /** Of every round. */
  samples: Readonly<Record<Operation, Sample[]>>;
  /** How large an answer is. */
  bytes: Readonly<Record<Operation, number>>;
  /** Records made meanwhile. */
  made: number;
  /** Megabytes held after all that. */
  loaded: number;
}

/** How many times what a peer does ours has to do. */
const wanted: Readonly<Record<Operation, Readonly<Record<string, number>>>> = {
  "read one": { "Parse Server": 2, Directus: 8 },
  "list of 50": { "Parse Server": 1.2, Directus: 2.5 },
  create: { "Parse Server": 0.5, Directus: 2 },
};

export const of = ({ samples }: Measured, operation: Operation, key: keyof Sample): number =>
  median(samples[operation].map((sample) => sample[key]));

/** Requests per second of one, as so many times those of another: of each round, and of these the median. */
export function ratio(one: Measured, other: Measured, operation: Operation): number {
  const others = other.samples[operation];
  return median(one.samples[operation].map(({ perSecond }, round) => perSecond / (others[round]?.perSecond ?? Number.NaN)));
}

/** @param measured ours first */
export function toTable(measured: readonly Measured[]): Table {
  const [ours, ...peers] = measured;
  if (ours === undefined) throw new Error("nothing was measured");
  const goals = operations.flatMap((operation): Goal[] =>
    peers.map((other) => ({
      text: `${operation}, ${ours.peer.name} to ${other.peer.name}`,
      wanted: wanted[operation][other.peer.name] ?? Number.NaN,
      measured: ratio(ours, other, operation),
    })),
  );
  const [parse] = peers;
  if (parse !== undefined)
    goals.push({
      text: `memory after load, ${ours.peer.name} to ${parse.peer.name}`,
      wanted: 1,
      measured: ours.loaded / parse.loaded,
      bound: "most",
    });
  return {
    columns: ["", "requests/s", "ours to theirs", "p50 ms", "p99 ms", "server µs/request", "bytes", "MB idle", "MB after load"],
    rows: operations.flatMap((operation) =>
      measured.map((one) => [
        `${operation}, ${one.peer.name}`,
        of(one, operation, "perSecond").toFixed(0),
        one === ours ? "" : ratio(ours, one, operation).toFixed(2),
        of(one, operation, "p50").toFixed(1),
        of(one, operation, "p99").toFixed(1),
        of(one, operation, "cpu").toFixed(0),
        one.bytes[operation].toString(),
        ...(operation === operations[0] ? [one.peer.host.idle.toString(), one.loaded.toString()] : ["", ""]),
      ]),
    ),
    goals,
  };
}
