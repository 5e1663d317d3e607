import { randomBytes } from "node:crypto";
import { Command } from "commander";
import { print } from "./output.ts";

/** `provost secrets`: fresh keys in the form of the environment. */
export function secretsCommand(): Command {
  return new Command("secrets").description("Print a fresh SECRET_KEY and ENCRYPTION_KEYS, ready for .env").action(() => {
    const keyId = `k${new Date().toISOString().slice(0, 10).replaceAll("-", "")}`;
    print(`SECRET_KEY=${freshKey()}`);
    print(`ENCRYPTION_KEYS=${keyId}:${freshKey()}`);
  });
}

function freshKey(): string {
  return randomBytes(32).toString("base64");
}
