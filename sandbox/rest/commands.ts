import type { APIApplicationCommand } from "discord-api-types/v10";
import { checkCommand } from "../command-rules.ts";
import { DiscordApiError, invalidForm, missingAccess, unknown } from "../errors.ts";
import type { World } from "../model.ts";
import { textOf } from "../text.ts";
import { requireGuild } from "./guards.ts";
import { noContent, objectBody, ok, param, type Call, type Route } from "./route.ts";

/** Commands of a scope by their type: slash commands, user and message commands. */
const mostOf: Record<number, number> = { 1: 100, 2: 5, 3: 5 };
const maxCommands = 110;

type Commands = Map<string, APIApplicationCommand>;

/** Commands of the application, global and per guild, with the same verbs. */
export function commandRoutes(world: World): Route[] {
  const permissions = "/applications/{application_id}/guilds/{guild_id}/commands/permissions";
  const none: Route = {
    method: "GET",
    path: permissions,
    auth: "bot",
    handle(call) {
      requireGuild(world, requireOwn(world, call));
      return ok([]);
    },
  };
  return [
    none,
    ...scopeRoutes(world, "/applications/{application_id}/commands"),
    ...scopeRoutes(world, "/applications/{application_id}/guilds/{guild_id}/commands"),
  ];
}

function requireOwn(world: World, call: Call): Call {
  if (param(call, "application_id") !== world.application.id) throw missingAccess();
  return call;
}

function scopeRoutes(world: World, path: string): Route[] {
  const one = `${path}/{command_id}`;
  const inGuild = path.includes("{guild_id}");
  const scope = (call: Call): { commands: Commands; guildId: string | null } => {
    requireOwn(world, call);
    if (!inGuild) return { commands: world.application.commands, guildId: null };
    const { guild } = requireGuild(world, call);
    return { commands: guild.commands, guildId: guild.id };
  };
  const existing = (call: Call) => {
    const { commands, guildId } = scope(call);
    const command = commands.get(param(call, "command_id"));
    if (!command) throw unknown("application command");
    return { commands, command, guildId };
  };
  return [
    { method: "GET", path, auth: "bot", handle: (call) => ok([...scope(call).commands.values()]) },
    {
      method: "POST",
      path,
      auth: "bot",
      handle(call) {
        const { commands, guildId } = scope(call);
        const body = objectBody(call);
        checkCommand(body);
        const before = findByName(commands, body);
        if (!before) requireRoom([...commands.values()], typeOf(body), 1);
        const command = define(world, body, guildId, before);
        commands.set(command.id, command);
        return { status: before ? 200 : 201, body: command };
      },
    },
    {
      method: "PUT",
      path,
      auth: "bot",
      handle(call) {
        const { commands, guildId } = scope(call);
        const next = readAll(call.body).map((body) => define(world, body, guildId, findByName(commands, body)));
        commands.clear();
        for (const command of next) commands.set(command.id, command);
        return ok(next);
      },
    },
    { method: "GET", path: one, auth: "bot", handle: (call) => ok(existing(call).command) },
    {
      method: "PATCH",
      path: one,
      auth: "bot",
      handle(call) {
        const { commands, command, guildId } = existing(call);
        const body = { ...command, ...objectBody(call) };
        checkCommand(body);
        const changed = define(world, body, guildId, command);
        commands.set(changed.id, changed);
        return ok(changed);
      },
    },
    {
      method: "DELETE",
      path: one,
      auth: "bot",
      handle(call) {
        const { commands, command } = existing(call);
        commands.delete(command.id);
        return noContent;
      },
    },
  ];
}

function readAll(body: unknown): Record<string, unknown>[] {
  if (!Array.isArray(body)) throw invalidForm("_", "LIST_TYPE_CONVERT", "Only iterables may be used in a ListType");
  const list = body as Record<string, unknown>[];
  if (list.length > maxCommands) throw invalidForm("_", "BASE_TYPE_MAX_LENGTH", `Must be ${maxCommands} or fewer in length.`);
  const seen = new Set<string>();
  for (const [index, command] of list.entries()) {
    checkCommand(command, `${index}.`);
    const key = `${(command["type"] as number | undefined) ?? 1} ${command["name"] as string}`;
    if (seen.has(key)) throw invalidForm(`${index}`, "APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique");
    seen.add(key);
  }
  for (const type of [1, 2, 3]) requireRoom(list, type, 0);
  return list;
}

const typeOf = ({ type }: { type?: unknown }) => Number(type ?? 1);

/** 30032 when there would be more commands of a type than Discord takes. */
function requireRoom(commands: readonly { type?: unknown }[], type: number, more: number): void {
  const most = mostOf[type] ?? 0;
  if (commands.filter((command) => typeOf(command) === type).length + more > most)
    throw new DiscordApiError(400, 30032, `Maximum number of application commands reached (${most})`);
}

const findByName = (commands: Commands, { name, type }: Record<string, unknown>) =>
  [...commands.values()].find((command) => command.name === name && command.type === (type ?? 1));

/** The stored form: the same name keeps its id, everything gets a new version. */
function define(
  world: World,
  body: Record<string, unknown>,
  guildId: string | null,
  before: APIApplicationCommand | undefined,
): APIApplicationCommand {
  const permissions = body["default_member_permissions"];
  const options = body["options"] as unknown[] | null | undefined;
  return {
    id: before?.id ?? world.nextId(),
    application_id: world.application.id,
    version: world.nextId(),
    type: body["type"] ?? 1,
    name: body["name"],
    name_localizations: body["name_localizations"] ?? null,
    description: body["description"] ?? "",
    description_localizations: body["description_localizations"] ?? null,
    default_member_permissions: permissions === undefined || permissions === null ? null : textOf(permissions),
    dm_permission: body["dm_permission"] ?? true,
    contexts: body["contexts"] ?? null,
    integration_types: body["integration_types"] ?? [0],
    nsfw: body["nsfw"] ?? false,
    ...(options && { options: withoutNulls(options) }),
    ...(guildId !== null && { guild_id: guildId }),
  } as APIApplicationCommand;
}

const withoutNulls = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, part: unknown) => (part === null ? undefined : part)));
