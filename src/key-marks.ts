import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Logger } from "pino";
import type { Secrets } from "./config/secrets.ts";
import { keyedHash } from "./kernel/secrets.ts";

/** What tells one key from another without telling anything of it, by the id of the key. */
type Marks = Readonly<Record<string, string>>;

interface Installation {
  dataDir: string;
  secrets: Pick<Secrets, "encryptionKeys">;
}

/** What earlier versions kept here of `SECRET_KEY`, which the database now tells; no key of `ENCRYPTION_KEYS` can have this id. */
const secretKeyId = "secret key";
const markOf = (key: Buffer): string => keyedHash(key, "provost/mark").slice(0, 16);
const fileIn = (dataDir: string): string => join(dataDir, "keys.json");

/**
 * Warn the operator where a key of `ENCRYPTION_KEYS` is gone, or is another one than before: what was stored with it opens no more. The data
 * folder keeps marks of the keys; they stay as they are until the keys are right again.
 */
export function checkKeys(installation: Installation, logger: Pick<Logger, "error">): void {
  const lost = lostKeys(installation);
  for (const text of lost) logger.error(text);
  if (lost.length > 0) return;
  const file = fileIn(installation.dataDir);
  writeMarks(file, { ...knownMarks(file), ...marksOf(installation.secrets.encryptionKeys) });
}

/** A sentence for each key of `ENCRYPTION_KEYS` that is gone, or is another one than before. */
export function lostKeys({ dataDir, secrets }: Installation): string[] {
  const file = fileIn(dataDir);
  const [known, now] = [knownMarks(file), marksOf(secrets.encryptionKeys)];
  const lost = Object.keys(known).filter((id) => now[id] !== known[id]);
  return lost.map(
    (id) =>
      `ENCRYPTION_KEYS no longer has the key ${id} that it had: what was encrypted with it, such as the Discord grants of people, cannot be opened. Put it back at the end of ENCRYPTION_KEYS. If that is meant, delete ${file} and restart.`,
  );
}

function knownMarks(file: string): Marks {
  const { [secretKeyId]: _, ...known } = readMarks(file);
  return known;
}

/** Everything is encrypted with the first key: the others are no longer missed. */
export function forgetFormerKeys({ dataDir, secrets }: Installation): void {
  const [first] = Object.entries(marksOf(secrets.encryptionKeys));
  writeMarks(fileIn(dataDir), first === undefined ? {} : { [first[0]]: first[1] });
}

function marksOf(keys: ReadonlyMap<string, Buffer>): Marks {
  return Object.fromEntries([...keys].map(([id, key]) => [id, markOf(key)]));
}

function readMarks(file: string): Marks {
  try {
    return JSON.parse(readFileSync(file, "utf8")) as Marks;
  } catch {
    // None yet, or not readable: then nothing is known of earlier keys.
    return {};
  }
}

function writeMarks(file: string, marks: Marks): void {
  writeFileSync(file, `${JSON.stringify(marks)}\n`);
}
