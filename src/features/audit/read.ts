import type { ReadClient } from "../../database/database.ts";
import { can, type Call } from "../../kernel/call.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../kernel/page.ts";
import { presentAuditEntry } from "./audit.policy.ts";
import type { AuditFilters, AuditView } from "./audit.schema.ts";
import { countAll, newestBefore, searchBefore, withDetails, type Search } from "./walk.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";

/** Entries that one page of a search by text looks at. */
const maxExamined = 20_000;

export interface ReaderDeps {
  db: ReadClient;
  cursors: Cursors;
  /** Ids of targets that a caller may not know of. */
  hiddenIds: (call: Call) => Promise<string[]>;
}

/** Reads pages of entries that the caller may know of, newest first. */
export function createAuditReader({ db, cursors, hiddenIds }: ReaderDeps) {
  async function searchOf(call: Call, filters: AuditFilters, own: object = {}): Promise<Search & { isWhole: boolean }> {
    const hidden = await hiddenIds(call);
    return {
      filters,
      where: { AND: [...conditionsOf(filters), own] },
      hidden: new Set(hidden),
      seesReasons: can(call, "audit.read"),
      isWhole: hidden.length === 0 && Object.values(filters).every((value) => value === undefined),
    };
  }

  return {
    searchOf,

    /**
     * @param list what the cursor belongs to
     * @throws ProblemError invalid_cursor
     */
    async page(call: Call, list: string, search: Search, { limit, cursor, count }: ListQuery): Promise<Page<AuditView>> {
      const { filters } = search;
      const before = cursor === undefined ? undefined : Number(cursors.decode(list, filters, cursor)[0]);
      const cursorAt = (seq: number): string => cursors.encode(list, filters, [seq, ""]);
      if (filters.q !== undefined) {
        const { found, examined, reached } = await searchBefore(db, search, { before, limit, maxExamined });
        return {
          data: found.map(({ row, payload }) => presentAuditEntry(call, row, payload)),
          limit,
          next_cursor: reached === undefined ? null : cursorAt(reached),
          notes: { examined, ...(reached !== undefined && { examined_to: reached }) },
        };
      }
      const entries = await withDetails(db, await newestBefore(db, search, before, limit + 1));
      const page = toPage(
        entries,
        limit,
        ({ row, payload }) => presentAuditEntry(call, row, payload),
        ({ row }) => cursorAt(row.seq),
      );
      return withTotal(page, { count }, () => countAll(db, search));
    },
  };
}

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
