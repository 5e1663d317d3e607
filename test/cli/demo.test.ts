// @module-tag sqlite
// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { until } from "../discord/support.ts";
import { installation } from "./installation.ts";
import { operatorEnv } from "./run.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));

/** Start the demo by a command, in a folder for temporary files of its own. */
async function start(command: readonly string[], directory: string) {
  const temporary = await mkdtemp(join(tmpdir(), "provost-demo-test-"));
  onTestFinished(() => rm(temporary, { recursive: true, force: true }));
  const [program = "", ...words] = command;
  const env = operatorEnv({ TMPDIR: temporary, HOME: temporary, npm_config_update_notifier: "false" });
  const child = spawn(program, words, { cwd: directory, env, detached: true, stdio: ["ignore", "pipe", "inherit"] });
  const group = -(child.pid ?? 0);
  const ended = once(child, "exit");
  let said = "";
  child.stdout.on("data", (part: Buffer) => (said += part.toString()));
  onTestFinished(() => {
    try {
      process.kill(group, "SIGKILL");
    } catch {
      // It has ended, as it should.
    }
  });
  return {
    said: () => said,
    saying: (text: string) => until(() => said.includes(text) || child.exitCode !== null, 60_000),
    /** Everything of it, as a terminal does by Ctrl-C, or what was started alone, as a supervisor does. */
    tell: (signal: "SIGINT" | "SIGTERM") => (signal === "SIGINT" ? process.kill(group, signal) : child.kill(signal)),
    /** Let the innermost process of its program answer nothing for a moment, as one that computes. */
    async busy(milliseconds: number) {
      const { stdout } = await run("ps", ["-o", "pid=,ppid=,args=", "-s", String(child.pid)]);
      const processes = stdout.split("\n").filter((line) => line.includes("cli.ts"));
      const ids = processes.map((line) => line.trim().split(/ +/).slice(0, 2).map(Number));
      const parents = new Set(ids.map(([, parent]) => parent));
      for (const [pid = 0] of ids.filter(([id]) => !parents.has(id))) {
        process.kill(pid, "SIGSTOP");
        setTimeout(() => process.kill(pid, "SIGCONT"), milliseconds);
      }
    },
    /** Its exit code, and what it left among the temporary files. */
    async end() {
      const [code] = (await ended) as [number | null];
      const left = await readdir(temporary);
      return { code, left: left.filter((name) => name.startsWith("provost")) };
    },
  };
}

const built = async () => [process.execPath, (await installation()).program, "demo"];
const hasCurl = await run("curl", ["--version"]).then(
  () => true,
  () => false,
);

test.runIf(hasCurl)(
  "every command that the demo prints answers, its document names its address, and it leaves nothing behind",
  async () => {
    const demo = await start(await built(), root);
    await demo.saying("Try:");
    await until(() => demo.said().endsWith("'\n"), 5000);
    const [before = "", commands = ""] = demo.said().split("\nTry:\n");
    const lines = commands.split(/\n(?= {2}curl)/).map((line) => line.trim());
    expect(lines.length).toBe(4);
    for (const line of lines) {
      const { stdout } = await run("sh", ["-c", `${line} -w '\n%{http_code}'`]);
      expect([line, stdout.split("\n").at(-1)]).toEqual([line, expect.stringMatching(/^20[01]$/)]);
    }
    const addressOf = (name: string): string => new RegExp(`^ {2}${name} +(\\S+)$`, "m").exec(before)?.[1] ?? "none";
    const document = (await (await fetch(addressOf("OpenAPI"))).json()) as { servers: { url: string }[] };
    expect(document.servers).toEqual([{ url: addressOf("OpenAPI").replace("/openapi.json", "") }]);
    for (const name of ["documentation", "health", "control room"])
      expect([name, (await fetch(addressOf(name))).status]).toEqual([name, 200]);
    const headers = { authorization: `Bearer ${addressOf("key")}` };
    const staff = (await (await fetch(addressOf("OpenAPI").replace("openapi.json", "staff"), { headers })).json()) as {
      data: { level: string; user: { username_snapshot: string } }[];
    };
    expect(staff.data.map(({ level, user }) => `${user.username_snapshot} ${level}`)).toEqual(
      expect.arrayContaining(["olivia owner", "sara senior", "mona moderator"]),
    );
    demo.tell("SIGTERM");
    expect(await demo.end()).toEqual({ code: 0, left: [] });
  },
);

test("the demo that is played once leaves nothing behind", async () => {
  const demo = await start([...(await built()), "--once"], root);
  const ended = await demo.end();
  expect(ended, demo.said().slice(-1000)).toEqual({ code: 0, left: [] });
  expect(demo.said()).toMatch(/\nAll \d+ steps as expected, in \d+\.\d s\.\n$/);
});

test.each(["SIGINT", "SIGTERM"] as const)(
  "npm run demo that is ended by %s while it plays and computes fails and leaves nothing behind",
  async (signal) => {
    const demo = await start(["npm", "run", "demo"], root);
    await demo.saying("\n 2. ");
    await demo.busy(300);
    demo.tell(signal);
    expect(await demo.end()).toMatchObject({ code: 1, left: [] });
    expect(demo.said()).toContain("it was told to stop before its end");
  },
);
