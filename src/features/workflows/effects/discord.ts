import { say } from "../../../kit/say.ts";
import type { Judge } from "../../../discord-actions/judge.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import type { EffectInputs } from "./inputs.ts";
import type { MemberAction } from "../../../discord-actions/possible.ts";
import { createNoticeEffects, type NoticeEffectDeps, type NoticeKeys } from "./notices.ts";
import type { DiscordActionDraft } from "../../../kernel/discord-port.ts";
import { discordEffect } from "./discord-effect.ts";
import type { Approval, Blocker, Done, SomeEffects, Due, Effect } from "./types.ts";
import type { Tx } from "../../../database/database.ts";
import { lengthWords, plannedText } from "./place-words.ts";
import { penaltyEnd, timeoutLength, untilOf } from "./words.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { addSeconds } from "../../../kernel/clock.ts";
import { takenBackOf, type Causes } from "./shared-actions.ts";

/** A ban that Discord has not carried out at its end is looked at again so many seconds later. */
const laterSeconds = 3600;

/** The end of a ban that has a length: at its date the bot takes back what it did, as a reversal would. */
const createBanEnd = (causes: Causes): Effect<EffectInputs["discord.ban_end"]> => ({
  preview: ({ length }) =>
    typeof length === "string"
      ? say("workflows.the-ban-is-lifted-when-its-length")
      : say("workflows.the-ban-stands-until-somebody-lifts-it"),
  apply({ from }, { length }, earlier) {
    const until = untilOf(length, from);
    const bans = until === null ? [] : earlier.filter(({ key, status }) => key === "discord.punish" && status === "pending");
    const ends = bans.map(({ target }): Done => {
      const detail = say("workflows.the-ban-is-lifted-at-its-end");
      return { status: "pending", detail, ...(target !== undefined && { target }), ...(until !== null && { dueAt: until }) };
    });
    return Promise.resolve(ends);
  },
  async run({ tx, request }: Due, row: WorkflowEffect): Promise<Done> {
    // An approval that was put in force again has banned them anew.
    const ban = request.effects.findLast(
      ({ key, targetId, place }) => key === "discord.punish" && targetId === row.targetId && place < row.place,
    );
    if (ban?.status === "pending")
      return { status: "pending", detail: say("workflows.the-ban-waits-for-discord-still"), dueAt: addSeconds(tx.now, laterSeconds) };
    if (ban?.status !== "done") return { status: "skipped", detail: say("workflows.the-ban-had-ended-before") };
    const taken = await takenBackOf(causes, ban, { tx, reason: request.reference });
    if (taken === undefined) return { status: "skipped", detail: say("workflows.the-bot-had-not-banned-them") };
    const { status, detail, undo, amends } = taken;
    await tx.db.workflowEffect.updateMany({ where: placeOf(ban), data: { status, detail, updatedAt: tx.now, ...(undo && { undo }) } });
    const [lift] = amends;
    return lift === undefined
      ? { status: "done", detail: say("workflows.the-ban-is-over-and-there-was") }
      : { ...lift, detail: say("workflows.end-of-the-ban"), dueAt: tx.now };
  },
});

function placeOf({ requestId, place }: WorkflowEffect): { requestId: string; place: number } {
  return { requestId, place };
}

type Keys = NoticeKeys | "discord.ban_end" | "discord.punish" | "discord.roles_add" | "discord.roles_remove";
type Penalty = Exclude<EffectInputs["discord.punish"]["action"], "role_remove">;

export type DiscordEffectDeps = NoticeEffectDeps & {
  staff: Pick<StaffService, "discordRolesOf" | "isMapped" | "mappedRolesHeldBy">;
  guildState: Pick<GuildState, "guilds" | "members" | "role" | "standings">;
  judge: Pick<Judge, "now">;
};

interface Role {
  guildId: string;
  roleId: string;
  /** The staff role that it stands for, where somebody holds it. */
  staffRole?: string;
}

