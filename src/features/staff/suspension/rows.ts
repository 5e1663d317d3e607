import type { Tx } from "../../../database/database.ts";
import type { EventsService } from "../../events/events.service.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { Standing, Standings } from "../../permissions/standing/standing.ts";
import type { SuspensionStateView } from "../duty/duty.schema.ts";
import { presentSuspension } from "../profile/profile.policy.ts";

type Entries = Parameters<PermissionsService["userRows"]["save"]>[2];

export interface SuspensionRowDeps {
  events: Pick<EventsService, "emit">;
  standing: Pick<Standings, "suppose">;
  permissions: Pick<PermissionsService, "userRows" | "suspensionAt">;
}

/** The entries that suspend somebody, inside a given transaction. */
export function createSuspensionRows({ events, standing, permissions }: SuspensionRowDeps) {
  return {
    /** Write the change, tell whoever follows along, and present how it stands now. */
    async settle(tx: Tx, target: Standing, change: "suspend" | "reinstate", entries: Entries): Promise<SuspensionStateView> {
      const { id: userId } = target;
      const revision = await permissions.userRows.save(tx, userId, entries);
      events.emit(tx, { type: "staff.access_changed", data: { user_id: userId, change } });
      const status = standing.suppose(target, { overrides: entries.rows }).status ?? "former";
      return { user_id: userId, status, suspension: presentSuspension(permissions.suspensionAt(entries.rows, tx.now)), revision };
    },
  };
}
