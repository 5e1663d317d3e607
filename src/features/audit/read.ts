import type { ReadClient } from "../../database/database.ts";
import { can, type Call } from "../../kernel/call.ts";
import type { ListQuery } from "../../kernel/fields.ts";
import { toPage, withTotal, type Cursors, type Page } from "../../kernel/page.ts";
import type { HiddenIds } from "../../kernel/visibility.ts";
import { presentAuditEntry } from "./audit.policy.ts";
import type { AuditFilters, AuditView } from "./audit.schema.ts";
import { conditionsOf, type Condition } from "./filters.ts";
import { createSpans } from "./spans.ts";
import { countAll, lastOf, newestBefore, searchBefore, walkLimits, withDetails, type Search, type WholeSearch } from "./walk.ts";

/** Entries that one page of a search by text looks at. */
const maxExamined = 20_000;

export interface ReaderDeps {
  db: ReadClient;
  cursors: Cursors;
  /** Ids of targets that a caller may not know of. */
  hiddenIds: HiddenIds;
}

/** Reads pages of entries that the caller may know of, newest first. */
export function createAuditReader({ db, cursors, hiddenIds }: ReaderDeps) {
  const spans = createSpans(db);

  /** @param own what has to be met besides the filters */
  async function searchOf(call: Call, filters: AuditFilters, own: readonly Condition[] = []): Promise<Search> {
    const { from, to } = filters;
    return {
      filters,
      conditions: [...own, ...(await conditionsOf(db, filters))],
      range: from === undefined && to === undefined ? {} : await spans({ from, to }, await lastOf(db)),
      hiddenAmong: async (ids) => new Set(ids.length === 0 ? [] : await hiddenIds(call, [...new Set(ids)])),
      seesConfidential: can(call, "cases.confidential"),
      seesReasons: can(call, "audit.read"),
    };
  }

  const whole = async (call: Call, search: Search): Promise<WholeSearch> => ({ ...search, hidden: new Set(await hiddenIds(call)) });

  return {
    searchOf,

    /** A search of everything that the filters find, and whether that is the whole chain. */
    async wholeSearchOf(call: Call, filters: AuditFilters): Promise<WholeSearch & { isWhole: boolean }> {
      const search = await whole(call, await searchOf(call, filters));
      return { ...search, isWhole: search.hidden.size === 0 && Object.values(filters).every((value) => value === undefined) };
    },

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
      const { rows, reached, isCut } = await newestBefore(db, search, { before, limit: limit + 1 });
      const page = toPage(
        await withDetails(db, rows),
        limit,
        ({ row, payload }) => presentAuditEntry(call, row, payload),
        ({ row }) => cursorAt(row.seq),
      );
      const ended =
        isCut && reached !== undefined
          ? { next_cursor: cursorAt(reached), notes: { examined: walkLimits.positions, examined_to: reached } }
          : {};
      return withTotal({ ...page, ...ended }, { count }, async () => countAll(db, await whole(call, search)));
    },
  };
}
