import type { Deps } from "../deps.ts";
import type { RelatedServer } from "../servers/related.ts";
import { groupBy } from "../../kernel/group.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import { can, requirePermission, type Call } from "../../kernel/call.ts";
import { keyedHash } from "../../kernel/secrets.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import type { LinkedAccount, LinkReach } from "../links/reach.ts";
import type { ServerFacts } from "../servers/facts.ts";
import { checkedFor, numbersFor, presentRecord, statusAt } from "./blacklist.policy.ts";
import { CheckBlacklistInput, type BlacklistCheck, type CheckedRecord } from "./blacklist.schema.ts";

export interface CheckDeps extends Deps<"database" | "clock"> {
  reach: Pick<LinkReach, "reachOfAll">;
  facts: Pick<ServerFacts, "relatedTo">;
  serversKey: Buffer;
  followedEntries: Pick<FollowedEntries, "count" | "listed">;
}

/** Ids of one statement, of which SQLite is given at most 999 values. */
const idsAtOnce = 900;
/** Which linked accounts the records of one take in. */
const takenIn: Readonly<Record<LinkedAccount["confidence"], readonly string[]>> = {
  confirmed: ["confirmed", "probable"],
  probable: ["probable"],
};

/** The records in force about some subjects. */
interface Found {
  of(kind: string, id: string): readonly BlacklistRecord[];
  show(rows: readonly BlacklistRecord[]): CheckedRecord[];
}

/** @returns looks many subjects up at once; the answer keeps the order of the question */
export function createCheck({ database, reach, facts, clock, serversKey, followedEntries }: CheckDeps) {
  async function findFor(call: Call, userIds: readonly string[], serverIds: readonly string[]): Promise<Found> {
    const now = clock.now();
    const rows: BlacklistRecord[] = [];
    for (const [kind, ids] of Object.entries({ user: userIds, server: serverIds })) {
      for (let from = 0; from < ids.length; from += idsAtOnce) {
        const where = { kind, subjectId: { in: ids.slice(from, from + idsAtOnce) }, activeKey: { not: null } };
        rows.push(...(await database.read.blacklistRecord.findMany({ where, orderBy: { severityOrder: "desc" } })));
      }
    }
    const active = rows.filter((row) => statusAt(row, now) === "active");
    const numbers = await numbersFor(database.read, active);
    const bySubject = groupBy(active, ({ kind, subjectId }) => `${kind}:${subjectId}`);
    const checked = checkedFor(call);
    return {
      of: (kind, id) => bySubject.get(`${kind}:${id}`) ?? [],
      show: (some) => some.map((row) => checked(presentRecord(row, now, numbers))),
    };
  }

  /** Every server registered with or merged with one of these; undefined for callers who may not read the register. */
  async function relatedTo(call: Call, serverIds: readonly string[]): Promise<Map<string, RelatedServer[]> | undefined> {
    if (!can(call, "servers.read")) return undefined;
    const idOf = new Map(serverIds.map((id) => [keyedHash(serversKey, id), id]));
    const related = await facts.relatedTo(database.read, [...idOf.keys()]);
    return groupBy(related, ({ of }) => idOf.get(of) ?? "");
  }

  return async (call: Call, input: CheckBlacklistInput): Promise<BlacklistCheck> => {
    requirePermission(call, "blacklist.check");
    const { user_ids, server_ids, include_alts: withAlts } = CheckBlacklistInput.parse(input);
    if (withAlts) requirePermission(call, "users.links.read");
    const [userIds, serverIds] = [[...new Set(user_ids)], [...new Set(server_ids)]];
    const linked = withAlts ? await reach.reachOfAll(database.read, userIds) : undefined;
    const related = await relatedTo(call, serverIds);
    const accounts = [...(linked?.values() ?? [])].flat().map(({ userId }) => userId);
    const servers = [...(related?.values() ?? [])].flat().map(({ serverId }) => serverId);
    const found = await findFor(call, [...new Set([...userIds, ...accounts])], [...new Set([...serverIds, ...servers])]);

    const byOthers = can(call, "lists.read") && followedEntries.count() > 0;
    const listedBy = byOthers && {
      user: await followedEntries.listed("user", userIds),
      server: await followedEntries.listed("server", serverIds),
    };

    const itself = (kind: "user" | "server", id: string) => {
      const records = found.show(found.of(kind, id));
      return { id, listed: records.length > 0, records, ...(listedBy !== false && { listed_by: listedBy[kind].get(id) ?? [] }) };
    };
    return {
      ...(byOthers && { followed_lists: followedEntries.count() }),
      users: userIds.map((id) => ({
        ...itself("user", id),
        ...(linked !== undefined && { linked: linkedWith(linked.get(id) ?? [], found) }),
      })),
      servers: serverIds.map((id) => ({
        ...itself("server", id),
        ...(related !== undefined && { related: relatedWith(related.get(id) ?? [], found) }),
      })),
    };
  };
}

function linkedWith(accounts: readonly LinkedAccount[], found: Found) {
  return accounts.flatMap(({ userId, confidence }) => {
    const records = found.show(found.of("user", userId).filter(({ includeAlts }) => takenIn[confidence].includes(includeAlts)));
    return records.length === 0 ? [] : [{ user_id: userId, confidence, records }];
  });
}

function relatedWith(servers: readonly RelatedServer[], found: Found) {
  return servers.flatMap(({ serverId, how }) => {
    const records = found.show(found.of("server", serverId));
    return records.length === 0 ? [] : [{ server_id: serverId, how, records }];
  });
}
