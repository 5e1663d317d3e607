import type { Action, Confidence, Draft, Kind, Person, Punishment, Severity } from "./steps.ts";

const hour = 60;
export const day = 24 * hour;

export type Status =
  | "pending"
  | "in_review"
  | "needs_info"
  | "escalated"
  | "approved"
  | "denied"
  | "withdrawn"
  | "expired"
  | "void"
  | "reversed";
export const open: readonly Status[] = ["pending", "in_review", "needs_info", "escalated"];
export const reopenable: readonly Status[] = ["denied", "withdrawn", "expired"];
export const leaseMinutes = 4 * hour;

export interface Policy {
  approvals: number;
  grave?: number;
  reversals: 1 | 2;
  /** Minutes until it should be decided, until it expires, and until the same can be filed again after a denial. */
  decide: number;
  expiry: number;
  coolDown: number;
}

/** domain.md §2.1, and §2.4 for how many take an approval back. */
export const policies: Readonly<Record<Kind, Policy>> = {
  "blacklist-server": { approvals: 2, reversals: 2, decide: 72 * hour, expiry: 30 * day, coolDown: 14 * day },
  "blacklist-user": { approvals: 1, grave: 2, reversals: 2, decide: 48 * hour, expiry: 30 * day, coolDown: 14 * day },
  investigation: { approvals: 1, reversals: 1, decide: 7 * day, expiry: 90 * day, coolDown: 0 },
  recruitment: { approvals: 1, reversals: 1, decide: 7 * day, expiry: 30 * day, coolDown: 30 * day },
  "server-merge": { approvals: 2, reversals: 2, decide: 14 * day, expiry: 60 * day, coolDown: 0 },
  "alt-request": { approvals: 1, grave: 2, reversals: 1, decide: 7 * day, expiry: 30 * day, coolDown: 7 * day },
  punishment: { approvals: 1, grave: 2, reversals: 1, decide: 72 * hour, expiry: 30 * day, coolDown: 0 },
  poach: { approvals: 1, grave: 2, reversals: 1, decide: 7 * day, expiry: 30 * day, coolDown: 7 * day },
  appeal: { approvals: 1, reversals: 1, decide: 14 * day, expiry: 60 * day, coolDown: 30 * day },
};

export interface Vote {
  by: Person;
  verdict: "approve" | "deny" | "abstain" | "object" | "reverse";
  payload: number;
  /** Whether it no longer counts, as its author could not cast it when a later one came. */
  isLapsed?: boolean;
}

/** A request as the model has it. Times are minutes since the sequence began. */
export interface Request {
  place: number;
  id: string;
  reference: string;
  draft: Draft;
  by: Person;
  joined: Person[];
  filedAt: number;
  status: Status;
  revision: number;
  payload: number;
  required: number;
  tier: number;
  /** Who holds it: a person, or the approvals of other requests. */
  held: { by: Person } | { by: null; requests: Request[] } | null;
  assignee: Person | null;
  leaseUntil: number;
  votes: Vote[];
  endsAt: number;
  due: number;
  pausedAt: number | null;
  endedAt: number;
  last: { action: Action; by: Person } | null;
  /** What takes back what its approval did, in the order it was done. */
  undo: (() => void)[];
  /** Whether what an appeal overturned cannot be put in force again as things are. */
  isStuck: () => boolean;
  listing: Listing | null;
  action: Recorded | null;
  merge: Merge | null;
}

export interface Listing {
  about: string;
  severity: Severity;
  until: number | null;
  isRevoked: boolean;
}
export interface Link {
  pair: readonly [string, string];
  confidence: Confidence;
  isEnded: boolean;
}
export interface Case {
  type: string;
  about: string;
  isHidden: boolean;
  isOpen: boolean;
  /** The requests that came to it, the one that opened it first. */
  requests: Set<Request>;
}
export interface Recorded {
  of: Request;
  kind: Punishment | "other";
  points: number;
  until: number | null;
  isVoided: boolean;
}
/** Somebody on the roster. What hangs together changes together. */
export interface Stand {
  status: "trial" | "active" | "probation" | "suspended" | "terminated";
  before: "trial" | "active" | null;
  trialEnds: number | null;
  until: number | null;
  joined: number;
  ended: number | null;
  origin: Request;
}
export interface Entry {
  stand: Stand;
  role: string;
}
export interface Suspension {
  user: string;
  until: number | null;
  isLifted: boolean;
}
export interface Agreement {
  of: Request;
  parties: readonly string[];
  endsAt: number | null;
  endedAt: number | null;
  suspendedBy: Request[];
}
export interface Merge {
  source: string;
  target: string;
  dueAt: number;
  plan: string;
  state: "pending" | "done" | "failed" | "off";
  doneAt: number;
  undo: (() => void)[];
}

