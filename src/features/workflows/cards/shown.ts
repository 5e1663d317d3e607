import type { Database } from "../../../database/database.ts";
import type { Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { openToAll, readPermission, statusAt } from "../requests/workflows.policy.ts";
import type { Reading } from "../requests/read.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";

/** What everybody in a channel of reviewers may see of a request. */
export interface ShownRequest {
  isOpen: boolean;
  view: WorkflowView;
}

/** How many open requests of a kind stand where, what waits longest, and how much is late. */
export interface ShownQueue {
  counts: readonly { type: string; status: string; count: number }[];
  oldest: { reference: string; at: Date } | null;
  overdue: number;
}

/** Nobody's eyes: anyone who reads requests sees as much, and nothing that is for deciders or for few. */
const everybody: Call = {
  client: { id: "system", name: "system", allows: (permission) => permission === readPermission },
  actor: null,
  via: "job",
  requestId: "cards",
  idempotency: null,
  replayed: false,
};

export interface ShownDeps {
  database: Pick<Database, "read">;
  workflows: Pick<Reading, "get">;
  clock: Clock;
}

export function createShown({ database: { read }, workflows, clock }: ShownDeps) {
  return {
    /** @returns undefined when there is no such request; `hidden` for a confidential one, which has no card: its subject may stand by */
    async request(id: string): Promise<ShownRequest | "hidden" | undefined> {
      const row = await read.workflowRequest.findUnique({ where: { id } });
      if (row === null) return undefined;
      const type = row.type as WorkflowView["type"];
      const isOpen = isOpenStatus(statusAt(row, clock.now()));
      return row.isRestricted ? "hidden" : { isOpen, view: await workflows.get(everybody, type, id) };
    },

    /** Everybody in the channel reads it, so confidential requests are not counted: a number that moves would tell of them. */
    async queue(): Promise<ShownQueue> {
      const now = clock.now();
      const lasting = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
      const open = { status: { in: [...openStatuses] }, ...lasting, ...openToAll };
      const groups = await read.workflowRequest.groupBy({ by: ["type", "status"], where: open, _count: { _all: true } });
      const oldest = await read.workflowRequest.findFirst({
        where: open,
        orderBy: [{ createdAt: "asc" }, { id: "asc" }],
        select: { reference: true, createdAt: true },
      });
      const overdue = await read.workflowRequest.count({ where: { ...open, pausedAt: null, dueDecisionAt: { lt: now } } });
      return {
        counts: groups.map(({ type, status, _count }) => ({ type, status, count: _count._all })),
        oldest: oldest === null ? null : { reference: oldest.reference, at: oldest.createdAt },
        overdue,
      };
    },
  };
}
