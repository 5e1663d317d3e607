import { say } from "../../kit/say.ts";
import type { CauseInForce, CausesInForce, CauseSource, Remaining } from "../../discord-actions/in-force.ts";
import type { ListAction } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { settle } from "./checks.ts";
import { lockPerson, type Ledger } from "./ledger.ts";

/** What a list action keeps in force in Discord; a kick keeps nothing. */
const kinds: Readonly<Record<string, CauseInForce["kind"]>> = { ban: "ban", timeout: "timeout", role: "role_add" };

/** What tells a ban of ours from one made by hand: the reason of Discord's audit log ends with it. */
export function markOf({ id }: Pick<ListAction, "id">): string {
  return `#${id.slice(-12)}`;
}

/** What lists have the bot do: each action that is carried out is a cause until its record is gone. */
export function createListCauses(ledger: Pick<Ledger, "change">): CauseSource {
  return {
    feature: "list",

    // In the order of whoever compares a person.
    lockForEnding: (tx, { userId }) => lockPerson(tx, userId),

    async causesOf({ db }, { guildId, userId }) {
      const where = { guildId, userId, stance: "apply", state: { in: ["pending", "done"] } };
      return (await db.listAction.findMany({ where, orderBy: { id: "asc" } })).flatMap((row) => causeOf(row) ?? []);
    },

    async isUnderWay({ db }, { guildId, userId }) {
      const where = { guildId, userId, stance: "apply", state: { in: ["pending", "undoing"] } };
      return (await db.listAction.findFirst({ where, select: { id: true } })) !== null;
    },

    async signsOf({ db }, { guildId, userId }) {
      const rows = await db.listAction.findMany({ where: { guildId, userId, stance: "apply", action: "ban" }, select: { id: true } });
      return rows.map(markOf);
    },

    async mark({ db }, id, { changed, until }) {
      const done = { changed, ...(until && { shownUntil: until }) };
      await db.listAction.updateMany({ where: { id, state: "done" }, data: done });
      if (changed) await db.listAction.updateMany({ where: { id, state: "pending" }, data: { changed, mayBeDone: true } });
    },

    async end(tx, { guildId, userId }, { kind, by }) {
      await settle(tx, { guildId, userId, action: kind });
      const where = { guildId, userId, stance: "apply", action: kind, state: { in: ["pending", "done", "failed"] } };
      for (const row of await tx.db.listAction.findMany({ where, orderBy: { id: "asc" } })) {
        const state = row.state === "failed" && row.standingKey === null ? "undone" : "settled";
        await ledger.change(tx, row, { state, dueAt: null }, { why: say("lists.it-was-lifted-by", { reference: by }) });
      }
    },
  };
}

/**
 * Work out what the bot has to do once the record behind a list action is gone, in the transaction that takes the action on. What a
 * request or another list asks for alike stays in place. It may be called again for the same action.
 * @param row with the end of its timeout
 */
export async function afterWithdrawing(
  causes: Pick<CausesInForce, "afterWithdrawing">,
  tx: Parameters<CausesInForce["afterWithdrawing"]>[0],
  row: ListAction,
): Promise<Remaining> {
  const cause = causeOf(row);
  if (cause === undefined) return { stays: null, next: null };
  const { guildId, userId, recordReference } = row;
  return await causes.afterWithdrawing(tx, row, async () => {
    // Another cause may have left to this one what the bot had done. What may have been done without an answer counts as done.
    const marked = await tx.db.listAction.findUnique({ where: { id: row.id }, select: { changed: true, mayBeDone: true } });
    const changed = [row, marked].some((one) => one?.changed === true || one?.mayBeDone === true);
    return { ...cause, changed, guildId, userId, reason: `${recordReference} ${markOf(row)}` };
  });
}

function causeOf(row: ListAction): CauseInForce | undefined {
  const kind = kinds[row.action ?? ""];
  if (kind === undefined) return undefined;
  return {
    feature: "list",
    id: row.id,
    reference: row.recordReference,
    kind,
    ...(row.roleId !== null && { roleId: row.roleId }),
    until: kind === "timeout" ? (row.until ?? addSeconds(row.createdAt, row.seconds ?? 0)) : null,
    ...(row.changed && row.shownUntil !== null && { shown: row.shownUntil }),
    changed: row.changed,
    state: row.state === "pending" ? "pending" : "done",
    at: row.createdAt,
  };
}
