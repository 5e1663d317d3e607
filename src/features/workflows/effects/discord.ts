import type { Judge } from "../../../discord-actions/judge.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { EffectInputs } from "./inputs.ts";
import type { MemberAction } from "../../../discord-actions/possible.ts";
import { createNoticeEffects, type NoticeEffectDeps, type NoticeKeys } from "./notices.ts";
import type { DiscordActionDraft } from "../../../kernel/discord-port.ts";
import { createBanEnd } from "./ban-ends.ts";
import { discordEffect } from "./discord-effect.ts";
import type { Approval, Blocker, Done, SomeEffects } from "./types.ts";
import { penaltyEnd } from "./words.ts";

type Keys = NoticeKeys | "discord.ban_end" | "discord.punish" | "discord.roles_add" | "discord.roles_remove";
type Penalty = Exclude<EffectInputs["discord.punish"]["action"], "role_remove">;

export type DiscordEffectDeps = NoticeEffectDeps & {
  staff: Pick<StaffService, "discordRolesOf" | "mappedRolesHeldBy">;
  guildState: Pick<GuildState, "guilds" | "members">;
  judge: Pick<Judge, "now">;
};

interface Role {
  guildId: string;
  roleId: string;
}

type OfMember = Extract<DiscordActionDraft, Member>;

const penalties: Readonly<
  Record<Penalty, { detail: string; action: (member: Member, more: { until: Date; deleteMessageSeconds: number }) => OfMember }>
> = {
  timeout: {
    detail: "They are timed out in a server.",
    action: (member, { until }) => ({ ...member, kind: "timeout", until: until.toISOString() }),
  },
  kick: { detail: "They are removed from a server.", action: (member) => ({ ...member, kind: "kick" }) },
  ban: {
    detail: "They are banned from a server.",
    action: (member, { deleteMessageSeconds }) => ({ ...member, kind: "ban", ...(deleteMessageSeconds > 0 && { deleteMessageSeconds }) }),
  },
  untimeout: { detail: "Their timeout in a server is lifted.", action: (member) => ({ ...member, kind: "timeout_lift" }) },
  unban: { detail: "Their ban in a server is lifted.", action: (member) => ({ ...member, kind: "unban" }) },
};
/** What ends every ban or timeout, whatever asked for it. */
const endedBy: Partial<Readonly<Record<EffectInputs["discord.punish"]["action"], "ban" | "timeout">>> = {
  unban: "ban",
  untimeout: "timeout",
};

interface Member {
  guildId: string;
  userId: string;
  reason: string;
}

