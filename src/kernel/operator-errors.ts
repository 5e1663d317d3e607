import { existsSync } from "node:fs";
import { userInfo } from "node:os";
import { dirname } from "node:path";
import { ProblemError } from "./errors.ts";

/** A mistake that the operator can mend: the message says what is wrong and what mends it. It is shown without a stack. */
export class OperatorError extends Error {
  override name = "OperatorError";
}

/** What the codes of the operating system mean. */
const reasons: Readonly<Record<string, string>> = {
  EACCES: "permission denied",
  EADDRINUSE: "the port is in use",
  EADDRNOTAVAIL: "no address of this machine",
  EAI_AGAIN: "the name cannot be looked up now",
  EBUSY: "in use",
  ECONNREFUSED: "connection refused",
  ECONNRESET: "the connection was cut",
  EDQUOT: "no space left",
  EEXIST: "exists already",
  EHOSTUNREACH: "no route to the host",
  EIO: "the disk fails",
  EISDIR: "a folder",
  EMFILE: "too many open files",
  ENETUNREACH: "the network cannot be reached",
  ENOENT: "does not exist",
  ENOSPC: "no space left",
  ENOTDIR: "not a folder",
  ENOTFOUND: "no such host",
  EPERM: "permission denied",
  EPIPE: "the connection was cut",
  EROFS: "a read-only disk",
  ETIMEDOUT: "no answer",
};

/** The code of an error of the operating system, such as `ENOENT`; undefined for any other error. */
export function systemCode(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException;
  return typeof code === "string" && (code in reasons || syscall !== undefined) ? code : undefined;
}

/** What an error of the operating system means, in a few words. */
export function systemReason(error: unknown): string {
  return reasons[systemCode(error) ?? ""] ?? (error instanceof Error ? error.message : String(error));
}

interface Place {
  /** The file or folder; that which the error names by default. */
  path?: string;
  /** The variable that names it. */
  variable?: string;
  kind?: "file" | "folder";
}

/** An error of a file or a folder, in words for the operator; any other error as it is. */
export function fileError(error: unknown, { path, variable, kind = "file" }: Place = {}): unknown {
  const code = systemCode(error);
  const at = path ?? (error as NodeJS.ErrnoException | undefined)?.path;
  if (code === undefined || at === undefined) return error;
  const head = variable === undefined ? "" : `\`${variable}\`: `;
  return new OperatorError(head + sentence(code, at, kind, error), { cause: error });
}

function sentence(code: string, path: string, kind: "file" | "folder", error: unknown): string {
  switch (code) {
    case "ENOENT": {
      const folder = dirname(path);
      return existsSync(folder)
        ? `${path} does not exist. Check the path.`
        : `The folder ${folder} does not exist. Make it: \`mkdir -p ${folder}\`.`;
    }
    case "EEXIST":
      return `${path} exists already, and is not overwritten. Name another file.`;
    case "EISDIR":
      return `${path} is a folder. Name a file.`;
    case "ENOTDIR":
      return `${path} is a file, or lies below one. Name a folder.`;
    case "EACCES":
    case "EPERM":
      return noAccess(path, kind);
    case "EROFS":
      return `${path} is on a disk that can only be read. Name another ${kind}.`;
    case "ENOSPC":
    case "EDQUOT":
      return `There is no space left for ${path}. Free some on its disk, and run the command again.`;
    default:
      return `${path} can't be used (${systemReason(error)}). Check it, or name another ${kind}.`;
  }
}

/** Who may not open a path, and what gives them the right to: on the path itself, or on the nearest folder above it that is there. */
export function noAccess(path: string, kind: "file" | "folder"): string {
  const account = accountName();
  let there = path;
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  return `${path} can't be opened by the account ${account} (permission denied). Run \`chown ${account} ${there}\`, or name another ${kind}.`;
}

/** Who runs this, as `chown` takes it. */
export function accountName(): string {
  try {
    return userInfo().username;
  } catch {
    // A container may run as a number that has no name.
    return process.getuid?.().toString() ?? "that runs this";
  }
}

/** What went wrong, in one line for the operator; undefined for a fault of the program, which is found by its stack. */
export function operatorText(error: unknown): string | undefined {
  const shown = fileError(error);
  if (shown instanceof OperatorError || shown instanceof ProblemError) return shown.message;
  return systemCode(error) === undefined ? undefined : `The system refuses this (${systemReason(error)}).`;
}
