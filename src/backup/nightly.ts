import { spawn, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { Logger } from "pino";
import type { Config } from "../config/config.ts";
import type { Clock } from "../kernel/clock.ts";
import { OperatorError, operatorText } from "../kernel/operator-errors.ts";
import { packageFolder } from "../package-folder.ts";
import { shelved } from "./shelf.ts";

interface NightlyDeps extends Readonly<Config["backup"]> {
  clock: Clock;
  logger: Logger;
}

/** A disk that is full now may not be in an hour. */
const againMs = 3_600_000;
const keptOfErrors = 2000;

function wordedFailure(why: string, isMade: boolean): string {
  if (isMade)
    return `The nightly backup was made, but not all of it is as it should be. ${why} \`provost backup verify\` says what else is wrong; older backups may have it.`;
  return `The nightly backup failed, and is tried again in an hour. ${why} Try it by hand: \`provost backup\`.`;
}

/**
 * The backup of each night. It runs as a process of its own: reading all of a database keeps a process busy, and nothing that is answered shall
 * wait for it.
 */
export function createNightlyBackup({ folder, hour, keep, clock, logger }: NightlyDeps) {
  let running: { child: ChildProcess; ended: Promise<void> } | undefined;
  let failure: string | undefined;
  let triedAt = -Infinity;
  let isStopping = false;

  /** Whether the last time that it was due has no backup yet, also when the service did not run then. */
  async function isDue(place: string, at: number): Promise<boolean> {
    const now = clock.now();
    const due = new Date(now);
    due.setUTCHours(at, 0, 0, 0);
    if (due > now) due.setUTCDate(due.getUTCDate() - 1);
    const [newest] = await shelved(place);
    return newest === undefined || newest.at < due;
  }

  function start(place: string): void {
    triedAt = clock.now().getTime();
    const argv = [
      fileURLToPath(new URL("bin/provost.js", packageFolder)),
      "backup",
      "--to",
      place,
      "--keep",
      keep.toString(),
      "--verify",
      "--json",
    ];
    const child = spawn(process.execPath, argv, { stdio: ["ignore", "pipe", "pipe"] });
    const said = { stdout: "", stderr: "" };
    for (const stream of ["stdout", "stderr"] as const)
      child[stream].on("data", (part: Buffer) => (said[stream] = (said[stream] + part.toString()).slice(-keptOfErrors)));
    const ended = new Promise<void>((resolve) => {
      const end = (code: number | null, why?: string): void => {
        running = undefined;
        if (code === 0) logger.info({ folder: place }, "made the nightly backup, and looked at all of it");
        else if (!isStopping) failure = wordedFailure(why ?? said.stderr.trim().split("\n").at(-1) ?? "", said.stdout !== "");
        resolve();
      };
      child.once("error", (error) => end(null, error.message));
      child.once("close", (code) => end(code));
    });
    running = { child, ended };
  }

  /** Begin a backup if one is due. @returns what went wrong with the last one, told once */
  async function attempt(): Promise<string | undefined> {
    const why = failure;
    failure = undefined;
    const isWaiting = folder === null || hour === null || running !== undefined || isStopping || clock.now().getTime() - triedAt < againMs;
    if (why !== undefined || isWaiting) return why;
    try {
      if (await isDue(folder, hour)) start(folder);
      return undefined;
    } catch (error) {
      triedAt = clock.now().getTime();
      return wordedFailure(operatorText(error) ?? String(error), false);
    }
  }

  return {
    /** When the newest whole backup was made; undefined when there is none, null when the operator has named no folder. */
    lastMadeAt: async (): Promise<Date | null | undefined> => (folder === null ? null : (await shelved(folder))[0]?.at),
    /**
     * Begin a backup when it is time.
     * @throws OperatorError when the last one failed: once for each attempt
     */
    async sweep(): Promise<void> {
      const why = await attempt();
      if (why !== undefined) throw new OperatorError(why);
    },
    /** What is not whole when the service stops is made after its next start. */
    async stop(): Promise<void> {
      isStopping = true;
      running?.child.kill("SIGTERM");
      await running?.ended;
    },
  };
}
