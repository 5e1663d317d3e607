import { randomBytes } from "node:crypto";
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { ifMissing } from "../kernel/files.ts";
import { remove } from "./disk.ts";

/** A backup gets its name when it is whole; until then it is called otherwise. */
const form = /^provost-(\d{4})(\d{2})(\d{2})T(\d{2})(\d{2})(\d{2})Z(\.tar\.gz)?$/;
const partial = /\.partial-[0-9a-f]{8}$/;
/** No backup takes longer: what is older was left by one that was killed. */
const leftAfterMs = 86_400_000;

/** The name of a backup made at a time. */
export function backupName(at: Date, isPlain: boolean): string {
  return `provost-${at.toISOString().replaceAll(/[-:]|\.\d+/g, "")}${isPlain ? "" : ".tar.gz"}`;
}

/** What is not whole yet is called so; one that was left is removed later. */
export const partialName = (name: string): string => `${name}.partial-${randomBytes(4).toString("hex")}`;

export interface Shelved {
  path: string;
  at: Date;
}

/** The whole backups of a folder, the newest first; none when there is no folder. */
export async function shelved(folder: string): Promise<Shelved[]> {
  const names = await readdir(folder).catch(ifMissing<string[]>([]));
  const found = names.flatMap((name) => {
    const [, year, month, day, hour, minute, second] = form.exec(name) ?? [];
    if (year === undefined) return [];
    return [
      { path: join(folder, name), at: new Date(`${year}-${month ?? ""}-${day ?? ""}T${hour ?? ""}:${minute ?? ""}:${second ?? ""}Z`) },
    ];
  });
  return found.toSorted((a, b) => b.at.getTime() - a.at.getTime());
}

/** A day, and the hours in which a backup is made and tried again. */
const dueMs = 28 * 3_600_000;

/** Whether a backup should have followed this one by now. */
export const isOverdue = (newest: Shelved, now = new Date()): boolean => now.getTime() - newest.at.getTime() > dueMs;

/** Delete all but the newest backups of a folder. @returns those that were deleted */
export async function thinOut(folder: string, keep: number): Promise<string[]> {
  const old = (await shelved(folder)).slice(keep);
  for (const { path } of old) await remove(path);
  return old.map(({ path }) => path);
}

/** Delete what a backup that was killed has left. */
export async function removeLeftovers(folder: string): Promise<void> {
  for (const name of (await readdir(folder)).filter((one) => partial.test(one))) {
    const path = join(folder, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
    if (Date.now() - mtimeMs > leftAfterMs) await rm(path, { recursive: true, force: true });
  }
}
