import { OperatorError } from "../kernel/operator-errors.ts";

/** Why a database cannot be served. The message says what to do about it. */
export type DatabaseErrorReason =
  /** What the database or its driver reports, such as that nobody answers. */
  | "unusable"
  | "newer_schema"
  | "changed_migration"
  | "failed_migration"
  | "foreign_database"
  | "corrupt"
  | "no_wal"
  | "data_locked"
  | "database_served"
  | "other_secret_key";

/** A database that this build refuses to open; nothing in it has been changed. */
export class DatabaseError extends OperatorError {
  override name = "DatabaseError";
  readonly reason: DatabaseErrorReason;

  constructor(reason: DatabaseErrorReason, message: string, options?: ErrorOptions) {
    super(message, options);
    this.reason = reason;
  }
}
