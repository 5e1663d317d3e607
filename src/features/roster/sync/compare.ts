import { say, term } from "../../../kit/say.ts";
import type { SyncMemberInput, SyncChange, SyncMemberView, SyncValue } from "./sync.schema.ts";
import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Access } from "../../permissions/access/access-directory.ts";
import { isLive } from "../states.ts";
import { followsDiscord, hasLostRoles, highestOf, storedOf, type RankOf, type Shown } from "./diff.ts";

/** Somebody as both sides know them. */
export interface Known {
  person: Access;
  shown: Shown | null;
  input: SyncMemberInput;
}

export type SyncField = SyncChange["field"];

/** In what somebody's entry and Discord differ; `reason` is why the roster stays as it is, if it does. */
export interface Difference {
  field: SyncField;
  discord: SyncValue;
  roster: SyncValue;
  reason: string | null;
}

/** Where somebody stands with the roster. */
export function stateOf(entry: RosterEntry | null): SyncMemberView["state"] {
  if (entry === null) return "absent";
  return isLive(entry) ? "on_roster" : "left";
}

const lostRoles = say("roster.they-hold-no-staff-role-any-more");

/** @param shown null when Discord shows nothing of them */
export function compare(
  entry: RosterEntry | null,
  shown: Shown | null,
  person: Pick<Access, "status" | "isBot">,
  rankOf: RankOf,
): Difference[] {
  if (shown === null) return [];
  const highest = highestOf(shown.held_roles, rankOf);
  if (entry === null) return highest === null ? [] : [{ field: "entry", discord: highest, roster: null, reason: null }];
  const stored = storedOf(entry);
  const rows: Difference[] = [
    { field: "in_guild", discord: shown.in_guild, roster: stored.in_guild, reason: null },
    { field: "held_roles", discord: shown.held_roles, roster: stored.held_roles, reason: null },
    staffRole(entry, highest),
    { field: "nickname", discord: shown.in_guild ? shown.nickname : stored.nickname, roster: stored.nickname, reason: null },
  ];
  if (hasLostRoles(entry, person)) rows.push({ field: "entry", discord: null, roster: entry.status, reason: lostRoles });
  return rows.filter(({ discord, roster }) => JSON.stringify(discord) !== JSON.stringify(roster));
}

function staffRole(entry: RosterEntry, highest: string | null): Difference {
  const row = { field: "staff_role", discord: highest } as const;
  if (!isLive(entry))
    return { ...row, roster: null, reason: say("roster.the-entry-is-who-has-left-comes", { status: term(entry.status) }) };
  const reason = followsDiscord(entry) ? null : say("roster.the-entry-is-the-staff-role-stays", { status: term(entry.status) });
  return { ...row, roster: entry.staffRole, reason };
}
