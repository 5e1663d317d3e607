import { randomUUID } from "node:crypto";
import { createWriteStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import type { Config } from "../../config/config.ts";
import { evidencePlaceName, parseEvidencePlace, type EvidencePlace } from "../../config/values.ts";
import type { Database } from "../../database/database.ts";
import { OperatorError } from "../../kernel/operator-errors.ts";
import { verified } from "./files.ts";
import { findHeldPlace, notePlace, otherPlace } from "./place.ts";
import { createEvidenceStore, type StoreNeeds } from "./stores/create-store.ts";
import { arrivingFolder, createFolderStore, prepareFolder } from "./stores/folder.ts";
import type { EvidenceStore } from "./stores/store.ts";

export interface MovingDeps extends StoreNeeds {
  config: Pick<Config, "dataDir" | "evidenceStore" | "evidenceS3">;
}

/** What was done with the files that rows name. */
export interface CopiedEvidence {
  copied: number;
  /** Already at the other place. */
  there: number;
  /** Not copied, as their bytes are gone or are not those that were kept. */
  lost: string[];
}

interface Told {
  onProgress: (text: string) => void;
}

const [batch, atOnce] = [200, 8];
/** Clocks of servers differ. */
const later = (): Date => new Date(Date.now() + 86_400_000);

/** Brings files from one store to another. */
export function createMoving(deps: MovingDeps) {
  const { config, database } = deps;

  return {
    /**
     * Copy the files that rows name to another store, and then delete them where they were.
     * @param isStopped whether no server can add files meanwhile; else nothing is deleted
     * @throws OperatorError when the other store cannot be used, or an earlier move to another one did not end
     */
    async moveTo(place: EvidencePlace, { isStopped, onProgress }: Told & { isStopped: boolean }): Promise<CopiedEvidence> {
      const held = await findHeldPlace(database);
      const name = evidencePlaceName(place);
      const left = parseEvidencePlace(held.leaving ?? held.name);
      const refusal = held.leaving === null || held.name === name ? undefined : otherPlace(held, name);
      if (refusal !== undefined || left === undefined) throw new OperatorError(refusal ?? `${held.name} is no place for files.`);
      if (evidencePlaceName(left) === name) throw new OperatorError(`The files of evidence are in ${name} already.`);
      const [from, to] = [createEvidenceStore(left, deps), createEvidenceStore(place, deps)];
      const copied = await copyEvidence({ database, from, to, dataDir: config.dataDir, onProgress });
      if (!isStopped) return copied;
      await notePlace(database, { name, leaving: from.name });
      await emptyStore(from, copied.lost);
      await notePlace(database, name);
      return copied;
    },

    /** After a restore: the files are in the data folder, and go where `EVIDENCE_STORE` says. */
    async adoptRestored({ onProgress }: Told): Promise<void> {
      const held = await findHeldPlace(database);
      const [from, to] = [createFolderStore(config.dataDir), createEvidenceStore(config.evidenceStore, deps)];
      if (held.name === "database" || (held.name === "folder" && to.name === "folder")) return;
      if (to.name !== "folder") {
        const { lost } = await copyEvidence({ database, from, to, dataDir: config.dataDir, onProgress });
        await emptyStore(from, lost);
      }
      await notePlace(database, to.name);
    },
  };
}

interface Copying extends Told {
  database: Pick<Database, "read">;
  from: EvidenceStore;
  to: EvidenceStore;
  dataDir: string;
}

/** Copy the files that rows name; what is there already is left. */
async function copyEvidence({ database, from, to, dataDir, onProgress }: Copying): Promise<CopiedEvidence> {
  await prepareFolder(dataDir);
  const away = await to.prepare();
  if (away !== undefined) throw new OperatorError(away);
  const done: CopiedEvidence = { copied: 0, there: 0, lost: [] };

  async function copy({ sha256, bytes }: Named): Promise<void> {
    if (await to.has(sha256, bytes)) return void (done.there += 1);
    const path = join(arrivingFolder(dataDir), `move-${randomUUID()}`);
    try {
      if (!(await fetchTo(path, from, { sha256, bytes }))) return void done.lost.push(sha256);
      await to.keep({ path, bytes, sha256 });
      done.copied += 1;
    } finally {
      await rm(path, { force: true });
    }
  }

  for await (const named of namedFiles(database)) {
    for (let next = 0; next < named.length; next += atOnce) await Promise.all(named.slice(next, next + atOnce).map(copy));
    onProgress(`evidence: ${(done.copied + done.there).toString()} files are in ${to.name}`);
  }
  return done;
}

/** Delete all files of a store but some, also those that no row names. */
async function emptyStore(store: EvidenceStore, except: readonly string[]): Promise<void> {
  for await (const hashes of store.olderThan(later()))
    for (const sha256 of hashes) if (!except.includes(sha256)) await store.remove(sha256);
}

/** @returns whether its bytes are there as they were kept */
async function fetchTo(path: string, from: EvidenceStore, { sha256, bytes }: Named): Promise<boolean> {
  const source = await from.read(sha256, bytes);
  if (source === undefined) return false;
  let isChanged = false;
  try {
    await pipeline(
      verified(source, sha256, () => (isChanged = true)),
      createWriteStream(path, { flags: "wx", mode: 0o600 }),
    );
    return true;
  } catch (error) {
    if (isChanged) return false;
    throw error;
  }
}

interface Named {
  sha256: string;
  bytes: number;
}

async function* namedFiles({ read }: Pick<Database, "read">): AsyncGenerator<Named[]> {
  for (let after = ""; ;) {
    const where = { status: "stored", sha256: { gt: after } };
    const rows = await read.evidenceFile.findMany({
      where,
      select: { sha256: true, bytes: true },
      distinct: ["sha256"],
      orderBy: { sha256: "asc" },
      take: batch,
    });
    const last = rows.at(-1)?.sha256;
    if (last === undefined || last === null) return;
    yield rows.flatMap(({ sha256, bytes }) => (sha256 === null ? [] : [{ sha256, bytes }]));
    after = last;
  }
}
