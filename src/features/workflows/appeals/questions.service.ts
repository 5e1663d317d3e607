import { isDeepStrictEqual } from "node:util";
import type { ReadClient, TransactionClient } from "../../../database/database.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { ProblemError } from "../../../kernel/errors.ts";
import type { Deps } from "../../deps.ts";
import { PutQuestionsInput, questionsPolicy, QuestionsView } from "./questions.schema.ts";

export type QuestionsService = ReturnType<typeof createQuestions>;

const key = "appeals.questions";
const none: QuestionsView = { questions: [], revision: 1, updated_by: null, updated_at: null };

/** What a community asks people who appeal. */
export function createQuestions({ database, audit }: Deps<"database" | "audit">) {
  return {
    /** For the page, which asks them. */
    current: (): Promise<QuestionsView> => read(database.read),

    async get(call: Call): Promise<QuestionsView> {
      requirePermission(call, questionsPolicy.read);
      return await read(database.read);
    },

    /**
     * Choose all questions; the same again changes nothing. Appeals keep the questions that they answered.
     * @throws ZodError, ProblemError precondition_failed
     */
    async put(call: Call, input: PutQuestionsInput, ifMatch?: number): Promise<QuestionsView> {
      requireWrite(call, questionsPolicy.manage);
      const { questions } = PutQuestionsInput.parse(input);
      return await database.write(call, async (tx) => {
        await tx.lock(key);
        const before = await read(tx.db);
        if (ifMatch !== undefined && ifMatch !== before.revision)
          throw new ProblemError("precondition_failed", { extra: { current_etag: `"v${before.revision.toString()}"` } });
        if (isDeepStrictEqual(before.questions, questions)) return before;
        const after: QuestionsView = {
          questions,
          revision: before.revision + 1,
          updated_by: call.actor?.id ?? null,
          updated_at: tx.now.toISOString(),
        };
        const value = after as unknown as Prisma.InputJsonObject;
        await tx.db.setting.upsert({ where: { key }, create: { key, value }, update: { value } });
        audit.record(tx, {
          action: "appeal_questions.update",
          target: { kind: "appeal_questions", id: "appeal" },
          before: { questions: before.questions },
          after: { questions },
          permission: questionsPolicy.manage,
        });
        return after;
      });
    },
  };
}

async function read(db: Pick<ReadClient | TransactionClient, "setting">): Promise<QuestionsView> {
  const row = await db.setting.findUnique({ where: { key } });
  const stored = QuestionsView.safeParse(row?.value);
  return stored.success ? stored.data : none;
}
