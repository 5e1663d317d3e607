// @module-tag sqlite
import { execFile } from "node:child_process";
import { connect } from "node:net";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { databaseRefusal } from "../../src/database/refusals.ts";

async function thrownBy(attempt: () => Promise<unknown>): Promise<unknown> {
  return attempt().then(
    () => Promise.reject(new Error("nothing was thrown")),
    (error: unknown) => error,
  );
}

async function scratch(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "provost-refusals-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  return folder;
}

const server = "postgresql://me:secret@db.example/provost";
const connectTo = (address: string): Promise<unknown> => thrownBy(async () => new pg.Client({ connectionString: address }).connect());

test.each([
  ["postgresql://me:secret@127.0.0.1:1/provost", "PostgreSQL at 127.0.0.1:1 (connection refused)"],
  ["postgresql://me:secret@localhost:1/provost", "PostgreSQL at localhost:1 (connection refused)"],
  ["postgresql:///provost?host=/no/such/folder", "PostgreSQL at /no/such/folder (does not exist)"],
])("what keeps a connection to %s from being made is said of it", async (address, said) => {
  expect(databaseRefusal(address, await connectTo(address))).toMatchObject({ message: `Can't reach ${said}. Check \`DATABASE_URL\`.` });
});

test("an error of a file, a folder or a program is not one of PostgreSQL", async () => {
  const folder = await scratch();
  await writeFile(join(folder, "file"), "");
  const others = [
    await thrownBy(() => readFile(join(folder, "gone"))),
    await thrownBy(() => readFile(folder)),
    await thrownBy(() => writeFile(join(folder, "file", "below"), "")),
    await thrownBy(() => promisify(execFile)(join(folder, "no-program"))),
    await connectTo(`${server}?sslrootcert=${join(folder, "gone.pem")}`),
  ];
  expect(others.map((error) => (error as NodeJS.ErrnoException).code)).toEqual(["ENOENT", "EISDIR", "ENOTDIR", "ENOENT", "ENOENT"]);
  for (const error of others) expect(databaseRefusal(server, error)).toBe(error);
});

test("a connection that is cut is one of PostgreSQL", async () => {
  const socket = connect(1, "127.0.0.1");
  const error = await new Promise((resolve) => socket.once("error", resolve));
  expect(databaseRefusal(server, error)).toMatchObject({ message: expect.stringContaining("Can't reach PostgreSQL at db.example:5432") });
});
