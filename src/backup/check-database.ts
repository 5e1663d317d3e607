import { sqliteFile } from "../database/dialect.ts";
import { verifyOutside } from "../features/audit/outside.ts";
import type { PublicKey } from "../features/audit/sign.ts";
import { evidenceHash, type Manifest } from "./manifest.ts";
import { evidenceNamed, factsOf, openSource, readSqlite } from "./source.ts";

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
    problems.push(...lostEvidence(await evidenceNamed(source), manifest));
  } finally {
    await source.close();
  }
  return problems;
}

function lostEvidence(named: readonly string[], { files, evidence }: Manifest): string[] {
  const there = new Set(files.map(({ name }) => evidenceHash(name)));
  const accounted = new Set([...evidence.deleted, ...evidence.missing]);
  const lost = named.filter((sha256) => !there.has(sha256) && !accounted.has(sha256));
  return lost.map((sha256) => `The evidence ${sha256}, which the database names, is not in the backup.`);
}

/** What the data folder had lost before the backup was made: a sentence for each. */
export function earlierLosses({ evidence }: Manifest): string[] {
  return [
    ...evidence.missing.map((sha256) => `The evidence ${sha256} was already missing from \`DATA_DIR\` when the backup was made.`),
    ...evidence.changed.map((sha256) => `The evidence ${sha256} was already changed in \`DATA_DIR\` when the backup was made.`),
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
