import type { createNightlyBackup } from "../backup/nightly.ts";
import type { Discord } from "../discord/client.ts";
import type { createJobs } from "../jobs.ts";
import { epochSeconds } from "../kernel/clock.ts";
import type { DiscordStatus } from "../kernel/discord-port.ts";
import type { RateLimiters } from "../operations/rate-limit.ts";
import { version } from "../version.ts";
import { oneOf, type Readings } from "./table.ts";

interface Ground {
  discord: Discord;
  limiters: RateLimiters;
  jobs: Pick<ReturnType<typeof createJobs>, "state">;
  nightly: Pick<ReturnType<typeof createNightlyBackup>, "lastMadeAt">;
}

const gatewayStates: readonly DiscordStatus["state"][] = ["connecting", "ready", "resuming", "down", "fatal"];

/** The metrics of what every feature stands on. */
export function groundReadings({ discord, limiters, jobs, nightly }: Ground): Readings {
  return {
    provost_build_info: () => [[{ version }, 1]],
    provost_rate_limit_refusals_total: () => Object.entries(limiters).map(([limit, { refusals }]) => [{ limit }, refusals()]),
    provost_discord_gateway_state: () => oneOf(gatewayStates, discord.status().state, (state) => ({ state })),
    provost_discord_gateway_ping_seconds() {
      const { pingMs } = discord.status();
      return pingMs === undefined ? undefined : pingMs / 1000;
    },
    provost_discord_gateway_reconnects_total: () => discord.status().reconnects,
    provost_discord_events_not_understood_total: () => discord.eventFaults().count,
    provost_discord_calls_total: () =>
      Object.entries(discord.rest.counts()).flatMap(([purpose, { ok, refused, failed, rateLimited }]) =>
        Object.entries({ ok, refused, failed, rate_limited: rateLimited }).map(
          ([outcome, count]) => [{ purpose, outcome }, count] as const,
        ),
      ),
    provost_job_last_success_timestamp_seconds: () =>
      jobs.state().map(({ name, lastSuccess }) => [{ job_name: name }, epochSeconds(lastSuccess ?? undefined)]),
    provost_job_last_duration_seconds: () =>
      jobs.state().flatMap(({ name, durationMs }) => (durationMs === null ? [] : [[{ job_name: name }, durationMs / 1000] as const])),
    provost_job_failures_total: () => jobs.state().map(({ name, failures }) => [{ job_name: name }, failures]),
    async provost_backup_last_success_timestamp_seconds() {
      const at = await nightly.lastMadeAt();
      return at === null ? undefined : epochSeconds(at);
    },
  };
}
