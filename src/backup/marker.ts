import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { OperatorError } from "../kernel/operator-errors.ts";
import { syncToDisk } from "../kernel/files.ts";

/** Stands in a data folder from before the first byte of a restore until after its last. */
const markerName = "restoring";

/** A restore that was begun. */
export interface Begun {
  /** The backup, as it was named. */
  from: string;
  /** What tells the backup from others: the hash of its manifest's content. */
  backup: string;
  /** The database that was empty when it was begun, so that nothing else is emptied when it begins anew. */
  database: string;
}

/** @throws OperatorError when the marker cannot be read */
export async function findMarker(dataDir: string): Promise<Begun | undefined> {
  try {
    const text = await readFile(join(dataDir, markerName), "utf8");
    // A marker that was cut off while it was written names nothing, as nothing was restored yet.
    return text.endsWith("\n") ? (JSON.parse(text) as Begun) : { from: "<backup>", backup: "", database: "" };
  } catch (error) {
    if (["ENOENT", "ENOTDIR"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}

export async function writeMarker(dataDir: string, begun: Begun): Promise<void> {
  const path = join(dataDir, markerName);
  await writeFile(path, `${JSON.stringify(begun)}\n`, { mode: 0o600 });
  await syncToDisk(path);
  await syncToDisk(dataDir);
}

export async function removeMarker(dataDir: string): Promise<void> {
  await rm(join(dataDir, markerName), { force: true });
  await syncToDisk(dataDir);
}

/**
 * Keep everything away from a place that is only half restored.
 * @throws OperatorError with the command that goes on
 */
export async function refuseHalfRestored(dataDir: string): Promise<void> {
  const begun = await findMarker(dataDir);
  if (begun === undefined) return;
  throw new OperatorError(
    `\`DATA_DIR\`: the restore into ${dataDir} did not finish. Run \`provost restore ${begun.from}\` again, which begins it anew; for another backup empty the folder and the database first.`,
  );
}
