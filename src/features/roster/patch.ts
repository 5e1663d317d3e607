import { say } from "../../kit/say.ts";
import { fieldError, ProblemError } from "../../kernel/errors.ts";
import { inStatus, isSame, standOf, type RosterFacts } from "./facts.ts";
import type { RosterStep } from "./records.ts";
import { eventsFrom, isHalted, isLive, legalMoves, rosterStatuses, targetOf, type RosterEventName, type RosterStatus } from "./states.ts";

/** What somebody wants to be otherwise; what is undefined stays. */
export interface WantedChange {
  status?: RosterStatus | undefined;
  staff_role?: string | null | undefined;
  department?: string | null | undefined;
  supervisor_id?: string | null | undefined;
  trial_ends_at?: string | null | undefined;
  suspended_until?: string | null | undefined;
}

/** What a change is judged by. */
export interface PatchGround {
  /** Since when it is so. */
  at: Date;
  /** Whether it puts right what was written wrongly. */
  isCorrection: boolean;
  /** Whether the caller may bring back who was terminated. */
  mayCorrect: boolean;
  rankOf(role: string | null): number;
}

/** Leaves are taken where staff take them: the status follows. */
const byLeave: ReadonlySet<RosterEventName> = new Set(["loa_started", "loa_ended"]);

/**
 * The lines of history that lead from how somebody stood to what is wanted; none when it is so already.
 * @throws ProblemError invalid_transition with `from`, `action` and `allowed`; validation_failed for an end of nothing
 */
export function stepsTo(stood: RosterFacts, wanted: WantedChange, ground: PatchGround): RosterStep[] {
  if (ground.isCorrection) {
    const after = withRest(inNewStatus(stood, wanted, ground.at), wanted);
    return isSame(stood, after) ? [] : [{ event: "corrected", after }];
  }
  const steps: RosterStep[] = [];
  const stand = (): RosterFacts => steps.at(-1)?.after ?? stood;
  const add = (step: RosterStep | null): void => {
    if (step !== null && !isSame(stand(), step.after)) steps.push(step);
  };
  add(statusStep(stand(), wanted, ground));
  add(roleStep(stand(), wanted, ground));
  const [first, second] = steps;
  // Who passes the trial into a higher role is promoted once.
  if (first !== undefined && second?.event === first.event) steps.shift();
  const { department = stand().department } = wanted;
  if (department !== stand().department) add({ event: legal(stand(), "transferred"), after: { ...stand(), department } });
  const after = withRest(stand(), wanted);
  if (!isSame(stand(), after)) add({ event: legal(stand(), "corrected"), after });
  return steps;
}

/** Where somebody may be moved from here by name of a status. */
export function statusesFrom(stood: Pick<RosterFacts, "status" | "status_before">, mayCorrect: boolean): RosterStatus[] {
  return rosterStatuses.filter((to) => {
    const event = eventTo(stood, to, mayCorrect);
    return event !== null && !byLeave.has(event);
  });
}

function eventTo(stood: Pick<RosterFacts, "status" | "status_before">, to: RosterStatus, mayCorrect: boolean): RosterEventName | null {
  if (to === stood.status) return null;
  const move = legalMoves.find(({ event }) => targetOf(standOf(stood), { event, to, isCorrection: mayCorrect }) !== null);
  return move?.event ?? null;
}

function statusStep(stood: RosterFacts, wanted: WantedChange, { at, mayCorrect }: PatchGround): RosterStep | null {
  const { status = stood.status } = wanted;
  if (status === stood.status) return null;
  const event = eventTo(stood, status, mayCorrect);
  if (event !== null && !byLeave.has(event)) return { event, after: arrived(inNewStatus(stood, wanted, at), wanted, event, at) };
  const extra = { from: stood.status, action: status, allowed: statusesFrom(stood, mayCorrect) };
  const detail = event === null ? undefined : say("roster.leave-elsewhere");
  throw new ProblemError("invalid_transition", { ...(detail !== undefined && { detail }), extra });
}

/** Who joins, or comes back, is there since then. */
function arrived(facts: RosterFacts, { trial_ends_at = null }: WantedChange, event: RosterEventName, at: Date): RosterFacts {
  if (event !== "hired" && event !== "rehired") return facts;
  return {
    ...facts,
    joined_at: at.toISOString(),
    origin_reference: null,
    trial_ends_at: facts.status === "trial" ? trial_ends_at : null,
  };
}

function roleStep(stood: RosterFacts, { staff_role = stood.staff_role }: WantedChange, { rankOf }: PatchGround): RosterStep | null {
  if (staff_role === stood.staff_role) return null;
  const event = rankOf(staff_role) < rankOf(stood.staff_role) ? "demoted" : "promoted";
  return { event: legal(stood, event), after: { ...stood, staff_role } };
}

/** @throws ProblemError invalid_transition */
function legal(stood: RosterFacts, event: RosterEventName): RosterEventName {
  if (targetOf(standOf(stood), { event, to: stood.status }) !== null) return event;
  throw new ProblemError("invalid_transition", { extra: { from: stood.status, action: event, allowed: eventsFrom(stood.status) } });
}

function inNewStatus(stood: RosterFacts, { status = stood.status, suspended_until = null }: WantedChange, at: Date): RosterFacts {
  return inStatus(stood, status, { at, until: suspended_until === null ? null : new Date(suspended_until) });
}

/** Everything that is no status. @throws ProblemError validation_failed */
function withRest(facts: RosterFacts, wanted: WantedChange): RosterFacts {
  const { staff_role, department, supervisor_id, trial_ends_at, suspended_until } = wanted;
  const isOnTrial = isLive(facts) && (facts.status === "trial" || facts.status_before === "trial");
  if (typeof trial_ends_at === "string" && !isOnTrial)
    throw fieldError("/trial_ends_at", "not_on_trial", say("roster.only-somebody-on-trial-has-an-end"));
  if (typeof suspended_until === "string" && !isHalted(facts))
    throw fieldError("/suspended_until", "not_suspended", say("roster.only-a-suspension-or-probation-has-an"));
  return {
    ...facts,
    ...(staff_role !== undefined && { staff_role }),
    ...(department !== undefined && { department }),
    ...(supervisor_id !== undefined && { supervisor_id }),
    ...(trial_ends_at !== undefined && isOnTrial && { trial_ends_at: normal(trial_ends_at) }),
    ...(suspended_until !== undefined && isHalted(facts) && { suspended_until: normal(suspended_until) }),
  };
}

/** With milliseconds, as the columns give it back. */
function normal(at: string | null): string | null {
  return at === null ? null : new Date(at).toISOString();
}
