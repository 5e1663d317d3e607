import type { Database } from "../../../database/database.ts";
import type { Call } from "../../../kernel/call.ts";
import type { Clock } from "../../../kernel/clock.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { readPermission, statusAt } from "../requests/workflows.policy.ts";
import type { Reading } from "../requests/read.ts";
import type { WorkflowView } from "../requests/workflows.schema.ts";

/** What everybody in a channel of reviewers may see of a request; of a confidential one, that it is there. */
export type ShownRequest =
  | { isConfidential: true; isOpen: boolean; view: Pick<WorkflowView, "reference" | "type" | "status" | "revision"> }
  | { isConfidential: false; isOpen: boolean; view: WorkflowView };

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
    /** @returns undefined when there is no such request */
    async request(id: string): Promise<ShownRequest | undefined> {
      const row = await read.workflowRequest.findUnique({
        where: { id },
        include: { subjects: { where: { kind: "restricted" }, take: 1 } },
      });
      if (row === null) return undefined;
      const { reference, revision } = row;
      const type = row.type as WorkflowView["type"];
      const status = statusAt(row, clock.now());
      const isOpen = isOpenStatus(status);
      if (row.subjects.length > 0) return { isConfidential: true, isOpen, view: { reference, type, status, revision } };
      return { isConfidential: false, isOpen, view: await workflows.get(everybody, type, id) };
    },

    /** Confidential requests are counted like the others. */
    async queue(): Promise<ShownQueue> {
      const now = clock.now();
      const lasting = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
      const open = { status: { in: [...openStatuses] }, ...lasting };
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
