import { randomBytes } from "node:crypto";
import type { Doing, Guild, Member, Role, User, World } from "./model.ts";
import { permissionBits } from "./permissions.ts";
import { addBot, addGuildChannel, changeGuild, removeBot, setAvailable, plainRole } from "./world-guilds.ts";
import { writeRawEntry } from "./audit-log.ts";
import { addMember, ban, kick, prune, removeMember, timeOutByRule, unban, updateMember } from "./world-members.ts";
import { createUser } from "./world.ts";
import { GatewayIntentBits } from "discord-api-types/v10";
import { rolePayload } from "./payloads.ts";

export type RoleOptions = { permissions?: readonly string[]; position?: number };
export type JoinOptions = { roles?: readonly Role[]; nick?: string };

/** Who does it and why; the guild's owner without a reason by default. A user made with `bot: true` acts as another bot. */
export type Given = { by?: User; reason?: string };

export type GuildHandle = ReturnType<typeof createGuildHandle>;

const idsOf = (roles: readonly Pick<Role, "id">[] = []) => roles.map(({ id }) => id);

/** What a script can do to a guild, as its owner would; every change is told over the gateway. */
export function createGuildHandle(world: World, guild: Guild) {
  function requireMember(user: User): Member {
    const member = guild.members.get(user.id);
    if (!member) throw new Error(`${user.username} is not in ${guild.name}`);
    return member;
  }

  function byHand({ by, reason }: Given = {}): Doing {
    const hand = by ?? world.users.get(guild.ownerId);
    if (!hand) throw new Error(`${guild.name} has no owner`);
    return { by: hand, reason };
  }

  return {
    id: guild.id,
    get name() {
      return guild.name;
    },
    get ownerId() {
      return guild.ownerId;
    },
    get memberCount() {
      return guild.members.size;
    },
    /** The bot's own role, above every scripted one that names no higher position (it stands at 250). */
    get botRole(): Role | undefined {
      return [...guild.roles.values()].find(({ botId }) => botId === world.application.bot.id);
    },
    get everyoneRole(): Role {
      return guild.roles.get(guild.id) as Role;
    },
    rename: (name: string) => changeGuild(world, guild, { name }),
    setPreferredLocale: (preferredLocale: string) => changeGuild(world, guild, { preferredLocale }),
    /** An outage of this guild alone: false begins it, true ends it. */
    setAvailable: (available: boolean) => setAvailable(world, guild, available),
    createChannel: (name: string, { hiddenFrom }: { hiddenFrom?: readonly Role[] } = {}) =>
      addGuildChannel(world, guild, name, idsOf(hiddenFrom)),
    /** Makes an invite into the guild; answers its code. */
    createInvite(): string {
      const code = randomBytes(5).toString("hex");
      world.invites.set(code, guild);
      return code;
    },
    revokeInvite: (code: string) => world.invites.delete(code),
    /**
     * What an owner does under Server Settings, Integrations: these roles see every command of the application.
     * @param command sets the roles of this command alone: it is shown to nobody else then, except administrators
     */
    allowCommands(roles: readonly Pick<Role, "id">[], command?: string): void {
      if (command !== undefined) guild.ownCommandRoles.set(command, new Set(idsOf(roles)));
      else for (const { id } of roles) guild.commandRoles.add(id);
    },
    /** Permission names as in discord.js (`BanMembers`); without a position the role goes below all older ones of position 1. */
    createRole: (name: string, { permissions = [], position }: RoleOptions = {}): Role =>
      createRole(world, guild, {
        name,
        permissions: permissionBits(permissions),
        ...(position !== undefined && { position }),
      }),
    renameRole: (role: Role, name: string) => updateRole(world, role, { name }),
    moveRole: (role: Role, position: number) => updateRole(world, role, { position }),
    /** Show those who hold a role apart from the other members. */
    hoistRole: (role: Role, hoist: boolean) => updateRole(world, role, { hoist }),
    setRolePermissions: (role: Role, permissions: readonly string[]) =>
      updateRole(world, role, { permissions: permissionBits(permissions) }),
    deleteRole: (role: Role) => deleteRole(world, guild, role),
    addMember: (user: User, { roles, nick }: JoinOptions = {}): Member =>
      addMember(world, guild, user, { roles: idsOf(roles), ...(nick !== undefined && { nick }) }),
    /** Lets many new users join, all with the same roles; gives them back. */
    addMembers(count: number, { roles }: Pick<JoinOptions, "roles"> = {}): User[] {
      const ids = idsOf(roles);
      return Array.from({ length: count }, (_, index) => {
        const number = (index + 1).toString().padStart(6, "0");
        const user = createUser(world, `member${number}`, { global_name: `Member ${number}` });
        addMember(world, guild, user, { roles: ids });
        return user;
      });
    },
    /** The member as it stands, or undefined. Read it only; change it through this handle. */
    member: (user: Pick<User, "id">): Readonly<Member> | undefined => guild.members.get(user.id),
    setRoles: (user: User, roles: readonly Role[]) => updateMember(world, guild, requireMember(user), { roles: idsOf(roles) }, byHand()),
    setNick: (user: User, nick: string | null) => updateMember(world, guild, requireMember(user), { nick }, byHand()),
    /** Times a member out for so many seconds; 0 lifts it. */
    timeout(user: User, seconds: number, given?: Given): void {
      const timeoutUntil = seconds > 0 ? world.now() + seconds * 1000 : null;
      updateMember(world, guild, requireMember(user), { timeoutUntil }, byHand(given));
    },
    kick(user: User, given?: Given): void {
      kick(world, guild, requireMember(user).user, byHand(given));
    },
    /** Removes all of these at once, as those who have been away for so many days. */
    prune: (users: readonly User[], { days = 7, ...given }: Given & { days?: number } = {}) =>
      prune(world, guild, users, { ...byHand(given), days }),
    /** AutoMod times a member out, by a rule of this name. */
    timeoutByRule: (user: User, rule: string, seconds: number) => timeOutByRule(world, guild, requireMember(user), { rule, seconds }),
    /** Writes an entry into the audit log as it is given, whatever Discord would write. @returns its id */
    writeAuditEntry(given: Record<string, unknown>): string {
      const id = world.nextId();
      writeRawEntry(world, guild, { id, ...given });
      return id;
    },
    /** The member goes of their own will, which the audit log does not say. */
    leave(user: User): void {
      removeMember(world, guild, requireMember(user).user);
    },
    ban: (user: User, given?: Given) => ban(world, guild, user, byHand(given)),
    unban: (user: User, given?: Given) => unban(world, guild, user, byHand(given)),
    bans: () => [...guild.bans.values()],
    /** The guild's audit log, oldest first, whatever the bot may see of it. */
    auditLog: () => [...guild.auditLog],
    removeBot: () => removeBot(world, guild),
    addBot: () => addBot(world, guild),
    /** Messages of the bot in all channels, oldest first. */
    messages: () =>
      [...guild.channels.values()].flatMap(({ messages }) =>
        [...messages.values()].filter(({ author }) => author === world.application.bot),
      ),
  };
}

