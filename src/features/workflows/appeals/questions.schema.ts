import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { text, Timestamp } from "../../../kernel/fields.ts";

/** Who may see and choose what people who appeal are asked. */
export const questionsPolicy = { read: "system.settings.read", manage: "system.settings.manage" } as const;

/** How many questions there are at most. */
export const maxQuestions = 5;
/** Characters of a question. */
export const maxQuestion = 300;

const AppealQuestion = z
  .strictObject({
    question: text(3, maxQuestion).meta({ description: "As people who appeal read it" }),
    required: z.boolean().default(false).meta({ description: "Whether an appeal without an answer is sent back" }),
  })
  .meta({ id: "AppealQuestion" });
export type AppealQuestion = z.output<typeof AppealQuestion>;

const Questions = z
  .array(AppealQuestion)
  .max(maxQuestions)
  .superRefine((questions, context) => {
    for (const [index, { question }] of questions.entries())
      if (questions.findIndex((one) => one.question === question) < index)
        context.addIssue({
          code: "custom",
          path: [index, "question"],
          message: say("workflows.this-question-stands-here-twice"),
          params: { code: "duplicate" },
        });
  });

export const PutQuestionsInput = z
  .strictObject({ questions: Questions })
  .meta({ id: "PutAppealQuestionsInput", description: "All questions, in the order in which they are asked" });
export type PutQuestionsInput = z.input<typeof PutQuestionsInput>;

/** As they are stored, also where limits were others. */
export const StoredQuestions = z.object({
  questions: z.array(z.object({ question: z.string(), required: z.boolean() })).meta({ id: "AppealQuestions" }),
});

export const QuestionsView = StoredQuestions.extend({
  revision: z.int().positive(),
  updated_by: z.string().nullable(),
  updated_at: Timestamp.nullable(),
}).meta({ id: "AppealQuestionsView", description: "What people are asked who appeal at the page" });
export type QuestionsView = z.infer<typeof QuestionsView>;
