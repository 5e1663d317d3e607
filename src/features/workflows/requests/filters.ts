import type { Prisma } from "../../../generated/sqlite/client.ts";
import type { Call } from "../../../kernel/call.ts";
import type { Position } from "../../../kernel/page.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { beyond } from "./order.ts";
import { visibleWhere, type Viewer } from "./workflows.policy.ts";
import type { ListWorkflowsQuery } from "./workflows.schema.ts";

type Where = Prisma.WorkflowRequestWhereInput;
export type WorkflowFilters = Omit<ReturnType<typeof ListWorkflowsQuery.parse>, "limit" | "cursor" | "count">;

interface Asked {
  viewer: Viewer;
  /** With `@me` replaced by that person. */
  filters: WorkflowFilters;
  now: Date;
  position: Position | undefined;
  dialect: "sqlite" | "postgres";
}

type Filter<Name extends keyof WorkflowFilters> = (value: NonNullable<WorkflowFilters[Name]>, asked: Asked) => Where;

/** What each filter asks of a request. */
const filtersByName: { readonly [Name in Exclude<keyof WorkflowFilters, "sort">]-?: Filter<Name> } = {
  type: (types) => ({ type: { in: types.split(",") } }),
  status: (statuses, { now }) => ({ OR: statuses.split(",").map((status) => statusCondition(status, now)) }),
  assignee: (assignee) => ({ assigneeId: assignee === "none" ? null : assignee }),
  requester: (requester, { viewer }) => requesterCondition(requester, requester === viewer.call.actor?.id),
  subject: (subject) => ({
    subjects: {
      some: {
        OR: [
          { kind: { in: ["user", "server"] }, subjectId: subject },
          { kind: "record", subjectId: subject.toUpperCase() },
        ],
      },
    },
  }),
  overdue: (asked, { now }) => (asked === "true" ? overdueAt(now) : inTimeAt(now)),
  priority: (priorities) => ({ priority: { in: priorities.split(",") } }),
  urgent: (asked) => ({ urgent: asked === "true" }),
  held: (asked) => ({ isHeld: asked === "true" }),
  escalated: (asked) => ({ escalationTier: asked === "true" ? { gt: 0 } : 0 }),
  external_id: (externalId) => ({ externalId }),
  created_from: (from) => ({ createdAt: { gte: new Date(from) } }),
  created_to: (to) => ({ createdAt: { lt: new Date(to) } }),
  q(q, { dialect }) {
    // SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to.
    const contains = { contains: q, ...(dialect === "postgres" && { mode: "insensitive" as const }) };
    return { OR: [{ reference: contains }, { title: contains }, { summary: contains }, { externalId: contains }] };
  },
};

/** The database's words for the filters of the list, what the caller may see included. */
export function conditions(asked: Asked): Where {
  const { viewer, filters, position } = asked;
  const all: Where[] = [visibleWhere(viewer)];
  for (const [name, filter] of Object.entries(filtersByName)) {
    const value = filters[name as keyof typeof filtersByName];
    if (value !== undefined) all.push((filter as (given: string, rest: Asked) => Where)(value, asked));
  }
  if (position !== undefined) all.push(beyond(filters.sort, position));
  return { AND: all };
}

/** Filters with the caller's id for `@me`; without an acting user nothing is theirs. */
export function withoutMe(call: Call, filters: WorkflowFilters): WorkflowFilters {
  const me = call.actor?.id ?? "";
  return {
    ...filters,
    ...(filters.requester === "@me" && { requester: me }),
    ...(filters.assignee === "@me" && { assignee: me }),
  };
}

/** The same answer as the status shown: a request past its end is expired before the sweep comes by. */
function statusCondition(status: string, now: Date): Where {
  const isAnyOpen: Where = { status: { in: [...openStatuses] } };
  if (status === "open") return { AND: [isAnyOpen, lastingAt(now)] };
  if (status === "expired") return { OR: [{ status }, { AND: [isAnyOpen, { expiresAt: { lte: now } }] }] };
  return isOpenStatus(status) ? { AND: [{ status }, lastingAt(now)] } : { status };
}

/** Who joined a request learns of it as its requester does; others do not learn who joined. */
function requesterCondition(requesterId: string, isOwn: boolean): Where {
  return isOwn ? { OR: [{ requesterId }, { subjects: { some: { kind: "joined", subjectId: requesterId } } }] } : { requesterId };
}

/** Open, past its date of decision, and with clocks that run. */
function overdueAt(now: Date): Where {
  return { AND: [{ status: { in: [...openStatuses] } }, lastingAt(now), { pausedAt: null, dueDecisionAt: { lt: now } }] };
}

/** Everything else, said outright: to the database, what has no date is not the opposite of anything. */
function inTimeAt(now: Date): Where {
  const isInTime: Where[] = [{ pausedAt: { not: null } }, { dueDecisionAt: null }, { dueDecisionAt: { gte: now } }];
  return { OR: [{ status: { notIn: [...openStatuses] } }, { expiresAt: { lte: now } }, ...isInTime] };
}

function lastingAt(now: Date): Where {
  return { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
}
