import type { CommandInput, Entry } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { readView } from "../../../commands/records.ts";
import type { Translate } from "../../../kit/say.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { QuestionsView } from "./questions.schema.ts";

const place = { kind: "integer", min: 1, max: 5 } as const;

/** `/setup appeal`: what people are asked who appeal. Nothing given shows it. */
export const appealEntry: Entry = {
  command: "setup",
  path: "appeal",
  operation: "putAppealQuestions",
  operations: ["putAppealQuestions", "getAppealQuestions"],
  operationFor: ({ values }) =>
    ["question", "required", "without"].some((name) => values[name] !== undefined) ? "putAppealQuestions" : "getAppealQuestions",
  options: [
    { name: "number", ...place },
    { name: "question", kind: "text", min: 3, max: 300 },
    { name: "required", kind: "boolean" },
    { name: "without", ...place },
  ],
  async locate(_given, call, verbs) {
    return { known: JSON.stringify(await readView<QuestionsView>(verbs, "getAppealQuestions", call, {})) };
  },
  input(given) {
    const { questions, revision } = JSON.parse(textIn(given, "known") ?? '{"questions":[]}') as QuestionsView;
    return { body: { questions: changed(questions, given) }, revision };
  },
  show: (view: QuestionsView, { t }) => ({ content: questionsText(view, t) }),
};

/** The questions with one in a place, changed or added at the end, or without one. */
function changed(questions: QuestionsView["questions"], given: CommandInput): object[] {
  const { number, without } = given.values;
  const change = picked(given, "question", "required");
  const left = questions.filter((_, index) => index + 1 !== without);
  if (Object.keys(change).length === 0) return left;
  const at = Math.min((typeof number === "number" ? number : left.length + 1) - 1, left.length);
  return [...left.slice(0, at), { ...(left[at] ?? { question: "", required: false }), ...change }, ...left.slice(at + 1)];
}

/** The questions as people meet them. */
function questionsText({ questions }: QuestionsView, t: Translate): string {
  if (questions.length === 0) return t("setup appeal-none");
  const lines = questions.map(
    ({ question, required }, index) =>
      `${(index + 1).toString()}. ${escapeText(question)} (${t(required ? "setup appeal-required" : "setup appeal-optional")})`,
  );
  return [t("setup appeal-asks"), ...lines].join("\n");
}
