import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import type { Position } from "../../kernel/page.ts";
import { isOpenStatus, openStatuses } from "./transition.ts";
import { visibleWhere } from "./workflows.policy.ts";
import type { ListWorkflowsQuery } from "./workflows.schema.ts";

type Where = Prisma.WorkflowRequestWhereInput;

interface Asked {
  call: Call;
  filters: Omit<ReturnType<typeof ListWorkflowsQuery.parse>, "limit" | "cursor" | "count">;
  now: Date;
  position: Position | undefined;
  dialect: "sqlite" | "postgres";
}

/** The database's words for the filters of the list, what the caller may see included. */
export function conditions({ call, filters, now, position, dialect }: Asked): Where {
  const { type, status, requester, subject, q, sort } = filters;
  const all: Where[] = [visibleWhere(call)];
  if (type !== undefined) all.push({ type });
  if (status !== undefined) all.push(statusCondition(status, now));
  if (requester !== undefined) all.push({ requesterId: requester });
  if (subject !== undefined) {
    all.push({
      subjects: {
        some: {
          OR: [
            { kind: { in: ["user", "server"] }, subjectId: subject },
            { kind: "record", subjectId: subject.toUpperCase() },
          ],
        },
      },
    });
  }
  if (q !== undefined) {
    // SQLite ignores the case of ASCII letters by itself; PostgreSQL is asked to.
    const contains = { contains: q, ...(dialect === "postgres" && { mode: "insensitive" }) };
    all.push({ OR: [{ reference: contains }, { title: contains }, { summary: contains }, { externalId: contains }] });
  }
  if (position !== undefined) {
    const createdAt = new Date(position[0]);
    const beyond = sort === "created_at" ? "gt" : "lt";
    all.push({ OR: [{ createdAt: { [beyond]: createdAt } }, { createdAt, id: { [beyond]: position[1] } }] });
  }
  return { AND: all };
}

/** The same answer as the status shown: a request past its end is expired before the sweep comes by. */
function statusCondition(status: string, now: Date): Where {
  const lasting: Where = { OR: [{ expiresAt: null }, { expiresAt: { gt: now } }] };
  const isAnyOpen: Where = { status: { in: [...openStatuses] } };
  if (status === "open") return { AND: [isAnyOpen, lasting] };
  if (status === "expired") return { OR: [{ status }, { AND: [isAnyOpen, { expiresAt: { lte: now } }] }] };
  return isOpenStatus(status) ? { AND: [{ status }, lasting] } : { status };
}
