import { randomBytes } from "node:crypto";
import { Command } from "commander";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost secrets`: fresh keys in the form of the environment, and moving on to one. */
export function secretsCommand(): Command {
  return new Command("secrets")
    .description("Print a fresh SECRET_KEY and ENCRYPTION_KEYS, ready for .env")
    .action(() => {
      const keyId = `k${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
      print(`SECRET_KEY=${freshKey()}`);
      print(`ENCRYPTION_KEYS=${keyId}:${freshKey()}`);
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
      if (unreadable.length === 0) return print("Nothing needs the other keys any more.");
      const where = unreadable.map((one) => `${one.column} (${one.unreadable.toString()})`).join(", ");
      throw new Error(`Some texts cannot be opened with any of the keys: ${where}.`);
    });
}

function freshKey(): string {
  return randomBytes(32).toString("base64");
}
