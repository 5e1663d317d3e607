import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { createSandbox } from "../src/sandbox/index.ts";
import { type Benchmark, quantile } from "./benchmark.ts";
import { startService, until } from "./memory/service.ts";

const members = 100_000;
const staff = 2000;
const restMs = 5000;
const ms = (value: number): string => value.toFixed(0);

/** The built service as `npm start` runs it, in a process of its own beside a guild of a hundred thousand. */
export const benchmark: Benchmark = {
  about: `resident memory of the built service beside a guild of ${members} with ${staff} staff, and /health meanwhile (npm run build first)`,
  async run({ progress }) {
    const sandbox = await createSandbox({ record: false });
    const guild = sandbox.createGuild({ name: "Large" });
    const [role, other] = [guild.createRole("Moderator"), guild.createRole("Sailor")];
    guild.addMembers(members - staff, { roles: [other] });
    guild.addMembers(staff, { roles: [role] });
    const folder = await mkdtemp(join(tmpdir(), "provost-memory-"));
    const service = await startService({ ...sandbox.env(), GUILD_IDS: guild.id, OWNER_IDS: sandbox.createUser("owner").id }, folder);
    const rows: string[][] = [];
    const times: number[] = [];
    const note = async (stage: string): Promise<void> => {
      const took = await service.healthTimes();
      times.push(...took);
      const { now, most } = service.memory();
      rows.push([stage, now.toFixed(0), most.toFixed(0), ms(quantile(took, 0.99)), ms(Math.max(...took))]);
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
      await service.stop();
      await sandbox.stop();
      await rm(folder, { recursive: true });
    }
    const last = rows.at(-1) ?? [];
    return {
      columns: ["until", "MB", "most MB", "/health p99 ms", "most ms"],
      rows,
      goals: [
        { text: "MB once the guild is read", wanted: 160, measured: Number(rows[0]?.[1]), bound: "most" },
        { text: "MB at most, until the end", wanted: 220, measured: Number(last[2]), bound: "most" },
        { text: `ms of /health, 99th percentile of ${times.length} answers`, wanted: 100, measured: quantile(times, 0.99), bound: "most" },
      ],
    };
  },
};
