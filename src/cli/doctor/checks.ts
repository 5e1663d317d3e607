import type { Finding } from "../findings.ts";
import { address } from "./address.ts";
import { actions, checkpoints, database, installation, integrity, secretKey } from "./database.ts";
import { clientSecret, clock, discord, intents, redirect, token } from "./discord.ts";
import type { Ground } from "./ground.ts";
import { evidence } from "./evidence-files.ts";
import { guilds } from "./guilds.ts";
import { backups, disk, encryptionKeys, fileSystem, modes, node, restore, settings } from "./machine.ts";

export interface Check {
  /** No finding: there is nothing to check here. */
  run: (ground: Ground) => Finding[] | Promise<Finding[]>;
  /** Whether others than this machine are asked. */
  isOnline?: true;
}

/** What `provost doctor` looks at, in this order. */
export const doctorChecks: Readonly<Record<string, Check>> = {
  settings: { run: settings },
  node: { run: node },
  disk: { run: disk },
  "file system": { run: (ground) => fileSystem(ground) },
  "file modes": { run: modes },
  restore: { run: restore },
  database: { run: database },
  integrity: { run: integrity },
  installation: { run: installation },
  "secret key": { run: secretKey },
  "encryption keys": { run: encryptionKeys },
  audit: { run: checkpoints },
  actions: { run: actions },
  evidence: { run: evidence },
  backups: { run: backups },
  discord: { run: discord, isOnline: true },
  clock: { run: clock, isOnline: true },
  token: { run: token, isOnline: true },
  "client secret": { run: clientSecret, isOnline: true },
  intents: { run: intents, isOnline: true },
  redirect: { run: redirect, isOnline: true },
  servers: { run: guilds, isOnline: true },
  address: { run: address, isOnline: true },
};