type OfMember = Extract<DiscordActionDraft, Member>;

interface PenaltySpec {
  /** What is done, which reads the same before and after: the status of the effect says which. */
  detail: (name: string, until: Date) => string;
  action: (member: Member, more: { until: Date; deleteMessageSeconds: number }) => OfMember;
}

const penalties: Readonly<Record<Penalty, PenaltySpec>> = {
  timeout: {
    detail: (name, until) => say("workflows.timeout-in-until", { name, until: until.toISOString() }),
    action: (member, { until }) => ({ ...member, kind: "timeout", until: until.toISOString() }),
  },
  kick: { detail: (name) => say("workflows.kick-from", { name }), action: (member) => ({ ...member, kind: "kick" }) },
  ban: {
    detail: (name) => say("workflows.ban-from", { name }),
    action: (member, { deleteMessageSeconds }) => ({ ...member, kind: "ban", ...(deleteMessageSeconds > 0 && { deleteMessageSeconds }) }),
  },
  untimeout: {
    detail: (name) => say("workflows.end-of-the-timeout-in", { name }),
    action: (member) => ({ ...member, kind: "timeout_lift" }),
  },
  unban: { detail: (name) => say("workflows.end-of-the-ban-in", { name }), action: (member) => ({ ...member, kind: "unban" }) },
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
  const serverName = (id: string): string => guildState.guilds().find((guild) => guild.id === id)?.name ?? `server ${id}`;

  /** Whether somebody is a member, or may be. Of most people nothing is stored, and only the process with the gateway knows of everybody. */
  function mayBeMember(guildId: string, userId: string): boolean {
    const standing = guildState.standings.of(guildId)?.member(userId);
    if (standing !== undefined) return standing !== null;
    const stored = guildState.members(userId);
    return stored.length === 0 || stored.some((member) => member.present && member.guildId === guildId);
  }

  /** The roles somebody holds that stand for staff roles, but for those that stand for the one that stays. */
  function rolesToTake(userId: string, kept?: string): Role[] {
    const staying = kept === undefined ? [] : staff.discordRolesOf(kept);
    const held = staff.mappedRolesHeldBy(userId).filter((role) => !staying.some((one) => isSame(one, role)));
    return held.filter((role, index) => held.findIndex((one) => isSame(one, role)) === index);
  }

  /** {@link rolesToTake}, and those that earlier approvals have still to give: whoever is away gets them on their return. */
  async function allRolesToTake(tx: Tx, userId: string, kept?: string): Promise<Role[]> {
    const staying = kept === undefined ? [] : staff.discordRolesOf(kept);
    const found = rolesToTake(userId, kept);
    for (const guildId of presentGuilds())
      for (const { kind, roleId, state } of await causes.of(tx, { guildId, userId })) {
        if (kind !== "role_add" || roleId === undefined || state !== "pending" || !staff.isMapped({ guildId, roleId })) continue;
        if (![...found, ...staying].some((one) => isSame(one, { guildId, roleId }))) found.push({ guildId, roleId });
      }
    return found;
  }

  /** The roles that stand for a staff role, where the person is a member. */
  function rolesToGive(userId: string, roleKey: string): Role[] {
    const guilds = presentGuilds();
    return staff.discordRolesOf(roleKey).filter(({ guildId }) => guilds.includes(guildId) && mayBeMember(guildId, userId));
  }

  /** The servers that a punishment acts in. None by name means all: so say requests of earlier versions, and those that are for everywhere. */
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
    return roles.map(({ guildId, roleId, staffRole }) => {
      const id = nameOf(approval, key, `${guildId}:${roleId}`);
      const role = guildState.role(guildId, roleId)?.name;
      const detail = roleText(kind, role, serverName(guildId));
      const action = { kind, guildId, roleId, userId, reason: request.reference };
      const kept = kind === "role_add" ? { decided: { by: approval.actorId, permission: approval.permission } } : { staffRole };
      return { ...discordEffect(action, { id, detail, ...kept }), target: { kind: "discord_role", id: roleId } };
    });
  }

  const namesIn = (roles: readonly Role[]): string[] => [...new Set(roles.map(({ guildId }) => serverName(guildId)))];

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
      // A shorter timeout leaves the longer one: what is said is the end that holds.
      const end = longer !== null && longer > until ? longer : until;
      const act = action({ guildId, userId, reason: request.reference }, { until, deleteMessageSeconds });
      done.push({ ...discordEffect(act, { id, detail: detail(serverName(guildId), end) }), target });
    }
    return done;
  }

  return {
    ...createNoticeEffects(parts),
    "discord.ban_end": createBanEnd(causes),
    "discord.roles_add": {
      preview({ userId, roleKey }) {
        const roles = rolesToGive(userId, roleKey);
        return roles.length === 0
          ? say("workflows.the-discord-roles-of-the-staff-role")
          : plannedText({ what: "roles_add", names: namesIn(roles) });
      },
      check: (_approval, { userId, roleKey }) => blockersOf(roleActions("role_add", userId, rolesToGive(userId, roleKey))),
      apply(approval, { userId, roleKey }) {
        return orNothing(
          changeRoles(approval, userId, "discord.roles_add", "role_add", rolesToGive(userId, roleKey)),
          say("workflows.no-discord-role-stands-for-the-staff"),
        );
      },
    },
    "discord.roles_remove": {
      preview({ userId, keptRoleKey }) {
        const roles = rolesToTake(userId, keptRoleKey);
        return roles.length === 0
          ? say("workflows.the-discord-roles-of-the-staff-are")
          : plannedText({ what: "roles_remove", names: namesIn(roles) });
      },
      check: (_approval, { userId, keptRoleKey }) => blockersOf(roleActions("role_remove", userId, rolesToTake(userId, keptRoleKey))),
      async apply(approval, { userId, keptRoleKey }) {
        const roles = await allRolesToTake(approval.tx, userId, keptRoleKey);
        return await orNothing(
          changeRoles(approval, userId, "discord.roles_remove", "role_remove", roles),
          say("workflows.they-hold-no-other-discord-role-of"),
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
        const missing = named
          .filter((id) => !guildIds.includes(id))
          .map((id): Done => ({
            status: "skipped",
            target: { kind: "server", id },
            detail: say("workflows.the-bot-is-not-in", { name: serverName(id) }),
          }));
        if (guildIds.length === 0) return missing.length > 0 ? missing : await orNothing([], say("workflows.the-bot-is-in-no-server"));
        const kind = endedBy[action];
        if (kind !== undefined)
          for (const guildId of guildIds) await causes.endInTx(approval.tx, { guildId, userId }, { kind, by: approval.request.reference });
        if (action !== "role_remove")
          return [...(await punish(approval, action, { userId, guildIds, length, deleteMessageSeconds })), ...missing];
        const taken = new Set(earlier.flatMap(({ key, target }) => (key === "discord.roles_remove" ? [target?.id] : [])));
        const all = await allRolesToTake(approval.tx, userId);
        const roles = all.filter(({ guildId, roleId }) => guildIds.includes(guildId) && !taken.has(roleId));
        const done = changeRoles(approval, userId, "discord.punish", "role_remove", roles);
        return [...(await orNothing(done, say("workflows.they-hold-no-further-discord-role-of"))), ...missing];
      },
    },
  };
}

/** A Discord role that is given or taken; without its name where the bot does not know it. */
function roleText(kind: "role_add" | "role_remove", role: string | undefined, name: string): string {
  if (kind === "role_add")
    return role === undefined ? say("workflows.role-of-the-staff-in", { name }) : say("workflows.role-in", { role, name });
  return role === undefined
    ? say("workflows.removal-of-a-role-of-the-staff", { name })
    : say("workflows.removal-of-the-role-in", { role, name });
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
