import * as people from "./force.people.ts";
import * as between from "./force.servers.ts";
import {
  day,
  linkedAccountsOf,
  isOver,
  mayKnow,
  open,
  policies,
  reopenable,
  statusOf,
  targetOf,
  type Listing,
  type Model,
  type Request,
} from "./model.ts";
import { has } from "./rights.ts";
import { confidences, severities, type Confidence, type Draft, type Length, type Person, type Ruling, type Severity } from "./steps.ts";

type Undo = () => void;
type Of<Kind extends Draft["kind"]> = Extract<Draft, { kind: Kind }>;

/** How an approval is made. */
export interface Approving {
  by: Person;
  ruling: Ruling | null;
  /** Whether it is put in force again after a reversal was taken back. */
  isAgain: boolean;
}

export interface Blocker {
  isWaivable: boolean;
}

const interimDays = 14;

/** No end unless days are said. */
const endOf = ({ now }: Model, days: Length): number | null => (typeof days === "number" ? now + days * day : null);
const isLive = (model: Model, { isRevoked, until }: Listing): boolean => !isRevoked && !isOver(model, until);

/** What keeps an approval from taking effect. */
export function blockersOf(model: Model, request: Request, approving: Approving): Blocker[] {
  const { draft } = request;
  const blockers: Blocker[] = [];
  if (draft.kind === "recruitment") {
    const { user } = draft;
    if (!people.mayBegin(model, request, user, approving.by, approving.isAgain)) blockers.push({ isWaivable: false });
    const accounts = [user, ...linkedAccountsOf(model, user)];
    const isListed = model.listings.some((one) => isLive(model, one) && accounts.some((id) => one.about.startsWith(`user:${id}:`)));
    if (isListed) blockers.push({ isWaivable: true });
  }
  if (draft.kind === "server-merge" && !draft.consented) blockers.push({ isWaivable: true });
  if (draft.kind === "appeal" && !isKnown(model, targetOf(model, request), approving.by)) blockers.push({ isWaivable: false });
  return blockers;
}

/** Nobody rules on what they may not know of. */
function isKnown(model: Model, target: Request | undefined, by: Person): boolean {
  return target !== undefined && mayKnow(model, target, by, has(by, "cases.confidential"));
}

/** Put in force what an approval does; what takes it back is kept with the request. */
export function carryOut(model: Model, request: Request, approving: Approving): void {
  request.undo = effectsOf(model, request, approving);
}

/** The last first. */
export function takeBack(request: Request): void {
  const { undo } = request;
  request.undo = [];
  for (const one of undo.toReversed()) one();
}

function effectsOf(model: Model, request: Request, approving: Approving): Undo[] {
  const { draft } = request;
  switch (draft.kind) {
    case "blacklist-user":
      return listUser(model, request, draft);
    case "blacklist-server":
      return [list(model, request, `server:${draft.server}:network`, draft), between.suspendAgreements(model, request, draft.server)];
    case "investigation": {
      const about = draft.about === "Den" ? "server:Den" : `user:${draft.about}`;
      const opened = people.bringToCase(model, request, "investigation", about, draft.confidential);
      return [opened, ...(draft.interim && draft.about !== "Den" ? people.suspend(model, draft.about, model.now + interimDays * day) : [])];
    }
    case "recruitment":
      return [people.begin(model, request, draft.user, draft.trial * day), ...useClearance(model, request, draft.user)];
    case "server-merge": {
      const [source, target] = draft.swapped ? (["Dst", "Src"] as const) : (["Src", "Dst"] as const);
      return [between.plan(model, request, source, target, effectiveAt(request, draft))];
    }
    case "alt-request":
      return [link(model, draft.pair, draft.confidence)];
    case "punishment":
      return punish(model, request, draft);
    case "poach":
      return poach(model, request, draft);
    case "appeal":
      return rule(model, request, draft, approving);
  }
}

/** The date of a merger is said when it is filed. */
export function effectiveAt(request: Pick<Request, "filedAt">, { inDays }: Of<"server-merge">): number {
  return request.filedAt + inDays * day;
}

/** One record per subject and scope: what is there is strengthened. */
function list(model: Model, request: Request, about: string, { severity, days }: { severity: Severity; days: Length }): Undo {
  const until = endOf(model, days);
  const found = model.listings.find((one) => one.about === about && isLive(model, one));
  const listing = found ?? { about, severity, until, isRevoked: false };
  request.listing = listing;
  if (found === undefined) {
    model.listings.push(listing);
    return () => void (listing.isRevoked = true);
  }
  const before = { ...found };
  if (severities.indexOf(severity) > severities.indexOf(found.severity)) found.severity = severity;
  if (found.until !== null && (until === null || until > found.until)) found.until = until;
  return restoring(model, found, before, { ...found });
}

