import { linkedAccountsOf, isOver, statusOf, open, usersOf, type Case, type Entry, type Model, type Request, type Stand } from "./model.ts";
import type { Person } from "./steps.ts";
import { has } from "./rights.ts";

type Undo = () => void;
const live: ReadonlySet<string> = new Set(["trial", "active", "probation", "suspended"]);

/** Bring a request to the open case about its subject, or to a new one. */
export function bringToCase(model: Model, request: Request, type: string, about: string, isHidden = false): Undo {
  const found = isHidden
    ? undefined
    : model.cases.findLast((one) => one.isOpen && !one.isHidden && one.type === type && one.about === about);
  const into: Case = found ?? { type, about, isHidden, isOpen: true, requests: new Set() };
  if (found === undefined) model.cases.push(into);
  into.requests.add(request);
  // Whichever of the requests that came to it is taken back last closes it.
  return () => {
    if ([...into.requests].every((one) => one === request || one.status === "reversed")) into.isOpen = false;
  };
}

/** While somebody is listed, their open recruitments are held; each hold is lifted by the last reversal. */
export function holdRecruitments(model: Model, request: Request, user: string): Undo[] {
  const accounts = new Set([user, ...linkedAccountsOf(model, user)]);
  const found = model.requests.filter(
    (one) =>
      one.draft.kind === "recruitment" && open.includes(statusOf(model, one)) && usersOf(model, one.draft).some((id) => accounts.has(id)),
  );
  return found.flatMap((one) => {
    if (one.held !== null && one.held.by !== null) return [];
    if (one.held === null) {
      one.held = { by: null, requests: [request] };
      one.revision += 1;
    } else one.held.requests.push(request);
    const { held } = one;
    return [
      () => {
        if (one.held !== held || held.by !== null || !open.includes(one.status)) return;
        const isFirst = held.requests[0] === request;
        held.requests = held.requests.filter((other) => other !== request);
        if (held.requests.length === 0) one.held = null;
        if (isFirst) one.revision += 1;
      },
    ];
  });
}

function isSame(one: Stand, other: Stand): boolean {
  return (Object.keys(one) as (keyof Stand)[]).every((fact) => one[fact] === other[fact]);
}

function inStatus(stand: Stand, status: Stand["status"], now: number, until: number | null = null): Stand {
  const isHalted = status === "probation" || status === "suspended";
  const isLive = live.has(status);
  return {
    ...stand,
    status,
    before: isHalted ? (stand.status as "trial" | "active") : null,
    until: isHalted ? until : null,
    trialEnds: isLive && status !== "active" ? stand.trialEnds : null,
    ended: isLive ? null : now,
  };
}

/** Put back what a change did to somebody's standing and role, each as far as nobody changed it since. */
function undoOf(entry: Entry, before: Entry, after: Entry): Undo {
  return () => {
    if (!isSame(before.stand, after.stand) && isSame(entry.stand, after.stand)) entry.stand = before.stand;
    if (before.role !== after.role && entry.role === after.role) entry.role = before.role;
  };
}

export const isOnRoster = ({ roster }: Model, user: string): boolean => live.has(roster.get(user)?.stand.status ?? "none");

/** Whether the roster takes somebody: who was terminated comes back only by whoever may put it right, or as the same again. */
export function mayBegin(model: Model, request: Request, user: string, by: Person, isAgain: boolean): boolean {
  const entry = model.roster.get(user);
  if (entry === undefined) return true;
  if (isOnRoster(model, user)) return false;
  return has(by, "roster.apply_fixes") || (isAgain && entry.stand.origin === request);
}

export function begin(model: Model, request: Request, user: string, trial: number): Undo {
  const { now } = model;
  const stand: Stand = {
    status: trial > 0 ? "trial" : "active",
    before: null,
    trialEnds: trial > 0 ? now + trial : null,
    until: null,
    joined: now,
    ended: null,
    origin: request,
  };
  const entry = model.roster.get(user);
  if (entry === undefined) {
    const made: Entry = { stand, role: "helper" };
    model.roster.set(user, made);
    // Who joined leaves again, whatever became of them, as long as it is the same stay.
    return () => {
      const isSameStay = made.stand.joined === now && live.has(made.stand.status);
      if (isSameStay) made.stand = inStatus(made.stand, "terminated", model.now);
    };
  }
  const before = { ...entry };
  Object.assign(entry, { stand, role: "helper" });
  return () => {
    const isSameStay = entry.stand.joined === now && live.has(entry.stand.status);
    if (isSameStay || isSame(entry.stand, stand)) entry.stand = before.stand;
    if (before.role !== "helper" && entry.role === "helper") entry.role = before.role;
  };
}

export function halt(model: Model, user: string, status: "suspended" | "probation", until: number | null): Undo[] {
  const entry = model.roster.get(user);
  if (entry === undefined || !["active", "trial"].includes(entry.stand.status)) return [];
  const before = { ...entry };
  entry.stand = inStatus(entry.stand, status, model.now, until);
  return [undoOf(entry, before, { ...entry })];
}

export function demote(model: Model, user: string): Undo[] {
  const entry = model.roster.get(user);
  if (entry === undefined || !isOnRoster(model, user) || entry.role === "lower") return [];
  const before = { ...entry };
  entry.role = "lower";
  return [undoOf(entry, before, { ...entry })];
}

export function terminate(model: Model, user: string): Undo[] {
  const entry = model.roster.get(user);
  if (entry === undefined || !isOnRoster(model, user)) return [];
  const before = { ...entry };
  entry.stand = inStatus(entry.stand, "terminated", model.now);
  return [undoOf(entry, before, { ...entry })];
}

/** Everybody whose time is over is again what they were. */
export function sweepRoster(model: Model): void {
  for (const entry of model.roster.values()) {
    const { status, before, until } = entry.stand;
    const isHalted = status === "probation" || status === "suspended";
    if (isHalted && isOver(model, until)) entry.stand = inStatus(entry.stand, before ?? "active", model.now);
  }
}

/** Taken away until an end; nothing when it is taken away as long already. */
export function suspend(model: Model, user: string, until: number | null): Undo[] {
  const running = model.suspensions.filter((one) => one.user === user && !one.isLifted && !isOver(model, one.until));
  if (running.some((one) => one.until === null || (until !== null && one.until >= until))) return [];
  const made = { user, until, isLifted: false };
  model.suspensions.push(made);
  return [() => void (made.isLifted = true)];
}
