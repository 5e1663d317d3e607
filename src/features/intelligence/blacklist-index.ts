import type { MatchRecord } from "./match-record.ts";

/** Records by the subject they name. A subject may have several records, one per scope. */
export interface BlacklistIndex {
  byServerHash(hash: string): readonly MatchRecord[];
  byServer(serverId: string): readonly MatchRecord[];
  byUser(userId: string): readonly MatchRecord[];
  byId(recordId: string): MatchRecord | undefined;
  /** Put a record in, in the place of its earlier revision. */
  put(record: MatchRecord): void;
}

const none: readonly MatchRecord[] = [];

/**
 * The records of `snapshot`, found by server id, by keyed hash of a server id, and by user id in one look-up each.
 * @param hashOf keyed hash of a server id, for records that carry none
 */
export function createBlacklistIndex(snapshot: Iterable<MatchRecord>, hashOf: (serverId: string) => string): BlacklistIndex {
  const records = new Map<string, MatchRecord>();
  const servers = new Map<string, readonly MatchRecord[]>();
  const hashes = new Map<string, readonly MatchRecord[]>();
  const users = new Map<string, readonly MatchRecord[]>();

  function replaceIn(map: Map<string, readonly MatchRecord[]>, key: string, record: MatchRecord): void {
    const others = (map.get(key) ?? none).filter((other) => other.id !== record.id);
    map.set(key, [...others, record]);
  }
  function put(record: MatchRecord): void {
    const known = records.get(record.id);
    if (known !== undefined && known.revision > record.revision) return;
    records.set(record.id, record);
    if (record.kind === "user") return replaceIn(users, record.subjectId, record);
    replaceIn(servers, record.subjectId, record);
    replaceIn(hashes, record.subjectHash ?? hashOf(record.subjectId), record);
  }
  for (const record of snapshot) put(record);

  return {
    byServerHash: (hash) => hashes.get(hash) ?? none,
    byServer: (serverId) => servers.get(serverId) ?? none,
    byUser: (userId) => users.get(userId) ?? none,
    byId: (recordId) => records.get(recordId),
    put,
  };
}
