import { sqliteFile } from "../database/dialect.ts";
import { verifyOutside } from "../features/audit/outside.ts";
import type { PublicKey } from "../features/audit/sign.ts";
import { evidenceHash, type Manifest } from "./manifest.ts";
import { evidenceNamed, evidenceNotInside, factsOf, openSource, readSqlite, type NamedEvidence } from "./source.ts";

interface Checked {
  /** The database of the backup, opened somewhere. */
  url: string;
  manifest: Manifest;
  keys: readonly PublicKey[];
  /** The signed positions of the backup, where it has any. */
  checkpoints?: string;
}

/** Look at a database of a backup. @returns a sentence for each thing that is wrong */
export async function checkDatabase({ url, manifest, keys, checkpoints }: Checked): Promise<string[]> {
  const damage = manifest.dialect === "sqlite" ? damageOf(sqliteFile(url)) : [];
  if (damage.length > 0) return damage;
  const problems: string[] = [];
  const chain = await verifyOutside({ from: { database: url }, keys, ...(checkpoints !== undefined && { checkpoints }) });
  if (!chain.ok) problems.push(`The audit chain is broken at entry ${String(chain.first_bad_seq)}: ${chain.kind ?? "unknown"}.`);
  const source = await openSource(url);
  try {
    const { migration, instance, secret_key, audit } = await factsOf(source);
    if (migration !== manifest.migration)
      problems.push(`The database ends with the migration ${migration}, the manifest says ${manifest.migration}.`);
    if (instance !== manifest.instance) problems.push("The database is of another installation than the manifest says.");
    if (manifest.secret_key !== null && secret_key !== manifest.secret_key)
      problems.push("The database was used with another `SECRET_KEY` than the manifest says.");
    if (audit?.seq !== manifest.audit?.seq || audit?.hash !== manifest.audit?.hash)
      problems.push(`The audit chain ends at entry ${String(audit?.seq ?? 0)}, the manifest says ${String(manifest.audit?.seq ?? 0)}.`);
    const lost =
      manifest.evidence_store === "database" ? await evidenceNotInside(source) : notCopied(await evidenceNamed(source), manifest);
    const accounted = new Set([...manifest.evidence.deleted, ...manifest.evidence.missing]);
    for (const sha256 of lost)
      if (!accounted.has(sha256)) problems.push(`The evidence ${sha256}, which the database names, is not in the backup.`);
  } finally {
    await source.close();
  }
  return problems;
}

function notCopied(named: readonly NamedEvidence[], { files }: Manifest): string[] {
  const there = new Set(files.map(({ name }) => evidenceHash(name)));
  return named.map(({ sha256 }) => sha256).filter((sha256) => !there.has(sha256));
}

/** What the installation had lost before the backup was made: a sentence for each. */
export function earlierLosses({ evidence, evidence_store }: Manifest): string[] {
  const place = { folder: "`DATA_DIR`", database: "the database" }[evidence_store] ?? evidence_store;
  return [
    ...evidence.missing.map((sha256) => `The evidence ${sha256} was already missing from ${place} when the backup was made.`),
    ...evidence.changed.map((sha256) => `The evidence ${sha256} was already changed in ${place} when the backup was made.`),
  ];
}

function damageOf(file: string): string[] {
  const db = readSqlite(file);
  try {
    const verdict = db.pragma("integrity_check(3)") as { integrity_check: string }[];
    const damaged = verdict.filter(({ integrity_check }) => integrity_check !== "ok");
    const orphans = (db.pragma("foreign_key_check") as unknown[]).length;
    return [
      ...damaged.map(({ integrity_check }) => `The database is damaged: ${integrity_check}.`),
      ...(orphans > 0 ? [`The database has references to rows that are not there (${orphans.toString()}).`] : []),
    ];
  } catch (error) {
    return [`The database cannot be opened: ${error instanceof Error ? error.message : String(error)}.`];
  } finally {
    db.close();
  }
}
