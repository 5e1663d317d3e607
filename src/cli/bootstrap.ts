import { Command } from "commander";
import { snowflake } from "./arguments.ts";
import { print, printError } from "./output.ts";
import { listKeys, withServices } from "./services.ts";

interface Options {
  owner?: string;
  name: string;
  force?: true;
}

/** `provost bootstrap`: the first owner and the first API key. */
export function bootstrapCommand(): Command {
  return new Command("bootstrap")
    .description("Create the first owner and the first API key; the key alone is printed on standard output, once")
    .option("--owner <id>", "Discord id of the first owner (OWNER_IDS names owners, too)", snowflake)
    .option("--name <name>", "name of the key", "first key")
    .option("--force", "create a key although there is one already")
    .action(async (options: Options) => {
      await withServices(async (services, call) => {
        const usable = (await listKeys(services, call)).filter((key) => key.revoked_at === null);
        if (usable.length > 0 && options.force !== true)
          throw new Error(`There is an API key already (${usable.length.toString()}). Use "provost keys create", or --force.`);
        const created = await services.keys.bootstrap(call, {
          ...(options.owner !== undefined && { owner: options.owner }),
          name: options.name,
        });
        if (options.owner !== undefined) printError(`Owner: ${options.owner}`);
        printError(`Key "${options.name}" with every scope; it may name acting users. Keep it safe, it is shown only now:`);
        print(created.key);
      });
    });
}
