import type { Deps } from "../deps.ts";
import type { Database, Tx } from "../../database/database.ts";
import { countOf, selectIds } from "../../database/where.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call, can } from "../../kernel/call.ts";
import { withTotal, type Page } from "../../kernel/page.ts";
import { walk, walkedPage, either, idsOf, type Condition } from "../../database/walk.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { LinkReach } from "../links/reach.ts";
import type { DraftRecords } from "../workflows/drafts/records.ts";
import { createLifecycle, createCaseSweep } from "./lifecycle.ts";
import { createCaseLinks } from "./links.ts";
import { createCaseNotes } from "./notes/notes.ts";
import { createOpening, createUpdate, type RequestList } from "./update.ts";
import {
  casesPolicy,
  hiddenWhere,
  visibleWhere,
  clientWhere,
  type CaseWhere,
  wholeCases,
  eventPermission,
  soleUserOf,
  type Ranks,
  type WholeCase,
} from "./cases.policy.ts";
import { viewsOf } from "./presenter.ts";
import { createCaseRecords, findVisible, type CaseRecords } from "./records.ts";
import { createAppend, createUndo, createInTx } from "./requests.ts";
import { ListCasesQuery, type CaseView } from "./cases.schema.ts";
import { createCaseTemplates } from "./templates/templates.ts";
import { createCaseTimeline } from "./timeline.ts";
import { caseReference } from "../../kernel/parsing.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";
import { orderOf } from "../../kernel/keyset.ts";
import { beginningWith, searchedWords } from "../../kernel/words.ts";
import { caseStatuses } from "./states.ts";

type Where = CaseWhere;
type CaseFilters = Omit<ReturnType<typeof ListCasesQuery.parse>, "limit" | "cursor" | "count">;

/** Newest first, or what is due first and at the end what never is. */
const orders = {
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
) => Condition<Where> | Condition<Where>[];
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
function conditions(asked: Asked): { conditions: Condition<Where>[]; bounds: Where[] } {
  const { call, filters } = asked;
  const all: Condition<Where>[] = [...(can(call, casesPolicy.readAll) ? [] : [ownCondition(call)]), ...binCondition(filters)];
  for (const [name, filter] of Object.entries(filtersByName)) {
    const value = filters[name as keyof typeof filtersByName];
    if (value !== undefined) all.push(...[(filter as Filter<"q">)(value, asked)].flat());
  }
  const opened: Where[] = [
    ...(filters.from === undefined ? [] : [{ createdAt: { gte: new Date(filters.from) } }]),
    ...(filters.to === undefined ? [] : [{ createdAt: { lt: new Date(filters.to) } }]),
  ];
  if (orders[filters.sort].column === "createdAt") return { conditions: all, bounds: opened };
  // The indexes that hold what some filters find are in the order of the opening.
  return { conditions: [...all.map(({ inOrder: _, ...rest }) => rest), ...opened.map((where) => ({ where }))], bounds: [] };
}

function equal(field: "leadId" | "openedBy" | "status" | "type", value: string): Condition<Where> {
  const where = { [field]: value };
  return { where, ids: idsOf("Case", { [field]: [value] }), inOrder: where };
}

function ofTeam(userId: string): Prisma.Sql {
  return either([idsOf("Case", { leadId: [userId] }), idsOf("CaseMember", { userId: [userId] }, "caseId")]);
}

/** Everything a caller without `cases.read_all` can be shown, by how it can be theirs; holders of `cases.confidential` know those, too. */
function ownCondition(call: Call): Condition<Where> {
  const actor = call.actor?.id ?? "";
  const ways = [ofTeam(actor), idsOf("Case", { openedBy: [actor] })];
  const isOfTeam: Where = { OR: [{ leadId: actor }, { members: { some: { userId: actor } } }, { openedBy: actor }] };
  if (!can(call, casesPolicy.confidential)) return { where: isOfTeam, ids: either(ways) };
  return { where: { OR: [isOfTeam, { isConfidential: true }] }, ids: either([...ways, idsOf("Case", { isConfidential: [true] })]) };
}

