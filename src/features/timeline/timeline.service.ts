import type { Deps } from "../deps.ts";
import { can, requirePermission, type Call } from "../../kernel/call.ts";
import { toPage, withTotal, type Page, type Position } from "../../kernel/page.ts";
import type { LinkReach } from "../links/reach.ts";
import type { DataReads } from "../privacy/reads.ts";
import { kindPermissions, presentEntry, timelinePolicy } from "./timeline.policy.ts";
import { TimelineQuery, type TimelineEntryView } from "./timeline.schema.ts";
import { newestFirst, type Asked, type Entry, type Place, type Source } from "./source.ts";
import { sources } from "./sources/sources.ts";

export interface TimelineService {
  /**
   * What happened to a person, as far as the caller may see it, newest first. One's own history is not for oneself: it says what
   * staff thinks and does.
   * @throws ProblemError permission_denied, invalid_cursor
   */
  list(call: Call, userId: string, query: TimelineQuery): Promise<Page<TimelineEntryView>>;
}

export interface TimelineDeps extends Deps<"database" | "cursors" | "clock"> {
  reach: LinkReach;
  reads: DataReads;
  /** Ids of the requests a caller may not know of. */
  hiddenRequests: (call: Call, among: readonly string[]) => Promise<readonly string[]>;
  /** The cases a caller may see, in the words of the database. */
  visibleCases: (call: Call) => Promise<object>;
}

/** What is about somebody is named by its ids, as long as a statement takes so many. */
const mostNamed = 800;

type Filters = Omit<ReturnType<typeof TimelineQuery.parse>, "limit" | "cursor" | "count">;

/** One history of a person, out of every feature. */
export function createTimelineService({ database, reach, reads, cursors, hiddenRequests, visibleCases }: TimelineDeps): TimelineService {
  async function askedFor(call: Call, userId: string, filters: Filters): Promise<Asked> {
    const alts = filters.include_alts === "true" ? await reach.linkedAccountsOf(database.read, userId) : [];
    const userIds = [userId, ...alts];
    const theirs = { kind: "user", subjectId: { in: userIds } };
    const about = await database.read.workflowSubject.findMany({ where: theirs, select: { requestId: true } });
    const ids = [...new Set(about.map(({ requestId }) => requestId))];
    const hidden = await hiddenRequests(call, ids);
    const isHidden = new Set(hidden);
    const requestIds = ids.filter((id) => !isHidden.has(id));
    const subjects = await database.read.caseSubject.findMany({ where: theirs, select: { caseId: true } });
    const caseIds = [...new Set(subjects.map(({ caseId }) => caseId))];
    return {
      userIds,
      ...(filters.from !== undefined && { from: new Date(filters.from) }),
      ...(filters.to !== undefined && { to: new Date(filters.to) }),
      hidden,
      ...(requestIds.length <= mostNamed && { requestIds }),
      ...(caseIds.length <= mostNamed && { caseIds }),
      visibleCases: await visibleCases(call),
      namesRecords: can(call, timelinePolicy.records),
      namesAccounts: can(call, timelinePolicy.alts),
    };
  }

  return {
    async list(call: Call, userId: string, query: TimelineQuery): Promise<Page<TimelineEntryView>> {
      requirePermission(call, timelinePolicy.read);
      const { limit, cursor, count, ...filters } = TimelineQuery.parse(query);
      if (filters.include_alts === "true") requirePermission(call, timelinePolicy.alts);
      const bound = { userId, ...filters };
      const after = cursor === undefined ? undefined : placeOf(cursors.decode("timeline", bound, cursor));
      const asked = await askedFor(call, userId, filters);
      const readable = sources.filter((source) => isWanted(source, filters.kind) && can(call, kindPermissions[source.kind]));
      const found = await Promise.all(readable.map((source) => source.read(database.read, { ...asked, after }, limit + 1)));
      for (const id of asked.userIds) reads.note(call, id, "timeline");
      const page = toPage(found.flat().toSorted(newestFirst), limit, presentEntry, (last) =>
        cursors.encode("timeline", bound, positionOf(last)),
      );
      return withTotal(page, { count }, async () => {
        const counts = await Promise.all(readable.map((source) => source.count(database.read, asked)));
        return counts.reduce((sum, one) => sum + one, 0);
      });
    },
  };
}

function isWanted({ kind }: Source, kinds: string | undefined): boolean {
  return kinds === undefined || kinds.split(",").includes(kind);
}

function positionOf({ at, source, row }: Entry): Position {
  return [at.toISOString(), `${source}:${row}`];
}

function placeOf([at, id]: Position): Place {
  const colon = id.indexOf(":");
  return { at: new Date(at), source: id.slice(0, colon), row: id.slice(colon + 1) };
}
