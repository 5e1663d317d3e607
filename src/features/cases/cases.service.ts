import type { Deps } from "../deps.ts";
import type { Database, Tx } from "../../database/database.ts";
import { countOf, selectIds } from "../../database/where.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { withTotal, type Page } from "../../kernel/page.ts";
import { walk, walkedPage } from "../../database/walk.ts";
import { conditions, orders } from "./filters.ts";
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
import { createAppend, createUndo } from "./requests.ts";
import { ListCasesQuery, type CaseView } from "./cases.schema.ts";
import { createCaseTemplates } from "./templates/templates.ts";
import { createCaseTimeline } from "./timeline.ts";
import { createInTx } from "./in-tx.ts";
import { caseReference } from "../../kernel/parsing.ts";
import type { EvidenceHost, Host } from "../evidence/hosts.ts";

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
