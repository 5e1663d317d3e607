import { constants, existsSync } from "node:fs";
import { access, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { refuseHalfRestored } from "../../backup/marker.ts";
import { isOverdue, shelved } from "../../backup/shelf.ts";
import { processEnvironment, secretFiles } from "../../config/env.ts";
import { configWarnings } from "../../config/warnings.ts";
import { findLooseFiles } from "../../database/folder.ts";
import { networkWarning } from "../../database/network-file-system.ts";
import { openToOthers } from "../../installation.ts";
import { lostKeys } from "../../key-marks.ts";
import { accountName, fileError } from "../../kernel/operator-errors.ts";
import { oldestNode } from "../../version.ts";
import { freeBytes, spaceFinding } from "../disk-space.ts";
import { fail, pass, warn, type Finding } from "../findings.ts";
import { textOf, type Ground } from "./ground.ts";

export function settings({ config, unknown }: Ground): Finding[] {
  const warnings = [...unknown, ...configWarnings(config)];
  return warnings.length === 0 ? [pass("every variable is valid")] : warnings.map(warn);
}

export function node(): Finding[] {
  return [nodeFinding(process.versions.node, oldestNode)];
}

export function nodeFinding(running: string, oldest: string): Finding {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbersOf(running), numbersOf(oldest)];
  const isOld = major < leastMajor || (major === leastMajor && minor < leastMinor);
  if (!isOld) return pass(running);
  return fail(
    `Node.js ${running} runs this, and Provost needs ${oldest} or newer: it can fail anywhere. Install a newer one, such as with \`nvm install --lts\`.`,
  );
}

const numbersOf = (text: string): number[] => text.split(".").map(Number);

/** Whether the folders can be written, and have room. */
export async function disk({ config: { dataDir, backup } }: Ground): Promise<Finding[]> {
  const folders = { DATA_DIR: dataDir, ...(backup.folder !== null && { BACKUP_DIR: backup.folder }) };
  return Promise.all(Object.entries(folders).map(([variable, folder]) => folderFinding(variable, folder)));
}

async function folderFinding(variable: string, folder: string): Promise<Finding> {
  let there = resolve(folder);
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    if (!(await stat(there)).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    await access(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    return fail(textOf(fileError(error, { path: folder, variable, kind: "folder" })));
  }
  return spaceFinding(variable, folder, await freeBytes(there));
}

export async function fileSystem({ config }: Pick<Ground, "config">, typeOf?: Parameters<typeof networkWarning>[1]): Promise<Finding[]> {
  const text = await networkWarning(config.database.url, typeOf);
  return [text === undefined ? pass("not one of another machine") : warn(text)];
}

export async function modes({ config }: Ground): Promise<Finding[]> {
  const [stored, secrets] = await Promise.all([openToOthers(config), findLooseFiles(secretFiles(processEnvironment()))]);
  const findings: Finding[] = [];
  if (stored.length > 0)
    findings.push(
      warn(
        `Other accounts of this machine can open ${stored.join(", ")}, where records and keys are: run \`chmod go= ${stored.join(" ")}\`.`,
      ),
    );
  // A secret may belong to another account: without the new owner the service could not read it any more.
  if (secrets.length > 0) {
    const files = secrets.join(" ");
    findings.push(
      warn(
        `Other accounts of this machine can open ${secrets.join(", ")}, where secrets are: run \`chown ${accountName()} ${files} && chmod go= ${files}\`.`,
      ),
    );
  }
  return findings.length > 0 ? findings : [pass("only this account can open what is stored")];
}

/** Whether the data folder is one that a restore has left half done. */
export async function restore({ config }: Ground): Promise<Finding[]> {
  return await refuseHalfRestored(config.dataDir).then(
    () => [pass("none is half done")],
    (error: unknown) => [fail(textOf(error))],
  );
}

export function encryptionKeys({ config, secrets }: Ground): Finding[] {
  const lost = lostKeys({ dataDir: config.dataDir, secrets });
  return lost.length === 0 ? [pass("none is missing")] : lost.map(fail);
}

export async function backups({ config: { backup }, database }: Ground): Promise<Finding[]> {
  if (backup.folder === null)
    return [
      warn("BACKUP_DIR is not set, so no backup is made at night and a failing disk takes everything: set it to a folder on another disk."),
    ];
  if ((await database()).state === "absent") return [pass("nothing is stored yet")];
  try {
    const [newest] = await shelved(backup.folder);
    if (newest === undefined)
      return [
        warn(`BACKUP_DIR: ${backup.folder} has no backup yet, so a failing disk takes everything: make one with \`npx provost backup\`.`),
      ];
    if (!isOverdue(newest)) return [pass(newest.path)];
    return [
      warn(
        `BACKUP_DIR: the newest backup, ${newest.path}, is of ${newest.at.toISOString()}, one is due each day, and what came after it is in none: make one with \`npx provost backup\`, which says what keeps the nightly one from being made.`,
      ),
    ];
  } catch (error) {
    return [fail(textOf(fileError(error, { path: backup.folder, variable: "BACKUP_DIR", kind: "folder" })))];
  }
}
