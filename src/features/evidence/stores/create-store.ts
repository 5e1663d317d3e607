import { evidencePlaceName, type EvidencePlace } from "../../../config/values.ts";
import type { Config } from "../../../config/config.ts";
import type { S3Keys } from "../../../config/secrets.ts";
import type { Database, Tx } from "../../../database/database.ts";
import { OperatorError } from "../../../kernel/operator-errors.ts";
import { createFolderStore } from "./folder.ts";
import { createS3Store } from "./s3.ts";
import type { EvidenceStore } from "./store.ts";
import { open, rm } from "node:fs/promises";
import { Readable } from "node:stream";
import { systemCall } from "../../../kernel/call.ts";
import { uuid7 } from "../../../kernel/ids.ts";

/** A file is held in memory by one chunk, and others write between two of them. */
const chunkBytes = 1_048_576;
/** Files of one batch. */
const batch = 200;

/**
 * Chunks in a table. Each is a transaction of its own, and two writers of the same bytes write the same rows, so that a file which was begun
 * twice, or not finished, becomes whole.
 */
export function createDatabaseStore({ read, write }: Pick<Database, "read" | "write">): EvidenceStore {
  const call = () => systemCall("job", uuid7());

  const has: EvidenceStore["has"] = async (sha256, bytes) => {
    const [found] = await read.$queryRaw<{ chunks: number | bigint; bytes: number | bigint | null }[]>`
      SELECT COUNT(*) AS chunks, SUM(LENGTH(bytes)) AS bytes FROM evidence_chunks WHERE sha256 = ${sha256}`;
    return Number(found?.chunks) > 0 && Number(found?.bytes) === bytes;
  };

  async function keepChunk(sha256: string, position: number, bytes: Uint8Array<ArrayBuffer>): Promise<void> {
    await write(call(), async ({ db, now }) => {
      const where = { sha256_position: { sha256, position } };
      await db.evidenceChunk.upsert({ where, create: { sha256, position, bytes, keptAt: now }, update: { bytes, keptAt: now } });
    });
  }

  async function* chunksOf(sha256: string): AsyncGenerator<Uint8Array> {
    for (let position = 0; ; position += 1) {
      const chunk = await read.evidenceChunk.findUnique({ where: { sha256_position: { sha256, position } }, select: { bytes: true } });
      if (chunk === null) return;
      if (chunk.bytes.length > 0) yield chunk.bytes;
    }
  }

  return {
    name: "database",
    has,
    // Whether the database can be written is looked at where all of it is.
    prepare: () => Promise.resolve(undefined),
    tryOut: () => Promise.resolve(undefined),
    trouble: () => Promise.resolve(undefined),

    async keep({ path, bytes, sha256 }) {
      // The first chunk says how old the file is.
      const again = { where: { sha256, position: 0 } };
      if (await has(sha256, bytes))
        await write(call(), async ({ db, now }) => db.evidenceChunk.updateMany({ ...again, data: { keptAt: now } }));
      else for await (const [position, chunk] of chunksIn(path)) await keepChunk(sha256, position, chunk);
      await rm(path, { force: true });
    },

    read: async (sha256, bytes) => ((await has(sha256, bytes)) ? Readable.from(chunksOf(sha256), { objectMode: false }) : undefined),

    remove: (sha256, tx) => (tx === undefined ? write(call(), (own) => removeInTx(own, sha256)) : removeInTx(tx, sha256)),

    async *olderThan(time) {
      for (let after = ""; ;) {
        const where = { position: 0, keptAt: { lt: time }, sha256: { gt: after } };
        const old = await read.evidenceChunk.findMany({ where, select: { sha256: true }, orderBy: { sha256: "asc" }, take: batch });
        const last = old.at(-1);
        if (last === undefined) return;
        yield old.map(({ sha256 }) => sha256);
        after = last.sha256;
      }
    },

    proveShared: () => Promise.resolve(),
  };
}

async function removeInTx(tx: Tx, sha256: string): Promise<boolean> {
  tx.erases();
  return (await tx.db.evidenceChunk.deleteMany({ where: { sha256 } })).count > 0;
}

/** At least one, and all but the last of the same size: whoever cuts the same bytes gets the same chunks. */
async function* chunksIn(path: string): AsyncGenerator<[number, Uint8Array<ArrayBuffer>]> {
  const file = await open(path, "r");
  try {
    for (let position = 0; ; position += 1) {
      const chunk = new Uint8Array(chunkBytes);
      let filled = 0;
      for (let bytesRead = 1; bytesRead > 0 && filled < chunkBytes; filled += bytesRead)
        ({ bytesRead } = await file.read(chunk, filled, chunkBytes - filled, position * chunkBytes + filled));
      if (filled > 0 || position === 0) yield [position, chunk.subarray(0, filled)];
      if (filled < chunkBytes) return;
    }
  } finally {
    await file.close();
  }
}

export interface StoreNeeds {
  config: Pick<Config, "dataDir" | "evidenceS3">;
  /** The keys of a bucket. */
  evidenceKeys: S3Keys | null;
  /** Tells the files of this installation from those of another one in the same bucket. */
  instanceId: string;
  database: Pick<Database, "read" | "write">;
}

/** Where files are outside of the database. */
export type OutsidePlace = Exclude<EvidencePlace, { kind: "database" }>;

/** @throws OperatorError for a bucket without keys */
export function createEvidenceStore(place: EvidencePlace, needs: StoreNeeds): EvidenceStore {
  return place.kind === "database" ? createDatabaseStore(needs.database) : createOutsideStore(place, needs);
}

/** @throws OperatorError for a bucket without keys */
export function createOutsideStore(place: OutsidePlace, { config, evidenceKeys, instanceId }: Omit<StoreNeeds, "database">): EvidenceStore {
  if (place.kind === "folder") return createFolderStore(config.dataDir);
  const name = evidencePlaceName(place);
  if (evidenceKeys === null)
    throw new OperatorError(`${name} is used with two keys: set \`EVIDENCE_S3_ACCESS_KEY\` and \`EVIDENCE_S3_SECRET_KEY\`.`);
  return createS3Store({ ...place, ...config.evidenceS3, name, keys: evidenceKeys, instanceId });
}
