import { ProblemError } from "../../kernel/errors.ts";

export const caseStatuses = ["open", "active", "waiting", "closed", "archived"] as const;
export type CaseStatus = (typeof caseStatuses)[number];

interface Move {
  from: readonly CaseStatus[];
  /** Where it leads; without it the status stays. */
  to?: CaseStatus;
}

const working = ["open", "active", "waiting"] as const;

/** What is done to a case, and in which statuses. Nothing else moves a case: work on it leaves its status alone. */
export const moves = {
  activate: { from: ["open", "waiting"], to: "active" },
  wait: { from: ["active"], to: "waiting" },
  close: { from: working, to: "closed" },
  archive: { from: ["closed"], to: "archived" },
  reopen: { from: ["closed", "archived"], to: "active" },
  update: { from: working },
  note: { from: working },
  note_edit: { from: working },
  evidence: { from: working },
  action: { from: working },
  link: { from: working },
  keep: { from: caseStatuses },
  delete: { from: caseStatuses },
} as const satisfies Record<string, Move>;
export type CaseMove = keyof typeof moves;

/** The statuses that a change of the field `status` can ask for, and the move it stands for. */
export const statusMoves = { active: "activate", waiting: "wait", archived: "archive" } as const satisfies Partial<
  Record<CaseStatus, CaseMove>
>;

/** What may be done to a case in a status. */
export function movesFrom(status: string): CaseMove[] {
  return (Object.keys(moves) as CaseMove[]).filter((move) => isLegal(status, move));
}

/** @throws ProblemError invalid_transition, with what is allowed instead */
export function requireMove(status: string, move: CaseMove): void {
  if (isLegal(status, move)) return;
  throw new ProblemError("invalid_transition", { extra: { from: status, action: move, allowed: movesFrom(status) } });
}

export function isLegal(status: string, move: CaseMove): boolean {
  const from: readonly string[] = moves[move].from;
  return from.includes(status);
}
