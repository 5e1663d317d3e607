import { randomBytes } from "node:crypto";
import { chmod, readFile, writeFile } from "node:fs/promises";
import { Command } from "commander";
import { loadConfigOrExit } from "../config/config.ts";
import { ifMissing } from "../kernel/files.ts";
import { forgetFormerKeys } from "../key-marks.ts";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost secrets`: fresh keys in the form of the environment, and moving on to one. */
export function secretsCommand(): Command {
  return new Command("secrets")
    .description("Print a fresh SECRET_KEY and ENCRYPTION_KEYS, or write them into an .env that only you can read")
    .option("--write <file>", "put them into this file, such as .env; what it has of them already is never replaced")
    .action(async ({ write }: { write?: string }) => {
      const keyId = `k${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
      const fresh = { SECRET_KEY: freshKey(), ENCRYPTION_KEYS: `${keyId}:${freshKey()}` };
      if (write === undefined) return print(linesOf(fresh));
      await writeInto(write, fresh);
      print(
        `Wrote ${Object.keys(fresh).join(" and ")} into ${write}, which only you can read. Fill in the rest of it, then run \`npx provost config check\`.`,
      );
    })
    .addCommand(reencryptCommand());
}

/** Progress goes to standard error; what is on standard output is for keeping. */
function reencryptCommand(): Command {
  return new Command("reencrypt")
    .description(
      "Encrypt what is stored again with the first key of ENCRYPTION_KEYS, so that the others can be removed; may be stopped and started again. Restart the service with the new list of keys first",
    )
    .action(async () => {
      const done = await withServices(({ authorization }, call) =>
        authorization.reencrypt(call, ({ column, resealed }) => printError(`${column}: ${resealed.toString()}`)),
      );
      const sum = (values: number[]): number => values.reduce((total, value) => total + value, 0);
      const unreadable = done.filter((one) => one.unreadable > 0);
      print(`${sum(done.map(({ resealed }) => resealed)).toString()} texts encrypted again with the first key.`);
      if (unreadable.length === 0) {
        const { config, secrets } = loadConfigOrExit();
        forgetFormerKeys({ dataDir: config.dataDir, secrets });
        return print("Nothing needs the other keys any more.");
      }
      const where = unreadable.map((one) => `${one.column} (${one.unreadable.toString()})`).join(", ");
      throw new Error(
        `Some texts open with none of the keys: ${where}. Add the key that they were encrypted with at the end of \`ENCRYPTION_KEYS\`, and run this again.`,
      );
    });
}

const linesOf = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");

/** @throws Error when the file has one of them already: with another key, what is stored could not be read any more */
async function writeInto(path: string, fresh: Readonly<Record<string, string>>): Promise<void> {
  const text = await readFile(path, "utf8").catch(ifMissing(""));
  const isTaken = (name: string): boolean =>
    new RegExp(`^[ \\t]*(export[ \\t]+)?${name}(_FILE)?[ \\t]*=[ \\t]*(?!changeme[ \\t]*\\r?$)[^\\s#]`, "m").test(text);
  const taken = Object.keys(fresh).filter(isTaken);
  if (taken.length > 0) {
    const [it, lines] = taken.length === 1 ? ["it", "that line"] : ["them", "those lines"];
    throw new Error(
      `${path} has ${taken.join(" and ")} already, and what is stored needs ${it}. If nothing is stored yet, delete ${lines} and run the command again.`,
    );
  }
  const isPlaceholder = (line: string): boolean => /^\s*(SECRET_KEY|ENCRYPTION_KEYS)\s*=\s*(changeme)?\s*$/.test(line);
  const kept = text.split("\n").filter((line) => !isPlaceholder(line));
  const body = kept.join("\n").trimEnd();
  await writeFile(path, `${body === "" ? "" : `${body}\n`}${linesOf(fresh)}\n`, { mode: 0o600 });
  await chmod(path, 0o600);
}

function freshKey(): string {
  return randomBytes(32).toString("base64");
}
