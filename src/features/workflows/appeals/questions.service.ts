import type { Call } from "../../../kernel/call.ts";
import { flat, setting } from "../../../kit/setting.ts";
import type { Deps } from "../../deps.ts";
import { PutQuestionsInput, questionsPolicy, StoredQuestions, type QuestionsView } from "./questions.schema.ts";

/** What the community asks people who appeal. */
export interface QuestionsService {
  /** For the page, which asks them. */
  current(): Promise<QuestionsView>;
  /** @throws ProblemError permission_denied */
  get(call: Call): Promise<QuestionsView>;
  /** Choose all questions. Appeals keep the questions that they answered. @throws ZodError, ProblemError precondition_failed */
  put(call: Call, input: PutQuestionsInput, ifMatch?: number): Promise<QuestionsView>;
}

const place = "";
const questions = setting({
  key: "appeals.questions",
  per: "installation",
  schema: StoredQuestions,
  nothing: { questions: [] },
  permission: questionsPolicy,
  action: "appeal_questions.update",
  target: () => ({ kind: "appeal_questions", id: "appeal" }),
});

/** Answers and changes what is asked of people who appeal. */
export function createQuestions({ database, audit }: Deps<"database" | "audit">): QuestionsService {
  const served = questions.serve<QuestionsView>({ database, audit, placeOf: () => place, present: (_, stored) => flat(stored) });
  return {
    current: async () => flat(await questions.read(database.read, place)),
    get: (call) => served.get(call, place),
    put: (call, input, ifMatch) => served.put(call, place, () => PutQuestionsInput.parse(input), ifMatch),
  };
}
