import { Command } from "commander";
import type { PermissionsService } from "../features/permissions/permissions.service.ts";
import type { Call } from "../kernel/call.ts";
import { loadConfigOrExit } from "../config/config.ts";
import { snowflake } from "./arguments.ts";
import { discord, token } from "./doctor/discord.ts";
import { createGround } from "./doctor/ground.ts";
import { print, printError, table } from "./output.ts";
import { withServices, listKeys } from "./services.ts";

type Owners = PermissionsService["owners"];

/** `provost owners …`: who owns the installation, beside a running server or without one. */
export function ownersCommand(): Command {
  const add = new Command("add")
    .description("Name an owner; a running server knows within seconds")
    .argument("<id>", "Discord id", snowflake)
    .action(async (id: string) => {
      await withOwners((owners, call) => owners.add(call, id));
      printError(`${id} is an owner.`);
    });
  const remove = new Command("remove")
    .description("Take an owner off the list of names; the last owner stays")
    .argument("<id>", "Discord id", snowflake)
    .action(async (id: string) => {
      await withOwners((owners, call) => owners.remove(call, id));
      printError(`${id} is off the list of owners.`);
    });
  return new Command("owners")
    .description("Manage the owners, who hold every permission")
    .addCommand(listCommand())
    .addCommand(add)
    .addCommand(remove);
}

function listCommand(): Command {
  return new Command("list").description("List the owners and what makes them one").action(async () => {
    const rows = await withOwners((owners, call) => owners.list(call));
    const cells = rows.map(({ user_id, sources }) => [
      user_id,
      sources.map((source) => words[source] ?? `staff role ${source}`).join(", "),
    ]);
    for (const line of table(["USER ID", "BY"], cells)) print(line);
  });
}

const words: Readonly<Record<string, string>> = { configuration: "OWNER_IDS", owners: "name", last_owner: "being the last one" };

/** Owners by a Discord role are known from the guild state as it was last stored. */
async function withOwners<T>(work: (owners: Owners, call: Call) => T | Promise<T>): Promise<T> {
  return await withServices(async ({ guildState, access, permissions }, call) => {
    await guildState.load();
    await access.load();
    return await work(permissions.owners, call);
  });
}

interface Options {
  owner?: string;
  name: string;
  force?: true;
  offline?: true;
}

/** `provost bootstrap`: the first owner and the first API key. */
export function bootstrapCommand(): Command {
  return new Command("bootstrap")
    .description("Create the first owner and the first API key; the key alone is printed on standard output, once")
    .option("--owner <id>", "Discord id of the first owner (OWNER_IDS names owners, too)", snowflake)
    .option("--name <name>", "name of the key", "first key")
    .option("--force", "create a key although there is one already")
    .option("--offline", "leave out asking Discord whether it takes the bot token")
    .action(async (options: Options) => {
      await withServices(async (services, call) => {
        const usable = (await listKeys(services, call)).filter((key) => key.revoked_at === null);
        if (usable.length > 0 && options.force !== true)
          throw new Error(
            `There is an API key already (${usable.length.toString()}). Make another one with \`provost keys create\`, or add \`--force\`.`,
          );
        const created = await services.keys.bootstrap(call, {
          ...(options.owner !== undefined && { owner: options.owner }),
          name: options.name,
        });
        if (options.owner !== undefined) printError(`Owner: ${options.owner}`);
        printError(`Key "${options.name}" with every scope; it may name acting users. Keep it safe, it is shown only now:`);
        print(created.key);
      });
      if (options.offline !== true) await tellOfDiscord();
    });
}

/** A token that Discord refuses is better known now than at the first start; the key is good without. */
async function tellOfDiscord(): Promise<void> {
  const ground = createGround(loadConfigOrExit());
  try {
    const findings = [...(await discord(ground)), ...(await token(ground))];
    for (const { status, text } of findings) if (status === "fail") printError(text);
  } finally {
    await ground.close();
  }
}
