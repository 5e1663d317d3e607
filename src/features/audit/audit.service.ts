import type { Database, Tx } from "../../database/database.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { ErasedEntries } from "./audit.erase.ts";
import { eraseDetails } from "./audit.erase.ts";
import { presentAuditEntry } from "./audit.policy.ts";
import { createRecorder } from "./audit.record.ts";
import type { AuditVerification, AuditView } from "./audit.schema.ts";
import { ListAuditQuery } from "./audit.schema.ts";
import { verifyChain } from "./audit.verify.ts";

/** One thing that happened, as the verb that did it tells it. Actor, client, door and request come from `tx.call`. */
export interface AuditInput {
  /** `entity.verb`, such as `staff_role.update`. */
  action: string;
  target?: { kind: string; id: string; reference?: string };
  /** The person it was done to, when there is one. */
  subjectUserId?: string;
  guildId?: string;
  reason?: string;
  /** JSON of the changed fields before and after; never secrets or tokens. */
  before?: unknown;
  after?: unknown;
  /** The permission that allowed it. */
  permission?: string;
  breakGlass?: boolean;
  /** Positions in the chain, as [first, last] pairs, whose details this change erased. */
  erased?: [number, number][];
}

export interface AuditService {
  /** Queue an entry that is chained and inserted before the commit of this transaction; nothing survives a rollback. */
  record(tx: Tx, entry: AuditInput): void;
  /**
   * Delete the details of entries about a person and record that as an entry of its own: `after` says how many, and where in the
   * chain. The entries themselves are never deleted.
   * @returns how many lost their details
   */
  erase(tx: Tx, where: ErasedEntries, entry: Omit<AuditInput, "after"> & { after?: object }): Promise<number>;
  /**
   * Leave entries about some targets out of what a caller reads: records they may not know of. Each room with such records tells its own, at start.
   * @param source answers the ids of those targets
   */
  withhold(source: (call: Call) => Promise<readonly string[]>): void;
  /** Entries the caller may know of, newest first. @throws ProblemError permission_denied, invalid_cursor */
  list(call: Call, query: ListAuditQuery): Promise<Page<AuditView>>;
  /** Walk the whole chain. @throws ProblemError permission_denied */
  verify(call: Call): Promise<AuditVerification>;
}

export function createAuditService({ database, cursors }: { database: Database; cursors: Cursors }): AuditService {
  const sources: ((call: Call) => Promise<readonly string[]>)[] = [];
  const hiddenFrom = async (call: Call): Promise<string[]> => (await Promise.all(sources.map((source) => source(call)))).flat();
  const record = createRecorder();

  return {
    record,

    async erase(tx, where, entry) {
      const { count, ranges } = await eraseDetails(tx, where);
      record(tx, { ...entry, after: { ...entry.after, details_erased: count, ranges }, erased: ranges });
      return count;
    },

    withhold(source) {
      sources.push(source);
    },

    async list(call, query) {
      requirePermission(call, "audit.read");
      const { limit, cursor, count, ...filters } = ListAuditQuery.parse(query);
      const before = cursor === undefined ? undefined : Number(cursors.decode("audit", filters, cursor)[0]);
      const where = { AND: [conditions(filters), notAbout(await hiddenFrom(call))] };
      const rows = await database.read.auditEntry.findMany({
        where: { AND: [where, before === undefined ? {} : { seq: { lt: before } }] },
        orderBy: { seq: "desc" },
        take: limit + 1,
      });
      const payloads = await database.read.auditPayload.findMany({ where: { seq: { in: rows.map((row) => row.seq) } } });
      const details = new Map(payloads.map((payload) => [payload.seq, payload]));
      const page = toPage(
        rows,
        limit,
        (row) => presentAuditEntry(call, row, details.get(row.seq)),
        (last) => cursors.encode("audit", filters, [last.seq, last.id]),
      );
      return withTotal(page, { count }, () => database.read.auditEntry.count({ where }));
    },

    async verify(call) {
      requirePermission(call, "audit.read");
      return verifyChain(database.read);
    },
  };
}

/** Entries without a target are about nobody's record. */
function notAbout(targetIds: readonly string[]) {
  return targetIds.length === 0 ? {} : { OR: [{ targetId: null }, { NOT: { targetId: { in: [...targetIds] } } }] };
}

function conditions(filters: Omit<ReturnType<typeof ListAuditQuery.parse>, "limit" | "cursor" | "count">) {
  const { actor, action, action_prefix: prefix, target, subject, client, via, outcome, from, to } = filters;
  return {
    ...(actor !== undefined && { actorId: actor }),
    ...((action !== undefined || prefix !== undefined) && {
      action: {
        ...(action !== undefined && { in: action.split(",").map((name) => name.trim()) }),
        ...(prefix !== undefined && { startsWith: prefix }),
      },
    }),
    ...(target !== undefined && targetConditions(target)),
    ...(subject !== undefined && { subjectUserId: subject }),
    ...(client !== undefined && { clientId: client }),
    ...(via !== undefined && { via }),
    ...(outcome !== undefined && { outcome }),
    ...((from !== undefined || to !== undefined) && {
      at: { ...(from !== undefined && { gte: new Date(from) }), ...(to !== undefined && { lt: new Date(to) }) },
    }),
  };
}

/** `kind:id` names a kind; anything else is an id or a reference. Some ids hold a colon themselves. */
function targetConditions(target: string) {
  const colon = target.indexOf(":");
  const named = colon > 0 ? [{ targetKind: target.slice(0, colon), targetId: target.slice(colon + 1) }] : [];
  return { OR: [...named, { targetId: target }, { targetReference: target.toUpperCase() }] };
}
