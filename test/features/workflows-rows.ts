import { kindOf, kinds } from "../../src/features/workflows/kinds/kinds.ts";
import { placesOf } from "../../src/features/workflows/requests/changes.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { Database } from "../../src/database/database.ts";
import { freshId, type Ground } from "./workflows-ground.ts";

type Create = Parameters<Parameters<Parameters<Database["write"]>[1]>[0]["db"]["workflowRequest"]["create"]>[0]["data"];
export type Row = Omit<Create, "id" | "createdAt"> & { id: string; createdAt: Date };

const hour = 3_600_000;
const decided = new Set(["approved", "denied", "reversed"]);
const said = { by: "80351110224678912", at: "2026-01-01T00:00:00.000Z", reason_public: null, reason_internal: null };

/** What is kept of a decision. */
export function decisionOf(status: string, options: { breakGlass?: boolean; reversedByOne?: boolean } = {}) {
  const { breakGlass = false, reversedByOne = false } = options;
  const reversal = status === "reversed" ? { reversal: { ...said, break_glass: reversedByOne } } : {};
  return { outcome: status === "denied" ? "denied" : "approved", ...said, policy_refs: [], break_glass: breakGlass, ...reversal };
}
let last = 0;

/** A punishment request as the database keeps it, filed an hour ago unless told. */
export function rowOf(given: Partial<Row> = {}): Row {
  last += 1;
  const createdAt = given.createdAt ?? new Date(Date.now() - hour);
  const priority = String(given.priority ?? "normal");
  const type = kindOf(given.type ?? "punishment") ?? "punishment";
  return {
    id: uuid7(createdAt.getTime()),
    reference: `ROW-REQ-${last.toString().padStart(6, "0")}`,
    type,
    status: "pending",
    priority,
    ...placesOf({ priority, dueDecisionAt: (given.dueDecisionAt ?? null) as Date | null }),
    urgent: false,
    title: "A request",
    summary: "",
    payload: kinds[type].example,
    extra: {},
    requestedVia: "rest",
    evidence: [],
    related: [],
    approvalsRequired: 1,
    ...(decided.has(given.status ?? "pending") && { decision: decisionOf(given.status ?? "") }),
    links: [],
    expiresAt: new Date(Date.now() + 1000 * hour),
    updatedAt: createdAt,
    ...given,
    createdAt,
  };
}

/** Keep rows as they are, each about somebody of its own. */
export async function keep(ground: Pick<Ground, "database">, rows: readonly Row[]): Promise<void> {
  await ground.database.write(systemCall("cli", uuid7()), async (tx) => {
    for (let from = 0; from < rows.length; from += 500) {
      const part = rows.slice(from, from + 500);
      await tx.db.workflowRequest.createMany({ data: part as never[] });
      await tx.db.workflowSubject.createMany({ data: part.map(({ id }) => ({ requestId: id, kind: "user", subjectId: freshId() })) });
    }
  });
}
