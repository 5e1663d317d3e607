import type { RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import type { UserRef } from "../../../kernel/fields.ts";
import type { Access, AccessDirectory } from "../../permissions/access/access-directory.ts";
import type { RosterStep } from "../records.ts";
import type { SyncPlanView, SyncValue } from "./sync.schema.ts";

/** Who may call the service methods of this part of the feature. */
export const syncPolicy = {
  member: "roster.sync",
  apply: "roster.apply_fixes",
  /** Held by the service itself. */
  jobs: "system.act",
} as const;

type Ranks = Pick<AccessDirectory, "of" | "role">;

/** The highest rank a change of somebody touches: theirs, that of the staff role they have on the roster, and of what they would have. */
export function rankOfPerson(
  access: Ranks,
  userId: string,
  entry: RosterEntry | null,
  steps: readonly Pick<RosterStep, "after">[],
): number {
  const roles = [entry?.staffRole ?? null, ...steps.map(({ after }) => after.staff_role)];
  return Math.max(access.of(userId).rank, ...roles.map((key) => (key === null ? 0 : (access.role(key)?.rank ?? 0))));
}

/** Whether the caller stands above a rank. */
export function isBelow({ actor }: Call, rank: number): boolean {
  return actor === null || actor.isOwner || actor.rank > rank;
}

/** A step as a plan shows it: what the guild showed, or the staff role before and after. */
export function stepView({ event, shown, after }: RosterStep, staffRole: string | null): SyncPlanView["plan"][number]["steps"][number] {
  if (shown === undefined) return { event, before: staffRole, after: after.staff_role };
  return { event, before: shownValue(shown.before), after: shownValue(shown.after) };
}

/** The person as known now. */
export function presentPerson({ id, members, isInGuild }: Access): UserRef {
  const shown = members.find((member) => member.present) ?? members[0];
  return {
    id,
    ...(shown !== undefined && { username_snapshot: shown.username, display_name: shown.nick ?? shown.globalName ?? shown.username }),
    in_community: isInGuild,
  };
}

function shownValue(shown: object): SyncValue {
  const [value] = Object.values(shown) as (SyncValue | undefined)[];
  return value ?? null;
}
