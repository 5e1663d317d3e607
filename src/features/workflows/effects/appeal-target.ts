import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { WorkflowRequest } from "../../../generated/sqlite/client.ts";
import { can } from "../../../kernel/call.ts";
import { blacklistReference, caseReference } from "../../../kernel/parsing.ts";
import { mayKnow, type Viewer } from "../requests/workflows.policy.ts";

/** What is appealed against. */
export interface AppealTarget {
  kind: "request" | "blacklist" | "case" | "strike";
  id: string;
  reference: string;
  /** The people it is about. */
  users: readonly string[];
  /** The people who decided it. */
  deciders: readonly string[];
  /** The requests whose effects a ruling on it changes. */
  requests: readonly Pick<WorkflowRequest, "type" | "payload">[];
  /** Whether a viewer may know that it is there. */
  isKnownTo(viewer: Viewer): boolean;
}

type Reader = Pick<ReadClient | TransactionClient, "workflowRequest" | "blacklistRecord" | "case" | "caseAction">;

const known = (ids: readonly (string | null | undefined)[]): string[] => ids.filter((id) => typeof id === "string");
const votes = { select: { actorId: true } } as const;

/** Look for what an appeal names: a reference, or the id of a request, a blacklist record, a case or a strike; null: there is nothing of the kind. */
export async function findTarget(db: Reader, named: string, depth = 0): Promise<AppealTarget | null> {
  const [id, reference] = [named.toLowerCase(), named.toUpperCase()];
  const request = await db.workflowRequest.findFirst({ where: { OR: [{ id }, { reference }] }, include: { subjects: true, votes } });
  if (request !== null) {
    const users = request.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId);
    const deciders = request.votes.map(({ actorId }) => actorId);
    const about = request.subjects.find(({ kind }) => kind === "record")?.subjectId;
    // A request about a record, such as an appeal against an appeal, is about what that one was against, too.
    const root = about === undefined || depth >= deepest ? null : await findTarget(db, about, depth + 1);
    return {
      kind: "request",
      id: request.id,
      reference: request.reference,
      users: [...users, ...(root?.users ?? [])],
      deciders: [...deciders, ...(root?.deciders ?? [])],
      requests: [request, ...(root?.requests ?? [])],
      isKnownTo: (viewer) => mayKnow(viewer, request) && root?.isKnownTo(viewer) !== false,
    };
  }
  const record = await db.blacklistRecord.findFirst({ where: numbered("BL", reference) ?? { id } });
  if (record !== null) {
    const deciders = known([...(record.approvedBy as string[]), ...(record.source === "direct" ? [record.createdBy] : [])]);
    const users = record.kind === "user" ? [record.subjectId] : [];
    return {
      kind: "blacklist",
      id: record.id,
      reference: blacklistReference(record.number),
      users,
      deciders,
      requests: [],
      isKnownTo: always,
    };
  }
  const found = await db.case.findFirst({
    where: { deletedAt: null, ...(numbered("CASE", reference) ?? { id }) },
    include: { subjects: true, members: true, actions: { select: { byId: true, originReference: true } } },
  });
  if (found !== null) {
    const users = found.subjects.filter(({ kind }) => kind === "user").map(({ subjectId }) => subjectId);
    const requests = await requestsOf(db, known(found.actions.map(({ originReference }) => originReference)));
    const deciders = [...known([found.closedBy, ...found.actions.map(({ byId }) => byId)]), ...votersOf(requests)];
    const readers = known([found.leadId, ...found.members.map(({ userId }) => userId)]);
    const isKnownTo = (viewer: Viewer): boolean => !found.isConfidential || isReader(viewer, { users, readers });
    return { kind: "case", id: found.id, reference: caseReference(found.number), users, deciders, requests, isKnownTo };
  }
  const strike = await db.caseAction.findUnique({ where: { id }, include: { case: { select: { number: true } } } });
  if (strike === null) return null;
  const requests = await requestsOf(db, known([strike.originReference]));
  return {
    kind: "strike",
    id: strike.id,
    reference: caseReference(strike.case.number),
    users: [strike.userId],
    deciders: [...known([strike.byId]), ...votersOf(requests)],
    requests,
    isKnownTo: always,
  };
}

/** How far appeals against appeals are followed. */
const deepest = 5;
const always = (): boolean => true;

type Voted = Pick<WorkflowRequest, "type" | "payload"> & { votes: { actorId: string }[] };

async function requestsOf(db: Reader, references: readonly string[]): Promise<Voted[]> {
  if (references.length === 0) return [];
  return await db.workflowRequest.findMany({
    where: { reference: { in: [...references] } },
    select: { type: true, payload: true, votes },
  });
}

/** Everybody who took part in deciding some requests. */
function votersOf(requests: readonly Voted[]): string[] {
  return requests.flatMap((request) => request.votes.map(({ actorId }) => actorId));
}

/** A confidential case is for its lead, its team and holders of cases.confidential, never for those it is about. */
function isReader({ call, accounts }: Viewer, { users, readers }: { users: readonly string[]; readers: readonly string[] }): boolean {
  const actor = call.actor?.id;
  if (actor !== undefined && [actor, ...accounts].some((id) => users.includes(id))) return false;
  return (actor !== undefined && readers.includes(actor)) || can(call, "cases.confidential");
}

/** The number of a reference such as `BL-000123`. */
function numbered(prefix: string, reference: string): { number: number } | undefined {
  const number = new RegExp(`^${prefix}-(\\d{6,9})$`).exec(reference)?.[1];
  return number === undefined ? undefined : { number: Number(number) };
}
