import { say, term } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { Failures } from "../../discord-actions/failures.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { Conflicts } from "../links/conflicts.ts";
import { isUndo, lockPerson, type ActionChanges, type Ledger } from "./ledger.ts";
import { listsPolicy, presentAction, requireServed } from "./lists.policy.ts";
import type { ListActionsQuery, ListActionView } from "./lists.schema.ts";

export interface ListActionsDeps extends Deps<"database" | "cursors" | "servedGuilds"> {
  ledger: Pick<Ledger, "change">;
  conflicts: Pick<Conflicts, "requireMayDecideAbout">;
  /** There is something to do. */
  wake: () => void;
}

const list = "list_actions";

/** What guilds do, or could not do, about listed people. */
export function createListActions({ database, cursors, servedGuilds, ledger, conflicts, wake }: ListActionsDeps) {
  async function find(tx: Tx, guildId: string, id: string): Promise<ListAction> {
    const found = await tx.db.listAction.findUnique({ where: { id }, select: { userId: true } });
    if (found !== null) await lockPerson(tx, found.userId);
    const row = await tx.db.listAction.findUnique({ where: { id } });
    if (row === null || row.guildId !== guildId || row.stance === "notify") throw recordNotFound();
    return row;
  }

  return {
    /** The actions of a guild in one state, the newest first. @throws ProblemError permission_denied, record_not_found, invalid_cursor */
    async list(call: Call, guildId: string, query: ListActionsQuery): Promise<Page<ListActionView>> {
      requirePermission(call, listsPolicy.read);
      requireServed(servedGuilds, guildId);
      const { limit, cursor, count, state } = query;
      const where = { guildId, state, stance: { not: "notify" } };
      const before = cursor === undefined ? undefined : cursors.decode(list, { guildId, state }, cursor)[1];
      const rows = await database.read.listAction.findMany({
        where: { ...where, ...(before !== undefined && { id: { lt: before } }) },
        orderBy: { id: "desc" },
        take: limit + 1,
      });
      const page = toPage(rows, limit, presentAction, ({ id }) => cursors.encode(list, { guildId, state }, [id, id]));
      return await withTotal(page, { count }, () => database.read.listAction.count({ where }));
    },

    /** What the bot could not do since a moment, and nobody has tried again. */
    async failuresSince(since: Date): Promise<Failures> {
      const where = { state: "failed", stance: "apply", updatedAt: { gte: since } };
      const [count, newest] = [
        await database.read.listAction.count({ where }),
        await database.read.listAction.findFirst({ where, orderBy: { updatedAt: "desc" }, select: { updatedAt: true, lastError: true } }),
      ];
      return { count, newest: newest && { at: newest.updatedAt, why: newest.lastError ?? "" } };
    },

    /**
     * Have an action that failed tried again, as often as a new one: what could not be done is done, what could not be taken back is taken back.
     * @throws ProblemError permission_denied, record_not_found, conflict_of_interest, hierarchy_violation, invalid_transition for one that
     * did not fail
     */
    async retry(call: Call, guildId: string, id: string): Promise<ListActionView> {
      requireWrite(call, listsPolicy.confirm);
      requireServed(servedGuilds, guildId);
      return await database.write(call, async (tx) => {
        const row = await find(tx, guildId, id);
        await conflicts.requireMayDecideAbout(tx, [row.userId]);
        if (row.state !== "failed") throw notFailed(row.state);
        // The length of a timeout counts from when it is set.
        const changes: ActionChanges = isUndo(row) ? { state: "undoing" } : { state: "pending", until: null, shownUntil: null };
        const due = { ...changes, attempts: 0, dueAt: tx.now };
        await ledger.change(tx, row, due, { verb: "retried", permission: listsPolicy.confirm });
        tx.afterCommit(wake);
        return presentAction({ ...row, ...due } as ListAction);
      });
    },
  };
}

function notFailed(state: string): ProblemError {
  const detail = say("lists.only-what-has-failed-is-tried-again", { state: term(state) });
  return new ProblemError("invalid_transition", { detail, extra: { from: state, action: "retry", allowed: [] } });
}
