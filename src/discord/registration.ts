import { ApplicationCommandType, ApplicationIntegrationType, InteractionContextType, Routes } from "discord.js";
import type { Logger } from "pino";
import type { Command } from "./command.ts";
import { safeError } from "./rest-errors.ts";
import type { DiscordRest } from "./rest.ts";

interface RegistrationOptions {
  rest: DiscordRest;
  clientId: string;
  commands: readonly Command[];
  logger: Logger;
  /** First pause after a failure; doubles up to 10 min. */
  retryMs?: number;
}

export interface Registration {
  /** Bring Discord's list of commands in line with ours, once; repeated until it works. */
  start(): void;
  isDone(): boolean;
  stop(): void;
}

type Fields = Record<string, unknown>;

export function createRegistration({ rest, clientId, commands, logger, retryMs = 30_000 }: RegistrationOptions): Registration {
  const route = Routes.applicationCommands(clientId);
  const wanted = commands.map(payloadOf);
  let state: "idle" | "running" | "done" | "stopped" = "idle";
  let timer: NodeJS.Timeout | undefined;

  const register = async (): Promise<void> => {
    const query = new URLSearchParams({ with_localizations: "true" });
    const known = await rest.call<Fields[]>({ method: "GET", route, query, purpose: "registration", deadlineMs: 30_000 });
    const changed = differences(known, wanted);
    if (changed.length === 0) return;
    await rest.call({ method: "PUT", route, body: wanted, purpose: "registration", deadlineMs: 30_000 });
    logger.info({ changed }, "slash commands registered");
  };

  const attempt = (failures: number): void => {
    register().then(
      () => {
        if (state === "running") state = "done";
      },
      (error: unknown) => {
        logger.warn({ err: safeError(error) }, "slash commands could not be registered; trying again");
        if (state !== "running") return;
        timer = setTimeout(() => attempt(failures + 1), Math.min(600_000, retryMs * 2 ** failures)).unref();
      },
    );
  };

  return {
    start() {
      if (state !== "idle") return;
      state = "running";
      attempt(0);
    },
    isDone: () => state === "done",
    stop() {
      state = "stopped";
      clearTimeout(timer);
    },
  };
}

/** A command as it is sent: hidden from ordinary members and for guilds only, unless its payload says otherwise. */
export function payloadOf({ payload }: Command): Fields {
  return {
    default_member_permissions: "0",
    contexts: [InteractionContextType.Guild],
    integration_types: [ApplicationIntegrationType.GuildInstall],
    ...payload,
  };
}

/** Names of the commands that are new, gone or different, marked `+`, `-` and `~`. */
export function differences(known: readonly Fields[], wanted: readonly Fields[]): string[] {
  const before = new Map(known.map((command) => [keyOf(command), command]));
  const changed: string[] = [];
  for (const command of wanted) {
    const key = keyOf(command);
    const old = before.get(key);
    before.delete(key);
    if (old === undefined) changed.push(`+${key}`);
    else if (JSON.stringify(normalCommand({ ...implied(command), ...old })) !== JSON.stringify(normalCommand(command)))
      changed.push(`~${key}`);
  }
  return [...changed, ...[...before.keys()].map((key) => `-${key}`)];
}

function keyOf(command: Fields): string {
  return `${((command["type"] as number | undefined) ?? ApplicationCommandType.ChatInput).toString()}:${command["name"] as string}`;
}

/** Where an answer leaves these out altogether, the implementation does not know them, and sending them again changes nothing. */
function implied({ contexts, integration_types }: Fields): Fields {
  return { contexts, integration_types };
}

/** What Discord fills in or leaves out by itself is no difference. */
function normalCommand(command: Fields): Fields {
  return {
    name: command["name"],
    description: command["description"] ?? "",
    permissions: command["default_member_permissions"] ?? null,
    nsfw: command["nsfw"] ?? false,
    contexts: sorted(command["contexts"]),
    integration: sorted(command["integration_types"]),
    ...localizations(command),
    options: list(command["options"]).map(normalOption),
  };
}

function normalOption(option: Fields): Fields {
  return {
    type: option["type"],
    name: option["name"],
    description: option["description"] ?? "",
    required: option["required"] ?? false,
    autocomplete: option["autocomplete"] ?? false,
    limits: ["min_value", "max_value", "min_length", "max_length"].map((key) => option[key] ?? null),
    channels: sorted(option["channel_types"]),
    choices: list(option["choices"]).map((choice) => ({ name: choice["name"], value: choice["value"], ...localizations(choice) })),
    ...localizations(option),
    options: list(option["options"]).map(normalOption),
  };
}

function localizations(of: Fields): Fields {
  const texts = (key: string): [string, unknown][] => Object.entries((of[key] ?? {}) as Fields).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return { names: texts("name_localizations"), descriptions: texts("description_localizations") };
}

function list(value: unknown): Fields[] {
  return (value ?? []) as Fields[];
}

function sorted(value: unknown): number[] {
  return ((value ?? []) as number[]).toSorted((a, b) => a - b);
}
