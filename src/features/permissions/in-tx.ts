import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { z } from "zod";
import type { Tx } from "../../database/database.ts";
import { ProblemError } from "../../kernel/errors.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { knownPermissions } from "../../kernel/permissions.ts";
import { entriesAt, type EntryChange } from "./overrides.ts";
import { auditOf } from "./users/users.policy.ts";
import type { Override, AccessDirectory } from "./access/access-directory.ts";
import { createUserRows } from "./user-rows.ts";

export interface PermissionsWithinDeps extends Deps<"audit" | "events"> {
  access: Pick<AccessDirectory, "of" | "readOverrides" | "setOverrides">;
}

/** Permissions that an approved request takes from somebody for a while. */
export interface RequestedDenial {
  userId: string;
  permissions: readonly string[];
  until: Date | null;
  reason: string;
  /** The permission that approved it. */
  permission: string;
}

const DenialUndo = z.strictObject({ user_id: z.string(), entry_ids: z.array(z.string()) });
export type DenialUndo = z.infer<typeof DenialUndo>;

/** Entries of people inside other features' transactions. Those features have checked rights, ranks and conflicts. */
export function createPermissionsInTx({ audit, events, access }: PermissionsWithinDeps) {
  const userRows = createUserRows(access);

  async function save(tx: Tx, userId: string, change: EntryChange, note: { reason: string; permission: string }): Promise<void> {
    await userRows.save(tx, userId, change);
    audit.record(tx, {
      action: "user_permissions.update",
      user: userId,
      before: auditOf(change.gone),
      after: auditOf(change.fresh),
      ...note,
    });
    events.emit(tx, { type: "permission.changed", data: { user_id: userId } });
  }

  return {
    /**
     * Deny somebody permissions everywhere; a key they have an entry for already is left alone.
     * @returns what takes it back, or why nothing was done
     * @throws ProblemError invalid_transition for a key that is not in the catalog
     */
    async denyInTx(tx: Tx, wanted: RequestedDenial): Promise<{ undo: DenialUndo } | { skipped: string }> {
      const { userId, permissions, until, reason, permission } = wanted;
      const unknown = permissions.find((key) => !knownPermissions.has(key));
      if (unknown !== undefined)
        throw new ProblemError("invalid_transition", { detail: say("permissions.is-not-a-permission-of-the-catalog", { key: unknown }) });
      if (access.of(userId).isOwner) return { skipped: say("permissions.owners-cannot-be-denied-anything") };
      if (until !== null && until <= tx.now) return { skipped: say("permissions.the-denial-would-be-over-already") };
      const { rows } = await userRows.open(tx, userId);
      const entries = entriesAt(rows, tx.now);
      const taken = new Set(entries.flatMap((entry) => (entry.guildId === null ? [entry.permission] : [])));
      const free = [...new Set(permissions)].filter((key) => !taken.has(key));
      if (free.length === 0) return { skipped: say("permissions.entries-about-each-of-these-permissions-stand") };
      const made = { effect: "deny", guildId: null, reason, expiresAt: until, createdBy: tx.call.actor?.id ?? null } as const;
      const fresh = free.map((key): Override => ({ id: uuid7(tx.now.getTime()), permission: key, ...made, createdAt: tx.now }));
      // What has ended and nobody has taken off the books yet makes way.
      const gone = rows.filter((row) => row.guildId === null && free.includes(row.permission));
      await save(tx, userId, { rows: [...rows.filter((row) => !gone.includes(row)), ...fresh], gone, fresh }, { reason, permission });
      return { undo: { user_id: userId, entry_ids: fresh.map(({ id }) => id) } };
    },

    /** Take entries back that still stand as they were written. @param undo of `denyInTx` */
    async undoDenyInTx(tx: Tx, undo: unknown, note: { reason: string; permission: string }) {
      const { user_id: userId, entry_ids: ids } = DenialUndo.parse(undo);
      const { rows } = await userRows.open(tx, userId);
      const gone = entriesAt(rows, tx.now).filter(({ id }) => ids.includes(id));
      if (gone.length === 0) return { restored: false, detail: say("permissions.the-entries-had-ended-or-been-replaced") };
      await save(tx, userId, { rows: rows.filter((row) => !gone.includes(row)), gone, fresh: [] }, note);
      if (gone.length === ids.length) return { restored: true, detail: say("permissions.the-permissions-are-no-longer-denied") };
      return { restored: false, detail: say("permissions.the-permissions-are-no-longer-denied-but") };
    },
  };
}
