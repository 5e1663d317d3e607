import type { Database } from "./database/database.ts";
import { DatabaseError } from "./database/errors.ts";
import { processCall } from "./kernel/call.ts";
import { uuid7 } from "./kernel/ids.ts";
import { keyedHash } from "./kernel/secrets.ts";

export const acceptKeyFlag = "--accept-new-secret-key";

interface Given {
  database: Database;
  secretKey: Buffer;
  /** Whether the operator means to go on with another key. */
  acceptsNewKey?: boolean;
}

/** Where the database keeps the fingerprint, beside the id of its installation. */
export const fingerprintSetting = "secret_key_fingerprint";

/** What tells one key from another in the database of an installation, without telling anything of it. */
export function fingerprintOf(secretKey: Buffer, instanceId: string): string {
  return keyedHash(secretKey, `provost/fingerprint/${instanceId}`);
}

export const otherKeyText = `\`SECRET_KEY\` is another one than this database was used with, so every API key would be refused, and signed positions of the audit would no longer count: put the old one back, or, if it is lost, start the server once with \`${acceptKeyFlag}\` and make new API keys.`;

/**
 * Make sure that `SECRET_KEY` is the one that this database was used with: another one would refuse every API key, and sign the audit with a
 * key that nobody knows. The fingerprint tells nothing of the key; the first use of a database stores it.
 * @throws DatabaseError other_secret_key, with what to do
 */
export async function requireSecretKey({ database, secretKey, acceptsNewKey = false }: Given): Promise<void> {
  const given = fingerprintOf(secretKey, await database.instance.id());
  const row = await database.read.setting.findUnique({ where: { key: fingerprintSetting } });
  const stored = row === null ? await store(database, given) : String(row.value);
  if (stored === given) return;
  if (!acceptsNewKey) throw new DatabaseError("other_secret_key", otherKeyText);
  await store(database, given, given);
}

/** @returns what is stored then: another process may have been first */
async function store(database: Database, value: string, update?: string): Promise<string> {
  return database.write(processCall(uuid7()), async (tx) => {
    await tx.lock("settings");
    const stored = await tx.db.setting.upsert({
      where: { key: fingerprintSetting },
      create: { key: fingerprintSetting, value },
      update: update === undefined ? {} : { value: update },
    });
    return String(stored.value);
  });
}
