import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createSandbox, type Sandbox } from "../src/sandbox/index.ts";
import { type Benchmark, quantile } from "./benchmark.ts";
import { startService, until } from "./memory/service.ts";

const members = 100_000;
const staff = 2000;
const restMs = 5000;
const ms = (value: number): string => value.toFixed(0);

/**
 * The built service as `npm start` runs it, in a process of its own beside a guild of a hundred thousand; and a second one beside a guild
 * of one, which is asked the same at the same times.
 */
export const benchmark: Benchmark = {
  about: `resident memory of the built service beside a guild of ${members} with ${staff} staff, and /health meanwhile with and without it (npm run build first)`,
  async run({ progress }) {
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
    const rows: string[][] = [];
    const times: number[] = [];
    const smallTimes: number[] = [];
    const note = async (stage: string): Promise<void> => {
      const [took, smallTook] = [await service.healthTimes(), await small.healthTimes()];
      times.push(...took);
      smallTimes.push(...smallTook);
      const { now, most } = service.memory();
      const p99s = [took, smallTook].map((some) => ms(quantile(some, 0.99)));
      rows.push([stage, now.toFixed(0), most.toFixed(0), ...p99s, ms(Math.max(...took))]);
      progress(rows.at(-1)?.join(" ") ?? "");
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
    const last = rows.at(-1) ?? [];
    return {
      columns: ["until", "MB", "most MB", "/health p99 ms", "without the guild", "most ms"],
      rows,
      goals: [
        { text: "MB once the guild is read", wanted: 160, measured: Number(rows[0]?.[1]), bound: "most" },
        { text: "MB at most, until the end", wanted: 220, measured: Number(last[2]), bound: "most" },
        {
          text: `/health, 99th percentile of ${times.length} answers, to the same without the guild`,
          wanted: 2,
          measured: quantile(times, 0.99) / quantile(smallTimes, 0.99),
          bound: "most",
        },
      ],
    };
  },
};
