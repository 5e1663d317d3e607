import { Command } from "commander";
import { loadConfigOrExit } from "../config/config.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { fail, printFindings, type Finding, type NamedFinding } from "./findings.ts";
import { printError } from "./output.ts";
import { doctorChecks, type Check } from "./doctor/checks.ts";
import { createGround, textOf, type Ground } from "./doctor/ground.ts";

interface Options {
  offline?: true;
  json?: true;
}

/** A check that takes longer is named, so that nobody thinks that the command hangs. */
const quickMs = 1500;

/** `provost doctor`: what is wrong with an installation, with or without a running server. It changes nothing. */
export function doctorCommand(setExitCode: (code: number) => void): Command {
  return new Command("doctor")
    .description("Find out what is wrong with this installation, and what mends it; exits with 1 where something has to be mended")
    .option("--offline", "leave out what asks Discord and PUBLIC_URL")
    .option("--json", "print it for a program")
    .action(async ({ offline, json }: Options) => {
      const ground = createGround(loadConfigOrExit());
      const findings: NamedFinding[] = [];
      try {
        for (const [name, { run, isOnline }] of Object.entries(doctorChecks)) {
          if (isOnline === true && offline === true) continue;
          const timer = setTimeout(() => printError(`Checking: ${name} …`), quickMs);
          const found = await make(run, ground).finally(() => clearTimeout(timer));
          findings.push(...found.map((finding) => ({ name, ...finding })));
        }
      } finally {
        await ground.close();
      }
      if (!printFindings(findings, { json })) setExitCode(1);
    });
}

/** What keeps a check from being made is a finding as well. */
async function make(run: Check["run"], ground: Ground): Promise<Finding[]> {
  try {
    return await run(ground);
  } catch (error) {
    return [fail(textOf(databaseRefusal(ground.config.database.url, error)))];
  }
}
