import { randomUUID } from "node:crypto";
import { createReadStream, existsSync, unlinkSync } from "node:fs";
import { chmod, mkdir, open, readdir, rename, rm, stat, utimes, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { dirname, join } from "node:path";
import { fileProblem, ifMissing, syncToDisk } from "../../../kernel/files.ts";
import { fileError, OperatorError } from "../../../kernel/operator-errors.ts";
import type { EvidenceStore } from "./store.ts";

/** The folder of the data folder that the files are in. */
export const evidenceFolder = "evidence";

/** Where the bytes of a piece are, in the data folder and in a backup. */
export const evidencePath = (sha256: string): string => `${evidenceFolder}/${sha256.slice(0, 2)}/${sha256}`;

/** Where files are while they arrive, also where they are kept elsewhere afterwards. */
export const arrivingFolder = (dataDir: string): string => join(dataDir, evidenceFolder, "arriving");

const hashForm = /^[0-9a-f]{64}$/;
/** Files of one batch. */
const batch = 200;

/** A folder of the data folder. */
export function createFolderStore(dataDir: string): EvidenceStore {
  const folder = join(dataDir, evidenceFolder);
  const probes = join(folder, "nodes");
  const pathOf = (sha256: string): string => join(dataDir, evidencePath(sha256));

  const has: EvidenceStore["has"] = async (sha256, bytes) =>
    hashForm.test(sha256) && (await stat(pathOf(sha256)).catch(() => undefined))?.size === bytes;

  return {
    name: "folder",
    has,

    prepare: () => prepareFolder(dataDir),
    tryOut: () => prepareFolder(dataDir),
    trouble: () => Promise.resolve(undefined),

    async keep({ path, bytes, sha256 }) {
      const place = pathOf(sha256);
      try {
        if (await has(sha256, bytes)) {
          const now = new Date();
          await utimes(place, now, now);
          return await rm(path, { force: true });
        }
        await mkdir(dirname(place), { mode: 0o700 }).catch(unlessThere);
        await syncToDisk(path);
        await rename(path, place);
        await syncToDisk(dirname(place));
      } catch (error) {
        throw fileProblem(error);
      }
    },

    read: async (sha256, bytes) => ((await has(sha256, bytes)) ? createReadStream(pathOf(sha256)) : undefined),

    async remove(sha256) {
      try {
        unlinkSync(pathOf(sha256));
        return true;
      } catch (error) {
        return ifMissing(false)(error);
      }
    },

    async *olderThan(time) {
      for (const directory of (await readdir(folder)).filter((name) => /^[0-9a-f]{2}$/.test(name))) {
        const old = (await olderEntries(join(folder, directory), time)).filter((name) => hashForm.test(name));
        for (let from = 0; from < old.length; from += batch) yield old.slice(from, from + batch);
      }
    },

    async proveShared(nodeId, others) {
      await mkdir(probes, { recursive: true, mode: 0o700 });
      for (const name of await readdir(probes)) if (name !== nodeId && !others.includes(name)) await removeOld(join(probes, name));
      await writeFile(join(probes, nodeId), `${hostname()}\n`, { mode: 0o600 });
      const unseen = others.filter((id) => !existsSync(join(probes, id)));
      if (unseen.length > 0) throw new OperatorError(notShared(folder, unseen));
    },
  };
}

const notShared = (folder: string, unseen: readonly string[]): string =>
  `The files of evidence are in ${folder} (\`EVIDENCE_STORE=folder\`), where this node does not see what ${unseen.length === 1 ? "the node" : "the nodes"} ${unseen.join(", ")} wrote: files of one would be missing on the other. Set \`EVIDENCE_STORE=database\` or \`s3://…\` on every node and move the files with \`provost evidence move\`, or put \`DATA_DIR/${evidenceFolder}\` on a disk that all nodes share.`;

/** A node that is about to be listed wrote its own a moment ago. */
const probeMs = 3_600_000;

async function removeOld(path: string): Promise<void> {
  const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: Infinity }));
  if (Date.now() - mtimeMs > probeMs) await rm(path, { force: true });
}

/**
 * Make the folder, private to the service, and see that it can be written.
 * @throws OperatorError naming the folder
 */
export async function prepareFolder(dataDir: string): Promise<undefined> {
  const folder = join(dataDir, evidenceFolder);
  const arriving = arrivingFolder(dataDir);
  const probe = join(arriving, `probe-${randomUUID()}`);
  try {
    await mkdir(folder, { mode: 0o700 }).catch(unlessThere);
    await mkdir(arriving, { mode: 0o700 }).catch(unlessThere);
    await chmod(folder, 0o700);
    const file = await open(probe, "wx", 0o600);
    await file.close();
    await rm(probe);
    return undefined;
  } catch (error) {
    throw fileError(error, { path: folder, variable: "DATA_DIR", kind: "folder" });
  }
}

/** What of a folder was last changed before a time. */
export async function olderEntries(directory: string, time: Date): Promise<string[]> {
  const old: string[] = [];
  for (const name of await readdir(directory)) {
    const { mtimeMs } = await stat(join(directory, name)).catch(() => ({ mtimeMs: Infinity }));
    if (mtimeMs < time.getTime()) old.push(name);
  }
  return old;
}

function unlessThere(error: unknown): void {
  if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
}
