import type { ReadClient } from "../../../database/database.ts";
import type { RosterAcknowledgement } from "../../../generated/sqlite/client.ts";
import type { Clock } from "../../../kernel/clock.ts";

/** Keys of one statement. */
const atOnce = 500;

/** What people decided to live with, and still do. */
export function createAcknowledged({ read, clock }: { read: ReadClient; clock: Clock }) {
  const inForce = () => ({ OR: [{ until: null }, { until: { gt: clock.now() } }] });

  return {
    /** Those of some findings, by key. */
    async of(keys: readonly string[]): Promise<Map<string, RosterAcknowledgement>> {
      const found = new Map<string, RosterAcknowledgement>();
      for (let from = 0; from < keys.length; from += atOnce) {
        const some = keys.slice(from, from + atOnce);
        const rows = await read.rosterAcknowledgement.findMany({ where: { key: { in: some }, ...inForce() } });
        for (const row of rows) found.set(row.key, row);
      }
      return found;
    },

    /** @param asked only those (`true`), only the others (`false`), or all */
    async filter(asked: "true" | "false" | undefined): Promise<(row: { key: string }) => boolean> {
      if (asked === undefined) return () => true;
      const rows = await read.rosterAcknowledgement.findMany({ where: inForce(), select: { key: true } });
      const keys = new Set(rows.map(({ key }) => key));
      return ({ key }) => keys.has(key) === (asked === "true");
    },
  };
}
