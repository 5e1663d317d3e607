// @module-tag slow
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { evidencePath } from "../../src/features/evidence/stores/folder.ts";
import { startS3Server } from "../support/s3-server.ts";
import { addEvidence, createEmptyPlace, createOperator, createSource } from "./ground.ts";
import { stopInstalled, whyNot } from "./installed-postgres.ts";

const server = await startS3Server();
afterAll(server.stop);
afterAll(stopInstalled);

test.skipIf(whyNot !== undefined)(
  "files of evidence are moved from store to store, and are in the backup of each",
  { timeout: 300_000 },
  async () => {
    const operator = await createOperator();
    const { world, admin, place: source } = await createSource(operator);
    const { sha256 } = await addEvidence(world, admin);
    const bucket = server.env("moved");
    const run = async (words: string, env: Record<string, string>) => {
      const { code, stdout, stderr } = await operator.provost(words.split(" "), env);
      return { code, stdout, said: stdout + stderr };
    };
    const backUp = async (env: Record<string, string>) => {
      const { code, stdout, said } = await run(`backup --to ${operator.backups} --verify --json`, env);
      expect(code, said).toBe(0);
      return JSON.parse(stdout) as { path: string; evidence: { files: number; missing: string[] } };
    };

    // Beside the server: copied, and nothing else happens.
    const beside = await run("evidence move --to database", operator.envOf(source));
    expect(beside).toMatchObject({ code: 0, said: expect.stringContaining("database: 1 files were copied, 0 were there.") });
    expect(beside.said).toContain("A server runs, so nothing was deleted, and it goes on as before.");
    const again = await run("evidence move --to database", operator.envOf(source));
    expect(again.said).toContain("database: 0 files were copied, 1 were there.");

    const ofFolder = await backUp(operator.envOf(source));
    expect(ofFolder.evidence).toMatchObject({ files: 1, missing: [] });
    const place = await createEmptyPlace();
    const folder = operator.envOf(place);
    expect((await run(`restore ${ofFolder.path}`, folder)).code).toBe(0);
    const inFolder = join(place.dataDir, evidencePath(sha256));
    const isInFolder = async (): Promise<boolean> => hash("sha256", await readFile(inFolder).catch(() => "")) === sha256;
    expect(await isInFolder()).toBe(true);

    // Without a server: moved.
    const inBucket = server.fileOf(`moved/${sha256.slice(0, 2)}/${sha256}`);
    const moved = await run(`evidence move --to ${bucket.EVIDENCE_STORE}`, { ...bucket, ...folder, EVIDENCE_STORE: "folder" });
    expect(moved, moved.said).toMatchObject({ code: 0, said: expect.stringContaining("Set `EVIDENCE_STORE=s3://moderation/moved`") });
    expect([await isInFolder(), hash("sha256", await readFile(inBucket))]).toEqual([false, sha256]);
    const refusal = "The files of evidence are in s3://moderation/moved, and `EVIDENCE_STORE` is folder. Set it to s3://moderation/moved";
    expect(await run("serve", folder)).toMatchObject({ code: 1, said: expect.stringContaining(refusal) });
    expect((await run("doctor --offline", folder)).said).toContain(refusal);
    expect((await run("doctor --offline", { ...folder, ...bucket })).said).toMatch(
      /evidence +ok +s3:\/\/moderation\/moved: files can be written/,
    );
    expect((await run("config", { ...folder, ...bucket })).said).not.toContain(bucket.EVIDENCE_S3_SECRET_KEY);

    const ofBucket = await backUp({ ...folder, ...bucket });
    expect(ofBucket.evidence).toMatchObject({ files: 1, missing: [] });
    const restored = await createEmptyPlace();
    const taken = await run(`restore ${ofBucket.path}`, { ...operator.envOf(restored), ...bucket });
    expect(taken).toMatchObject({
      code: 1,
      said: expect.stringContaining("s3://moderation/moved has files of evidence. A backup is only put into an empty place"),
    });
    expect((await run(`restore ${ofBucket.path}`, { ...operator.envOf(restored), ...server.env("restored") })).code).toBe(0);
    expect(hash("sha256", await readFile(server.fileOf(`restored/${sha256.slice(0, 2)}/${sha256}`)))).toBe(sha256);
    await expect(readFile(join(restored.dataDir, evidencePath(sha256)))).rejects.toThrow("ENOENT");

    // Into the database, whose copy has them, and back.
    const database = { ...folder, EVIDENCE_STORE: "database" };
    expect((await run("evidence move --to database", { ...folder, ...bucket })).code).toBe(0);
    await expect(readFile(inBucket)).rejects.toThrow("ENOENT");
    const ofDatabase = await backUp(database);
    expect(ofDatabase.evidence).toMatchObject({ files: 0, missing: [] });
    const inside = await createEmptyPlace();
    expect(await run(`restore ${ofDatabase.path}`, operator.envOf(inside))).toMatchObject({
      code: 1,
      said: expect.stringContaining("set `EVIDENCE_STORE=database` to put it back"),
    });
    const insideEnv = { ...operator.envOf(inside), EVIDENCE_STORE: "database" };
    expect((await run(`restore ${ofDatabase.path}`, insideEnv)).code).toBe(0);
    expect((await run("evidence move --to folder", insideEnv)).said).toContain("folder: 1 files were copied, 0 were there.");
    expect(hash("sha256", await readFile(join(inside.dataDir, evidencePath(sha256))))).toBe(sha256);
  },
);
