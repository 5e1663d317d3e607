// @module-tag sqlite
// @module-tag slow
import { spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { readFileSync } from "node:fs";
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

/** What each supervisor starts, taken from the file that tells it, with the folder of the installation in the place of its own. */
const commands: Record<string, (folder: string) => string[]> = {
  "npm start": () => ["npm", "start"],
  "npm start at a terminal": () => ["npm", "start"],
  "the unit of systemd": (folder) => {
    const [, line = ""] = /^ExecStart=(.*)$/m.exec(read("deploy/provost.service")) ?? [];
    return line.replace("/opt/provost/node_modules/provost", folder).split(" ");
  },
  "the container": (folder) => {
    const file = read("deploy/Dockerfile");
    expect(file).not.toMatch(/^ENTRYPOINT/m);
    const [, words = "[]"] = /^CMD (\[.*\])$/m.exec(file) ?? [];
    return (JSON.parse(words) as string[]).map((word) => word.replace(/^\/app\//, `${folder}/`));
  },
};

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

test.each(Object.entries(commands))(
  "%s is told to stop in the middle of many writes: within 10 s all of it has ended with 0, every write that was accepted is kept, and no other",
  async (name, command) => {
    const own = {
      PORT: (await freePort()).toString(),
      SECRET_KEY: randomBytes(32).toString("base64"),
      ENCRYPTION_KEYS: `a:${randomBytes(32).toString("base64")}`,
    };
    const world = await createWorld({ env: own });
    const actor = await world.staff("admin");
    await world.app.stop();

    const folder = dirname(dirname((await installation()).program));
    const [program = "", ...words] = command(folder);
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
    const told = performance.now();
    // Ctrl-C is told to everything that runs in a terminal.
    if (name.endsWith("at a terminal")) process.kill(-group, "SIGINT");
    else started.kill("SIGTERM");
    expect(await ended).toEqual([0, null]);
    await within(() => !isLeft(group), 10_000);
    expect(performance.now() - told).toBeLessThan(10_000);
    await Promise.all(writing);

    await world.restart();
    const rows = await world.app.database.read.blacklistRecord.findMany({ select: { subjectId: true } });
    const kept = rows.map(({ subjectId }) => subjectId).toSorted();
    const accepted = [...answers].filter(([, status]) => status === 201).map(([subject]) => subject);
    expect([...answers].filter(([, status]) => status !== 201).length).toBe(8);
    expect(accepted.length).toBeGreaterThanOrEqual(92);
    expect(kept).toEqual(accepted.toSorted());
  },
  120_000,
);
