import { z } from "zod";
import type { appealOutcomes } from "../effects/inputs.ts";
import { defaultFilingLimits } from "../requests/filing.ts";
import type { QuestionsView } from "./questions.schema.ts";

/** What somebody typed who appeals. */
export interface AppealForm {
  grounds: string;
  outcome: string;
  /** In the order of the questions. */
  answers: readonly string[];
  /** Of the questions that were shown. */
  revision: number;
}

/** What somebody typed who answers a question of the staff. */
export interface AnswerForm {
  answer: string;
}

/** Something wrong with a form, told beside its field. */
export interface Fault {
  /** `grounds`, `outcome`, `answer`, `answer-0`, `files`. */
  field: string;
  says: "required" | "too-short" | "too-long" | "text" | "changed" | "files-many" | "file-large" | "file-type";
  values?: Readonly<Record<string, string | number>>;
}

/** Why nothing can be sent now: too many forms from an address, too many appeals in a day, or too many open ones. */
export type Limit = { because: "often" | "day"; seconds: number } | { because: "open" };

export const outcomes = ["overturn", "reduce", "clarify"] as const satisfies readonly (typeof appealOutcomes)[number][];
export const grounds = { min: 20, max: 2000 } as const;
/** Characters of an answer, to a question of the community or of the staff. */
export const maxAnswer = 2000;
/** Files that come with one form. */
export const maxFiles = 3;
/** What one of them may hold; less where `EVIDENCE_MAX_BYTES` is less. */
export const maxFileBytes = 10 * 1024 * 1024;
/** Appeals of one person in 24 hours. */
export const maxPerDay = 5;
/** Open appeals of one person, as of everybody who files requests about one subject. */
export const maxOpen = defaultFilingLimits.openPerSubject;
/** Forms sent from one address in an hour. */
export const perAddress = { count: 20, seconds: 3600 } as const;

/** What files may be, by their bytes: what reviewers can look at without a program that runs something. */
export const fileTypes: ReadonlyMap<string, string> = new Map([
  ["image/png", ".png"],
  ["image/jpeg", ".jpg"],
  ["image/webp", ".webp"],
  ["image/gif", ".gif"],
  ["application/pdf", ".pdf"],
  ["text/plain", ".txt"],
  ["video/mp4", ".mp4"],
  ["video/webm", ".webm"],
]);

/** What is wrong with an appeal. */
export function appealForm(form: AppealForm, { questions, revision }: QuestionsView): Fault[] {
  if (form.revision !== revision) return [{ field: "grounds", says: "changed" }];
  const answers = questions.flatMap(({ required }, index): Fault[] => {
    const field = `answer-${index.toString()}`;
    const answer = form.answers[index]?.trim() ?? "";
    if (required && answer === "") return [{ field, says: "required" }];
    return tooLong(field, answer, maxAnswer);
  });
  const said = form.grounds.trim();
  const short: Fault[] = said.length < grounds.min ? [{ field: "grounds", says: "too-short", values: { min: grounds.min } }] : [];
  const outcome: Fault[] = outcomes.some((one) => one === form.outcome) ? [] : [{ field: "outcome", says: "required" }];
  return [...answers, ...short, ...tooLong("grounds", said, grounds.max), ...outcome];
}

/** What is wrong with an answer: it has words, or files, or both. */
export function answerForm({ answer }: AnswerForm, files: number): Fault[] {
  const said = answer.trim();
  if (said === "" && files === 0) return [{ field: "answer", says: "required" }];
  return tooLong("answer", said, maxAnswer);
}

function tooLong(field: string, said: string, max: number): Fault[] {
  return said.length > max ? [{ field, says: "too-long", values: { max, over: said.length - max } }] : [];
}

/** A refusal of the field rules that the page has not foreseen, by the fields of the form. */
export function faultsIn(error: unknown): Fault[] | undefined {
  if (!(error instanceof z.ZodError)) return undefined;
  return error.issues.map(({ path }) => {
    const [field, index] = path;
    return { field: field === "answers" ? `answer-${String(index)}` : field === "answer" ? "answer" : "grounds", says: "text" };
  });
}
