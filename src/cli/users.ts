import { inWords } from "../kit/say.ts";
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import type { PrivacyService } from "../features/privacy/privacy.service.ts";
import type { Call } from "../kernel/call.ts";
import { requireDone } from "../kernel/held.ts";
import { snowflake } from "./arguments.ts";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";

const idArgument = ["<id>", "Discord id", snowflake] as const;

/** `provost users …`: what is stored of one person, beside a running server or without one. */
export function usersCommand(): Command {
  return new Command("users")
    .description("Export or erase what is stored of a person")
    .addCommand(exportCommand())
    .addCommand(eraseCommand())
    .addCommand(unsuppressCommand());
}

function exportCommand(): Command {
  return new Command("export")
    .description("Print everything stored of a person that they may have, as JSON")
    .argument(...idArgument)
    .option("--out <file>", "write it to this file instead, readable by you alone; it must not exist yet")
    .action(async (id: string, { out }: { out?: string }) => {
      const data = await withPrivacy((privacy, call) => privacy.export(call, id));
      const text = JSON.stringify(inWords(data), null, 2);
      if (out === undefined) {
        print(text);
        return;
      }
      await writeFile(out, `${text}\n`, { mode: 0o600, flag: "wx" });
      printError(`Written to ${out}.`);
    });
}

function eraseCommand(): Command {
  return new Command("erase")
    .description("Erase a person for good: what they shared, their names, links and staff data, and the details of the audit about them")
    .argument(...idArgument)
    .requiredOption("--reason <text>", "why; kept in the audit")
    .option("--no-suppress", "let them be asked for access again")
    .option("--yes", "do it; without this nothing is erased")
    .action(async (id: string, { reason, suppress, yes }: { reason: string; suppress: boolean; yes?: true }) => {
      if (yes !== true) throw new Error(`Nothing was erased. It cannot be undone: add \`--yes\` to erase ${id}.`);
      const { deleted, kept } = requireDone(await withPrivacy((privacy, call) => privacy.redact(call, id, { reason, suppress })));
      for (const [what, count] of Object.entries(deleted)) if (count > 0) print(`${what}: ${count.toString()}`);
      printError(`${id} is erased. What stays:`);
      for (const line of kept) printError(`- ${line}`);
    });
}

function unsuppressCommand(): Command {
  return new Command("unsuppress")
    .description("Let an erased person be asked for access again")
    .argument(...idArgument)
    .action(async (id: string) => {
      await withPrivacy((privacy, call) => privacy.unsuppress(call, id));
      printError(`${id} can be asked again.`);
    });
}

/** Who is staff is known from the guild state as it was last stored. */
async function withPrivacy<T>(
  work: (privacy: Pick<PrivacyService, "export" | "redact" | "unsuppress">, call: Call) => Promise<T>,
): Promise<T> {
  return await withServices(async ({ guildState, access, privacy }, call) => {
    await guildState.load();
    await access.load();
    return await work(privacy, call);
  });
}
