// @module-tag sqlite
// @module-tag slow
import { rm, writeFile } from "node:fs/promises";
import { expect, test } from "vitest";
import { sqliteFile } from "../../src/database/dialect.ts";
import { createWorkplace } from "../cli/run.ts";
import { freshId } from "../features/workflows-ground.ts";
import { createWorldForProcess, spawnService } from "../support/service-process.ts";

const detail =
  "The write-ahead log of the database was removed or replaced while the service runs, so no write is confirmed any more. Restart the service.";

/** A server of its own process, beside which its operator works. */
async function createServer() {
  const { world, env, headers } = await createWorldForProcess("owner");
  const work = await createWorkplace();
  const start = () => spawnService(env, { cwd: work.directory });
  const ask = async (url: string, method: string, path: string, body?: object) => {
    const answer = await fetch(url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
  };
  return {
    file: sqliteFile(world.databaseUrl),
    start,
    ask,
    list: (url: string, subject_id: string) =>
      ask(url, "POST", "/blacklist", { kind: "user", subject_id, category: "raid", severity: "high" }),
    provost: (url: string, ...argv: string[]) => work.provost(argv, { ...env, PORT: new URL(url).port }),
  };
}

/** What an operator does who takes the two files beside the database for rubbish. */
const losses: Record<string, { lose: (file: string) => Promise<unknown>; doctor: RegExp }> = {
  "its log is deleted": {
    lose: (file) => rm(`${file}-wal`),
    doctor: /provost\.db-wal, the write-ahead log of the database, was removed while the server runs/,
  },
  "its log and the index of the log are deleted": {
    lose: (file) => Promise.all(["-wal", "-shm"].map((part) => rm(file + part))),
    doctor: /provost\.db-wal, the write-ahead log of the database, was removed while the server runs/,
  },
  "its log is replaced": {
    async lose(file) {
      await rm(`${file}-wal`);
      await writeFile(`${file}-wal`, "");
    },
    doctor: /The running server confirms no writes to .*provost\.db: its log says why/,
  },
};

test.each(Object.entries(losses))(
  "a server under which %s refuses writes, which the log, the health, status and doctor report; a kill loses nothing, and the next start goes on",
  async (_, { lose, doctor }) => {
    const { file, start, ask, list, provost } = await createServer();
    const server = await start();
    const [kept, refused, later] = [freshId(), freshId(), freshId()];
    expect((await list(server.url, kept)).status).toBe(201);
    await lose(file);
    expect(await list(server.url, refused)).toMatchObject({ status: 503, body: { code: "storage_readonly", detail } });
    expect(await list(server.url, refused)).toMatchObject({ status: 503 });
    expect(await ask(server.url, "GET", "/health")).toMatchObject({
      status: 503,
      body: { status: "error", checks: { storage: { status: "fail", reason: detail } } },
    });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(503);
    await expect.poll(server.printed).toContain("another program removed or replaced the write-ahead log of the database");
    expect(await provost(server.url, "status")).toMatchObject({ code: 1, stdout: expect.stringMatching(/^database +wrong/m) });
    const examined = await provost(server.url, "doctor", "--offline");
    expect(examined).toMatchObject({ code: 1, stdout: expect.stringMatching(doctor) });
    await server.kill();

    const next = await start();
    expect((await list(next.url, later)).status).toBe(201);
    const subjects = await Promise.all(
      [kept, refused, later].map(async (id) => (await ask(next.url, "GET", `/blacklist?subject=${id}`)).body["data"]),
    );
    expect(subjects.map((found) => (found as unknown[]).length)).toEqual([1, 0, 1]);
    expect(await provost(next.url, "doctor", "--offline")).toMatchObject({ stdout: expect.stringMatching(/^database +ok/m) });
    expect(await provost(next.url, "audit", "verify")).toMatchObject({ code: 0, stdout: expect.stringContaining("chain ok") });
  },
);
