import { ApplicationCommandOptionType as OptionType, PermissionFlagsBits, type APIApplicationCommand } from "discord-api-types/v10";
import { attachmentPayload } from "./cdn.ts";
import type { OptionDefinition } from "./command-rules.ts";
import type { Attachment, Channel, Guild, Member, Role, User, World } from "./model.ts";
import { channelPayload, memberPayload, permissionString, rolePayload, userPayload } from "./payloads.ts";
import { permissionsOf } from "./permissions.ts";
import { isUpload, keepUpload, type Upload } from "./uploads.ts";

export type OptionValue = string | number | boolean | User | Role | Channel | Upload;

/** A value as the wire carries it, files already kept. */
type Kept = Exclude<OptionValue, Upload> | Attachment;

/** A command found by its words: the definition and where in it the options belong. */
export type FoundCommand = { command: APIApplicationCommand; path: OptionDefinition[]; options: OptionDefinition[] };

/** Finds `command`, `command sub` or `command group sub`, first among the guild's commands, then the global ones. */
export function findCommand(world: World, guild: Guild, words: string): FoundCommand {
  const [name, ...rest] = words.trim().replace(/^\//, "").split(/\s+/);
  const all = [...guild.commands.values(), ...world.application.commands.values()];
  const command = all.find((known) => known.name === name && known.type === 1);
  if (!command) throw new Error(`/${words} is not registered: there is no command ${name}`);
  let options = (command.options ?? []) as OptionDefinition[];
  const path: OptionDefinition[] = [];
  for (const word of rest) {
    const next = options.find((option) => option.name === word && option.type <= OptionType.SubcommandGroup);
    if (!next) throw new Error(`/${words} is not registered: there is no sub-command ${word}`);
    path.push(next);
    options = next.options ?? [];
  }
  if (options.some((option) => option.type <= OptionType.SubcommandGroup))
    throw new Error(`/${words} is not complete: a sub-command has to be chosen`);
  return { command, path, options };
}

/** Rejects a member to whom Discord does not show the command. */
export function requireUsable(world: World, guild: Guild, member: Member, command: APIApplicationCommand): void {
  const why = hiddenBecause(world, guild, member, command);
  if (why !== undefined) throw new Error(`${member.user.username} may not use /${command.name}: ${why}`);
}

/** Why Discord does not show a member this command; undefined where it does. What the guild sets for one command goes before what it sets for all. */
export function hiddenBecause(world: World, guild: Guild, member: Member, command: APIApplicationCommand): string | undefined {
  const permissions = permissionsOf(guild, member, world.now());
  if (!(permissions & PermissionFlagsBits.UseApplicationCommands)) return "no Use Application Commands";
  if (permissions & PermissionFlagsBits.Administrator) return undefined;
  const own = guild.ownCommandRoles.get(command.name);
  const holdsOneOf = (roles: ReadonlySet<string>) => [guild.id, ...member.roles].some((id) => roles.has(id));
  if (own !== undefined) return holdsOneOf(own) ? undefined : "the server shows it to other roles";
  if (holdsOneOf(guild.commandRoles)) return undefined;
  const needed = command.default_member_permissions;
  if (needed === null) return undefined;
  if (needed === "0") return "administrators only";
  return (permissions & BigInt(needed)) === BigInt(needed) ? undefined : "default_member_permissions forbids it";
}

type WireOption = { name: string; type: number; value?: unknown; focused?: true; options?: WireOption[] };

/** Puts the given options, checked against their definitions, in the place of the chosen sub-command. */
export function commandData(
  world: World,
  guild: Guild,
  found: FoundCommand,
  given: Record<string, OptionValue>,
  focused?: string,
): Record<string, unknown> {
  for (const name of Object.keys(given))
    if (!found.options.some((option) => option.name === name)) throw new Error(`/${found.command.name} has no option ${name}`);
  let options: WireOption[] = [];
  const sent: Kept[] = [];
  for (const definition of found.options) {
    const value = given[definition.name];
    if (value !== undefined) {
      const isFocused = definition.name === focused;
      if (!isFocused) checkValue(definition, value);
      const kept = isUpload(value) ? keepUpload(world, value) : value;
      sent.push(kept);
      const wire = { name: definition.name, type: definition.type, value: wireValue(kept) };
      options.push(isFocused ? { ...wire, focused: true } : wire);
    } else if (definition.required && focused === undefined) throw new Error(`/${found.command.name} needs the option ${definition.name}`);
  }
  for (const { name, type } of found.path.toReversed()) options = [{ name, type, options }];
  const { id, name, type, guild_id: guildId } = found.command;
  const resolved = resolve(world, guild, sent);
  return {
    id,
    name,
    type,
    ...(options.length > 0 && { options }),
    ...(Object.keys(resolved).length > 0 && { resolved }),
    ...(guildId !== undefined && { guild_id: guildId }),
  };
}

const wireValue = (value: Kept) => (typeof value === "object" ? value.id : value);

const isUser = (value: OptionValue): value is User => typeof value === "object" && "username" in value;
const isRole = (value: OptionValue): value is Role => typeof value === "object" && "permissions" in value;
const isKept = (value: OptionValue): value is Attachment => isUpload(value) && "id" in value;
const isChannel = (value: OptionValue): value is Channel => typeof value === "object" && "messages" in value;

/** What an option takes, by its type. */
const taken: Record<number, { words: string; fits: (value: OptionValue) => boolean }> = {
  [OptionType.String]: { words: "a text", fits: (value) => typeof value === "string" },
  [OptionType.Integer]: { words: "a whole number", fits: (value) => Number.isInteger(value) },
  [OptionType.Number]: { words: "a number", fits: (value) => Number.isFinite(value) },
  [OptionType.Boolean]: { words: "yes or no", fits: (value) => typeof value === "boolean" },
  [OptionType.User]: { words: "a person", fits: isUser },
  [OptionType.Role]: { words: "a role", fits: isRole },
  [OptionType.Channel]: { words: "a channel", fits: isChannel },
  [OptionType.Attachment]: { words: "a file", fits: isUpload },
  [OptionType.Mentionable]: { words: "a person or a role", fits: (value) => isUser(value) || isRole(value) },
};

function checkValue(definition: OptionDefinition, value: OptionValue): void {
  const { name, choices, type } = definition;
  const { words = "nothing", fits } = taken[type] ?? {};
  if (!fits?.(value)) throw new Error(`the option ${name} takes ${words}`);
  if (choices?.length && !choices.some((choice) => choice.value === value))
    throw new Error(`the option ${name} has no choice ${typeof value === "object" ? "" : String(value)}`);
  const size = typeof value === "string" ? value.length : typeof value === "number" ? value : undefined;
  if (size === undefined) return;
  const [min, max, unit] =
    typeof value === "string"
      ? [definition.min_length ?? 0, definition.max_length ?? 6000, " characters"]
      : [definition.min_value ?? -Infinity, definition.max_value ?? Infinity, ""];
  if (size < min) throw new Error(`the option ${name} takes at least ${min}${unit}`);
  if (size > max) throw new Error(`the option ${name} takes at most ${max}${unit}`);
}

/** What an id names in the guild; any other value stands for itself. */
export function valueOf(world: World, guild: Guild, value: OptionValue): OptionValue {
  if (typeof value !== "string") return value;
  return world.users.get(value) ?? guild.roles.get(value) ?? guild.channels.get(value) ?? value;
}

/** The objects behind ids, as they travel with the interaction; a member carries no user of its own there. */
export function resolve(world: World, guild: Guild, values: readonly OptionValue[]): Record<string, unknown> {
  const users: Record<string, unknown> = {};
  const members: Record<string, unknown> = {};
  const roles: Record<string, unknown> = {};
  const channels: Record<string, unknown> = {};
  const attachments: Record<string, unknown> = {};
  for (const value of values) {
    if (isUser(value)) {
      users[value.id] = userPayload(value);
      const member = guild.members.get(value.id);
      if (!member) continue;
      const { user: _user, ...rest } = memberPayload(member);
      members[value.id] = { ...rest, permissions: permissionString(world, guild, member) };
    } else if (isKept(value))
      attachments[value.id] = attachmentPayload(world, value, { channelId: world.application.id, isEphemeral: true });
    else if (isRole(value)) roles[value.id] = rolePayload(value);
    else if (isChannel(value)) channels[value.id] = { ...channelPayload({ ...value, guildId: guild.id }), permissions: "0" };
  }
  const filled = Object.entries({ users, members, roles, channels, attachments }).filter(([, part]) => Object.keys(part).length > 0);
  return Object.fromEntries(filled);
}
