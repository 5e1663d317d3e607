import { AuditLogEvent, GatewayIntentBits } from "discord-api-types/v10";
import { memberChanges, writeEntry } from "./audit-log.ts";
import type { Doing, Guild, Member, User, World } from "./model.ts";
import { memberPayload, userPayload } from "./payloads.ts";
import { newMember, removeBot } from "./world-guilds.ts";

const membersIntent = GatewayIntentBits.GuildMembers;

/** Lets a user join; throws for somebody who is a member already, or is banned. */
export function addMember(world: World, guild: Guild, user: User, given: { roles?: readonly string[]; nick?: string } = {}): Member {
  if (guild.members.has(user.id)) throw new Error(`${user.username} is already in ${guild.name}`);
  if (guild.bans.has(user.id)) throw new Error(`${user.username} is banned from ${guild.name}`);
  const timeoutUntil = guild.timeoutsOfOthers.get(user.id) ?? null;
  guild.timeoutsOfOthers.delete(user.id);
  const member: Member = { ...newMember(world, user), roles: given.roles ?? [], nick: given.nick ?? null, timeoutUntil };
  guild.members.add(member);
  world.emit({
    t: "GUILD_MEMBER_ADD",
    guildId: guild.id,
    intent: membersIntent,
    data: () => ({ ...memberPayload(member), guild_id: guild.id }),
  });
  return member;
}

export type MemberChange = Partial<Pick<Member, "nick" | "roles" | "timeoutUntil">>;

/** Changes a member and tells it, unless nothing differs. The bot hears of its own member without any intent. */
export function updateMember(world: World, guild: Guild, member: Member, change: MemberChange, doing: Doing): void {
  const before = JSON.stringify(memberPayload(member));
  const { nick, timeoutUntil } = member;
  Object.assign(member, change);
  if (JSON.stringify(memberPayload(member)) === before) return;
  world.emit({
    t: "GUILD_MEMBER_UPDATE",
    guildId: guild.id,
    intent: member.user.id === world.application.bot.id ? 0 : membersIntent,
    data: () => ({ ...memberPayload(member), guild_id: guild.id }),
  });
  const changes = memberChanges({ nick, timeoutUntil }, member);
  if (changes.length > 0) writeEntry(world, guild, doing, { action: AuditLogEvent.MemberUpdate, target: member.user, changes });
}

/** Removes a member on somebody's word; false when there is no such member. */
export function kick(world: World, guild: Guild, user: User, doing: Doing): boolean {
  const was = removeMember(world, guild, user);
  if (was) writeEntry(world, guild, doing, { action: AuditLogEvent.MemberKick, target: user });
  return was;
}

/** Removes these members for having been away so many days. The log has one entry, which names none of them. */
export function prune(world: World, guild: Guild, users: readonly User[], doing: Doing & { days: number }): void {
  const removed = users.filter((user) => removeMember(world, guild, user));
  const options = { delete_member_days: doing.days.toString(), members_removed: removed.length.toString() };
  writeEntry(world, guild, doing, { action: AuditLogEvent.MemberPrune, target: null, options });
}

/** What AutoMod does by a rule: the entry names the member as the one who did it, and not how long it lasts. */
export function timeOutByRule(world: World, guild: Guild, member: Member, { rule, seconds }: { rule: string; seconds: number }): void {
  member.timeoutUntil = world.now() + seconds * 1000;
  world.emit({
    t: "GUILD_MEMBER_UPDATE",
    guildId: guild.id,
    intent: membersIntent,
    data: () => ({ ...memberPayload(member), guild_id: guild.id }),
  });
  const options = { auto_moderation_rule_name: rule, auto_moderation_rule_trigger_type: "1" as const };
  const action = AuditLogEvent.AutoModerationUserCommunicationDisabled;
  writeEntry(world, guild, { by: member.user }, { action, target: member.user, options });
}

/** A member leaves; false when there is no such member. */
export function removeMember(world: World, guild: Guild, user: User): boolean {
  if (user.id === world.application.bot.id) {
    const was = guild.members.has(user.id);
    removeBot(world, guild);
    return was;
  }
  const timeoutUntil = guild.members.get(user.id)?.timeoutUntil ?? null;
  if (!guild.members.remove(user.id)) return false;
  if (timeoutUntil !== null) guild.timeoutsOfOthers.set(user.id, timeoutUntil);
  tellUser(world, guild, user, "GUILD_MEMBER_REMOVE", membersIntent);
  return true;
}

/** Bans a user, member or not: GUILD_BAN_ADD, then GUILD_MEMBER_REMOVE. An existing ban is kept. */
export function ban(world: World, guild: Guild, user: User, doing: Doing): void {
  const isNew = !guild.bans.has(user.id);
  if (isNew) {
    guild.bans.set(user.id, { user, reason: doing.reason ?? null });
    tellUser(world, guild, user, "GUILD_BAN_ADD", GatewayIntentBits.GuildModeration);
  }
  removeMember(world, guild, user);
  if (isNew) writeEntry(world, guild, doing, { action: AuditLogEvent.MemberBanAdd, target: user });
}

/** Lifts a ban; false when there was none. */
export function unban(world: World, guild: Guild, user: User, doing: Doing): boolean {
  if (!guild.bans.delete(user.id)) return false;
  tellUser(world, guild, user, "GUILD_BAN_REMOVE", GatewayIntentBits.GuildModeration);
  writeEntry(world, guild, doing, { action: AuditLogEvent.MemberBanRemove, target: user });
  return true;
}

function tellUser(
  world: World,
  guild: Guild,
  user: User,
  t: "GUILD_MEMBER_REMOVE" | "GUILD_BAN_ADD" | "GUILD_BAN_REMOVE",
  intent: number,
): void {
  world.emit({ t, guildId: guild.id, intent, data: () => ({ guild_id: guild.id, user: userPayload(user) }) });
}
