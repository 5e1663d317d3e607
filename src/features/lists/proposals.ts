import type { Deps } from "../deps.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { groupBy } from "../../kernel/group.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { WorkflowsService } from "../workflows/requests/workflows.service.ts";
import { lockPerson, type Ledger } from "./ledger.ts";

export interface ProposalsDeps extends Deps<"database" | "clock"> {
  ledger: Ledger;
  workflows: Pick<WorkflowsService, "create">;
}

const atOnce = 100;
const retrySeconds = 60;
/** What a request for a punishment can ask of Discord; a role is given by hand. */
const penalties: Readonly<Record<string, string>> = { timeout: "timeout", kick: "kick", ban: "ban" };

/** Files requests for what guilds want proposed: one for each person and record, for all guilds together. */
export function createProposals({ database, clock, ledger, workflows }: ProposalsDeps) {
  async function file(call: Call, rows: readonly ListAction[]): Promise<void> {
    const [first] = rows;
    if (first === undefined) return;
    const { userId, action, seconds, recordReference } = first;
    const body = {
      user_id: userId,
      action: "note",
      reason: `${recordReference} lists this person, and the rules of the server propose a punishment.`,
      discord: { action: penalties[action ?? ""] ?? "none", guild_ids: rows.map(({ guildId }) => guildId) },
      ...(action === "timeout" && seconds !== null && { duration: `PT${seconds.toString()}S` }),
      notify_subject: false,
      on_duplicate: "join",
    };
    // Filed once, also when the process ends before that is noted.
    const idempotency = { scope: `list-proposal:${first.id}`, fingerprint: first.id, status: 201 };
    const filed = await workflows.create({ ...call, idempotency }, "punishment", body).then(
      ({ reference }) => ({ reference }),
      (error: unknown) => {
        if (!(error instanceof ProblemError) || error.code.startsWith("storage_") || error.code === "shutting_down") throw error;
        return { error };
      },
    );
    await database.write(call, async (tx) => {
      await lockPerson(tx, userId);
      for (const row of await tx.db.listAction.findMany({ where: { id: { in: rows.map(({ id }) => id) }, state: "pending" } })) {
        if ("reference" in filed) await ledger.change(tx, row, { state: "done", dueAt: null, requestReference: filed.reference });
        else if (filed.error.code === "rate_limited")
          await ledger.change(tx, row, {
            attempts: row.attempts + 1,
            dueAt: addSeconds(tx.now, retrySeconds),
            lastError: filed.error.message,
          });
        else await ledger.change(tx, row, { state: "failed", dueAt: null, lastError: filed.error.message });
      }
    });
  }

  return {
    /** File everything that is to be filed now. */
    async fileDue(call: Call): Promise<void> {
      const where = { state: "pending", stance: "propose", dueAt: { lte: clock.now() } };
      const rows = await database.read.listAction.findMany({ where, orderBy: { id: "asc" }, take: atOnce });
      const together = groupBy(rows, ({ userId, recordId, action }) => `${userId}:${recordId}:${action ?? ""}`);
      for (const some of together.values()) await file(call, some);
    },
  };
}
