import { Command, InvalidArgumentError } from "commander";
import { pino } from "pino";
import { loadConfigOrExit, type Config } from "../config/config.ts";
import { evidencePlaceForm, evidencePlaceName, parseEvidencePlace, type EvidencePlace } from "../config/values.ts";
import { acquireDataLock } from "../database/data-lock.ts";
import { DatabaseError } from "../database/errors.ts";
import { acquireServerLock } from "../database/server-lock.ts";
import { print, printError } from "./output.ts";
import { withServices } from "./services.ts";

/** `provost evidence …`: where the files of evidence are. */
export function evidenceCommand(setExitCode: (code: number) => void): Command {
  return new Command("evidence").description("Look after the files of evidence").addCommand(moveCommand(setExitCode));
}

/** 0 all are there, 1 refused, or some were lost before. */
function moveCommand(setExitCode: (code: number) => void): Command {
  return new Command("move")
    .description("Move the files of evidence to another EVIDENCE_STORE; while a server runs they are only copied, and it can be run again")
    .requiredOption("--to <store>", "folder, database, or s3://<bucket>/<prefix> with the variables EVIDENCE_S3_…", place)
    .action(async ({ to }: { to: EvidencePlace }) => {
      const { config } = loadConfigOrExit();
      const name = evidencePlaceName(to);
      const locks = await lockOut(config);
      try {
        const isStopped = locks !== undefined;
        const { copied, there, lost } = await withServices(({ evidence }) => evidence.moveTo(to, { isStopped, onProgress: printError }));
        print(`${name}: ${copied.toString()} files were copied, ${there.toString()} were there.`);
        for (const sha256 of lost) printError(`The file ${sha256} was not copied: its bytes are gone, or are not those that were kept.`);
        if (lost.length > 0) setExitCode(1);
        printError(
          isStopped
            ? `They are deleted where they were. Set \`EVIDENCE_STORE=${name}\`, and start the server.`
            : "A server runs, so nothing was deleted, and it goes on as before. Stop it and run this again for the rest, which is what came since.",
        );
      } finally {
        for (const lock of locks ?? []) await lock.release();
      }
    });
}

function place(text: string): EvidencePlace {
  const found = parseEvidencePlace(text);
  if (found === undefined) throw new InvalidArgumentError(`It ${evidencePlaceForm}.`);
  return found;
}

/** Keep servers from starting. @returns undefined when one runs */
async function lockOut({ dataDir, database: { url } }: Config): Promise<{ release(): unknown }[] | undefined> {
  const locks: { release(): unknown }[] = [];
  try {
    locks.push(await acquireDataLock(dataDir));
    locks.push(await acquireServerLock({ url, dataDir, logger: pino({ level: "silent" }), onLost: () => undefined }));
    return locks;
  } catch (error) {
    for (const lock of locks) await lock.release();
    if (error instanceof DatabaseError && ["data_locked", "database_served"].includes(error.reason)) return undefined;
    throw error;
  }
}