/** Each field as far as nobody changed it since. */
function restoring(model: Model, listing: Listing, before: Listing, after: Listing): Undo {
  return () => {
    if (!isLive(model, listing)) return;
    if (listing.severity === after.severity) listing.severity = before.severity;
    if (listing.until === after.until) listing.until = before.until;
  };
}

function listUser(model: Model, request: Request, draft: Of<"blacklist-user">): Undo[] {
  const listed = list(model, request, `user:${draft.user}:${draft.scope}`, draft);
  const opened = people.bringToCase(model, request, "blacklist", `user:${draft.user}`);
  const holds = people.holdRecruitments(model, request, draft.user);
  const halted = draft.severity === "low" ? [] : people.halt(model, draft.user, "suspended", endOf(model, draft.days));
  return [listed, opened, ...holds, ...halted];
}

/** A link only ever gets surer. */
function link(model: Model, pair: readonly [string, string], confidence: Confidence): Undo {
  const found = model.links.find((one) => !one.isEnded && one.pair.every((id) => pair.some((other) => other === id)));
  if (found === undefined) {
    const made = { pair, confidence, isEnded: false };
    model.links.push(made);
    return () => void (made.isEnded = true);
  }
  const before = found.confidence;
  if (confidences.indexOf(confidence) > confidences.indexOf(before)) found.confidence = confidence;
  const after = found.confidence;
  return () => {
    if (!found.isEnded && found.confidence === after) found.confidence = before;
  };
}

function punish(model: Model, request: Request, { user, action, points, days }: Of<"punishment">): Undo[] {
  const until = endOf(model, days);
  const opened = people.bringToCase(model, request, "punishment", `user:${user}`);
  const recorded = { of: request, kind: action === "blacklist_referral" ? ("other" as const) : action, points, until, isVoided: false };
  model.actions.push(recorded);
  request.action = recorded;
  const voided = () => void (recorded.isVoided = true);
  const more: Partial<Readonly<Record<typeof action, () => Undo[]>>> = {
    probation: () => people.halt(model, user, "probation", until),
    suspension: () => [...people.suspend(model, user, until), ...people.halt(model, user, "suspended", until)],
    demotion: () => people.demote(model, user),
    termination: () => people.terminate(model, user),
  };
  return [opened, voided, ...(more[action]?.() ?? [])];
}

function poach(model: Model, request: Request, { what, user, pair, days }: Of<"poach">): Undo[] {
  // Its end is a date that is said when it is filed.
  const until = typeof days === "number" ? request.filedAt + days * day : null;
  if (what !== "report" && isOver(model, until)) return [];
  if (what === "agreement") return [between.agree(model, request, pair, until)];
  if (what === "clearance") {
    const given: Model["clearances"][number] = { of: request, user, until, state: "active", usedBy: null };
    model.clearances.push(given);
    return [
      () => {
        if (given.state === "used" || !isOver(model, given.until)) given.state = "revoked";
      },
    ];
  }
  const opened = people.bringToCase(model, request, "poach", `server:${pair[0]}`);
  const incident = { of: request, isVoided: false };
  model.incidents.push(incident);
  return [opened, () => void (incident.isVoided = true)];
}

function useClearance(model: Model, request: Request, user: string): Undo[] {
  const found = model.clearances.find((one) => one.user === user && one.state === "active" && !isOver(model, one.until));
  if (found === undefined) return [];
  Object.assign(found, { state: "used", usedBy: request });
  return [
    () => {
      if (found.state === "used" && found.usedBy === request) Object.assign(found, { state: "active", usedBy: null });
    },
  ];
}

/** What becomes of what is appealed against. */
function rule(model: Model, request: Request, draft: Of<"appeal">, { by, ruling }: Approving): Undo[] {
  const target = targetOf(model, request);
  const wanted = wantedOf(draft, ruling);
  if (target === undefined || wanted === null) return [];
  if (wanted === "reduce") return reduce(model, target);
  if (wanted === "overturn" && target.status === "approved") return [overturn(model, request, target, by)];
  return reopenable.includes(statusOf(model, target)) ? [reopen(model, target)] : [];
}

const wantedOf = ({ desired }: Of<"appeal">, ruling: Ruling | null): Ruling | null => ruling ?? (desired === "clarify" ? null : desired);

