import { open } from "node:fs/promises";
import { ProblemError, type ProblemCode } from "./errors.ts";

/** What the file system says, as problems a caller can understand. */
const codes: Readonly<Record<string, ProblemCode>> = {
  ENOSPC: "storage_full",
  EDQUOT: "storage_full",
  EROFS: "storage_readonly",
  EACCES: "storage_readonly",
  EPERM: "storage_readonly",
  EIO: "storage_readonly",
  EMFILE: "storage_busy",
  ENFILE: "storage_busy",
};

/** The problem behind an error of the file system, or the same error when it is about something else. */
export function fileProblem(error: unknown): unknown {
  if (!(error instanceof Error)) return error;
  const code = codes[(error as NodeJS.ErrnoException).code ?? ""];
  return code === undefined ? error : new ProblemError(code, { retryAfter: 5, cause: error });
}

/** What to go on with where a file or a folder is not there: `readFile(path).catch(ifMissing(""))`. @throws the error, when it is another one */
export function ifMissing<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return value;
    throw error;
  };
}

/** Wait until a file or a folder is on the disk: a new name is there after a power loss only if its folder is on the disk, too. */
export async function syncToDisk(path: string): Promise<void> {
  const file = await open(path, "r");
  try {
    await file.sync();
  } finally {
    await file.close();
  }
}
