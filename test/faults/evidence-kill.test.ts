// @module-tag slow
// @module-tag sqlite
import { hash, randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterAll, expect, inject, onTestFinished, test, vi } from "vitest";
import { openServices } from "../../src/features.ts";
import { readConfig } from "../../src/config/config.ts";
import { createEvidenceStore } from "../../src/features/evidence/stores/create-store.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { freshId } from "../contract/document.ts";
import { validEnvironment } from "../config/environment.ts";
import { startS3Server } from "../support/s3-server.ts";
import { startServiceProcess } from "../support/service-process.ts";

const server = await startS3Server();
afterAll(server.stop);

const owner = freshId();

interface Added {
  id: string;
  sha256: string;
}

/** Add files with several clients until the service is gone. @returns what it has acknowledged */
function startUploads(url: string, key: string, record: string): { added: Added[]; ended: Promise<unknown> } {
  const added: Added[] = [];
  async function upload(): Promise<void> {
    for (;;) {
      const bytes = randomBytes(1_500_000);
      const form = new FormData();
      form.append("file", new Blob([bytes]), "proof.bin");
      const answer = await fetch(`${url}/blacklist/${record}/evidence`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "x-acting-user": owner },
        body: form,
      });
      const body = (await answer.json()) as { data: Added };
      if (answer.status !== 201) throw new Error(JSON.stringify(body));
      added.push({ id: body.data.id, sha256: hash("sha256", bytes) });
    }
  }
  return { added, ended: Promise.allSettled([upload(), upload(), upload()]) };
}

test.each([
  ["the folder", {}],
  ["the database", { EVIDENCE_STORE: "database" }],
  ["a bucket", server.env("killed")],
])(
  "a service that keeps files in %s and is killed loses none that it acknowledged, and leaves none for ever",
  { timeout: 120_000 },
  async (_where, store) => {
    const folder = await mkdtemp(join(inject("directory"), "evidence-kill-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const { SECRET_KEY, ENCRYPTION_KEYS } = validEnvironment();
    const own = { SECRET_KEY, ENCRYPTION_KEYS, OWNER_IDS: owner, DATA_DIR: folder, RATE_LIMITS: "write=100000/1", ...store };
    const reading = readConfig({ ...validEnvironment(), ...own });
    if (!reading.ok) throw new Error(reading.lines.join("\n"));
    const call = systemCall("cli", uuid7());

    const before = await openServices(reading);
    const { key } = await before.keys.bootstrap(call, { name: "uploads" });
    await before.close();
    const service = await startServiceProcess(own);
    const headers = { authorization: `Bearer ${key}`, "x-acting-user": owner, "content-type": "application/json" };
    const body = JSON.stringify({ kind: "user", subject_id: freshId() });
    const list = () => fetch(`${service.url}/blacklist`, { method: "POST", headers, body });
    // It answers before it has read the servers in Discord.
    const listed = await vi.waitUntil(
      async () => {
        const answer = await list();
        return answer.status === 201 && answer;
      },
      { timeout: 20_000, interval: 200 },
    );
    const { data } = (await listed.json()) as { data: { number: string } };
    const { added, ended } = startUploads(service.url, key, data.number);
    while (added.length < 6) await delay(10);
    await delay(Math.random() * 100);
    await service.kill();
    await ended;

    const time = { now: () => new Date(Date.now() + 2 * 3_600_000) };
    const after = await openServices({ ...reading, clock: time });
    onTestFinished(() => after.close());
    await after.evidence.prepare();
    for (const { id, sha256 } of added) {
      const { body } = await after.evidence.download(call, id, 0);
      expect(hash("sha256", Buffer.concat((await body.toArray()) as Buffer[]))).toBe(sha256);
    }
    await after.evidence.sweep();
    const named = await after.database.read.evidenceFile.findMany({ select: { sha256: true } });
    const files = createEvidenceStore(reading.config.evidenceStore, after);
    const kept: string[] = [];
    for await (const hashes of files.olderThan(new Date(Date.now() + 86_400_000))) kept.push(...hashes);
    expect(kept.toSorted()).toEqual(named.map(({ sha256 }) => String(sha256)).toSorted());
  },
);
