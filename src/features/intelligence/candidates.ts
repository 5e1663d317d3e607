import { createKeyTable, type Key } from "../../kernel/key-table.ts";

/** Where a record is found: by the keyed hash of the server it names, or by the user it names. */
export interface RecordKey {
  /** Of `BL-000001`: 1. */
  number: number;
  kind: "user" | "server";
  subjectId: string;
  /** Keyed hash of a server's id; null for users. */
  subjectHash: string | null;
}

/**
 * Which records may be about somebody, without asking the database. It answers candidates: a record too many is possible, one too
 * few is not, once `isComplete`. What counts is decided by the rows of the transaction that asks.
 */
export interface CandidateIndex {
  /** Whether every record that counts has been put in: false until the records were loaded. */
  isComplete: boolean;
  readonly size: number;
  /** Whether it was not known yet. */
  put(record: RecordKey): boolean;
  has(record: RecordKey): boolean;
  remove(record: RecordKey): void;
  /** Numbers of the records that may be about one of these servers (by hash) or users. */
  find(hashes: Iterable<string>, userIds: Iterable<string>): Set<number>;
  /** Make room for this many records at once. */
  reserve(records: number): void;
}

/** The index in flat arrays: a million records take about 50 MB at most. @param hashOf keyed hash of a server id */
export function createCandidateIndex(hashOf: (serverId: string) => string): CandidateIndex {
  const servers = createKeyTable();
  const users = createKeyTable();
  const tableOf = ({ kind }: RecordKey) => (kind === "server" ? servers : users);
  const keyOf = (record: RecordKey): Key =>
    record.kind === "server" ? keyOfHash(record.subjectHash ?? hashOf(record.subjectId)) : keyOfId(record.subjectId);
  return {
    isComplete: false,
    get size() {
      return servers.size + users.size;
    },
    put: (record) => tableOf(record).put(keyOf(record), record.number),
    has: (record) => tableOf(record).has(keyOf(record), record.number),
    remove: (record) => tableOf(record).remove(keyOf(record), record.number),
    find(hashes, userIds) {
      const found = new Set<number>();
      for (const hash of hashes) servers.collect(keyOfHash(hash), found);
      for (const userId of userIds) users.collect(keyOfId(userId), found);
      return found;
    },
    reserve: (records) => servers.reserve(records),
  };
}

/** The first ten characters of a base64url text: 60 bits in two halves. */
function keyOfHash(hash: string): Key {
  return { high: bitsOf(hash, 0), low: bitsOf(hash, 5) };
}

function bitsOf(hash: string, from: number): number {
  let bits = 0;
  for (let place = from; place < from + 5; place += 1) bits = (bits << 6) | (digits[hash.charCodeAt(place) & 127] ?? 0);
  return bits >>> 0;
}

/** The value of every character of base64url. */
const digits = new Uint8Array(128);
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
for (let value = 0; value < alphabet.length; value += 1) digits[alphabet.charCodeAt(value)] = value;

/** A Discord id as two decimal halves: its last nine digits, and what stands before them. */
function keyOfId(id: string): Key {
  return { high: Number(id.slice(0, -9)) >>> 0, low: Number(id.slice(-9)) >>> 0 };
}
