import { randomBytes } from "node:crypto";

/** A fresh 32-byte key in base64. */
export function freshKey(): string {
  return randomBytes(32).toString("base64");
}

/** An environment that boots, with every secret fresh, so that a leak of one of them is recognised. */
export function validEnvironment() {
  const part = (length: number): string => randomBytes(length).toString("base64url").slice(0, length);
  return {
    DISCORD_TOKEN: `${part(24)}.${part(6)}.${part(38)}`,
    DISCORD_CLIENT_ID: "80351110224678912",
    DISCORD_CLIENT_SECRET: part(32),
    GUILD_IDS: "613425648685547520",
    SECRET_KEY: freshKey(),
    ENCRYPTION_KEYS: `k2:${freshKey()},k1:${freshKey()}`,
  };
}

/** The texts of an environment that no output may hold. */
export function secretTexts(env: ReturnType<typeof validEnvironment>): string[] {
  const keys = env.ENCRYPTION_KEYS.split(",").map((entry) => entry.slice(3));
  return [env.DISCORD_TOKEN, env.DISCORD_CLIENT_SECRET, env.SECRET_KEY, ...keys];
}
