import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { isPrivilegedRole } from "../../kernel/privileged-role.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { roleRef } from "../../kernel/ids.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import type { ListChecks } from "./checks.ts";
import type { Rules } from "./rules.ts";

/** What is known of Discord roles. */
export interface RoleKnowledge {
  access: Pick<AccessDirectory, "roleAt">;
  guildState: Pick<GuildState, "role">;
}

/**
 * Why a list never gives a Discord role: it maps to a staff role, or it can moderate or administer the server.
 * @returns null: it may be given; `unknown` until the gateway has reported its permissions
 */
export function barOf({ access, guildState }: RoleKnowledge, guildId: string, roleId: string): "staff" | "privileged" | "unknown" | null {
  if (access.roleAt(roleRef(guildId, roleId)) !== undefined) return "staff";
  const isPrivileged = isPrivilegedRole(guildState.role(guildId, roleId));
  return isPrivileged === undefined ? "unknown" : isPrivileged ? "privileged" : null;
}

/** Whether a bar holds when a rule acts. A role that is not known yet was known when the rule was saved. */
export function isBarred(bar: ReturnType<typeof barOf>): boolean {
  return bar === "staff" || bar === "privileged";
}

export interface RoleWatchDeps extends RoleKnowledge, Deps<"database" | "servedGuilds"> {
  rules: Pick<Rules, "of">;
  checks: Pick<ListChecks, "askGuild">;
}

/** Has guilds compared with the lists again when roles of their rules become barred, or are free again: what a list gave is taken back. */
export function createRoleWatch({ access, guildState, database, servedGuilds, rules, checks }: RoleWatchDeps) {
  const before = new Map<string, string>();
  const rolesOf = (guildId: string): string[] => rules.of(guildId).flatMap(({ role_id: roleId }) => roleId ?? []);

  function barredIn(guildId: string): string {
    const barred = rolesOf(guildId).filter((roleId) => isBarred(barOf({ access, guildState }, guildId, roleId)));
    return barred.toSorted().join();
  }

  return {
    /** A staff role maps to other Discord roles, from the commit of this transaction on. */
    staffRoleChanged(tx: Tx): void {
      for (const guildId of servedGuilds) if (rolesOf(guildId).length > 0) checks.askGuild(tx, guildId);
    },

    /** Compare the roles with those of the last look, as roles also change in Discord. For the job that runs each minute. @returns in how many guilds any changed */
    async look(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      const now = new Map([...servedGuilds].map((guildId) => [guildId, barredIn(guildId)]));
      const changed = [...now].filter(([guildId, barred]) => barred !== (before.get(guildId) ?? ""));
      if (changed.length === 0) return 0;
      await database.write(call, (tx) => {
        for (const [guildId] of changed) checks.askGuild(tx, guildId);
        return Promise.resolve();
      });
      for (const [guildId, barred] of changed) before.set(guildId, barred);
      return changed.length;
    },
  };
}