/** What approvals leave for the bot to do. Only Discord roles that stand for staff roles are ever given or taken. */
export function createDiscordEffects(parts: DiscordEffectDeps): SomeEffects<Keys> {
  const { staff, guildState, judge, causes } = parts;
  const presentGuilds = (): string[] => guildState.guilds().flatMap(({ id, present }) => (present ? [id] : []));

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

  /** The roles that stand for a staff role, where the person is a member. */
  function rolesToGive(userId: string, roleKey: string): Role[] {
    const guilds = membershipsOf(userId);
    return staff.discordRolesOf(roleKey).filter(({ guildId }) => guilds.includes(guildId));
  }

  /** The servers that a punishment acts in. */
  function placesOf(named: readonly string[]): string[] {
    const ours = presentGuilds();
    return named.length === 0 ? ours : named.filter((id) => ours.includes(id));
  }

  /** What Discord would refuse, by what is known without asking. Whoever has left cannot be kicked, which is no reason to decide otherwise. */
  function blockersOf(actions: readonly MemberAction[]): Promise<Blocker[]> {
    const verdicts = actions.flatMap((action) => judge.now(action) ?? []);
    const refused = verdicts.filter(({ outcome, code }) => outcome === "impossible" && code !== "not_a_member");
    return Promise.resolve(refused.map(({ code, detail }) => ({ code, detail, isWaivable: true })));
  }

  const roleActions = (kind: "role_add" | "role_remove", userId: string, roles: readonly Role[]): MemberAction[] =>
    roles.map((role) => ({ kind, userId, ...role }));

  function changeRoles(approval: Approval, userId: string, key: Keys, kind: "role_add" | "role_remove", roles: readonly Role[]): Done[] {
    const { request } = approval;
    const detail = kind === "role_add" ? "A Discord role of the staff role is given." : "A Discord role of the staff is taken.";
    return roles.map(({ guildId, roleId }) => {
      const id = nameOf(approval, key, `${guildId}:${roleId}`);
      const action = { kind, guildId, roleId, userId, reason: request.reference };
      return { ...discordEffect(action, { id, detail }), target: { kind: "discord_role", id: roleId } };
    });
  }

  async function punish(
    approval: Approval,
    kind: Penalty,
    { userId, guildIds, length, deleteMessageSeconds: asked = 0 }: Omit<EffectInputs["discord.punish"], "action">,
  ): Promise<Done[]> {
    const { request, tx, from } = approval;
    const until = penaltyEnd(length, tx.now);
    // A decision that is put back in force later is not about what the person wrote in between.
    const deleteMessageSeconds = from < tx.now ? 0 : asked;
    const { action, detail } = penalties[kind];
    const done: Done[] = [];
    for (const guildId of guildIds) {
      const id = nameOf(approval, "discord.punish", `${kind}:${guildId}`);
      const target = { kind: "server", id: guildId };
      const longer = kind === "timeout" ? await causes.timedOutUntil(tx, { guildId, userId }) : null;
      const said = longer !== null && longer > until ? `They stay timed out in a server until ${longer.toISOString()}.` : detail;
      const act = action({ guildId, userId, reason: request.reference }, { until, deleteMessageSeconds });
      done.push({ ...discordEffect(act, { id, detail: said }), target });
    }
    return done;
  }

  return {
    ...createNoticeEffects(parts),
    "discord.ban_end": createBanEnd(causes),
    "discord.roles_add": {
      preview: "The Discord roles of the staff role are given, where they are a member.",
      check: (_approval, { userId, roleKey }) => blockersOf(roleActions("role_add", userId, rolesToGive(userId, roleKey))),
      apply(approval, { userId, roleKey }) {
        return orNothing(
          changeRoles(approval, userId, "discord.roles_add", "role_add", rolesToGive(userId, roleKey)),
          "No Discord role stands for the staff role where they are a member.",
        );
      },
    },
    "discord.roles_remove": {
      preview: "The Discord roles of the staff are taken from them.",
      check: (_approval, { userId, keptRoleKey }) => blockersOf(roleActions("role_remove", userId, rolesToTake(userId, keptRoleKey))),
      apply(approval, { userId, keptRoleKey }) {
        const roles = rolesToTake(userId, keptRoleKey);
        return orNothing(
          changeRoles(approval, userId, "discord.roles_remove", "role_remove", roles),
          "They hold no other Discord role of the staff.",
        );
      },
    },
    "discord.punish": {
      preview: ({ action }) => `In Discord: ${action.replace("_", " ")}.`,
      isOptional: true,
      check({ tx }, { userId, action, guildIds: named, length }) {
        const guildIds = placesOf(named);
        if (action === "role_remove") {
          const roles = rolesToTake(userId).filter(({ guildId }) => guildIds.includes(guildId));
          return blockersOf(roleActions("role_remove", userId, roles));
        }
        const more = { until: penaltyEnd(length, tx.now), deleteMessageSeconds: 0 };
        return blockersOf(guildIds.map((guildId) => penalties[action].action({ guildId, userId, reason: "" }, more)));
      },
      async apply(approval, { userId, action, guildIds: named, length, deleteMessageSeconds = 0 }, earlier) {
        const guildIds = placesOf(named);
        const none = "It names no server the bot is in.";
        if (guildIds.length === 0) return await orNothing([], none);
        const kind = endedBy[action];
        if (kind !== undefined)
          for (const guildId of guildIds) await causes.endInTx(approval.tx, { guildId, userId }, { kind, by: approval.request.reference });
        if (action !== "role_remove")
          return await orNothing(await punish(approval, action, { userId, guildIds, length, deleteMessageSeconds }), none);
        const taken = new Set(earlier.flatMap(({ key, target }) => (key === "discord.roles_remove" ? [target?.id] : [])));
        const roles = rolesToTake(userId).filter(({ guildId, roleId }) => guildIds.includes(guildId) && !taken.has(roleId));
        return await orNothing(
          changeRoles(approval, userId, "discord.punish", "role_remove", roles),
          "They hold no further Discord role of the staff there.",
        );
      },
    },
  };
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
