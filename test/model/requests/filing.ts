import { day, mayKnow, open, policies, requiredFor, statusOf, subjectsOf, targetOf, type Model, type Request } from "./model.ts";
import { has } from "./rights.ts";
import type { Draft, Person } from "./steps.ts";

export type Filed = { refused: readonly [status: number, code: string] } | { joined: Request } | { filed: true };
const maxPerSubject = 5;
/** How long somebody can appeal a punishment that names no other time. */
const appealTime = 30 * day;

/** What comes of filing a request, domain.md §2.6. */
export function judgeFiling(model: Model, by: Person, draft: Draft, isJoining: boolean): Filed {
  const { kind } = draft;
  if (!has(by, `workflows.${kind}.create`)) return { refused: [403, "permission_denied"] };
  if (isTooLate(model, by, draft)) return { refused: [422, "validation_failed"] };
  const about = subjectsOf(model, draft);
  const isSame = (request: Request) =>
    request.draft.kind === kind && subjectsOf(model, request.draft).toSorted().join() === about.toSorted().join();
  const known = model.requests.filter((request) => mayKnow(model, request, by, has(by, "cases.confidential")));
  const isOpen = (request: Request) => open.includes(statusOf(model, request));
  const same = known.filter(isSame);
  const duplicate = same.findLast(isOpen);
  if (duplicate !== undefined) {
    // Whoever works on it stays impartial.
    const takesPart =
      duplicate.by !== by &&
      !duplicate.joined.includes(by) &&
      (duplicate.assignee === by || duplicate.votes.some((vote) => vote.by === by));
    return isJoining && !takesPart ? { joined: duplicate } : { refused: [409, "duplicate_open"] };
  }
  const isCooling = ({ status, endedAt }: Request) => status === "denied" && model.now - endedAt < policies[kind].coolDown;
  if (same.some(isCooling)) return { refused: [429, "cooldown"] };
  const shares = (request: Request) => subjectsOf(model, request.draft).some((subject) => about.includes(subject));
  const own = model.requests.filter((request) => request.by === by && isOpen(request) && shares(request));
  return own.length >= maxPerSubject ? { refused: [429, "rate_limited"] } : { filed: true };
}

/** Whether an appeal is against a punishment, known to who files it, whose time to appeal is over. */
function isTooLate(model: Model, by: Person, draft: Draft): boolean {
  const target = targetOf(model, { draft });
  if (target?.draft.kind !== "punishment" || statusOf(model, target) !== "approved") return false;
  return mayKnow(model, target, by, has(by, "cases.confidential")) && target.endedAt + appealTime <= model.now;
}

/** Whether somebody knows of another open request about the same: then this one is not opened again beside it. */
export function hasOpenTwin(model: Model, request: Request, by: Person): boolean {
  const keyOf = ({ draft }: Request) => [draft.kind, ...subjectsOf(model, draft).toSorted()].join();
  const isOpenTwin = (one: Request) => one !== request && keyOf(one) === keyOf(request) && open.includes(statusOf(model, one));
  return model.requests.some((one) => isOpenTwin(one) && mayKnow(model, one, by, has(by, "cases.confidential")));
}

export function filed(model: Model, by: Person, draft: Draft, { id, reference }: { id: string; reference: string }): Request {
  const { decide, expiry } = policies[draft.kind];
  const request: Request = {
    place: model.requests.length,
    id,
    reference,
    draft,
    by,
    joined: [],
    filedAt: model.now,
    status: "pending",
    revision: 1,
    payload: 1,
    required: requiredFor(draft),
    tier: 0,
    held: null,
    assignee: null,
    leaseUntil: 0,
    votes: [],
    endsAt: model.now + expiry,
    due: model.now + decide,
    pausedAt: null,
    endedAt: 0,
    last: null,
    undo: [],
    isStuck: () => false,
    listing: null,
    action: null,
    merge: null,
  };
  model.requests.push(request);
  return request;
}

/** Whoever belongs to it already and brings nothing changes nothing. */
export function joined(request: Request, by: Person): void {
  if (request.by === by || request.joined.includes(by)) return;
  request.joined.push(by);
  request.revision += 1;
}
