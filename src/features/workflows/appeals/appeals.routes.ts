import { routesFor, type Route } from "../../../operations/route.ts";
import { PutQuestionsInput, questionsPolicy, QuestionsView } from "./questions.schema.ts";
import type { QuestionsService } from "./questions.service.ts";

const { get, put } = routesFor("workflows");
const example = {
  questions: [
    { question: "What happened, in your own words?", required: true },
    { question: "What will you do differently?", required: false },
  ],
  revision: 2,
  updated_by: "80351110224678912",
  updated_at: "2026-11-20T10:00:00.000Z",
} satisfies QuestionsView;

/** HTTP routes for what people are asked who appeal. */
export function appealsRoutes(questions: QuestionsService): Route[] {
  return [
    get("/appeals/questions", "getAppealQuestions", {
      summary: "Read what people are asked who appeal at the page",
      access: { permission: questionsPolicy.read },
      success: { status: 200, shape: "single", schema: QuestionsView, description: "The questions, in their order", example },
      handle: ({ call }) => questions.get(call),
    }),
    put("/appeals/questions", "putAppealQuestions", {
      summary: "Choose what people are asked who appeal at the page",
      description: "Send all of them, at most five. Appeals keep the questions that they answered.",
      access: { permission: questionsPolicy.manage },
      request: { body: PutQuestionsInput, example: { questions: example.questions } },
      success: { status: 200, shape: "single", schema: QuestionsView, description: "The questions as they are now", example },
      refusals: ["precondition_failed"],
      handle: ({ call, body, ifMatch }) => questions.put(call, body, ifMatch),
    }),
  ];
}
