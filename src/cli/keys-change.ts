import { Command, Option } from "commander";
import { settled } from "../kernel/held.ts";
import { list, wholeNumber } from "./arguments.ts";
import { endInput, endOptions, scopesHelp, settingsInput, settingsOptions, type SettingsOptions } from "./keys-options.ts";
import { print, printError } from "./output.ts";
import { findKey, withServices } from "./services.ts";

export const keyArgument = ["<key id>", "the KEY ID column of the list"] as const;

/** `provost keys update` */
export function updateCommand(): Command {
  const command = new Command("update")
    .description("Change an API key; what is not named stays")
    .argument(...keyArgument)
    .option("--name <name>", "what the key is for")
    .option("--scopes <list>", scopesHelp, list);
  for (const option of settingsOptions("days from now until the key expires")) command.addOption(option);
  return command.action(async (given: string, options: SettingsOptions) => {
    const input = settingsInput(options);
    if (Object.keys(input).length === 0) throw new Error("Say what to change: add --help for the options.");
    await withServices(async (services, call) => {
      const known = await findKey(services, call, given);
      const { name, revision } = settled(await services.keys.update(call, known.id, input));
      printError(revision === known.revision ? `Key "${name}" is so already.` : `Key "${name}" is changed.`);
    });
  });
}

/** `provost keys rotate` */
export function rotateCommand(): Command {
  const command = new Command("rotate")
    .description("Give an API key a new secret; the new key alone is printed on standard output, once")
    .argument(...keyArgument)
    .addOption(
      new Option("--grace <seconds>", "how long the old key goes on working; 0 ends it at once")
        .argParser(wholeNumber(0, 604_800))
        .default(86_400),
    );
  for (const option of endOptions("days until the new key expires; without an end, it ends when the old one would have"))
    command.addOption(option);
  return command.action(async (given: string, { grace, ...end }: { grace: number } & Parameters<typeof endInput>[0]) => {
    await withServices(async (services, call) => {
      const known = await findKey(services, call, given);
      const input = { grace_seconds: grace, ...endInput(end) };
      const made = settled(await services.keys.rotate(call, known.id, input));
      const old = grace === 0 ? "is revoked" : `works for ${grace.toString()} more seconds at most`;
      printError(`Key "${made.name}", valid until ${made.expires_at}; the old one ${old}. Keep it safe, it is shown only now:`);
      print(made.key);
    });
  });
}

/** `provost keys revoke` */
export function revokeCommand(): Command {
  return new Command("revoke")
    .description("Revoke an API key; a running server refuses it within seconds")
    .argument(...keyArgument)
    .action(async (given: string) => {
      await withServices(async (services, call) => {
        const known = await findKey(services, call, given);
        settled(await services.keys.revoke(call, known.id));
        printError(`Key "${known.name}" is revoked.`);
      });
    });
}
