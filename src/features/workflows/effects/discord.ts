import type { GuildState } from "../../../discord/guild-state.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { EffectInputs } from "./inputs.ts";
import { createNoticeEffects, type NoticeEffectDeps, type NoticeKeys } from "./notices.ts";
import { banEnd, endBansInTx } from "./ban-ends.ts";
import { discordEffect, type DiscordActionDraft } from "./discord-effect.ts";
import type { Approval, Done, SomeEffects } from "./types.ts";
import { lengthWords, plannedText } from "./place-words.ts";
import { penaltyEnd, timeoutLength } from "./words.ts";

type Keys = NoticeKeys | "discord.ban_end" | "discord.punish" | "discord.roles_add" | "discord.roles_remove";
type Penalty = Exclude<EffectInputs["discord.punish"]["action"], "role_remove">;

export type DiscordEffectDeps = NoticeEffectDeps & {
  staff: Pick<StaffService, "discordRolesOf" | "mappedRolesHeldBy">;
  guildState: Pick<GuildState, "guilds" | "members" | "role">;
};

interface Role {
  guildId: string;
  roleId: string;
}

interface PenaltySpec {
  /** What is done, which reads the same before and after: the status of the effect says which. */
  detail: (name: string, until: Date) => string;
  action: (member: Member, until: Date) => DiscordActionDraft;
}

const penalties: Readonly<Record<Penalty, PenaltySpec>> = {
  timeout: {
    detail: (name, until) => `Timeout in ${name} until ${until.toISOString()}.`,
    action: (member, until) => ({ ...member, kind: "timeout", until: until.toISOString() }),
  },
  kick: { detail: (name) => `Kick from ${name}.`, action: (member) => ({ ...member, kind: "kick" }) },
  ban: { detail: (name) => `Ban from ${name}.`, action: (member) => ({ ...member, kind: "ban" }) },
  untimeout: { detail: (name) => `End of the timeout in ${name}.`, action: (member) => ({ ...member, kind: "timeout_lift" }) },
  unban: { detail: (name) => `End of the ban in ${name}.`, action: (member) => ({ ...member, kind: "unban" }) },
};
interface Member {
  guildId: string;
  userId: string;
  reason: string;
}

