import { titleKeysWith, startOfSaid } from "../../../kit/say.ts";
import { either, idsOf, type Condition } from "../../../database/walk.ts";
import type { Where as PlainWhere } from "../../../database/where.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { orders } from "./order.ts";
import { listedOnlyOf, openToAll, type Viewer } from "./workflows.policy.ts";
import type { ListWorkflowsQuery } from "./workflows.schema.ts";

export type Where = PlainWhere<"WorkflowRequest">;
export type WorkflowFilters = Omit<ReturnType<typeof ListWorkflowsQuery.parse>, "limit" | "cursor" | "count">;

interface Asked {
  call: Call;
  /** With `@me` replaced by that person. */
  filters: WorkflowFilters;
  now: Date;
  dialect: "sqlite" | "postgres";
}

type Filter<Name extends keyof WorkflowFilters> = (value: NonNullable<WorkflowFilters[Name]>, asked: Asked) => Condition<Where>;
type Bound = "created_from" | "created_to";

/** What each filter asks of a request; those whose index finds few come first. */
const filtersByName: { readonly [Name in Exclude<keyof WorkflowFilters, "sort" | Bound>]-?: Filter<Name> } = {
  external_id: (externalId) => ({ where: { externalId }, ids: idsOf("WorkflowRequest", { externalId: [externalId] }) }),
  review_later: (asked, { now }) =>
    asked === "true"
      ? { where: { lookDueAt: { gt: now } }, ids: idsOf("WorkflowRequest", { lookDueAt: { gt: now } }) }
      : { where: { OR: [{ lookDueAt: null }, { lookDueAt: { lte: now } }] } },
  subject: (subject) => aboutCondition(subject),
  requester: (requester, { call }) => (requester === call.actor?.id ? ownCondition(requester) : equal("requesterId", requester)),
  assignee: (assignee) => equal("assigneeId", assignee === "none" ? null : assignee),
  held: (asked) => ({
    where: { isHeld: asked === "true" },
    ...(asked === "true" && { ids: idsOf("WorkflowRequest", { isHeld: [true] }) }),
  }),
  escalated: (asked) =>
    asked === "true"
      ? { where: { escalationTier: { gt: 0 } }, ids: idsOf("WorkflowRequest", { escalationTier: { gt: 0 } }) }
      : { where: { escalationTier: 0 } },
  overdue: (asked, { now }) =>
    asked === "true"
      ? { where: overdueAt(now), ids: idsOf("WorkflowRequest", { status: openStatuses, dueDecisionAt: { lt: now } }) }
      : { where: inTimeAt(now) },
  priority(given) {
    const priority = given.split(",");
    return { where: { priority: { in: priority } }, ids: idsOf("WorkflowRequest", { priority }) };
  },
  status(statuses, { now }) {
    const names = statuses.split(",");
    const [only = ""] = names;
    return {
      where: { OR: names.map((status) => statusCondition(status, now)) },
      ids: either(names.map((status) => statusIds(status, now))),
      ...(names.length === 1 && only !== "open" && only !== "expired" && { inOrder: { status: only } }),
    };
  },
  type(given) {
    const type = given.split(",");
    const [only = ""] = type;
    return {
      where: { type: { in: type } },
      ids: idsOf("WorkflowRequest", { type }),
      ...(type.length === 1 && { inOrder: { type: only } }),
    };
  },
  urgent: (asked) => ({ where: { urgent: asked === "true" } }),
  q(q, { dialect }) {
    // SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to.
    const like = Prisma.sql`${Prisma.raw(dialect === "postgres" ? "ILIKE" : "LIKE")} ${`%${q}%`}`;
    const title = titleLike(q, (pattern) => Prisma.sql`t.title ${Prisma.raw(dialect === "postgres" ? "ILIKE" : "LIKE")} ${pattern}`);
    return { where: { sql: Prisma.sql`(t.reference ${like} OR ${title} OR t.summary ${like} OR t.external_id ${like})` } };
  },
};

/** A title is somebody's, or is said by its key: then its words are those of the key, or what is filled in. */
function titleLike(q: string, like: (pattern: string) => Prisma.Sql): Prisma.Sql {
  const isSaid = like(`${startOfSaid}%`);
  const keys = titleKeysWith("workflows.", q).map((key) => like(`${startOfSaid}["${key}"%`));
  return Prisma.sql`((${like(`%${q}%`)} AND NOT ${isSaid}) OR (${isSaid} AND (${Prisma.join([like(`%":"%${q}%`), ...keys], " OR ")})))`;
}

