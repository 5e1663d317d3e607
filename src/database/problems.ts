import { setTimeout as delay } from "node:timers/promises";
import { isDriverAdapterError } from "@prisma/driver-adapter-utils";
import { ProblemError, type ProblemCode } from "../kernel/errors.ts";

/** Primary result codes of SQLite. */
const sqliteProblems = new Map<number, ProblemCode>([
  [5, "storage_busy"], // SQLITE_BUSY
  [6, "storage_busy"], // SQLITE_LOCKED
  [8, "storage_readonly"], // SQLITE_READONLY
  [10, "storage_readonly"], // SQLITE_IOERR
  [13, "storage_full"], // SQLITE_FULL
  [14, "storage_readonly"], // SQLITE_CANTOPEN
]);

/** SQLSTATE codes of PostgreSQL; a class of two letters stands for all its codes. */
const postgresProblems = new Map<string, ProblemCode>([
  ["08", "storage_busy"], // connection exceptions
  ["25006", "storage_readonly"], // read_only_sql_transaction
  ["53100", "storage_full"], // disk_full
  ["53", "storage_busy"], // other lack of resources
  ["55P03", "storage_busy"], // lock_not_available
  ["57014", "storage_busy"], // query_canceled
  ["57P", "storage_busy"], // shut down, starting up, crashed
  ["58030", "storage_readonly"], // io_error
]);

const connectionKinds = new Set(["ConnectionClosed", "DatabaseNotReachable", "SocketTimeout", "TooManyConnections"]);

/** The texts of pg's own errors, which carry no code. */
const connectionMessages =
  /^(Connection terminated|timeout exceeded when trying to connect|Client has encountered a connection error|Query read timeout|Cannot use a pool after)/;

/** The database gave up this transaction in favour of another; the whole of it may be tried again. */
export class WriteConflictError extends Error {
  override name = "WriteConflictError";
}

/** The problem behind an error of the storage, or the same error when it is about the statement and not about the storage. */
export function toProblem(error: unknown): unknown {
  if (error instanceof ProblemError) return error;
  if (isDriverAdapterError(error) && error.cause.kind === "TransactionWriteConflict")
    return new WriteConflictError("write conflict", { cause: error });
  const code = problemCode(error);
  return code === undefined ? error : new ProblemError(code, { retryAfter: 1, cause: error });
}

/** Whether a row was refused because there is one like it, whichever way it came. */
export function isOfUnique(error: unknown): boolean {
  if (isDriverAdapterError(error)) return error.cause.kind === "UniqueConstraintViolation";
  return error instanceof Error && (error as { code?: unknown }).code === "P2002";
}

function problemCode(error: unknown): ProblemCode | undefined {
  if (!(error instanceof Error)) return undefined;
  if (!isDriverAdapterError(error)) {
    const { code } = error as { code?: unknown };
    if (typeof code === "string")
      return sqliteByName(code) ?? postgresByCode(code) ?? (/^E[A-Z]+$/.test(code) ? "storage_busy" : undefined);
    return connectionMessages.test(error.message) ? "storage_busy" : undefined;
  }
  const { cause } = error;
  if (cause.kind === "sqlite") return sqliteProblems.get(cause.extendedCode & 0xff) ?? sqliteByName(cause.originalCode ?? "");
  if (cause.kind === "postgres") return postgresByCode(cause.code);
  return connectionKinds.has(cause.kind) ? "storage_busy" : undefined;
}

function sqliteByName(name: string): ProblemCode | undefined {
  if (/^SQLITE_(BUSY|LOCKED)/.test(name)) return "storage_busy";
  if (/^SQLITE_(READONLY|IOERR|CANTOPEN)/.test(name)) return "storage_readonly";
  return name === "SQLITE_FULL" ? "storage_full" : undefined;
}

function postgresByCode(code: string): ProblemCode | undefined {
  return postgresProblems.get(code) ?? postgresProblems.get(code.slice(0, 3)) ?? postgresProblems.get(code.slice(0, 2));
}

/** Run storage work for Prisma's client, turning its failures into problems. */
export async function withProblems<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    const problem = toProblem(error);
    // The client makes an error of its own of whatever has a code, and keeps nothing of it but `code` and `meta`.
    if (problem instanceof ProblemError) Object.defineProperty(problem, "meta", { value: { problem }, configurable: true });
    throw problem;
  }
}

/** The problem that Prisma's client has made an error of its own of; any other error as it is. */
export function unwrapped(error: unknown): unknown {
  const { meta } = (error ?? {}) as { meta?: { problem?: unknown } };
  return meta?.problem instanceof ProblemError ? meta.problem : error;
}

/**
 * Try again, without holding up the event loop, while another process holds the database's lock.
 * @param since when the caller began to wait, of performance.now(); at least one try is made
 * @throws ProblemError storage_busy after two seconds
 */
export async function retryWhileBusy<T>(since: number, work: () => T | Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await work();
    } catch (error) {
      const problem = toProblem(error);
      const isBusy = problem instanceof ProblemError && problem.code === "storage_busy";
      if (!isBusy || performance.now() - since > 2000) throw problem;
    }
    await delay(10 + Math.random() * 30);
  }
}
