import { say } from "../../kit/say.ts";
import type { PermissionKey } from "../../kernel/permissions.ts";
import { z } from "zod";
import { roleRef } from "../../kernel/ids.ts";
import type { Tx } from "../../database/database.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { PermissionsService } from "../permissions/permissions.service.ts";
import type { StaffRoleRecord, AccessDirectory } from "../permissions/access/access-directory.ts";
import { createSuspensionRows, type SuspensionRowDeps } from "./suspension/suspension.service.ts";

export interface StaffWithinDeps extends SuspensionRowDeps {
  audit: Pick<AuditService, "record">;
  access: Pick<AccessDirectory, "of" | "role" | "roleAt" | "suppose">;
  permissions: Pick<PermissionsService, "userRows" | "suspensionAt" | "suspensionBy" | "denyInTx" | "undoDenyInTx">;
}

/** A suspension that an approved request leads to. */
export interface RequestedSuspension {
  userId: string;
  /** Its end; none when it holds permanently. */
  until: Date | null;
  reason: string;
  /** The permission that approved it. */
  permission: PermissionKey;
  /** The request. */
  causeReference: string;
}

const SuspensionUndo = z.strictObject({ user_id: z.string(), entry_id: z.string() });
export type SuspensionUndo = z.infer<typeof SuspensionUndo>;

/** A Discord role that stands for a staff role. */
export type MappedRole = StaffRoleRecord["discord"][number];

const gone = { restored: false, detail: say("staff.the-suspension-had-ended-already") };

/** What other features do to staff inside their transactions. Those features have checked rights, ranks and conflicts. */
export function createStaffInTx(deps: StaffWithinDeps) {
  const { access, permissions } = deps;
  const rows = createSuspensionRows(deps);

  return {
    /**
     * Suspend somebody, staff now or not: anyone who comes back is barred, too. A shorter suspension that runs stays beside it.
     * @returns what takes it back, or why nothing was done
     */
    async suspendInTx(tx: Tx, wanted: RequestedSuspension): Promise<{ undo: SuspensionUndo } | { skipped: string }> {
      const { userId, until, reason, permission, causeReference } = wanted;
      const target = access.of(userId);
      if (target.isOwner) return { skipped: say("staff.owners-cannot-be-suspended") };
      if (until !== null && until <= tx.now) return { skipped: say("staff.the-suspension-would-be-over-already") };
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const running = permissions.suspensionAt(before, tx.now);
      if (running !== undefined && isAsLong(running.expiresAt, until))
        return { skipped: say("staff.a-suspension-that-lasts-as-long-runs") };
      const entry = permissions.suspensionBy(tx.call, { reason, expiresAt: until }, tx.now);
      const entries = { rows: [...before, entry], gone: [], fresh: [entry] };
      await rows.persist(tx, target, "suspend", entries, { reason, permission, request: causeReference });
      return { undo: { user_id: userId, entry_id: entry.id } };
    },

    /** Take back one suspension; another one, and one that has ended, stay as they are. @param undo of `suspendInTx` */
    async undoSuspendInTx(tx: Tx, undo: unknown, note: { reason: string; permission: PermissionKey }) {
      const { user_id: userId, entry_id: entryId } = SuspensionUndo.parse(undo);
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const entry = before.find(({ id }) => id === entryId);
      if (entry === undefined || (entry.expiresAt !== null && entry.expiresAt <= tx.now)) return gone;
      const target = access.of(userId);
      const left = before.filter((one) => one !== entry);
      const view = await rows.persist(tx, target, "reinstate", { rows: left, gone: [entry], fresh: [] }, { ...note, ended: entry });
      const detail =
        view.suspension === null ? say("staff.the-suspension-was-lifted") : say("staff.the-suspension-was-lifted-another-one-still");
      return { restored: true, detail };
    },

    /**
     * Change when a suspension ends that `suspendInTx` began.
     * @param undo as `suspendInTx` answered it; it stays valid unless the suspension is lifted
     * @param until null: permanent; an end that is not ahead lifts it now
     * @returns the former end; null, with nothing done, where the suspension is over or ends then already
     */
    async changeSuspensionInTx(
      tx: Tx,
      undo: unknown,
      until: Date | null,
      { reason, permission, causeReference }: Pick<RequestedSuspension, "reason" | "permission" | "causeReference">,
    ): Promise<{ was: Date | null } | null> {
      const { user_id: userId, entry_id: entryId } = SuspensionUndo.parse(undo);
      const { rows: before } = await permissions.userRows.open(tx, userId);
      const entry = before.find(({ id }) => id === entryId);
      if (entry === undefined || (entry.expiresAt !== null && entry.expiresAt <= tx.now)) return null;
      if (entry.expiresAt?.getTime() === until?.getTime()) return null;
      const others = before.filter((one) => one !== entry);
      const fresh = until !== null && until <= tx.now ? [] : [{ ...entry, expiresAt: until }];
      const cause = { reason, permission, request: causeReference, ...(fresh.length === 0 && { ended: entry }) };
      const change = fresh.length === 0 ? "reinstate" : "suspend";
      await rows.persist(tx, access.of(userId), change, { rows: [...others, ...fresh], gone: [entry], fresh }, cause);
      return { was: entry.expiresAt };
    },

    denyInTx: permissions.denyInTx,
    undoDenyInTx: permissions.undoDenyInTx,

    /** A staff role by its key. */
    staffRoleOf: (key: string): StaffRoleRecord | undefined => access.role(key),

    /** The Discord roles that stand for a staff role, as known without asking anybody. */
    discordRolesOf(staffRoleKey: string): MappedRole[] {
      return (access.role(staffRoleKey)?.discord ?? []).map(({ guildId, roleId }) => ({ guildId, roleId }));
    },

    /** Whether a Discord role stands for a staff role. */
    isMapped: ({ guildId, roleId }: MappedRole): boolean => access.roleAt(roleRef(guildId, roleId)) !== undefined,

    /** The Discord roles somebody holds that stand for staff roles, as known without asking anybody. */
    mappedRolesHeldBy(userId: string): (MappedRole & { staffRole: string })[] {
      return access.of(userId).held.flatMap(({ role, refs }) =>
        refs.map((ref) => {
          const [guildId = "", roleId = ""] = ref.split(":");
          return { guildId, roleId, staffRole: role.key };
        }),
      );
    },
  };
}

/** Whether an end is not before another; no end is the last of all. */
function isAsLong(end: Date | null, other: Date | null): boolean {
  return end === null || (other !== null && end >= other);
}
