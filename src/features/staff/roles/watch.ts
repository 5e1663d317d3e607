import { singleProcess, type Cluster } from "../../../cluster/cluster.ts";
import type { Deps } from "../../deps.ts";
import type { Logger, Tx } from "../../../database/database.ts";
import { systemCall } from "../../../kernel/call.ts";
import { uuid7, roleRef } from "../../../kernel/ids.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { AccessDirectory } from "../../permissions/access/access-directory.ts";

export interface RoleWatchDeps extends Deps<"database" | "events" | "guildState"> {
  audit: AuditService;
  access: Pick<AccessDirectory, "roles" | "readRole">;
  /** Of several processes the one that has the link to Discord tells of it. */
  cluster?: Pick<Cluster, "isLeader">;
  logger?: Logger;
}

export interface RoleWatch {
  look(): void;
}

/** A Discord role that stands for a staff role and is gone. */
interface Vanished {
  key: string;
  guildId: string;
  roleId: string;
  /** How many people held it; null when it vanished unseen. */
  people: number | null;
}

const action = "staff_role.discord_role_missing";
const refOf = ({ guildId, roleId }: { guildId: string; roleId: string }): string => roleRef(guildId, roleId);

/**
 * Notices when Discord has no longer a role that stands for a staff role: its holders lose their access although nobody here took
 * it. It is told once, in the audit and as an event.
 */
export function createRoleWatch({
  database,
  audit,
  events,
  guildState,
  access,
  cluster = singleProcess,
  logger,
}: RoleWatchDeps): RoleWatch {
  /** The holders of each mapped Discord role (`guildId:roleId`) that is there, as of the last look. */
  let holders = new Map<string, Set<string>>();
  const told = new Set<string>();

  async function emitVanished(tx: Tx, { key, guildId, roleId, people }: Vanished): Promise<void> {
    await tx.lock("staff-roles");
    const ref = refOf({ guildId, roleId });
    const role = await access.readRole(tx.db, key);
    if (role?.discord.some((one) => refOf(one) === ref) !== true) return;
    // What vanished before this process began may have been told by an earlier one.
    const where = { action, targetId: key, targetReference: ref };
    if (people === null && (await tx.db.auditEntry.findFirst({ where, select: { seq: true } })) !== null) return;
    audit.record(tx, {
      action,
      target: { kind: "staff_role", id: key, reference: ref },
      guildId,
      after: { role_id: roleId, missing: true, people_affected: people },
      permission: "system.act",
    });
    const data = { role_key: key, change: "discord_role_missing", guild_id: guildId, role_id: roleId, missing: true };
    events.emit(tx, { type: "staff_role.changed", data });
  }

  function vanishedNow(): Vanished[] {
    const present = new Set(guildState.guilds().flatMap((guild) => (guild.present ? [guild.id] : [])));
    return access.roles().flatMap(({ key, discord }) =>
      discord.flatMap(({ guildId, roleId }) => {
        const ref = refOf({ guildId, roleId });
        const isThere = present.has(guildId) && guildState.role(guildId, roleId) !== undefined;
        if (isThere) told.delete(ref);
        if (isThere || told.has(ref)) return [];
        return [{ key, guildId, roleId, people: holders.get(ref)?.size ?? null }];
      }),
    );
  }

  function countHolders(): void {
    const mapped = new Map(access.roles().flatMap(({ discord }) => discord.map((one) => [refOf(one), new Set<string>()] as const)));
    for (const userId of guildState.trackedUsers()) add(mapped, userId);
    for (const ref of mapped.keys()) if (told.has(ref)) mapped.delete(ref);
    holders = mapped;
  }

  /** One person's roles changed. */
  function note(userId: string): void {
    for (const people of holders.values()) people.delete(userId);
    add(holders, userId);
  }

  function add(into: ReadonlyMap<string, Set<string>>, userId: string): void {
    for (const { guildId, present, roleIds, isBot } of guildState.members(userId)) {
      if (present && !isBot) for (const roleId of roleIds) into.get(refOf({ guildId, roleId }))?.add(userId);
    }
  }

  /** Look at every mapping. */
  function look(): void {
    // What is missing from a state that may be incomplete may only not have been read yet.
    if (guildState.freshness().stale) return;
    for (const one of vanishedNow()) {
      told.add(refOf(one));
      if (!cluster.isLeader()) continue;
      database
        .write(systemCall("job", uuid7()), (tx) => emitVanished(tx, one))
        .catch((error: unknown) => {
          told.delete(refOf(one));
          logger?.warn({ err: error }, "a vanished Discord role could not be told and will be told later");
        });
    }
    countHolders();
  }

  // A role or a guild that goes may change anybody; a change of one person is none of a role.
  guildState.onChange((userId) => (userId === null ? look() : note(userId)));
  return { look };
}
