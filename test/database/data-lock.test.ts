import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { acquireDataLock } from "../../src/database/data-lock.ts";
import { createFolder } from "./folders.ts";

test("one data folder has one server, and the next one may start after it", async () => {
  const folder = join(await createFolder(), "data");
  const lock = await acquireDataLock(folder);
  const second = acquireDataLock(folder);
  await expect(second).rejects.toMatchObject({ name: "DatabaseError", reason: "data_locked" });
  await expect(second).rejects.toThrow(`process ${process.pid.toString()}`);
  lock.release();
  lock.release();
  expect(existsSync(join(folder, "server.pid"))).toBe(false);
  (await acquireDataLock(folder)).release();
});

test("a server that was killed leaves no lock", async () => {
  const folder = await createFolder();
  const module = fileURLToPath(new URL("../../src/database/data-lock.ts", import.meta.url));
  const code = `const { acquireDataLock } = await import(${JSON.stringify(module)}); await acquireDataLock(${JSON.stringify(folder)}); console.log("locked"); setInterval(() => {}, 1000);`;
  const other = spawn(process.execPath, ["--import", "tsx", "--input-type=module", "-e", code], { stdio: ["ignore", "pipe", "inherit"] });
  onTestFinished(() => void other.kill("SIGKILL"));
  await once(other.stdout, "data");
  await expect(acquireDataLock(folder)).rejects.toThrow(`process ${String(other.pid)}`);
  other.kill("SIGKILL");
  await once(other, "exit");
  (await acquireDataLock(folder)).release();
});