/** What the filters of the list ask, as they are looked for; of a caller who sees only their own, that it is theirs. */
export function conditions(asked: Asked): { conditions: Condition<Where>[]; bounds: Where[] } {
  const { call, filters } = asked;
  const only = listedOnlyOf(call);
  const all: Condition<Where>[] = only === undefined ? [] : [ownCondition(only)];
  for (const [name, filter] of Object.entries(filtersByName)) {
    const value = filters[name as keyof typeof filtersByName];
    if (value !== undefined) all.push((filter as (given: string, rest: Asked) => Condition<Where>)(value, asked));
  }
  const filed: Where[] = [
    ...(filters.created_from === undefined ? [] : [{ createdAt: { gte: new Date(filters.created_from) } }]),
    ...(filters.created_to === undefined ? [] : [{ createdAt: { lt: new Date(filters.created_to) } }]),
  ];
  if (orders[filters.sort].column === "createdAt") return { conditions: all, bounds: filed };
  // The indexes that hold what some filters find are in the order of the filing.
  return { conditions: [...all.map(({ inOrder: _, ...rest }) => rest), ...filed.map((where) => ({ where }))], bounds: [] };
}

/** What somebody may know of, as `mayKnow` of the policy says it. */
export function knownWhere({ call, accounts }: Viewer): Where {
  const actor = call.actor?.id;
  if (actor === undefined) return can(call, "cases.confidential") ? {} : openToAll;
  const reader = can(call, "cases.confidential") ? {} : hasSubject(["reader", "joined"], [actor]);
  return { OR: [openToAll, { requesterId: actor }, { AND: [reader, { NOT: hasSubject(["user", "excluded"], [actor, ...accounts]) }] }] };
}

function hasSubject(kinds: readonly string[], ids: readonly string[]): Where {
  return { subjects: { some: { kind: { in: kinds }, subjectId: { in: ids } } } };
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

function equal(field: "requesterId" | "assigneeId", id: string | null): Condition<Where> {
  const where = { [field]: id };
  // PostgreSQL does not take the order of an index from a condition that a column is empty.
  return { where, ids: idsOf("WorkflowRequest", { [field]: id === null ? null : [id] }), ...(id !== null && { inOrder: where }) };
}

/** What is about a person or a server, or about a record by its number. */
export function aboutCondition(subject: string): Condition<Where> {
  const named = { kind: ["user", "server"], subjectId: [subject] };
  const record = { kind: ["record"], subjectId: [subject.toUpperCase()] };
  return {
    where: { OR: [hasSubject(named.kind, named.subjectId), hasSubject(record.kind, record.subjectId)] },
    ids: either([idsOf("WorkflowSubject", named, "requestId"), idsOf("WorkflowSubject", record, "requestId")]),
  };
}

/** Who joined a request learns of it as its requester does; others do not learn who joined. */
function ownCondition(requesterId: string): Condition<Where> {
  return {
    where: { OR: [{ requesterId }, hasSubject(["joined"], [requesterId])] },
    ids: either([
      idsOf("WorkflowRequest", { requesterId: [requesterId] }),
      idsOf("WorkflowSubject", { kind: ["joined"], subjectId: [requesterId] }, "requestId"),
    ]),
  };
}

/** The same answer as the status shown: a request past its end is expired before the sweep comes by. */
function statusCondition(status: string, now: Date): Where {
  const isAnyOpen: Where = { status: { in: [...openStatuses] } };
  if (status === "open") return { AND: [isAnyOpen, lastingAt(now)] };
  if (status === "expired") return { OR: [{ status }, { AND: [isAnyOpen, { expiresAt: { lte: now } }] }] };
  return isOpenStatus(status) ? { AND: [{ status }, lastingAt(now)] } : { status };
}

function statusIds(status: string, now: Date): Prisma.Sql {
  if (status === "open") return idsOf("WorkflowRequest", { status: openStatuses });
  const named = idsOf("WorkflowRequest", { status: [status] });
  return status === "expired" ? either([named, idsOf("WorkflowRequest", { status: openStatuses, expiresAt: { lte: now } })]) : named;
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