/** What a ruling opens again, if it does. */
export function reopenedBy(model: Model, request: Request, ruling: Ruling | null): Request | undefined {
  const { draft } = request;
  const target = targetOf(model, request);
  if (draft.kind !== "appeal" || target === undefined || !reopenable.includes(statusOf(model, target))) return undefined;
  const wanted = wantedOf(draft, ruling);
  return wanted === "remit" || (wanted === "overturn" && target.status !== "approved") ? target : undefined;
}

function overturn(model: Model, request: Request, target: Request, by: Person): Undo {
  takeBack(target);
  target.status = "reversed";
  target.revision += 1;
  const { revision } = target;
  const isUntouched = () => target.status === "reversed" && target.revision === revision;
  request.isStuck = () =>
    isUntouched() && blockersOf(model, target, { by, ruling: null, isAgain: true }).some(({ isWaivable }) => !isWaivable);
  return () => {
    if (!isUntouched()) return;
    carryOut(model, target, { by, ruling: null, isAgain: true });
    target.status = "approved";
    target.revision += 1;
  };
}

/** Decided anew. */
function reopen(model: Model, target: Request): Undo {
  const before = statusOf(model, target);
  const endedAt = target.status === "expired" || before !== "expired" ? target.endedAt : target.endsAt;
  begin(model, target);
  const { revision } = target;
  return () => {
    if (target.revision !== revision) return;
    target.status = before;
    target.payload -= 1;
    target.endedAt = endedAt;
    target.revision += 1;
  };
}

/** A request begins once more. */
export function begin(model: Model, request: Request): void {
  const { decide, expiry } = policies[request.draft.kind];
  Object.assign(request, { status: "pending", tier: 0, held: null, assignee: null, leaseUntil: 0, pausedAt: null, last: null });
  request.payload += 1;
  request.revision += 1;
  request.due = model.now + decide;
  request.endsAt = model.now + expiry;
}

/** The severity becomes low and the points none; what is over cannot be reduced. */
function reduce(model: Model, target: Request): Undo[] {
  if (target.status !== "approved") return [];
  const { listing, action } = target;
  const undo: Undo[] = [];
  if (listing !== null && isLive(model, listing) && listing.severity !== "low") {
    const before = listing.severity;
    listing.severity = "low";
    undo.push(() => {
      if (isLive(model, listing) && listing.severity === "low") listing.severity = before;
    });
  }
  if (action !== null && !action.isVoided && action.points > 0) {
    const before = action.points;
    action.points = 0;
    undo.push(() => {
      if (!action.isVoided && action.points === 0) action.points = before;
    });
  }
  return undo;
}

/** Everything in force, in words, sorted. Times are rounded to ten minutes. */
export function inForce(model: Model): string[] {
  const time = (at: number | null): string => (at === null ? "for good" : `until ${(Math.round(at / 10) * 10).toString()}`);
  const isOpenEnded = (until: number | null) => !isOver(model, until);
  return [
    ...model.listings.filter((one) => isLive(model, one)).map((one) => `listed ${one.about} ${one.severity} ${time(one.until)}`),
    ...model.links.filter((one) => !one.isEnded).map((one) => `linked ${one.pair.toSorted().join("-")} ${one.confidence}`),
    ...model.cases.filter((one) => one.isOpen).map((one) => `case ${one.type} ${one.about}`),
    ...model.actions
      .filter((one) => !one.isVoided && isOpenEnded(one.until))
      .map((one) => `action ${one.of.reference} ${one.kind} ${one.points.toString()} ${time(one.until)}`),
    ...[...model.roster]
      .filter(([, { stand }]) => stand.status !== "terminated")
      .map(([user, { stand, role }]) => `roster ${user} ${stand.status} ${role} ${time(stand.until)}`),
    ...model.suspensions.filter((one) => !one.isLifted && isOpenEnded(one.until)).map((one) => `suspended ${one.user} ${time(one.until)}`),
    ...model.agreements.flatMap((one) => {
      const status = between.statusOfAgreement(model, one);
      return status === "ended" ? [] : [`agreement ${one.of.reference} ${one.parties.toSorted().join("-")} ${status}`];
    }),
    ...model.incidents.filter((one) => !one.isVoided).map((one) => `incident ${one.of.reference}`),
    ...model.clearances
      .filter((one) => one.state === "used" || (one.state === "active" && isOpenEnded(one.until)))
      .map((one) => `clearance ${one.of.reference} ${one.state}`),
    ...[...model.mergedInto].map(([source, target]) => `merged ${source} into ${target}`),
    ...model.requests.filter((one) => open.includes(statusOf(model, one)) && one.held !== null).map((one) => `held ${one.reference}`),
  ].toSorted();
}