export type RoleChange = Partial<Pick<Role, "name" | "permissions" | "position" | "color" | "hoist" | "mentionable">>;

/** A new role; without a position it is placed like Discord's: at 1, below every older role of that position. */
export function createRole(world: World, guild: Guild, change: RoleChange): Role {
  const role = { ...plainRole(guild, world.nextId(), "new role"), ...change };
  guild.roles.set(role.id, role);
  tellRole(world, "GUILD_ROLE_CREATE", role);
  return role;
}

export function updateRole(world: World, role: Role, change: RoleChange): void {
  Object.assign(role, change);
  tellRole(world, "GUILD_ROLE_UPDATE", role);
}

function tellRole(world: World, t: "GUILD_ROLE_CREATE" | "GUILD_ROLE_UPDATE", role: Role): void {
  world.emit({
    t,
    guildId: role.guildId,
    intent: GatewayIntentBits.Guilds,
    data: () => ({ guild_id: role.guildId, role: rolePayload(role) }),
  });
}

/** Takes the role away from everybody and tells only GUILD_ROLE_DELETE, no member updates. */
export function deleteRole(world: World, guild: Guild, role: Role): void {
  guild.roles.delete(role.id);
  for (const member of guild.members.values())
    if (member.roles.includes(role.id)) member.roles = member.roles.filter((id) => id !== role.id);
  world.emit({
    t: "GUILD_ROLE_DELETE",
    guildId: guild.id,
    intent: GatewayIntentBits.Guilds,
    data: () => ({ guild_id: guild.id, role_id: role.id }),
  });
}
