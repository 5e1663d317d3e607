import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createSandbox, type Sandbox } from "../sandbox/index.ts";
import { type Benchmark, median, quantile } from "./benchmark.ts";
import { startService, until } from "./memory/service.ts";

const members = 100_000;
const staff = 2000;
const restMs = 5000;
const ms = (value: number): string => value.toFixed(0);

/** What was measured until then: megabytes now and at most so far, and how long `/health` took since the stage before, in milliseconds. */
interface Stage {
  until: string;
  now: number;
  most: number;
  times: number[];
  /** Of the service without the guild. */
  smallTimes: number[];
}

/**
 * The built service as `npm start` runs it, in a process of its own beside a guild of a hundred thousand; and a second one beside a guild
 * of one, which is asked the same at the same times.
 */
export const benchmark: Benchmark = {
  about: `resident memory of the built service beside a guild of ${members} with ${staff} staff, and /health meanwhile with and without it (npm run build first)`,
  async run({ rounds, progress }) {
    const runs: Stage[][] = [];
    while (runs.length < rounds) runs.push(await measureOnce(progress));
    const [first = []] = runs;
    const rows = first.map(({ until: stage }, place) => {
      const all = runs.flatMap((run) => run[place] ?? []);
      const p99 = (of: "times" | "smallTimes"): string => ms(median(all.map((one) => quantile(one[of], 0.99))));
      const most = Math.max(...all.flatMap(({ times }) => times));
      return [
        stage,
        ms(median(all.map(({ now }) => now))),
        ms(Math.max(...all.map((one) => one.most))),
        p99("times"),
        p99("smallTimes"),
        ms(most),
      ];
    });
    // What a run took in all: of some five hundred answers, five or six are beyond the 99th percentile.
    const ratioOf = (run: Stage[]): number =>
      quantile(
        run.flatMap(({ times }) => times),
        0.99,
      ) /
      quantile(
        run.flatMap(({ smallTimes }) => smallTimes),
        0.99,
      );
    return {
      columns: ["until", "MB", "most MB", "/health p99 ms", "without the guild", "most ms"],
      rows,
      goals: [
        { text: "MB once the guild is read", wanted: 160, measured: Number(rows[0]?.[1]), bound: "most" },
        { text: "MB at most, until the end of any run", wanted: 220, measured: Number(rows.at(-1)?.[2]), bound: "most" },
        {
          text: `/health, 99th percentile to the same without the guild, the median of ${rounds} runs`,
          wanted: 2,
          measured: median(runs.map(ratioOf)),
          bound: "most",
        },
      ],
    };
  },
};

async function measureOnce(progress: (line: string) => void): Promise<Stage[]> {
  const [sandbox, smallSandbox] = [await createSandbox({ record: false }), await createSandbox({ record: false })];
  const guild = sandbox.createGuild({ name: "Large" });
  const [role, other] = [guild.createRole("Moderator"), guild.createRole("Sailor")];
  guild.addMembers(members - staff, { roles: [other] });
  guild.addMembers(staff, { roles: [role] });
  const folder = await mkdtemp(join(tmpdir(), "provost-memory-"));
  const start = (of: Sandbox, { id }: { id: string }, name: string) =>
    startService({ ...of.env(), GUILD_IDS: id, OWNER_IDS: of.createUser("owner").id }, join(folder, name));
  const small = await start(smallSandbox, smallSandbox.createGuild({ name: "Small" }), "small");
  const service = await start(sandbox, guild, "large");
  await small.healthTimes();
  const stages: Stage[] = [];
  const note = async (stage: string): Promise<void> => {
    const [times, smallTimes] = [await service.healthTimes(), await small.healthTimes()];
    const { now, most } = service.memory();
    stages.push({ until: stage, now, most, times, smallTimes });
    const p99s = [times, smallTimes].map((some) => ms(quantile(some, 0.99)));
    progress([`until ${stage}:`, ms(now), ms(most), ...p99s].join(" "));
  };
  try {
    await until(async () => (await service.ask("GET", "/health")).checks.guild_state.status === "pass");
    await wait(restMs);
    await note("the guild is read");
    const discord = [{ guild_id: guild.id, role_id: role.id }];
    await service.ask("PUT", "/staffroles/moderator", { name: "Moderator", rank: 40, level: "moderator", discord });
    await until(async () => (await service.ask("GET", "/roster?limit=1&count=true")).page.total === staff);
    await note("the roster is filled");
    await service.ask("POST", "/roster/audit", {});
    await note("the roster is audited");
    await wait(restMs);
    await note("five seconds later");
  } finally {
    for (const one of [service, small]) await one.stop();
    for (const one of [sandbox, smallSandbox]) await one.stop();
    await rm(folder, { recursive: true });
  }
  return stages;
}
