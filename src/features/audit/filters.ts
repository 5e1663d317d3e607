import type { ReadClient } from "../../database/database.ts";
import type { Where as WhereOf } from "../../database/where.ts";
import type { AuditFilters } from "./audit.schema.ts";

export type Where = WhereOf<"AuditEntry">;

/** Filters that an index leads to in the order of the chain; those that usually find the fewest entries first. */
const leadingFilters = ["request_id", "target", "actor", "subject", "client", "action", "action_prefix", "via", "outcome"] as const;
const narrow: ReadonlySet<string> = new Set<Leading>(["request_id", "target", "subject"]);
/** Actions about cases, requests and what suggests them, of which some are confidential. */
const actionsOfConfidential = /^(case|workflow|request_draft)\./;
/** More actions than these are not looked up one by one. */
const maxActions = 10;

/** One condition that entries have to meet. */
export interface Condition {
  /** In the words of the database, for entries that are met in the order of the chain. */
  met: Where;
  /** Parts that together mean the same, each of which an index holds in the order of the chain; none: no index does. */
  parts: readonly Where[];
  /** Whether all entries of a part of the chain meet it, but for a few at its ends. */
  isRange?: true;
  /** Whether nearly everything that meets it can be about records that a caller may not know of. */
  isOfConfidential?: true;
  /** Whether it names one request, target or person: of what it finds, little is kept from anybody. */
  isNarrow?: true;
}

/** What each filter asks of an entry, in the order in which they lead; text is looked for afterwards. */
export async function conditionsOf(db: Pick<ReadClient, "$queryRaw">, filters: AuditFilters): Promise<Condition[]> {
  const all: Condition[] = [];
  for (const name of leadingFilters) {
    const value = filters[name];
    if (value !== undefined) all.push({ ...(await conditions[name](value, db)), ...(narrow.has(name) && { isNarrow: true }) });
  }
  const { from, to } = filters;
  if (from !== undefined) all.push({ met: { at: { gte: new Date(from) } }, parts: [], isRange: true });
  if (to !== undefined) all.push({ met: { at: { lt: new Date(to) } }, parts: [], isRange: true });
  return all;
}

/** What somebody did themselves, or a key that acts for nobody. */
export function ownCondition({ actor, client }: { actor: { id: string } | null; client: { id: string } | null }): Condition[] {
  if (actor !== null) return [equal("actorId", actor.id)];
  return [equal("clientId", client?.id ?? ""), { met: { actorId: null }, parts: [] }];
}

type Leading = (typeof leadingFilters)[number];

const conditions: { readonly [Name in Leading]: (value: string, db: Pick<ReadClient, "$queryRaw">) => Condition | Promise<Condition> } = {
  request_id: (value) => equal("requestId", value),
  target: targetCondition,
  actor: (value) => equal("actorId", value),
  subject: (value) => equal("subjectUserId", value),
  client: (value) => equal("clientId", value),
  action: (names) => actions(names.split(",").map((name) => name.trim())),
  action_prefix: async (start, db) => {
    const wanted = start.toLowerCase();
    return actions((await actionNames(db)).filter((name) => name.toLowerCase().startsWith(wanted)));
  },
  via: (value) => equal("via", value),
  outcome: (value) => equal("outcome", value),
};

type Column = "requestId" | "actorId" | "subjectUserId" | "clientId" | "action" | "via" | "outcome";

/** As a range of one value it is met on the way, and does not tempt SQLite to another index than the one that leads. */
function equal(column: Column, value: string): Condition {
  return { met: { [column]: { gte: value, lte: value } }, parts: [{ [column]: value }] };
}

function actions(names: readonly string[]): Condition {
  // No entry has an empty action.
  const [only = "", ...others] = new Set(names);
  const parts = names.length > maxActions ? [] : [...new Set(names)].map((action): Where => ({ action }));
  const condition = others.length === 0 ? equal("action", only) : { met: { action: { in: [...names] } }, parts };
  return names.some((name) => actionsOfConfidential.test(name)) ? { ...condition, isOfConfidential: true } : condition;
}

/** `kind:id` names a kind; anything else is an id or a reference. Some ids hold a colon themselves. */
function targetCondition(target: string): Condition {
  const colon = target.indexOf(":");
  const named = colon > 0 ? [{ targetKind: target.slice(0, colon), targetId: target.slice(colon + 1) }] : [];
  const parts = [...named, { targetId: target }, { targetReference: target.toUpperCase() }];
  return { met: { OR: parts }, parts };
}

/** Every action there is an entry of, by one step through the index for each. */
async function actionNames(db: Pick<ReadClient, "$queryRaw">): Promise<string[]> {
  const rows = await db.$queryRaw<{ action: string }[]>`
    WITH RECURSIVE names(action) AS (
      SELECT MIN(action) FROM audit_entries
      UNION ALL
      SELECT (SELECT MIN(e.action) FROM audit_entries e WHERE e.action > names.action) FROM names WHERE names.action IS NOT NULL
    )
    SELECT action FROM names WHERE action IS NOT NULL`;
  return rows.map(({ action }) => action);
}
