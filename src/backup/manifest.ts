import { z } from "zod";

/** The last file of a backup: what has no manifest is not whole. */
export const manifestName = "manifest.json";
/** Stands beside the backups, and is in none of them: it grows with each, so that an old backup meets the deletions made after it. */
export const journalName = "erasures.jsonl";
export const checkpointsName = "checkpoints.log";
export const instanceName = "instance_id";
export const keyMarksName = "keys.json";
export const databaseNames = { sqlite: "database.sqlite", postgres: "database.pgdump" } as const;

const hash = z.string().regex(/^[0-9a-f]{64}$/);
/** The names a backup can have files of; nothing else is ever written to a disk from one. */
const fileName = /^(database\.(sqlite|pgdump)|checkpoints\.log|instance_id|keys\.json|evidence\/[0-9a-f]{2}\/[0-9a-f]{64})$/;

const BackupFile = z.object({ name: z.string().regex(fileName), bytes: z.int().nonnegative(), sha256: hash });
export type BackupFile = z.infer<typeof BackupFile>;

/** What a backup says about itself. */
export const Manifest = z.object({
  format: z.literal("provost-backup/1"),
  /** The version of the program that made it. */
  program: z.string(),
  /** Every write that was answered before this time is in it. */
  point: z.iso.datetime(),
  dialect: z.enum(["sqlite", "postgres"]),
  /** The last migration of the database. */
  migration: z.string(),
  /** The installation it is of. */
  instance: z.string(),
  /** The fingerprint of the `SECRET_KEY` that the database was used with; null where it has none. */
  secret_key: z.string().nullable().default(null),
  /** The head of the audit chain; null for an installation without entries. */
  audit: z.object({ seq: z.int().positive(), hash: z.string() }).nullable(),
  /** Where the files of evidence were, as `EVIDENCE_STORE` names it; those that were in the database are in its copy. */
  evidence_store: z.string().default("folder"),
  /** Files of evidence that rows of the database name and that are not in it. */
  evidence: z.object({
    /** Deleted while the backup was made, after its point. */
    deleted: z.array(hash),
    /** Already gone when it was made, although the running database names them. */
    missing: z.array(hash),
    /** In it as they were found: their bytes no longer have the hash they were kept under. */
    changed: z.array(hash),
  }),
  files: z.array(BackupFile),
});
export type Manifest = z.infer<typeof Manifest>;

/** The hash that a file of evidence is named after; undefined for any other file. */
export function evidenceHash(name: string): string | undefined {
  return name.startsWith("evidence/") ? name.slice("evidence/00/".length) : undefined;
}

/** Such as `1.2 GB`. */
export function sizeText(bytes: number): string {
  const units = ["bytes", "kB", "MB", "GB", "TB"];
  const step = bytes === 0 ? 0 : Math.min(units.length - 1, Math.floor(Math.log10(bytes) / 3));
  const value = bytes / 1000 ** step;
  return `${value.toFixed(step === 0 || value >= 100 ? 0 : 1)} ${units[step] ?? "bytes"}`;
}
