// @module-tag sqlite
// @module-tag slow
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import { within } from "../features/stances-community.ts";
import { freshId } from "../features/workflows-ground.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld } from "../support/world.ts";
import { installation } from "./installation.ts";
import { operatorEnv } from "./run.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
const read = (path: string): string => readFileSync(join(root, path), "utf8");

interface Way {
  /** The program and its arguments. @param folder that of the installation */
  command: (folder: string) => string[] | Promise<string[]>;
  /** Who gets the signal: the process that was started, everything in its terminal (Ctrl-C), or the first process of its container. */
  told: "process" | "terminal" | "first process";
  /** How the process that was started ends; npx ends as the shell does that it runs the program in. */
  ends?: "by the signal";
}

/** The folder of somebody who has installed the release archive, in which npx finds the program. */
async function npxFolder(folder: string): Promise<string> {
  const place = await mkdtemp(join(tmpdir(), "provost-npx-"));
  onTestFinished(() => rm(place, { recursive: true, force: true }));
  await mkdir(join(place, "node_modules", ".bin"), { recursive: true });
  await writeFile(join(place, "package.json"), "{}");
  await symlink(join(folder, "bin", "provost.js"), join(place, "node_modules", ".bin", "provost"));
  return place;
}
const npx = async (folder: string): Promise<string[]> => ["npx", "--prefix", await npxFolder(folder), "provost", "serve"];

/** As the first process of a container, which no signal ends that it does not listen to. */
const asFirst = (command: Way["command"]): Way => ({
  command: async (folder) => ["unshare", "--pid", "--fork", "--mount-proc", ...(await command(folder))],
  told: "first process",
});
const canBeFirst = spawnSync("unshare", ["--pid", "--fork", "--mount-proc", "true"]).status === 0;

const container: Way["command"] = (folder) => {
  const file = read("deploy/Dockerfile");
  expect(file).not.toMatch(/^ENTRYPOINT/m);
  const [, words = "[]"] = /^CMD (\[.*\])$/m.exec(file) ?? [];
  return (JSON.parse(words) as string[]).map((word) => word.replace(/^\/app\//, `${folder}/`));
};

/** What each supervisor starts, taken from the file that names it, with the folder of the installation in the place of its own. */
const ways: Record<string, Way> = {
  "npm start": { command: () => ["npm", "start"], told: "process" },
  "npm start at a terminal": { command: () => ["npm", "start"], told: "terminal" },
  "npx provost serve": { command: npx, told: "process", ends: "by the signal" },
  "npx provost serve at a terminal": { command: npx, told: "terminal", ends: "by the signal" },
  "the unit of systemd": {
    command(folder) {
      const [, line = ""] = /^ExecStart=(.*)$/m.exec(read("deploy/provost.service")) ?? [];
      return line.replace("/opt/provost/node_modules/provost", folder).split(" ");
    },
    told: "process",
  },
  "the container": { command: container, told: "process" },
  ...(canBeFirst && {
    "the container, as its first process": asFirst(container),
    "npm start as the first process": asFirst(() => ["npm", "start"]),
    "npx provost serve as the first process": { ...asFirst(npx), ends: "by the signal" },
  }),
};

/** The process that `unshare` has started, which is the first one of its own. */
function firstOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid.toString()}/task/${pid.toString()}/children`, "utf8").trim());
}

/** Whether a process of the group is left; a group has the id of the process that began it. */
function isLeft(group: number): boolean {
  try {
    return process.kill(-group, 0);
  } catch {
    return false;
  }
}

/** What was answered to the writes of one client after another, until nobody answers. */
async function writeUntilTheEnd(write: (subject: string) => Promise<number>, answers: Map<string, number>): Promise<void> {
  for (let status = 0; status < 400;) {
    const subject = freshId();
    status = await write(subject).catch(() => 999);
    answers.set(subject, status);
  }
}

test.each(Object.entries(ways))(
  "%s is told to stop in the middle of many writes: within 10 s all of it has ended in order, every write that was accepted is kept, and no other",
  async (name, { command, told, ends }) => {
    const own = {
      PORT: (await freePort()).toString(),
      SECRET_KEY: randomBytes(32).toString("base64"),
      ENCRYPTION_KEYS: `a:${randomBytes(32).toString("base64")}`,
    };
    const world = await createWorld({ env: own });
    const actor = await world.staff("admin");
    await world.app.stop();

    const folder = dirname(dirname((await installation()).program));
    const [program = "", ...words] = await command(folder);
    const env = {
      ...operatorEnv(),
      ...world.sandbox.env(),
      ...own,
      HOME: world.dataDir,
      // Without it npm asks its registry for its newest version.
      npm_config_update_notifier: "false",
      GUILD_IDS: world.guild.id,
      DATABASE_URL: world.databaseUrl,
      DATA_DIR: world.dataDir,
      LOG_LEVEL: "warn",
      RATE_LIMITS: "write=100000/1",
    };
    const started: ChildProcess = spawn(program, words, { cwd: folder, env, detached: true, stdio: ["ignore", "ignore", "inherit"] });
    const group = started.pid ?? 0;
    onTestFinished(() => void (isLeft(group) && process.kill(-group, "SIGKILL")));
    const ended = once(started, "exit");
    const url = `http://127.0.0.1:${own.PORT}`;
    await within(
      () =>
        fetch(`${url}/readyz`).then(
          ({ ok }) => ok,
          () => false,
        ),
      60_000,
    );

    const headers = { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id, "content-type": "application/json" };
    const write = async (subject_id: string): Promise<number> => {
      const body = JSON.stringify({ kind: "user", subject_id, category: "raid", severity: "high" });
      const { status, text } = await fetch(`${url}/blacklist`, { method: "POST", headers, body }).then(async (answer) => {
        return { status: answer.status, text: await answer.text() };
      });
      if (status !== 201 && status !== 503) throw new Error(text);
      return status;
    };
    const answers = new Map<string, number>();
    const writing = Array.from({ length: 8 }, () => writeUntilTheEnd(write, answers));
    await within(() => answers.size >= 100, 60_000);
    const toldAt = performance.now();
    if (told === "terminal") process.kill(-group, "SIGINT");
    else process.kill(told === "process" ? group : firstOf(group), "SIGTERM");
    const [code, signal] = (await ended) as [number | null, NodeJS.Signals | null];
    if (ends === undefined) expect([code, signal]).toEqual([0, null]);
    await within(() => !isLeft(group), 10_000);
    const ms = performance.now() - toldAt;
    process.stdout.write(`${name} ended after ${ms.toFixed(0)} ms\n`);
    expect(ms).toBeLessThan(10_000);
    // It lets go of the folder as the last thing that it does.
    expect(existsSync(join(world.dataDir, "server.pid")), "it was not killed").toBe(false);
    await Promise.all(writing);

    await world.restart();
    const rows = await world.app.database.read.blacklistRecord.findMany({ select: { subjectId: true } });
    const kept = rows.map(({ subjectId }) => subjectId).toSorted();
    const accepted = [...answers].filter(([, status]) => status === 201).map(([subject]) => subject);
    expect([...answers].filter(([, status]) => status !== 201).length).toBe(8);
    expect(accepted.length).toBeGreaterThanOrEqual(92);
    expect(kept).toEqual(accepted.toSorted());
  },
);
