export const rosterStatuses = [
  "applicant",
  "trial",
  "active",
  "loa",
  "probation",
  "suspended",
  "inactive",
  "resigned",
  "retired",
  "terminated",
  "transferred",
] as const;
export type RosterStatus = (typeof rosterStatuses)[number];

/** What the history of an entry tells of. */
export const rosterEvents = [
  "hired",
  "trial_started",
  "promoted",
  "demoted",
  "transferred",
  "role_added",
  "role_removed",
  "callsign_assigned",
  "callsign_released",
  "loa_started",
  "loa_ended",
  "suspended",
  "reinstated",
  "resigned",
  "terminated",
  "rehired",
  "renamed",
  "synced",
  "corrected",
] as const;
export type RosterEventName = (typeof rosterEvents)[number];

const employed = ["trial", "active", "loa", "probation", "suspended", "inactive"] as const;
const halted = ["probation", "suspended"] as const;
/** Those on the roster; the others have left it. */
export const liveStatuses = ["applicant", ...employed] as const;

export interface LegalMove {
  event: RosterEventName;
  from: readonly RosterStatus[];
  /** Where it may lead, the usual first: `before` to where a suspension or probation began, `same` nowhere. */
  to: readonly (RosterStatus | "before" | "same")[];
  /** Only for somebody who may put wrong entries right. */
  isCorrection?: true;
}

/** Every legal move of an entry. An undone move is none of these: it puts back what stood before. */
export const legalMoves: readonly LegalMove[] = [
  { event: "hired", from: ["applicant"], to: ["trial", "active"] },
  { event: "rehired", from: ["resigned", "retired", "transferred"], to: ["trial", "active"] },
  { event: "rehired", from: ["terminated"], to: ["trial", "active"], isCorrection: true },
  { event: "trial_started", from: ["applicant"], to: ["trial"] },
  { event: "promoted", from: employed, to: ["same"] },
  { event: "promoted", from: ["trial"], to: ["active"] },
  { event: "demoted", from: employed, to: ["same"] },
  { event: "loa_started", from: ["active"], to: ["loa"] },
  { event: "loa_ended", from: ["loa"], to: ["active"] },
  { event: "suspended", from: ["active", "trial", "loa"], to: ["suspended", "probation"] },
  { event: "suspended", from: ["probation"], to: ["suspended"] },
  { event: "reinstated", from: halted, to: ["before", "active"] },
  { event: "resigned", from: liveStatuses, to: ["resigned", "retired"] },
  { event: "terminated", from: liveStatuses, to: ["terminated"] },
  { event: "transferred", from: liveStatuses, to: ["transferred", "same"] },
  { event: "corrected", from: liveStatuses, to: ["same"] },
  // Who is not seen any more is set aside, and taken up again: nothing happened to them.
  { event: "corrected", from: ["active"], to: ["inactive"] },
  { event: "corrected", from: ["inactive"], to: ["active"] },
];

/** Where an entry stands. */
export interface Stand {
  status: string;
  statusBefore: string | null;
}

/** A move that is wanted; without `to`, to where it usually leads. */
export interface WantedMove {
  event: RosterEventName;
  to?: RosterStatus | undefined;
  isCorrection?: boolean | undefined;
}

/** Where a move leads from here; null when it is not legal. */
export function targetOf(stand: Stand, { event, to, isCorrection = false }: WantedMove): RosterStatus | null {
  const rows = legalMoves.filter(
    (row) => row.event === event && includes(row.from, stand.status) && (row.isCorrection !== true || isCorrection),
  );
  const targets = rows.flatMap((row) => row.to.map((target) => resolved(stand, target)));
  return targets.find((target) => to === undefined || target === to) ?? null;
}

/** What can happen to an entry in a status. */
export function eventsFrom(status: string): RosterEventName[] {
  return [...new Set(legalMoves.flatMap((row) => (includes(row.from, status) && row.isCorrection !== true ? [row.event] : [])))];
}

/** Whether an entry counts: its person has not left. */
export function isLive({ status }: Pick<Stand, "status">): boolean {
  return includes(liveStatuses, status);
}

/** Whether somebody waits for the end of a suspension or probation. */
export function isHalted({ status }: Pick<Stand, "status">): boolean {
  return includes(halted, status);
}

function resolved({ status, statusBefore }: Stand, target: LegalMove["to"][number]): RosterStatus {
  if (target === "same") return statusOf(status);
  return target === "before" ? statusOf(statusBefore ?? "active") : target;
}

function statusOf(text: string): RosterStatus {
  return rosterStatuses.find((status) => status === text) ?? "active";
}

function includes(statuses: readonly string[], status: string): boolean {
  return statuses.includes(status);
}
