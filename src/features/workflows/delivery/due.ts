import type { Database } from "../../../database/database.ts";
import { Prisma, type WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { DueTask, TaskKind } from "../../../kit/task.ts";
import type { Place } from "./records.ts";

type Left = Pick<WorkflowEffect, "requestId" | "place" | "input"> & { dueAt: Date };

/** What is left to be done, and what may have to be taken back. */
const leftStatuses = ["pending", "skipped"] as const;

/** An effect as a task is named. */
export function idOf({ requestId, place }: Place): string {
  return `${requestId}:${place.toString()}`;
}

export function placeOf(id: string): Place {
  const [requestId = "", place] = id.split(":");
  return { requestId, place: Number(place) };
}

/**
 * The effects that wait for their date.
 * @param keyOf the key of an effect as a task, by its input; undefined for one that is another kind of task
 */
export function createDueEffects(
  { read }: Pick<Database, "read">,
  keyOf: (input: unknown, row: Place) => string | undefined,
): Pick<TaskKind, "due" | "nextDue"> {
  /** In the order in which an index holds that of each status. */
  async function page(now: Date, most: number, after: DueTask | undefined): Promise<Left[]> {
    const { requestId, place } = after === undefined ? { requestId: "", place: 0 } : placeOf(after.id);
    const behind =
      after === undefined ? Prisma.empty : Prisma.sql`AND (t.due_at, t.request_id, t.place) > (${after.dueAt}, ${requestId}, ${place})`;
    const found = await Promise.all(
      leftStatuses.map((status) =>
        read.$select(
          "WorkflowEffect",
          Prisma.sql`WHERE t.status = ${status} AND t.due_at <= ${now} ${behind} ORDER BY t.due_at, t.request_id, t.place LIMIT ${most}`,
          ["requestId", "place", "input", "dueAt"],
        ),
      ),
    );
    return (found.flat() as Left[]).toSorted(inOrder).slice(0, most);
  }

  return {
    async due(now, most, after) {
      const tasks: DueTask[] = [];
      for (let from = after; ;) {
        const rows = await page(now, most, from);
        for (const row of rows) {
          const key = keyOf(row.input, row);
          from = { id: idOf(row), key: key ?? "", dueAt: row.dueAt };
          if (key !== undefined) tasks.push(from);
          if (tasks.length === most) return tasks;
        }
        if (rows.length < most) return tasks;
      }
    },

    async nextDue(now) {
      const next = await Promise.all(
        leftStatuses.map((status) =>
          read.$select("WorkflowEffect", Prisma.sql`WHERE t.status = ${status} AND t.due_at > ${now} ORDER BY t.due_at LIMIT 1`, ["dueAt"]),
        ),
      );
      const dates = next.flat().flatMap(({ dueAt }) => dueAt ?? []);
      return dates.toSorted((one, other) => one.getTime() - other.getTime())[0] ?? null;
    },
  };
}

function inOrder(a: Left, b: Left): number {
  if (a.requestId === b.requestId && a.dueAt.getTime() === b.dueAt.getTime()) return a.place - b.place;
  return a.dueAt.getTime() - b.dueAt.getTime() || (a.requestId < b.requestId ? -1 : 1);
}
