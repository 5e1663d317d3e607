import { Command } from "commander";
import { loadConfigOrExit } from "../config/config.ts";
import { configWarnings } from "../config/warnings.ts";
import { print, printError } from "./output.ts";

/** `provost config check`: what the server would start with. */
export function configCommand(): Command {
  const check = new Command("check")
    .description("Check the environment and print the settings without secrets; exits with 78 and one line per wrong variable")
    .action(() => {
      const { config, unknown } = loadConfigOrExit();
      print(JSON.stringify(config, null, 2));
      for (const text of [...unknown, ...configWarnings(config)]) printError(text);
      printError("The configuration is valid.");
    });
  return new Command("config").description("Look at the configuration").addCommand(check);
}