/** What approvals leave for the bot to do. Only Discord roles that stand for staff roles are ever given or taken. */
export function createDiscordEffects(parts: DiscordEffectDeps): SomeEffects<Keys> {
  const { staff, guildState } = parts;
  const presentGuilds = (): string[] => guildState.guilds().flatMap(({ id, present }) => (present ? [id] : []));
  const serverName = (id: string): string => guildState.guilds().find((guild) => guild.id === id)?.name ?? `server ${id}`;

  function membershipsOf(userId: string): string[] {
    const guilds = presentGuilds();
    return guildState.members(userId).flatMap(({ guildId, present }) => (present && guilds.includes(guildId) ? [guildId] : []));
  }

  /** The roles somebody holds that stand for staff roles, but for those that stand for the one that stays. */
  function rolesToTake(userId: string, kept?: string): Role[] {
    const staying = kept === undefined ? [] : staff.discordRolesOf(kept);
    const held = staff.mappedRolesHeldBy(userId).filter((role) => !staying.some((one) => isSame(one, role)));
    return held.filter((role, index) => held.findIndex((one) => isSame(one, role)) === index);
  }

  function changeRoles(approval: Approval, userId: string, key: Keys, kind: "role_add" | "role_remove", roles: readonly Role[]): Done[] {
    const { request } = approval;
    return roles.map(({ guildId, roleId }) => {
      const id = nameOf(approval, key, `${guildId}:${roleId}`);
      const role = guildState.role(guildId, roleId)?.name;
      const detail = roleText(kind, role, serverName(guildId));
      const action = { kind, guildId, roleId, userId, reason: request.reference };
      return { ...discordEffect(action, { id, detail }), target: { kind: "discord_role", id: roleId } };
    });
  }

  const namesIn = (roles: readonly Role[]): string[] => [...new Set(roles.map(({ guildId }) => serverName(guildId)))];

  function punish(approval: Approval, kind: Penalty, { userId, guildIds, length }: Omit<EffectInputs["discord.punish"], "action">): Done[] {
    const { request, tx } = approval;
    const until = penaltyEnd(length, tx.now);
    const { action, detail } = penalties[kind];
    return guildIds.map((guildId) => {
      const id = nameOf(approval, "discord.punish", `${kind}:${guildId}`);
      const target = { kind: "server", id: guildId };
      const draft = action({ guildId, userId, reason: request.reference }, until);
      return { ...discordEffect(draft, { id, detail: detail(serverName(guildId), until) }), target };
    });
  }

  return {
    ...createNoticeEffects(parts),
    "discord.ban_end": banEnd,
    "discord.roles_add": {
      preview({ userId, roleKey }) {
        const guilds = membershipsOf(userId);
        const roles = staff.discordRolesOf(roleKey).filter(({ guildId }) => guilds.includes(guildId));
        return roles.length === 0
          ? "The Discord roles of the staff role are given, where they are a member."
          : plannedText({ what: "roles_add", names: namesIn(roles) });
      },
      apply(approval, { userId, roleKey }) {
        const guilds = membershipsOf(userId);
        const roles = staff.discordRolesOf(roleKey).filter(({ guildId }) => guilds.includes(guildId));
        return orNothing(
          changeRoles(approval, userId, "discord.roles_add", "role_add", roles),
          "No Discord role stands for the staff role where they are a member.",
        );
      },
    },
    "discord.roles_remove": {
      preview({ userId, keptRoleKey }) {
        const roles = rolesToTake(userId, keptRoleKey);
        return roles.length === 0
          ? "The Discord roles of the staff are taken from them."
          : plannedText({ what: "roles_remove", names: namesIn(roles) });
      },
      apply(approval, { userId, keptRoleKey }) {
        const roles = rolesToTake(userId, keptRoleKey);
        return orNothing(
          changeRoles(approval, userId, "discord.roles_remove", "role_remove", roles),
          "They hold no other Discord role of the staff.",
        );
      },
    },
    "discord.punish": {
      preview({ action, guildIds, length }) {
        const isEverywhere = guildIds.length === 0;
        const names = (isEverywhere ? presentGuilds() : guildIds).map(serverName);
        if (action === "ban") return plannedText({ what: action, names, isEverywhere, length: lengthWords(length) });
        const isTimeout = action === "timeout";
        return plannedText({ what: action, names, isEverywhere, length: isTimeout ? lengthWords(timeoutLength(length)) : undefined });
      },
      isOptional: true,
      async apply(approval, { userId, action, guildIds: named, length }, earlier) {
        const ours = presentGuilds();
        // None means all of them: what requests of earlier versions mean by naming none, and what `everywhere` says now.
        const guildIds = named.length === 0 ? ours : named.filter((id) => ours.includes(id));
        const missing = named
          .filter((id) => !ours.includes(id))
          .map((id): Done => {
            const name = serverName(id);
            return { status: "skipped", target: { kind: "server", id }, detail: `The bot is not in ${name}.` };
          });
        if (guildIds.length === 0) return missing.length > 0 ? missing : await orNothing([], "The bot is in no server.");
        if (action === "unban")
          for (const guildId of guildIds) await endBansInTx(approval.tx, { userId, guildId, by: approval.request.reference });
        if (action !== "role_remove") return [...punish(approval, action, { userId, guildIds, length }), ...missing];
        const taken = new Set(earlier.flatMap(({ key, target }) => (key === "discord.roles_remove" ? [target?.id] : [])));
        const roles = rolesToTake(userId).filter(({ guildId, roleId }) => guildIds.includes(guildId) && !taken.has(roleId));
        const done = changeRoles(approval, userId, "discord.punish", "role_remove", roles);
        return [...(await orNothing(done, "They hold no further Discord role of the staff there.")), ...missing];
      },
    },
  };
}

/** A Discord role that is given or taken; without its name where the bot does not know it. */
function roleText(kind: "role_add" | "role_remove", role: string | undefined, name: string): string {
  if (kind === "role_add") return role === undefined ? `Role of the staff in ${name}.` : `Role ${role} in ${name}.`;
  return role === undefined ? `Removal of a role of the staff in ${name}.` : `Removal of the role ${role} in ${name}.`;
}

/** Its own for ever: an approval that is put in force again acts anew, under another revision. */
function nameOf({ request }: Approval, key: Keys, target: string): string {
  return `${request.id}:${request.revision.toString()}:${key}:${target}`;
}

function isSame(one: Role, other: Role): boolean {
  return one.guildId === other.guildId && one.roleId === other.roleId;
}

function orNothing(done: Done[], detail: string): Promise<Done[]> {
  return Promise.resolve(done.length > 0 ? done : [{ status: "skipped", detail }]);
}