/** Few are in the bin, and nearly all are not. */
function binCondition({ deleted }: CaseFilters): Condition<Where>[] {
  return deleted === "true" ? [{ where: { deletedAt: { not: null } }, ids: idsOf("Case", { deletedAt: { gt: new Date(0) } }) }] : [];
}

/** Every searched word begins a word of the title or of a note; a question without any word finds nothing. */
function wordConditions(q: string): Condition<Where>[] {
  const words = searchedWords(q);
  if (words.length === 0) return [{ where: { id: { in: [] } }, ids: idsOf("Case", { number: [-1] }) }];
  return words.map((word) => ({
    where: { words: { some: { word: beginningWith(word) } } },
    ids: idsOf("CaseWord", { word: beginningWith(word) }, "caseId"),
  }));
}

/** The list, as its cursors name it. */
const list = "case_list";

export type CasesService = ReturnType<typeof createCasesService>;

export interface CasesDeps extends Deps<"database" | "events" | "guildState" | "cursors" | "clock" | "logger"> {
  audit: AuditService;
  /** How staff stand towards each other, known without I/O. */
  access: Ranks;
  reach: LinkReach;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call, among?: readonly string[]) => Promise<readonly string[]>;
  /** Requests as their own feature lists them for a caller. */
  requests: RequestList;
  /** Requests that the end of a case suggests. */
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx" | "dropInTx" | "openKeys">;
  /** Deletes the evidence of a case permanently. */
  dropEvidence?: (tx: Tx, caseId: string) => Promise<unknown>;
}

