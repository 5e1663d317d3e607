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
