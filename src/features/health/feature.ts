import { feature } from "../../compose.ts";
import type { Capability } from "../../config/values.ts";
import type { Core } from "../../core.ts";
import { workflowKinds } from "../../kernel/vocabulary.ts";
import { oneOf } from "../../metrics/table.ts";
import { version } from "../../version.ts";
import { type ChecksDeps, createChecks } from "./checks.ts";
import { healthRoutes } from "./health.routes.ts";
import { CheckStatus, type HealthView } from "./health.schema.ts";
import { createHealthService } from "./health.service.ts";
import { withLeaderChecks } from "./leader-checks.ts";
import { createStallWatch } from "./stall-watch.ts";

interface HealthNeeds extends Core, ChecksDeps {
  database: Core["database"];
  discord: Core["discord"];
  guildState: Core["guildState"];
  /** Every route, with whether it can be used as this installation is set up. */
  routeRegistry: () => HealthView["routes"];
}

export const health = feature({
  create(deps: HealthNeeds) {
    const { config, clock, instanceId, stopping, routeRegistry } = deps;
    const stallWatch = createStallWatch(deps);
    const isOn = (capability: Capability): boolean => !config.switchedOff.has(capability);
    return {
      stallWatch,
      health: createHealthService({
        clock,
        service: { name: "provost", version, instanceId },
        checks: withLeaderChecks(createChecks(config.database.url, deps), deps),
        capabilities: () => ({
          callsigns: {
            next: isOn("callsigns.next"),
            lookup: isOn("callsigns.lookup"),
            repair: isOn("callsigns.repair"),
            registry: isOn("callsigns.registry"),
          },
          roster: {
            entries: isOn("roster.entries"),
            history: isOn("roster.history"),
            sync_member: isOn("roster.sync_member"),
            audit: isOn("roster.audit"),
          },
          workflows: [...workflowKinds],
          webhooks: true,
          mcp: config.mcp,
          events: true,
        }),
        routes: routeRegistry,
        isShuttingDown: () => stopping.aborted,
        isAlive: stallWatch.isAlive,
      }),
    };
  },
  routes: ({ health }) => healthRoutes(health),
  start: ({ stallWatch }) => stallWatch.start(),
  stop: async ({ stallWatch }) => stallWatch.stop(),
  metrics: ({ health }) => ({
    provost_health_check: async () =>
      (await health.statuses()).flatMap(([check, now]) => oneOf(CheckStatus.options, now, (status) => ({ check, status }))),
  }),
});
