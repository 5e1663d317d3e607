import { say } from "../../kit/say.ts";
import type { Logger } from "pino";
import type { Deps } from "../deps.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { WorkflowsService } from "../workflows/requests/workflows.service.ts";
import type { Attempted, TaskKind } from "../../kit/task.ts";
import { lockPerson, type Ledger } from "./ledger.ts";

export interface ProposalsDeps extends Deps<"database"> {
  ledger: Ledger;
  logger: Logger;
  workflows: Pick<WorkflowsService, "create">;
}

const retrySeconds = 60;
const unfiled = say("lists.the-request-could-not-be-filed-the");
/** What a request for a punishment can ask of Discord; a role is given by hand. */
const penalties: Readonly<Record<string, string>> = { timeout: "timeout", kick: "kick", ban: "ban" };

/** Requests to be filed for what guilds want proposed, as tasks: one for each person and record, for all guilds together. */
export function createProposals({ database, ledger, logger, workflows }: ProposalsDeps): TaskKind {
  async function file(call: Call, rows: readonly [ListAction, ...ListAction[]]): Promise<Attempted> {
    const [{ id, userId, action, seconds, recordReference }] = rows;
    const body = {
      user_id: userId,
      action: "note",
      reason: say("lists.lists-this-person-and-the-rules-of", { recordReference }),
      discord: { action: penalties[action ?? ""] ?? "none", guild_ids: rows.map(({ guildId }) => guildId) },
      ...(action === "timeout" && seconds !== null && { duration: `PT${seconds.toString()}S` }),
      notify_subject: false,
      on_duplicate: "join",
    };
    // Filed once, also when the process ends before that is noted.
    const idempotency = { scope: `list-proposal:${id}`, fingerprint: id, status: 201 };
    const filed = await workflows.create({ ...call, idempotency }, "punishment", body).then(
      ({ reference }) => ({ reference }),
      (error: unknown) => {
        if (error instanceof ProblemError && (error.code.startsWith("storage_") || error.code === "shutting_down")) throw error;
        if (error instanceof ProblemError) return { error };
        // It would fail again: whoever looks after the list is told, and can have it tried once more.
        logger.error({ err: error, list_action: id }, "a proposal could not be filed; it ends as failed");
        return { error: new ProblemError("internal_error", { detail: unfiled, cause: error }) };
      },
    );
    const isLater = "error" in filed && filed.error.code === "rate_limited";
    await database.write(call, async (tx) => {
      await lockPerson(tx, userId);
      for (const row of await tx.db.listAction.findMany({ where: { id: { in: rows.map((one) => one.id) }, state: "pending" } })) {
        if ("reference" in filed) await ledger.change(tx, row, { state: "done", dueAt: null, requestReference: filed.reference });
        else if (isLater)
          await ledger.change(tx, row, {
            attempts: row.attempts + 1,
            dueAt: addSeconds(tx.now, retrySeconds),
            lastError: filed.error.said,
          });
        else await ledger.change(tx, row, { state: "failed", dueAt: null, lastError: filed.error.said }, { why: filed.error.said });
      }
    });
    return isLater ? "later" : "ended";
  }

  return {
    name: "list proposals",
    places: 1,

    async due(now, most, after) {
      const where = { state: "pending", stance: "propose", dueAt: { lte: now }, ...(after !== undefined && { id: { gt: after.id } }) };
      const rows = await database.read.listAction.findMany({
        where,
        orderBy: { id: "asc" },
        take: most,
        select: { id: true, userId: true, dueAt: true },
      });
      return rows.map(({ id, userId, dueAt }) => ({ id, key: userId, dueAt: dueAt ?? now }));
    },

    async nextDue(now) {
      const where = { state: "pending", stance: "propose", dueAt: { gt: now } };
      return (await database.read.listAction.findFirst({ where, orderBy: { dueAt: "asc" }, select: { dueAt: true } }))?.dueAt ?? null;
    },

    /** The first of those that belong together files for all of them. */
    async attempt(call, id) {
      const row = await database.read.listAction.findUnique({ where: { id } });
      if (row === null || row.dueAt === null || row.state !== "pending") return "passed";
      const { userId, recordId, action } = row;
      const where = { state: "pending", stance: "propose", userId, recordId, action };
      const rows = await database.read.listAction.findMany({ where, orderBy: { id: "asc" } });
      const [first, ...others] = rows;
      return first === undefined ? "passed" : await file(call, [first, ...others]);
    },
  };
}
