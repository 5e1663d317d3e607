/** Why a database cannot be served. The message says what to do about it. */
export type DatabaseErrorReason =
  | "newer_schema"
  | "changed_migration"
  | "failed_migration"
  | "foreign_database"
  | "corrupt"
  | "no_wal"
  | "data_locked";

/** A database that this build refuses to open; nothing in it has been changed. */
export class DatabaseError extends Error {
  override name = "DatabaseError";
  readonly reason: DatabaseErrorReason;

  constructor(reason: DatabaseErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
