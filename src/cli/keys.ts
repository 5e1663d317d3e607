import { Command, Option } from "commander";
import type { KeyView } from "../features/keys/keys.schema.ts";
import { list, wholeNumber } from "./arguments.ts";
import { print, printError, table } from "./output.ts";
import { listKeys, withServices } from "./services.ts";

interface CreateOptions {
  name: string;
  scopes: string[];
  delegation: "none" | "trusted";
  expiresDays: number;
}

/** `provost keys …`: the API keys, beside a running server or without one. */
export function keysCommand(): Command {
  return new Command("keys")
    .description("Manage API keys")
    .addCommand(createCommand())
    .addCommand(listCommand())
    .addCommand(revokeCommand());
}

function createCommand(): Command {
  return new Command("create")
    .description("Create an API key; the key alone is printed on standard output, once")
    .requiredOption("--name <name>", "what the key is for")
    .requiredOption("--scopes <list>", "comma list of permissions, with group.* and *; system.act is always named", list)
    .addOption(
      new Option("--delegation <kind>", "whether the key may name acting users in X-Acting-User")
        .choices(["none", "trusted"])
        .default("none"),
    )
    .option("--expires-days <days>", "days until the key expires", wholeNumber(1, 3650), 365)
    .action(async ({ name, scopes, delegation, expiresDays }: CreateOptions) => {
      await withServices(async ({ keys }, call) => {
        const created = await keys.create(call, { name, scopes, delegation, expires_days: expiresDays });
        printError(`Key "${name}", valid for ${expiresDays.toString()} days. Keep it safe, it is shown only now:`);
        print(created.key);
      });
    });
}

function listCommand(): Command {
  return new Command("list").description("List the API keys").action(async () => {
    const rows = await withServices(listKeys);
    const header = ["KEY ID", "NAME", "SCOPES", "DELEGATION", "EXPIRES", "LAST USED", "STATE"];
    for (const line of table(header, rows.map(cells))) print(line);
  });
}

function revokeCommand(): Command {
  return new Command("revoke")
    .description("Revoke an API key; a running server refuses it within seconds")
    .argument("<key id>", "the KEY ID column of the list")
    .action(async (given: string) => {
      await withServices(async (services, call) => {
        const known = (await listKeys(services, call)).find((key) => key.key_id === given || key.id === given);
        if (known === undefined) throw new Error("There is no such key.");
        await services.keys.revoke(call, known.id);
        printError(`Key "${known.name}" is revoked.`);
      });
    });
}

function cells(key: KeyView): string[] {
  const day = (at: string | null): string => at?.slice(0, 10) ?? "never";
  return [key.key_id, key.name, key.scopes.join(","), key.delegation, day(key.expires_at), day(key.last_used_at), state(key)];
}

function state(key: KeyView): string {
  if (key.revoked_at !== null) return "revoked";
  return Date.parse(key.expires_at) <= Date.now() ? "expired" : "active";
}
