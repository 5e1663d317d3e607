import { inspect } from "node:util";
import type { Env } from "./variables.ts";

/** What must never be printed. Logging, inspecting or serialising any part of it shows `[secret]`. */
export interface Secrets {
  discordToken: string;
  discordClientSecret: string;
  /** 32 bytes, the root of every derived key. */
  secretKey: Buffer;
  /** 32-byte keys by id, the encrypting one first. */
  encryptionKeys: ReadonlyMap<string, Buffer>;
  /** With which metrics are collected; null: they are not. */
  metricsToken: string | null;
  /** With which a bucket of evidence is used; null where there are none. */
  evidenceS3: S3Keys | null;
}

export interface S3Keys {
  accessKeyId: string;
  secretAccessKey: string;
}

/** Make an object print as `[secret]` (or the given stand-in), its values staying as they are. */
export function unprintable<T extends object>(value: T, standIn: unknown = "[secret]"): T {
  const print = { value: () => standIn, enumerable: false };
  return Object.defineProperties(value, { toJSON: print, [inspect.custom]: print });
}

/** The secrets of a checked environment. */
export function toSecrets(env: Env): Secrets {
  for (const key of env.ENCRYPTION_KEYS.values()) unprintable(key);
  return unprintable({
    discordToken: env.DISCORD_TOKEN,
    discordClientSecret: env.DISCORD_CLIENT_SECRET,
    secretKey: unprintable(env.SECRET_KEY),
    encryptionKeys: unprintable(env.ENCRYPTION_KEYS),
    metricsToken: env.METRICS_TOKEN ?? null,
    evidenceS3: s3Keys(env),
  });
}

function s3Keys({ EVIDENCE_S3_ACCESS_KEY: accessKeyId, EVIDENCE_S3_SECRET_KEY: secretAccessKey }: Env): S3Keys | null {
  return accessKeyId === undefined || secretAccessKey === undefined ? null : unprintable({ accessKeyId, secretAccessKey });
}
