import { either, idsOf, withinOf, type Condition, type Period } from "../../database/walk.ts";
import type { Where as PlainWhere } from "../../database/where.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { beginningWith, searchedWords } from "../../kernel/words.ts";
import { casesPolicy } from "./cases.policy.ts";
import type { ListCasesQuery } from "./cases.schema.ts";
import { caseStatuses } from "./states.ts";

type Where = PlainWhere<"Case">;
type CaseFilters = Omit<ReturnType<typeof ListCasesQuery.parse>, "limit" | "cursor" | "count">;

/** Newest first, or what is due first and at the end what never is. */
export const orders = {
  "-created_at": orderOf("createdAt", "desc"),
  due_at: orderOf("dueOrder", "asc"),
} as const satisfies Record<CaseFilters["sort"], object>;

interface Asked {
  call: Call;
  /** With `@me` replaced by that person. */
  filters: CaseFilters;
  /** With a subject: it, and the accounts of the same person where those are wanted. */
  subjectIds: readonly string[];
  now: Date;
}

type Filter<Name extends keyof CaseFilters> = (
  value: NonNullable<CaseFilters[Name]>,
  asked: Asked,
) => Condition<"Case"> | Condition<"Case">[];
type Bound = "from" | "to";

/** Not closed, as the table of states has it: an index knows statuses. */
const unclosed = caseStatuses.filter((status) => status !== "closed" && status !== "archived");

/** What each filter asks of a case; those whose index finds few come first. */
const filtersByName: { readonly [Name in Exclude<keyof CaseFilters, "sort" | "include_alts" | "deleted" | Bound>]-?: Filter<Name> } = {
  origin_reference: (originReference) => ({ where: { originReference }, ids: idsOf("Case", { originReference: [originReference] }) }),
  subject: (_subject, { subjectIds }) => ({
    where: { subjects: { some: { subjectId: { in: [...subjectIds] } } } },
    ids: idsOf("CaseSubject", { kind: ["user", "server"], subjectId: subjectIds }, "caseId"),
  }),
  label: (label) => ({ where: { labels: { some: { label } } }, ids: idsOf("CaseLabel", { label: [label] }, "caseId") }),
  lead: (leadId) => equal("leadId", leadId),
  opened_by: (openedBy) => equal("openedBy", openedBy),
  member: (member) => ({ where: { OR: [{ leadId: member }, { members: { some: { userId: member } } }] }, ids: ofTeam(member) }),
  q: wordConditions,
  overdue: (asked, { now }) =>
    asked === "true"
      ? { where: { closedAt: null, dueAt: { lte: now } }, ids: idsOf("Case", { status: unclosed, dueAt: { lte: now } }) }
      : { where: { OR: [{ closedAt: { not: null } }, { dueAt: null }, { dueAt: { gt: now } }] } },
  confidential: (asked) => ({
    where: { isConfidential: asked === "true" },
    ...(asked === "true" && { ids: idsOf("Case", { isConfidential: [true] }) }),
  }),
  priority: (priority) => ({ where: { priority }, ids: idsOf("Case", { priority: [priority] }) }),
  status: (status) => equal("status", status),
  type: (type) => equal("type", type),
};

/** What the filters of the list ask, as they are looked for; of a caller who sees only their own, that it is theirs. */
export function conditions(asked: Asked): { conditions: Condition<"Case">[]; bounds?: Period } {
  const { call, filters } = asked;
  const all: Condition<"Case">[] = [...(can(call, casesPolicy.readAll) ? [] : [ownCondition(call)]), ...binCondition(filters)];
  for (const [name, filter] of Object.entries(filtersByName)) {
    const value = filters[name as keyof typeof filtersByName];
    if (value !== undefined) all.push(...[(filter as Filter<"q">)(value, asked)].flat());
  }
  const opened = { from: filters.from, to: filters.to };
  if (orders[filters.sort].column === "createdAt") return { conditions: all, bounds: opened };
  // The indexes that hold what some filters find are in the order of the opening.
  return {
    conditions: [...all.map(({ inOrder: _, ...rest }) => rest), ...withinOf<"Case">("createdAt", opened).map((where) => ({ where }))],
  };
}

function equal(field: "leadId" | "openedBy" | "status" | "type", value: string): Condition<"Case"> {
  const where = { [field]: value };
  return { where, ids: idsOf("Case", { [field]: [value] }), inOrder: where };
}

function ofTeam(userId: string): Prisma.Sql {
  return either([idsOf("Case", { leadId: [userId] }), idsOf("CaseMember", { userId: [userId] }, "caseId")]);
}

/** Everything a caller without `cases.read_all` can be shown, by how it can be theirs; holders of `cases.confidential` know those, too. */
function ownCondition(call: Call): Condition<"Case"> {
  const actor = call.actor?.id ?? "";
  const ways = [ofTeam(actor), idsOf("Case", { openedBy: [actor] })];
  const isOfTeam: Where = { OR: [{ leadId: actor }, { members: { some: { userId: actor } } }, { openedBy: actor }] };
  if (!can(call, casesPolicy.confidential)) return { where: isOfTeam, ids: either(ways) };
  return { where: { OR: [isOfTeam, { isConfidential: true }] }, ids: either([...ways, idsOf("Case", { isConfidential: [true] })]) };
}

/** Few are in the bin, and nearly all are not. */
function binCondition({ deleted }: CaseFilters): Condition<"Case">[] {
  return deleted === "true" ? [{ where: { deletedAt: { not: null } }, ids: idsOf("Case", { deletedAt: { gt: new Date(0) } }) }] : [];
}

/** Every searched word begins a word of the title or of a note; a question without any word finds nothing. */
function wordConditions(q: string): Condition<"Case">[] {
  const words = searchedWords(q);
  if (words.length === 0) return [{ where: { id: { in: [] } }, ids: idsOf("Case", { number: [-1] }) }];
  return words.map((word) => ({
    where: { words: { some: { word: beginningWith(word) } } },
    ids: idsOf("CaseWord", { word: beginningWith(word) }, "caseId"),
  }));
}
