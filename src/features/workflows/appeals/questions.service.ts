import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import type { Deps } from "../../deps.ts";
import { createGuildSetting } from "../direct/guild-settings.ts";
import { PutQuestionsInput, questionsPolicy, StoredQuestions, type QuestionsView } from "./questions.schema.ts";

export type QuestionsService = ReturnType<typeof createQuestions>;

const setting = createGuildSetting("appeals.questions", StoredQuestions, { questions: [] });

/** What the community asks people who appeal. */
export function createQuestions({ database, audit }: Deps<"database" | "audit">) {
  async function current(): Promise<QuestionsView> {
    const { value, ...rest } = await setting.read(database.read, null);
    return { ...value, ...rest };
  }

  return {
    /** For the page, which asks them. */
    current,

    async get(call: Call): Promise<QuestionsView> {
      requirePermission(call, questionsPolicy.read);
      return await current();
    },

    /**
     * Choose all questions; the same again changes nothing. Appeals keep the questions that they answered.
     * @throws ZodError, ProblemError precondition_failed
     */
    async put(call: Call, input: PutQuestionsInput, ifMatch?: number): Promise<QuestionsView> {
      requireWrite(call, questionsPolicy.manage);
      const chosen = PutQuestionsInput.parse(input);
      return await database.write(call, async (tx) => {
        const { value, ...rest } = await setting.put(tx, null, { value: chosen, ifMatch }, (before) =>
          audit.record(tx, {
            action: "appeal_questions.update",
            target: { kind: "appeal_questions", id: "appeal" },
            before,
            after: chosen,
            permission: questionsPolicy.manage,
          }),
        );
        return { ...value, ...rest };
      });
    },
  };
}
