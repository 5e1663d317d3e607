import { z } from "zod";
import type { Prisma, RosterEntry } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { isHalted, isLive, rosterStatuses, type RosterStatus, type Stand } from "./states.ts";

const Text = z.string().nullable();

/** Where somebody stands, as the history, the audit and what can be undone keep it. Times are RFC 3339. */
export const RosterFacts = z.object({
  status: z.enum(rosterStatuses),
  status_before: z.enum(rosterStatuses).nullable(),
  trial_ends_at: Text,
  suspended_until: Text,
  joined_at: Text,
  ended_at: Text,
  origin_reference: Text,
  staff_role: Text,
  department: Text,
  supervisor_id: Text,
});
export type RosterFacts = z.infer<typeof RosterFacts>;

/** What the guilds show of somebody, as lines of history tell it. */
export interface ShownFacts {
  /** Keys of the staff roles they hold, sorted. */
  held_roles: readonly string[];
  in_guild: boolean;
  nickname: string | null;
}

export function factsOf(entry: RosterEntry): RosterFacts {
  return RosterFacts.parse({
    status: entry.status,
    status_before: entry.statusBefore,
    trial_ends_at: isoOrNull(entry.trialEndsAt),
    suspended_until: isoOrNull(entry.suspendedUntil),
    joined_at: isoOrNull(entry.joinedAt),
    ended_at: isoOrNull(entry.endedAt),
    origin_reference: entry.originReference,
    staff_role: entry.staffRole,
    department: entry.department,
    supervisor_id: entry.supervisorId,
  });
}

/** What the table of moves looks at. */
export function standOf({ status, status_before: statusBefore }: Pick<RosterFacts, "status" | "status_before">): Stand {
  return { status, statusBefore };
}

/** The columns of an entry that stands so. */
export function columnsOf(facts: RosterFacts) {
  return {
    status: facts.status,
    statusBefore: facts.status_before,
    trialEndsAt: dateOf(facts.trial_ends_at),
    suspendedUntil: dateOf(facts.suspended_until),
    joinedAt: dateOf(facts.joined_at),
    endedAt: dateOf(facts.ended_at),
    originReference: facts.origin_reference,
    staffRole: facts.staff_role,
    department: facts.department,
    supervisorId: facts.supervisor_id,
  } satisfies Prisma.RosterEntryUncheckedUpdateManyInput;
}

/** How somebody stands after a change of status; the same status again changes nothing. */
export function inStatus(facts: RosterFacts, status: RosterStatus, { at, until = null }: { at: Date; until?: Date | null }): RosterFacts {
  if (status === facts.status) return facts;
  const stays = isLive({ status });
  return {
    ...facts,
    status,
    status_before: isHalted({ status }) ? waitsFor(facts) : null,
    suspended_until: isHalted({ status }) ? isoOrNull(until) : null,
    // Who comes back to a trial finds it where it was; everybody else is past it.
    trial_ends_at: stays && status !== "active" ? facts.trial_ends_at : null,
    ended_at: stays ? null : at.toISOString(),
  };
}

/** What a suspension or probation returns to; one after the other to what the first one does. */
function waitsFor(facts: RosterFacts): RosterStatus {
  if (isHalted(facts)) return facts.status_before ?? "active";
  return isLive(facts) ? facts.status : "active";
}

export function isSame(one: RosterFacts, other: RosterFacts, fields: readonly (keyof RosterFacts)[] = factNames): boolean {
  return fields.every((field) => one[field] === other[field]);
}

const factNames = Object.keys(RosterFacts.shape) as (keyof RosterFacts)[];

function dateOf(at: string | null): Date | null {
  return at === null ? null : new Date(at);
}
