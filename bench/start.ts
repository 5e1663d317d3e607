import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { get, type OutgoingHttpHeaders } from "node:http";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createSandbox } from "../sandbox/index.ts";
import { type Benchmark, median } from "./benchmark.ts";
import { createInstallation, memoryOf, type Installation } from "./memory/installation.ts";

const root = fileURLToPath(new URL("..", import.meta.url));
/** Another built checkout, with its dependencies, that is measured in turns with this one. */
const { BENCH_AGAINST: against } = process.env;
const library = 'import "discord.js"; process.stdout.write("."); setTimeout(() => undefined, 60_000);';
const idleMs = 15_000;
const pollMs = 5;

/** Milliseconds from the start of the process, and megabytes. */
interface Sample {
  livez: number;
  authenticated: number;
  /** Of all threads, until the authenticated answer. */
  cpu: number;
  /** Connected to Discord, with the guild read. */
  ready: number;
  idle: number;
}

/** Built services as `npm start` runs them, and Node that loads discord.js and nothing else, each in processes of their own, in turns. */
export const benchmark: Benchmark = {
  about: "the start of the built service beside that of discord.js alone (npm run build first); BENCH_AGAINST=<another built checkout>",
  async run({ rounds, progress }) {
    const sandbox = await createSandbox({ record: false });
    const guild = sandbox.createGuild({ name: "Small" });
    const given = { ...sandbox.env(), GUILD_IDS: guild.id, OWNER_IDS: sandbox.createUser("owner").id };
    const folders: string[] = [];
    const service = async (checkout: string): Promise<() => Promise<Sample>> => {
      const folder = await mkdtemp(join(tmpdir(), "provost-start-"));
      folders.push(folder);
      const installation = await createInstallation(checkout, given, folder);
      const headers = installation.createKey();
      return () => startService(installation, headers);
    };
    try {
      const starts: Record<string, () => Promise<Sample>> = {
        "discord.js alone": startLibrary,
        ...(against !== undefined && { "the service, before": await service(resolve(against)) }),
        "the service": await service(root),
      };
      const samples = new Map<string, Sample[]>(Object.keys(starts).map((name) => [name, []]));
      for (let round = 0; round <= rounds; round += 1)
        for (const [name, start] of Object.entries(starts)) {
          const sample = await start();
          // The first round only fills the caches of the disk.
          if (round > 0) samples.get(name)?.push(sample);
          progress(`round ${round.toString()}/${rounds.toString()}  ${name}: ${Object.values(sample).map(whole).join(" ")}`);
        }
      const of = (name: string, key: keyof Sample): number => median((samples.get(name) ?? []).map((sample) => sample[key]));
      const times = (name: string, key: keyof Sample): string => (of(name, key) / of("discord.js alone", key)).toFixed(2);
      return {
        columns: ["", "/livez ms", "authenticated ms", "times discord.js", "CPU ms", "times discord.js", "/readyz ms", "idle MB"],
        rows: Object.keys(starts).map((name) => [
          name,
          whole(of(name, "livez")),
          whole(of(name, "authenticated")),
          times(name, "authenticated"),
          whole(of(name, "cpu")),
          times(name, "cpu"),
          whole(of(name, "ready")),
          whole(of(name, "idle")),
        ]),
        goals: [
          {
            text: "the first authenticated answer to discord.js alone",
            wanted: 2,
            measured: of("the service", "authenticated") / of("discord.js alone", "authenticated"),
            bound: "most",
          },
        ],
      };
    } finally {
      await sandbox.stop();
      for (const folder of folders) await rm(folder, { recursive: true });
    }
  },
};

async function startService(installation: Installation, headers: OutgoingHttpHeaders): Promise<Sample> {
  const before = performance.now();
  const child = installation.start();
  const passed = (): number => performance.now() - before;
  return watched(child, async () => {
    await answer(`${installation.address}/livez`, {});
    const livez = passed();
    await answer(`${installation.address}/staffroles`, headers);
    const authenticated = passed();
    const cpu = await cpuOf(child);
    await answer(`${installation.address}/readyz`, {});
    const ready = passed();
    await wait(idleMs);
    return { livez, authenticated, cpu, ready, idle: memoryOf(child).now };
  });
}

async function startLibrary(): Promise<Sample> {
  const before = performance.now();
  const child = spawn(process.execPath, ["--input-type=module", "--eval", library], { cwd: root, stdio: ["ignore", "pipe", "inherit"] });
  return watched(child, async () => {
    await once(child.stdout, "data");
    const loaded = performance.now() - before;
    const cpu = await cpuOf(child);
    await wait(1000);
    return { livez: loaded, authenticated: loaded, cpu, ready: loaded, idle: memoryOf(child).now };
  });
}

/** Ends the process after the work, and waits for its end. */
async function watched(child: ChildProcess, work: () => Promise<Sample>): Promise<Sample> {
  const ended = once(child, "exit");
  try {
    return await work();
  } finally {
    child.kill("SIGTERM");
    await ended;
  }
}

/** Asks until the answer is 200. */
async function answer(address: string, headers: OutgoingHttpHeaders): Promise<void> {
  const status = (): Promise<number | undefined> =>
    new Promise((done) => {
      get(address, { headers, agent: false }, (response) => response.resume().on("end", () => done(response.statusCode))).on("error", () =>
        done(undefined),
      );
    });
  while ((await status()) !== 200) await wait(pollMs);
}

/** Milliseconds of CPU so far, which the kernel counts in hundredths of a second. */
async function cpuOf({ pid }: ChildProcess): Promise<number> {
  const fields = (await readFile(`/proc/${String(pid)}/stat`, "utf8")).replace(/^.*\) /, "").split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

const whole = (value: number): string => value.toFixed(0);
