import { createHeldRows } from "../../cluster/held-rows.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { Prisma } from "../../generated/sqlite/client.ts";
import { guildOfKey, noRules, readStance, stanceKey, type KnownStance } from "./lists.policy.ts";
import type { StanceRule } from "./lists.schema.ts";

export type Rules = ReturnType<typeof createRules>;

/** The rules of every guild, in memory, and whom guilds leave alone. */
export function createRules({ database }: Deps<"database">) {
  const known = createHeldRows(async () => {
    const rows = await database.read.$select("Setting", Prisma.sql`WHERE t.key LIKE ${`${stanceKey("")}%`}`);
    return new Map(rows.map(({ key, value }) => [guildOfKey(key), readStance(value)]));
  });

  return {
    /** Fill the memory from the database. */
    load: known.load,
    of: (guildId: string): readonly StanceRule[] => (known.get(guildId) ?? noRules).rules,
    known: (guildId: string): KnownStance => known.get(guildId) ?? noRules,
    /** From the commit of this transaction on. */
    set: (tx: Tx, guildId: string, stance: KnownStance): void => tx.afterCommit(() => known.set(guildId, stance)),

    /** The guilds that leave somebody alone now. */
    async exemptionsOf(
      db: Pick<Tx["db"] | Deps<"database">["database"]["read"], "listExemption">,
      userId: string,
      now: Date,
    ): Promise<ReadonlySet<string>> {
      const rows = await db.listExemption.findMany({
        where: { userId, OR: [{ until: null }, { until: { gt: now } }] },
        select: { guildId: true },
      });
      return new Set(rows.map(({ guildId }) => guildId));
    },
  };
}