/** Cases: what staff look into, by whom, and what came of it. */
export function createCasesService(deps: CasesDeps) {
  const { database, audit, guildState, reach, cursors, clock } = deps;
  const records = createCaseRecords(deps);
  const links = createCaseLinks({ ...deps, records });
  const notes = createCaseNotes({ database, records, cursors });
  const templates = createCaseTemplates({ database, audit, cursors });
  const viewerOf = (call: Call) => records.viewerOf(call, database.read);

  async function present(tx: Tx, row: WholeCase): Promise<CaseView> {
    const [view] = await viewsOf(tx.db, guildState, [row], tx);
    return view as CaseView;
  }

  async function shown(call: Call, view: CaseView): Promise<CaseView> {
    const [seen] = await links.shown(call, [view]);
    return seen as CaseView;
  }

  const within = createInTx({ guildState, records, notes, links });

  return {
    ...createOpening({ ...deps, records, openInTx: within.openInTx, present, shown }),
    ...createUpdate({ ...deps, records, present, shown }),
    ...createLifecycle({ ...deps, records, present, shown }),
    ...createCaseTimeline({ database, records, cursors }),
    ...createCaseSweep({ ...deps, records }),
    ...within,
    ...createAppend({ ...deps, notes, links, within }),
    ...createUndo({ records, notes }),
    notes: { add: notes.add, edit: notes.edit, list: notes.list, history: notes.history },
    links: { link: links.link, unlink: links.unlink },
    templates,
    evidenceHost: createHost({ database, records }),
    /** Who asks, with their further accounts. */
    viewerOf,
    /** For features whose records belong to a case: a case for work on it, and what was added to it. */
    open: records.open,
    touch: records.touch,

    /** The cases a caller may see, in the words of the database; those in the bin are none of them. */
    async visibleTo(call: Call): Promise<Prisma.CaseWhereInput> {
      return { AND: [clientWhere(visibleWhere(await viewerOf(call))), { deletedAt: null }] };
    },

    /** A case for reading. @param key id or number @throws ProblemError permission_denied, record_not_found */
    async find(call: Call, key: string): Promise<WholeCase> {
      requirePermission(call, casesPolicy.read);
      return await findVisible(database, await viewerOf(call), key);
    },

    /** The confidential cases that are not the caller's business, in the words of the database. */
    hiddenTo: async (call: Call): Promise<CaseWhere> => hiddenWhere(await viewerOf(call)),

    /** Their ids. */
    async hiddenIds(call: Call, among?: readonly string[]): Promise<string[]> {
      if (among?.length === 0) return [];
      const asked: CaseWhere = among === undefined ? {} : { id: { in: among } };
      // Few of what entries and events are about are confidential cases: only then it matters who asks.
      const isAbout = among === undefined || (await selectIds(database.read, "Case", { ...asked, isConfidential: true })).length > 0;
      return isAbout ? selectIds(database.read, "Case", { AND: [asked, hiddenWhere(await viewerOf(call))] }) : [];
    },

    /** @param key id or number such as `CASE-000123` @throws ProblemError record_not_found */
    async get(call: Call, key: string): Promise<CaseView> {
      requirePermission(call, casesPolicy.read);
      const row = await findVisible(database, await viewerOf(call), key);
      const [view] = await viewsOf(database.read, guildState, [row], { call, now: clock.now() });
      return await shown(call, view as CaseView);
    },

    /** Cases the caller may see, newest first by default. */
    async list(call: Call, query: ListCasesQuery): Promise<Page<CaseView>> {
      requirePermission(call, casesPolicy.read);
      const { limit, cursor, count, ...given } = ListCasesQuery.parse(query);
      if (given.include_alts === "true") requirePermission(call, casesPolicy.alts);
      if (given.deleted === "true") requirePermission(call, casesPolicy.delete);
      const filters = named(given, call);
      const position = cursor === undefined ? undefined : cursors.decode(list, filters, cursor);
      const { subject, include_alts: withAlts } = filters;
      const alts = subject !== undefined && withAlts === "true" ? await reach.linkedAccountsOf(database.read, subject) : [];
      const subjectIds = subject === undefined ? [] : [subject, ...alts];
      const now = clock.now();
      const order = orders[filters.sort];
      const walked = await walk("Case", {
        ...conditions({ call, filters, subjectIds, now }),
        read: database.read,
        order,
        usual: { AND: [visibleWhere(await viewerOf(call)), { deletedAt: filters.deleted === "true" ? { not: null } : null }] },
        position,
        limit,
      });
      const whole = await wholeCases({ db: database.read, dialect: database.dialect }, walked.rows);
      const data = await links.shown(call, await viewsOf(database.read, guildState, whole, { call, now }));
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(list, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "Case", walked.everything));
    },
  };
}

/** People named as `@me` are the caller; without one, nobody. */
function named<Filters extends { lead?: unknown; opened_by?: unknown; member?: unknown }>(filters: Filters, { actor }: Call): Filters {
  const own = (value: unknown) => (value === "@me" ? (actor?.id ?? "") : value);
  const { lead, opened_by: openedBy, member } = filters;
  return {
    ...filters,
    ...(lead !== undefined && { lead: own(lead) }),
    ...(openedBy !== undefined && { opened_by: own(openedBy) }),
    ...(member !== undefined && { member: own(member) }),
  };
}

/** How evidence is kept on cases. */
export function createHost({ database, records }: { database: Database; records: CaseRecords }): EvidenceHost {
  return {
    async read(call, key) {
      requirePermission(call, casesPolicy.read);
      return hostOf(await findVisible(database, await records.viewerOf(call, database.read), key));
    },
    async open(tx, key) {
      const row = await records.open(tx, key, "evidence.add", { move: "evidence" });
      await tx.db.case.update({ where: { id: row.id }, data: { updatedAt: tx.now } });
      return hostOf(row);
    },
    async requireRedactable(tx, key) {
      await records.open(tx, key, casesPolicy.read, { move: "keep" });
    },
  };
}

/** Nobody learns from elsewhere whom a confidential case is about. */
function hostOf(row: WholeCase): Host {
  const permission = eventPermission(row);
  return {
    id: row.id,
    reference: caseReference(row.number),
    subjectUserId: row.isConfidential ? null : soleUserOf(row),
    ...(permission !== undefined && { eventPermission: permission }),
  };
}
