import type { Prisma } from "../../generated/sqlite/client.ts";
import type { AuditFilters } from "./audit.schema.ts";

type Where = Prisma.AuditEntryWhereInput;

/** What each filter asks of an entry; text is looked for afterwards. */
const conditions: { readonly [Name in keyof Required<AuditFilters>]: (value: NonNullable<AuditFilters[Name]>) => Where } = {
  actor: (actorId) => ({ actorId }),
  action: (names) => ({ action: names.includes(",") ? { in: names.split(",").map((name) => name.trim()) } : names.trim() }),
  action_prefix: (startsWith) => ({ action: { startsWith } }),
  target: targetCondition,
  subject: (subjectUserId) => ({ subjectUserId }),
  client: (clientId) => ({ clientId }),
  via: (via) => ({ via }),
  outcome: (outcome) => ({ outcome }),
  request_id: (requestId) => ({ requestId }),
  from: (at) => ({ at: { gte: new Date(at) } }),
  to: (at) => ({ at: { lt: new Date(at) } }),
  q: () => ({}),
};

export function conditionsOf(filters: AuditFilters): Where[] {
  return Object.entries(filters).flatMap(([name, value]) =>
    value === undefined ? [] : [(conditions[name as keyof AuditFilters] as (value: string) => Where)(value)],
  );
}

/** `kind:id` names a kind; anything else is an id or a reference. Some ids hold a colon themselves. */
function targetCondition(target: string): Where {
  const colon = target.indexOf(":");
  const named = colon > 0 ? [{ targetKind: target.slice(0, colon), targetId: target.slice(colon + 1) }] : [];
  return { OR: [...named, { targetId: target }, { targetReference: target.toUpperCase() }] };
}
