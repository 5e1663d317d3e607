import type { FieldSpec, CommandInput } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import type { VerbInput } from "../../../commands/verbs.ts";
import { decisionAddress } from "./replies.ts";

const reason = (min: number): FieldSpec => ({ name: "reason", kind: "paragraph", required: true, min, max: 1000 });

interface Move {
  /** The decision it sends. */
  decision: string;
  /** What is asked for when it was not given. */
  form?: readonly FieldSpec[];
}

/** What `/review` and the cards do to a request, by the name of the sub-command. */
export const reviewMoves = {
  claim: { decision: "claim" },
  approve: { decision: "approve", form: [reason(3)] },
  deny: { decision: "deny", form: [reason(10)] },
  ask: { decision: "request_info", form: [{ name: "questions", kind: "paragraph", required: true, min: 3, max: 2500 }] },
  escalate: { decision: "escalate", form: [reason(3)] },
  hold: { decision: "hold", form: [reason(3)] },
  release: { decision: "release", form: [reason(3)] },
  reopen: { decision: "reopen", form: [reason(3)] },
  reverse: { decision: "reverse", form: [reason(10)] },
  void: { decision: "void", form: [reason(3)] },
  assign: { decision: "assign" },
  unassign: { decision: "unassign" },
  deescalate: { decision: "deescalate", form: [reason(3)] },
  abstain: { decision: "abstain" },
  object: { decision: "object", form: [reason(3)] },
} as const satisfies Readonly<Record<string, Move>>;
export type ReviewMove = keyof typeof reviewMoves;

export const moveOf = (verb: ReviewMove): Move => reviewMoves[verb];

export function isMove(verb: string): verb is ReviewMove {
  return Object.hasOwn(reviewMoves, verb);
}

/** The service method of a move. @param revision that was seen; any by default */
export function moveInput(verb: ReviewMove, given: CommandInput, revision?: number): VerbInput {
  return { params: decisionAddress(given), body: decisionBody(verb, given), revision };
}

/** The body of the decision: a question is a line. */
function decisionBody(verb: ReviewMove, given: CommandInput): object {
  const questions = linesOf(textIn(given, "questions"));
  const rules = entriesOf(textIn(given, "rules"), /[,\n]/);
  return {
    decision: reviewMoves[verb].decision,
    ...picked(given, "reason", "reason-internal", "override", "steal", "assignee", "duplicate-of"),
    ...(questions.length > 0 && { questions }),
    ...(rules.length > 0 && { policy_refs: rules }),
  };
}

/** What stands on lines of its own. */
export function linesOf(text: string | undefined): string[] {
  return entriesOf(text, /\n/);
}

function entriesOf(text: string | undefined, between: RegExp): string[] {
  return (text ?? "")
    .split(between)
    .map((line) => line.trim())
    .filter((line) => line !== "");
}
