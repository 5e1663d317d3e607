// @module-tag sqlite
// @module-tag slow
import { spawn } from "node:child_process";
import { expect, onTestFinished, test } from "vitest";
import { installation } from "../cli/installation.ts";
import { startSandbox, until } from "./support.ts";

/** Run a process that has only the link to Discord, until its status is as given. */
async function runLink(apiBase: string, token: string, state: string) {
  const script = (await installation()).children.discordLink;
  const child = spawn(process.execPath, [script, apiBase, token, state], { stdio: ["pipe", "pipe", "pipe"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (part: Buffer) => (output += part.toString()));
  child.stderr.on("data", (part: Buffer) => (output += part.toString()));
  const ended = new Promise<number | null>((resolve) => child.on("exit", resolve));
  await until(() => output.includes("reached"), 60_000);
  const stop = async () => {
    child.stdin.write("stop\n");
    await until(() => output.includes("stopped"), 60_000);
    return Promise.race([ended, new Promise((resolve) => setTimeout(() => resolve("still running"), 3000))]);
  };
  return { stop, output: () => output };
}

test("a connected link lets the process end after the stop", async () => {
  const sandbox = await startSandbox();
  sandbox.createGuild({ name: "Harbour" });
  const link = await runLink(sandbox.apiBase, sandbox.env().DISCORD_TOKEN, "ready");
  expect(await link.stop()).toBe(0);
});

test("a link in the middle of reconnecting lets the process end after the stop, and tries no more", async () => {
  const sandbox = await startSandbox();
  sandbox.createGuild({ name: "Harbour" });
  const link = await runLink(sandbox.apiBase, sandbox.env().DISCORD_TOKEN, "ready");
  const back = sandbox.faults.down(1500);
  await until(() => link.output().includes("lost"));
  expect(await link.stop()).toBe(0);
  await back;
  expect(sandbox.connectionCount()).toBe(0);
});

test("a link that never came up lets the process end after the stop", async () => {
  const link = await runLink("http://127.0.0.1:9/api", "sandbox.token", "down");
  expect(await link.stop()).toBe(0);
  expect(link.output()).toBe("reached\nstopped\n");
});
