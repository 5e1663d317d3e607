import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { SettingMemory } from "../../kit/setting.ts";
import { stanceSetting } from "./lists.policy.ts";
import type { StanceRule, StoredStance } from "./lists.schema.ts";

/** The rules of every guild, in memory, and whom guilds leave alone. */
export interface Rules {
  memory: SettingMemory<StoredStance>;
  of(guildId: string): readonly StanceRule[];
  /** The guilds that leave somebody alone now. */
  exemptionsOf(
    db: Pick<Tx["db"] | Deps<"database">["database"]["read"], "listExemption">,
    userId: string,
    now: Date,
  ): Promise<ReadonlySet<string>>;
}

/** Holds what {@link Rules} answers. */
export function createRules({ database }: Deps<"database">): Rules {
  const memory = stanceSetting.hold(database);
  return {
    memory,
    of: (guildId) => memory.known(guildId).value.rules,
    async exemptionsOf(db, userId, now) {
      const rows = await db.listExemption.findMany({
        where: { userId, OR: [{ until: null }, { until: { gt: now } }] },
        select: { guildId: true },
      });
      return new Set(rows.map(({ guildId }) => guildId));
    },
  };
}
