import { statfs } from "node:fs/promises";
import { fail, pass, warn, type Finding } from "./findings.ts";

/** How much room a folder needs: below the first there is a warning, below the second writes are about to fail. */
const [lowBytes, leastBytes] = [1_073_741_824, 104_857_600];

/** What is free on the disk of a folder; undefined where it is not on this machine. */
export async function freeBytes(folder: string): Promise<number | undefined> {
  return statfs(folder).then(
    ({ bavail, bsize }) => bavail * bsize,
    () => undefined,
  );
}

/** Whether the disk of a folder has room. @param variable names the folder */
export function spaceFinding(variable: string, folder: string, bytes: number | undefined): Finding {
  if (bytes === undefined) return pass(`${folder} is not on this machine`);
  const free = `${Math.round(bytes / 1_048_576).toString()} MB free at ${folder}`;
  if (bytes >= lowBytes) return pass(free);
  const text = `${free}: free some space on its disk, or move ${variable} to a larger one.`;
  return bytes < leastBytes ? fail(text) : warn(text);
}
