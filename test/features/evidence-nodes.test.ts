// @module-tag postgres
import { silent } from "../support/rooms.ts";
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, inject, onTestFinished, test } from "vitest";
import { openDatabase, type Database } from "../../src/database/database.ts";
import { createEvidenceBytes } from "../../src/features/evidence/bytes.ts";
import { createEvidenceFiles } from "../../src/features/evidence/files.ts";
import { createDatabaseStore } from "../../src/features/evidence/stores/create-store.ts";
import { createFolderStore } from "../../src/features/evidence/stores/folder.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createEmptyCopy } from "../support/database.ts";

async function createFolder(): Promise<string> {
  const folder = await mkdtemp(join(inject("directory"), "nodes-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

test("nodes that share a folder find each other, and one whose folder is its own does not start", async () => {
  const [shared, own] = [await createFolder(), await createFolder()];
  for (const folder of [shared, own]) await createFolderStore(folder).prepare();
  await createFolderStore(shared).proveShared("one", []);
  await createFolderStore(shared).proveShared("two", ["one"]);
  // Also where the others began at the same time, and are not told of yet.
  await createFolderStore(shared).proveShared("three", ["two"]);
  await createFolderStore(shared).proveShared("four", ["one", "two", "three"]);
  await expect(createFolderStore(own).proveShared("five", ["one", "two"])).rejects.toThrow(
    `The files of evidence are in ${own}/evidence (\`EVIDENCE_STORE=folder\`), where this node does not see what the nodes one, two wrote: files of one would be missing on the other. Set \`EVIDENCE_STORE=database\` or \`s3://…\` on every node`,
  );
});

const call = () => systemCall("cli", uuid7());

/** A process of its own, as far as its memory goes, on a shared database. */
async function createNode(database: Database) {
  const dataDir = await createFolder();
  const files = createEvidenceFiles(dataDir, createDatabaseStore(database), silent);
  await files.prepare();
  const bytes = createEvidenceBytes({ files, database, isShared: true, onFailed: (error) => expect.unreachable(String(error)) });
  return {
    bytes,
    async keep(content: Buffer) {
      const draft = { path: join(files.loose, uuid7()), bytes: content.length, sha256: hash("sha256", content) };
      await writeFile(draft.path, content);
      await files.keep(draft);
      return draft;
    },
    /** Refer to a file. @param meanwhile is waited for before the commit */
    refer: (file: { sha256: string; bytes: number }, meanwhile: () => Promise<unknown> = () => Promise.resolve()) =>
      database.write(call(), async (tx) => {
        await bytes.holdInTx(tx, [file]);
        await meanwhile();
        const { sha256, bytes: size } = file;
        await tx.db.evidenceItem.create({
          data: {
            recordKind: "case",
            recordId: "one",
            kind: "file",
            isVerified: false,
            isConfidential: false,
            capturedAt: tx.now,
            files: { create: { position: 0, mime: "text/plain", bytes: size, sha256, status: "stored" } },
          },
        });
      }),
  };
}

test.runIf(inject("dialect") === "postgres")(
  "a file that one node refers to is not deleted by another, in whichever order they come",
  async () => {
    const copy = await createEmptyCopy();
    onTestFinished(copy.remove);
    const database = await openDatabase({ url: copy.url, watchNesting: false });
    onTestFinished(() => database.close());
    const [one, two] = [await createNode(database), await createNode(database)];
    const isThere = async (sha256: string): Promise<boolean> => (await database.read.evidenceChunk.count({ where: { sha256 } })) > 0;

    const first = await one.keep(randomBytes(1000));
    let removing: Promise<number> | undefined;
    await one.refer(first, async () => {
      removing = two.bytes.removeUnreferred([first.sha256]);
      await new Promise((resolve) => setTimeout(resolve, 300));
    });
    expect([await removing, await isThere(first.sha256)]).toEqual([0, true]);

    const second = await one.keep(randomBytes(1000));
    expect(await two.bytes.removeUnreferred([second.sha256])).toBe(1);
    await expect(one.refer(second)).rejects.toMatchObject({ code: "storage_busy" });
  },
);