export interface Model {
  now: number;
  requests: Request[];
  listings: Listing[];
  links: Link[];
  cases: Case[];
  actions: Recorded[];
  roster: Map<string, Entry>;
  suspensions: Suspension[];
  agreements: Agreement[];
  incidents: { of: Request; isVoided: boolean }[];
  clearances: { of: Request; user: string; until: number | null; state: "active" | "used" | "revoked"; usedBy: Request | null }[];
  mergedInto: Map<string, string>;
}

export function emptyModel(): Model {
  return {
    now: 0,
    requests: [],
    listings: [],
    links: [{ pair: ["Lou", "linked"], confidence: "confirmed", isEnded: false }],
    cases: [],
    actions: [],
    roster: new Map(),
    suspensions: [],
    agreements: [],
    incidents: [],
    clearances: [],
    mergedInto: new Map(),
  };
}

/** One of several by its place, counted around; undefined: there are none. */
export function nth<Thing>(things: readonly Thing[], place: number): Thing | undefined {
  return things[place % Math.max(1, things.length)];
}

/** The status that counts, whether or not somebody swept. */
export function statusOf({ now }: Model, { status, endsAt }: Request): Status {
  return open.includes(status) && endsAt <= now ? "expired" : status;
}

export const isOver = ({ now }: Model, until: number | null): boolean => until !== null && until <= now;

/** Further accounts of somebody: what confirmed links lead to. */
export function linkedAccountsOf({ links }: Model, name: string): string[] {
  const found = new Set([name]);
  for (const one of found)
    for (const { pair, confidence, isEnded } of links)
      if (!isEnded && confidence === "confirmed" && pair.includes(one)) for (const other of pair) found.add(other);
  found.delete(name);
  return [...found];
}

/** Whom or what a request is about. */
export function subjectsOf(model: Model, draft: Draft): string[] {
  switch (draft.kind) {
    case "blacklist-user":
    case "recruitment":
    case "punishment":
      return [`user:${draft.user}`];
    case "blacklist-server":
      return [`server:${draft.server}`];
    case "investigation":
      return [draft.about === "Den" ? "server:Den" : `user:${draft.about}`];
    case "server-merge":
      return ["server:Src", "server:Dst"];
    case "alt-request":
      return draft.pair.map((one) => `user:${one}`);
    case "poach": {
      if (draft.what === "agreement") return draft.pair.map((one) => `server:${one}`);
      return draft.what === "clearance" ? [`user:${draft.user}`] : [`user:${draft.user}`, `server:${draft.pair[0]}`];
    }
    case "appeal":
      return [`record:${model.requests[draft.which]?.reference ?? ""}`, ...(draft.user === null ? [] : [`user:${draft.user}`])];
  }
}

export const usersOf = (model: Model, draft: Draft): string[] =>
  subjectsOf(model, draft).flatMap((subject) => (subject.startsWith("user:") ? [subject.slice(5)] : []));

/** What an appeal is against. */
export function targetOf(model: Model, { draft }: Pick<Request, "draft">): Request | undefined {
  return draft.kind === "appeal" ? model.requests[draft.which] : undefined;
}

/** How many people have to approve, domain.md §2.1. */
export function requiredFor(draft: Draft): number {
  const { approvals, grave = approvals } = policies[draft.kind];
  return isGrave(draft) ? grave : approvals;
}

function isGrave(draft: Draft): boolean {
  switch (draft.kind) {
    case "blacklist-user":
      return draft.scope === "network" || draft.severity === "critical";
    case "alt-request":
      return draft.confidence === "confirmed";
    case "punishment":
      return draft.action === "termination" || draft.days === null;
    case "poach":
      return draft.what === "agreement";
    default:
      return false;
  }
}

/** Nobody is told of a confidential investigation but its requester, its lead and who may see what is confidential; never its subject. */
export function mayKnow(model: Model, request: Request, person: Person, isCleared: boolean): boolean {
  const { draft } = request;
  if (draft.kind !== "investigation" || !draft.confidential) return true;
  if (request.by === person) return true;
  const own = [person, ...linkedAccountsOf(model, person)];
  if (own.some((name) => draft.about === name || draft.kept === name)) return false;
  return request.joined.includes(person) || draft.lead === person || isCleared;
}
