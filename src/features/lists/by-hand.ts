import { say } from "../../kit/say.ts";
import { addSeconds } from "../../kernel/clock.ts";
import type { OnEnded } from "../native-actions/records.ts";
import { lockPerson, type Ledger } from "./ledger.ts";

/** The clocks of Discord and of this machine differ by this many seconds at most. */
const apart = 2;

/** What people end by hand stays ended: a ban or timeout that somebody has lifted is not made again for the same record. */
export function createEndedByHand(ledger: Ledger): OnEnded {
  return async (tx, ended) => {
    const inOrder = ended.toSorted((one, other) => (one.userId < other.userId ? -1 : 1));
    for (const { kind, guildId, userId, at } of inOrder) {
      // What the bot lifts by itself is on its way to be undone, and what it did after that is none of it.
      const done = { OR: [{ state: "done" }, { state: "pending", mayBeDone: true }], updatedAt: { lte: addSeconds(at, apart) } };
      const where = { guildId, userId, action: kind, stance: "apply", ...done };
      if ((await tx.db.listAction.findFirst({ where, select: { id: true } })) === null) continue;
      await lockPerson(tx, userId);
      for (const row of await tx.db.listAction.findMany({ where }))
        await ledger.change(tx, row, { state: "settled", dueAt: null }, { why: say("lists.it-was-ended-by-hand-in-discord") });
    }
  };
}
