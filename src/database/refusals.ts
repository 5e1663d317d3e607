import { existsSync, statSync } from "node:fs";
import { ProblemError } from "../kernel/errors.ts";
import { noAccess, systemCode, systemReason } from "../kernel/operator-errors.ts";
import { dialectOf, sqliteFile } from "./dialect.ts";
import { DatabaseError } from "./errors.ts";

/** Where a database is, without user and password: a file, or a database of a PostgreSQL server. */
export function placeOf(url: string): string {
  if (dialectOf(url) === "sqlite") return sqliteFile(url);
  const { database, server } = readAddress(url);
  return `${database} of PostgreSQL at ${server}`;
}

/**
 * Why a database cannot be opened or used, in words for the operator; an error that is about something else as it is. The one place that
 * words what databases and their drivers report.
 */
export function databaseRefusal(url: string, error: unknown): unknown {
  if (error instanceof DatabaseError) return error;
  const reported = reportedBy(error);
  const text = dialectOf(url) === "sqlite" ? ofSqlite(sqliteFile(url), reported) : ofPostgres(url, reported);
  return text === undefined ? error : new DatabaseError("unusable", text, { cause: error });
}

interface Reported {
  /** A code of SQLite, of PostgreSQL (SQLSTATE) or of the operating system. */
  code: string;
  message: string;
  error: unknown;
}

/** What the driver has reported, behind the errors that were made of it. */
function reportedBy(error: unknown): Reported {
  if (error instanceof ProblemError && error.cause !== undefined) return reportedBy(error.cause);
  const { code, message = "", cause } = (error ?? {}) as { code?: unknown; message?: string; cause?: unknown };
  // What Prisma's adapters make of an error of a driver.
  const { originalCode, originalMessage } = (cause ?? {}) as { originalCode?: string; originalMessage?: string };
  if (originalCode !== undefined) return { code: originalCode, message: originalMessage ?? message, error };
  return { code: typeof code === "string" ? code : "", message, error };
}

/** @param verdict what SQLite says is wrong */
export function damagedText(file: string, verdict: string): string {
  return `The database ${file} is damaged (${verdict.replaceAll(/\s+/g, " ")}). Restore a backup of it.`;
}

function ofSqlite(file: string, { code, message }: Reported): string | undefined {
  if (code === "SQLITE_NOTADB" || code.startsWith("SQLITE_CORRUPT")) return damagedText(file, message);
  if (/^SQLITE_(BUSY|LOCKED)/.test(code)) return `Another program holds the database ${file}. Stop it, and try again.`;
  if (code === "SQLITE_FULL") return `There is no space left for the database ${file}. Free some on its disk, and start again.`;
  if (code.startsWith("SQLITE_IOERR")) return `The disk of the database ${file} fails (${message}). Check the disk, then restore a backup.`;
  if (!/^SQLITE_(CANTOPEN|READONLY|PERM|AUTH)/.test(code)) return undefined;
  if (!existsSync(file)) return `There is no database file ${file}. Check the path.`;
  if (statSync(file).isDirectory()) return `The database ${file} is a folder. Name a file: \`DATABASE_URL=file:<path>\`.`;
  return `The database ${noAccess(file, "file")}`;
}

interface Address {
  /** Host and port, or the folder of a socket. */
  server: string;
  user: string;
  database: string;
}

function readAddress(url: string): Address {
  const { hostname, port, username, pathname, searchParams } = new URL(url);
  const host = searchParams.get("host") ?? decodeURIComponent(hostname);
  return {
    server: host.startsWith("/") ? host : `${host}:${port === "" ? "5432" : port}`,
    user: decodeURIComponent(username),
    database: decodeURIComponent(pathname.slice(1)),
  };
}

/** By SQLSTATE, what PostgreSQL refuses; `where` is `PostgreSQL at <host>:<port>`. */
const postgresTexts: Readonly<Record<string, (where: string, address: Address, message: string) => string>> = {
  "28P01": (where, { user }) => `${where} refuses the password of the user ${user}. Put the right one into \`DATABASE_URL\`.`,
  "28000": (where, { user }, message) =>
    message.includes("no encryption")
      ? `${where} wants an encrypted connection. Add \`?sslmode=verify-full\` to \`DATABASE_URL\`.`
      : `${where} does not let in the user ${user} (${message}). Put another user into \`DATABASE_URL\`, or let this one in by pg_hba.conf.`,
  "3D000": (where, { database, user }) =>
    `${where} has no database ${database}. Make it: \`createdb --owner ${user} ${database}\`, or check \`DATABASE_URL\`.`,
  "42501": (where, { database, user }) =>
    `The user ${user} may not make tables in the database ${database} of ${where}. Make them its owner: \`ALTER DATABASE "${database}" OWNER TO "${user}"\`.`,
  "25006": (where) => `${where} takes no changes: it is a standby, or set to read-only. Name the primary in \`DATABASE_URL\`.`,
  "53100": (where) => `The disk of ${where} is full. Free some space on it, and start again.`,
  "53300": (where) => `${where} has no free connection. Raise its max_connections, or stop what else is connected.`,
  "57P03": (where) => `${where} is starting up or shutting down. Start again in a moment.`,
};

/** What the system says of a connection that is not made, or is cut. The same codes mean something else of a file. */
const connectionCodes = /^(ECONNREFUSED|ECONNRESET|EHOSTUNREACH|ENETUNREACH|ETIMEDOUT|ENOTFOUND|EAI_AGAIN)$/;
const isOfConnection = (error: unknown): boolean =>
  connectionCodes.test(systemCode(error) ?? "") || (error as NodeJS.ErrnoException | undefined)?.syscall === "connect";

/** The codes of OpenSSL and Node for a certificate that is not accepted. */
const certificateCodes = /^(SELF_SIGNED|DEPTH_ZERO|UNABLE_TO|CERT_|ERR_TLS)/;

function ofPostgres(url: string, { code, message, error }: Reported): string | undefined {
  const address = readAddress(url);
  const where = `PostgreSQL at ${address.server}`;
  const text = postgresTexts[code]?.(where, address, message);
  if (text !== undefined) return text;
  if (message.includes("does not support SSL")) return `${where} takes no encrypted connections. Take \`sslmode\` out of \`DATABASE_URL\`.`;
  if (certificateCodes.test(code))
    return `The certificate of ${where} is not accepted (${message}). Name the authority behind it: \`sslrootcert=<file>\` in \`DATABASE_URL\`.`;
  if (message.includes("client password must be a string"))
    return `${where} wants a password of the user ${address.user}. Add it to \`DATABASE_URL\`: \`postgresql://${address.user}:<password>@…\`.`;
  const reason = isOfConnection(error) ? systemReason(error) : message.startsWith("timeout") ? "no answer" : undefined;
  if (reason !== undefined) return `Can't reach ${where} (${reason}). Check \`DATABASE_URL\`.`;
  if (/^(Connection terminated|08)/.test(message) || code.startsWith("08")) return `The connection to ${where} was cut. Start again.`;
  return undefined;
}
