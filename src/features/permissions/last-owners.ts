import type { Database, Tx } from "../../database/database.ts";
import { systemCall, type Call } from "../../kernel/call.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { AuditService } from "../audit/audit.service.ts";
import { permissionsPolicy } from "./permissions.policy.ts";
import type { Standings } from "./standing/standing.ts";

interface LastOwnersDeps {
  database: Database;
  audit: AuditService;
  standing: Standings;
  /** Hold the list of owners by name. */
  lock(tx: Tx): Promise<void>;
  /** Tell that somebody is an owner from now on, or is one no longer. */
  tell(tx: Tx, userId: string, isOwner: boolean): void;
}

/** Written as the author of those who are kept as the last owners. */
const keeper = "last_owner";

/**
 * Those who were the last owners when Discord took that away stay owners, by name, until there is another one.
 * @returns brings the list of names in step with who is kept; a job calls it
 */
export function createLastOwners({ database, audit, standing, lock, tell }: LastOwnersDeps): (call: Call) => Promise<void> {
  function note(tx: Tx, action: "owner.retain" | "owner.release", userId: string, reason: string): void {
    audit.record(tx, { action, target: { kind: "user", id: userId }, subjectUserId: userId, reason, permission: permissionsPolicy.jobs });
  }

  /** Write down those who are kept as the last owners. */
  async function retain(call: Call): Promise<void> {
    const ids = standing.retainedOwners();
    await database.write(call, async (tx) => {
      await lock(tx);
      const known = new Set((await tx.db.owner.findMany({ where: { userId: { in: ids } } })).map((row) => row.userId));
      for (const userId of ids.filter((id) => !known.has(id))) {
        await tx.db.owner.create({ data: { userId, createdAt: tx.now, createdBy: keeper, retained: true } });
        note(tx, "owner.retain", userId, "Nobody else is an owner.");
        tell(tx, userId, true);
      }
    });
  }

  /** There is another owner: those who were kept as the last ones are what their roles say. */
  async function release(call: Call): Promise<void> {
    await database.write(call, async (tx) => {
      await lock(tx);
      const rows = await tx.db.owner.findMany({ where: { retained: true } });
      await tx.db.owner.deleteMany({ where: { retained: true } });
      for (const { userId } of rows) {
        note(tx, "owner.release", userId, "There is another owner again.");
        tell(tx, userId, standing.ownersByRole().includes(userId));
      }
      tx.afterCommit(() =>
        standing.setOwners((owners) => {
          for (const [userId, { retained }] of owners) if (retained) owners.delete(userId);
        }),
      );
    });
  }

  async function settle(call: Call): Promise<void> {
    if (standing.retainedOwners().length === 0) return;
    await (standing.hasLastingOwner() ? release(call) : retain(call));
  }

  // A failure is made up for by the next run of the job: until then memory knows.
  standing.onLastOwnersLost(() => void settle(systemCall("job", uuid7())).catch(() => undefined));
  return settle;
}
