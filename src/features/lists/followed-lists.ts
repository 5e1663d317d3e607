import { createKeyTable, keyOfId } from "../../kernel/key-table.ts";
import type { FollowedEntries } from "../follows/entries.ts";
import { doableOf } from "./lists.policy.ts";
import type { ListSource } from "./own-list.ts";
import type { Listing } from "./verdict.ts";

/** The lists of others that are followed: whom their entries name, each under the id of its list. */
export function createFollowedLists(entries: Pick<FollowedEntries, "nameOf" | "userIds" | "inForce">): ListSource {
  const listed = createKeyTable();
  const learn = (userIds: readonly string[]): void => {
    for (const userId of userIds) listed.put(keyOfId(userId), 1);
  };

  return {
    nameOf: entries.nameOf,
    learn,
    mayList: (userId) => listed.has(keyOfId(userId), 1),
    // Whom a change of what lists say is about, a row names that is compared: whoever compares it learns of them.
    catchUp: () => Promise.resolve(),
    async load() {
      for await (const userIds of entries.userIds()) learn(userIds);
    },
    // Who is linked with whom is what this community has found out, and no business of theirs.
    reachedFrom: () => Promise.resolve([]),

    async listingsOf(db, userIds, now) {
      const found = new Map<string, Listing[]>();
      for (const { entry, list } of await entries.inForce(db, "user", userIds, now)) {
        const { listId, originId: recordId, number, category, severity, recommendedAction } = entry;
        const reference = `${list.name} ${number}`;
        const listing = { listId, recordId, reference, category, severity, action: doableOf(recommendedAction), guildIds: null };
        found.set(entry.subject, [...(found.get(entry.subject) ?? []), listing]);
      }
      return found;
    },
  };
}
