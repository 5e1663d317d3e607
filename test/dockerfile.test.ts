// @module-tag sqlite
// @module-tag slow
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { cp, mkdir, mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished, test } from "vitest";
import { createSandbox } from "../sandbox/index.ts";
import { validEnvironment } from "./config/environment.ts";
import { freePort } from "./support/free-port.ts";
import { tier } from "./support/size.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("..", import.meta.url));

interface Step {
  name: string;
  text: string;
}

/** The instructions of a Dockerfile, stage by stage. */
function stagesOf(text: string): Step[][] {
  const lines = text
    .replaceAll(/^#.*\n/gm, "")
    .replaceAll("\\\n", " ")
    .split("\n");
  const steps = lines.flatMap((line) => {
    const [, name, rest] = /^([A-Z]+)\s+(.*)$/.exec(line) ?? [];
    return name === undefined || rest === undefined ? [] : [{ name, text: rest.trim() }];
  });
  const begins = steps.flatMap(({ name }, index) => (name === "FROM" ? [index] : []));
  return begins.map((begin, index) => steps.slice(begin, begins[index + 1]));
}

/** What is never sent to the build: `.dockerignore`. */
const ignored = readFileSync(join(root, ".dockerignore"), "utf8").trim().split("\n");
function isSent(path: string): boolean {
  const name = path.slice(root.length);
  return !ignored.some((one) => (one.startsWith("**/") ? basename(name) === one.slice(3) : name === one));
}

/** Do the steps of a stage in a folder that stands for the root of the image. */
async function build(steps: readonly Step[], image: string): Promise<void> {
  const inImage = (text: string): string => text.replaceAll(/(?<=^|\s)\/(?=(app|build)\b)/g, `${image}/`);
  let directory = image;
  for (const { name, text } of steps) {
    if (name === "WORKDIR") await mkdir((directory = inImage(text)), { recursive: true });
    if (name === "RUN") await run("sh", ["-c", inImage(text)], { cwd: directory, timeout: 1_800_000, maxBuffer: 1 << 26 });
    if (name !== "COPY") continue;
    const [target = "", ...sources] = text.split(/\s+/).toReversed();
    for (const source of sources) {
      const isFolder = (await stat(join(root, source))).isDirectory();
      const place = join(directory, isFolder ? target : join(target, basename(source)));
      await cp(join(root, source), place, { recursive: true, filter: isSent });
    }
  }
}

test.runIf(tier === "long")("the steps of the Dockerfile make an installation that serves, is found well, and stops", async () => {
  const image = await mkdtemp(join(tmpdir(), "provost-image-"));
  onTestFinished(() => rm(image, { recursive: true, force: true }));
  const [building = [], running = []] = stagesOf(readFileSync(join(root, "deploy/Dockerfile"), "utf8"));
  await build(building, image);
  const of = (name: string): string => running.find((step) => step.name === name)?.text ?? expect.fail(`no ${name}`);
  // What is copied from the first stage is in its place here already; what apt-get installs is for PostgreSQL.
  expect(of("COPY")).toBe("--from=build /app /app");

  const sandbox = await createSandbox();
  onTestFinished(() => sandbox.stop());
  const given = Object.fromEntries(
    of("ENV")
      .split(/\s+/)
      .map((pair) => pair.split("=") as [string, string]),
  );
  const env = {
    ...given,
    ...validEnvironment(),
    ...sandbox.env(),
    GUILD_IDS: sandbox.createGuild({ name: "Harbour" }).id,
    PATH: process.env["PATH"] ?? "",
    HOST: "127.0.0.1",
    PORT: (await freePort()).toString(),
    DATA_DIR: join(image, given["DATA_DIR"] ?? ""),
    BACKUP_DIR: join(image, given["BACKUP_DIR"] ?? ""),
  };
  await mkdir(join(image, "data"));
  const command = (text: string): string[] => (JSON.parse(text) as string[]).map((word) => word.replace(/^\/app\//, `${image}/app/`));
  const [program = "", ...argv] = command(of("CMD"));
  const server = spawn(program, argv, { cwd: image, env, stdio: "ignore" });
  onTestFinished(() => void server.kill("SIGKILL"));
  const ended = once(server, "exit");
  const [health = "", ...asked] = command(of("HEALTHCHECK").replace(/^.*?CMD\s+/, ""));
  await expect
    .poll(() =>
      run(health, asked, { env }).then(
        () => "well",
        () => "not yet",
      ),
    )
    .toBe("well");
  const { stdout } = await run(process.execPath, [join(image, "app/bin/provost.js"), "status"], { cwd: image, env });
  expect(stdout).toMatch(/^database +ok/m);
  server.kill(of("STOPSIGNAL") as NodeJS.Signals);
  expect(await ended).toEqual([0, null]);
});
