import { day, isOver, type Agreement, type Merge, type Model, type Request } from "./model.ts";

type Undo = () => void;
const undoableFor = 30 * day;

const isEnded = (model: Model, { endedAt, endsAt }: Agreement): boolean => endedAt !== null || isOver(model, endsAt);

/** As it counts now. */
export function statusOfAgreement(model: Model, agreement: Agreement): "ended" | "suspended" | "active" {
  if (isEnded(model, agreement)) return "ended";
  return agreement.suspendedBy.length > 0 ? "suspended" : "active";
}

export function agree(model: Model, of: Request, parties: readonly string[], endsAt: number | null): Undo {
  const made: Agreement = { of, parties, endsAt, endedAt: null, suspendedBy: [] };
  model.agreements.push(made);
  return () => void (made.endedAt ??= model.now);
}

/** Suspended while any request suspends it. */
export function suspendAgreements(model: Model, request: Request, server: string): Undo {
  const found = model.agreements.filter((one) => !isEnded(model, one) && one.parties.includes(server));
  for (const one of found) one.suspendedBy.push(request);
  return () => {
    for (const one of found) one.suspendedBy = one.suspendedBy.filter((other) => other !== request);
  };
}

/** What a merger depends on. */
function factsOf(model: Model, { source, target, dueAt }: Merge): string {
  const at = { now: Math.max(dueAt, 0) };
  const running = model.agreements.flatMap((one, place) =>
    one.parties.includes(source) && one.endedAt === null && !(one.endsAt !== null && one.endsAt <= at.now) ? [place] : [],
  );
  return JSON.stringify([model.mergedInto.get(source) ?? null, model.mergedInto.get(target) ?? null, running]);
}

export function plan(model: Model, request: Request, source: string, target: string, dueAt: number): Undo {
  const merge: Merge = { source, target, dueAt, plan: "", state: "pending", doneAt: 0, undo: [] };
  merge.plan = factsOf(model, merge);
  request.merge = merge;
  request.isStuck = () => merge.state === "done" && model.now - merge.doneAt > undoableFor;
  return () => {
    if (merge.state === "pending" || merge.state === "failed") merge.state = "off";
    else if (merge.state === "done") for (const undo of merge.undo.toReversed()) undo();
  };
}

/** Carry out what is due, unless it changed since it was planned. */
export function runMerges(model: Model): void {
  const due = model.requests.flatMap(({ merge }) => (merge?.state === "pending" && merge.dueAt <= model.now ? [merge] : []));
  for (const merge of due.toSorted((a, b) => a.dueAt - b.dueAt)) {
    const { source, target } = merge;
    const isPossible = !model.mergedInto.has(source) && !model.mergedInto.has(target);
    merge.state = isPossible && factsOf(model, merge) === merge.plan ? "done" : "failed";
    if (merge.state === "failed") continue;
    merge.doneAt = model.now;
    merge.undo = [join(model, source, target), ...repoint(model, source, target)];
  }
}

function join(model: Model, source: string, target: string): Undo {
  model.mergedInto.set(source, target);
  return () => {
    if (model.mergedInto.get(source) === target) model.mergedInto.delete(source);
  };
}

/** The target takes the source's place; with one party left there is no agreement any more. */
function repoint(model: Model, source: string, target: string): Undo[] {
  const found = model.agreements.filter((one) => !isEnded(model, one) && one.parties.includes(source));
  return found.map((one) => {
    const before = one.parties;
    const after = [...new Set([...before.filter((id) => id !== source), target])];
    if (after.length < 2) {
      const at = model.now;
      one.endedAt = at;
      return () => {
        if (one.endedAt === at && !isOver(model, one.endsAt)) one.endedAt = null;
      };
    }
    one.parties = after;
    return () => {
      if (!isEnded(model, one) && one.parties === after) one.parties = before;
    };
  });
}
