import type { ReadClient, TransactionClient } from "../../database/database.ts";
import { blacklistReference, caseReference } from "../../kernel/stored.ts";

/** What is appealed against. */
export interface AppealTarget {
  kind: "request" | "blacklist" | "case" | "strike";
  id: string;
  reference: string;
  /** The people it is about. */
  users: readonly string[];
  /** The people who decided it. */
  deciders: readonly string[];
}

type Reader = Pick<ReadClient | TransactionClient, "workflowRequest" | "blacklistRecord" | "case" | "caseAction">;

const known = (ids: readonly (string | null | undefined)[]): string[] => ids.filter((id) => typeof id === "string");
const votes = { select: { actorId: true } } as const;

/** Look for what an appeal names: a reference, or the id of a request, a blacklist record, a case or a strike; null: there is nothing of the kind. */
export async function findTarget(db: Reader, named: string): Promise<AppealTarget | null> {
  const [id, reference] = [named.toLowerCase(), named.toUpperCase()];
  const request = await db.workflowRequest.findFirst({ where: { OR: [{ id }, { reference }] }, include: { subjects: true, votes } });
  if (request !== null) {
    const users = request.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId);
    return { kind: "request", id: request.id, reference: request.reference, users, deciders: request.votes.map(({ actorId }) => actorId) };
  }
  const record = await db.blacklistRecord.findFirst({ where: numbered("BL", reference) ?? { id } });
  if (record !== null) {
    const deciders = known([...(record.approvedBy as string[]), ...(record.source === "direct" ? [record.createdBy] : [])]);
    const users = record.kind === "user" ? [record.subjectId] : [];
    return { kind: "blacklist", id: record.id, reference: blacklistReference(record.number), users, deciders };
  }
  const found = await db.case.findFirst({
    where: { deletedAt: null, ...(numbered("CASE", reference) ?? { id }) },
    include: { subjects: true, actions: { select: { byId: true } } },
  });
  if (found !== null) {
    const users = found.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId);
    const deciders = known([found.closedBy, ...found.actions.map(({ byId }) => byId)]);
    return { kind: "case", id: found.id, reference: caseReference(found.number), users, deciders };
  }
  const strike = await db.caseAction.findUnique({ where: { id }, include: { case: { select: { number: true } } } });
  if (strike === null) return null;
  return {
    kind: "strike",
    id: strike.id,
    reference: caseReference(strike.case.number),
    users: [strike.userId],
    deciders: known([strike.byId]),
  };
}

/** The number of a reference such as `BL-000123`. */
function numbered(prefix: string, reference: string): { number: number } | undefined {
  const number = new RegExp(`^${prefix}-(\\d{6,9})$`).exec(reference)?.[1];
  return number === undefined ? undefined : { number: Number(number) };
}
