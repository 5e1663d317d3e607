import { feature } from "../../compose.ts";
import type { NodeInfo } from "../../cluster/cluster.ts";
import type { Capability } from "../../config/values.ts";
import type { Core } from "../../core.ts";
import { workflowKinds } from "../../kernel/vocabulary.ts";
import { oneOf } from "../../metrics/table.ts";
import { version } from "../../version.ts";
import { type ChecksDeps, createChecks } from "./checks.ts";
import { healthRoutes } from "./health.routes.ts";
import { CheckStatus, type HealthView, type NodeView } from "./health.schema.ts";
import { createHealthService } from "./health.service.ts";
import { withLeaderChecks } from "./leader-checks.ts";
import { createStallWatch } from "./stall-watch.ts";

function presentNode({ startedAt, heartbeatAt, isLeader, ...node }: NodeInfo, own: string): NodeView {
  const times = { started_at: startedAt.toISOString(), heartbeat_at: heartbeatAt.toISOString() };
  return { ...node, ...times, is_leader: isLeader, is_self: node.id === own };
}

interface HealthNeeds extends Core, ChecksDeps {
  database: Core["database"];
  discord: Core["discord"];
  guildState: Core["guildState"];
  /** Every route, with whether it can be used as this installation is set up. */
  routeRegistry: () => HealthView["routes"];
}

export const health = feature({
  create(deps: HealthNeeds) {
    const { config, clock, instanceId, isLeaving, routeRegistry, cluster } = deps;
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
        nodes: () => cluster.nodes().map((node) => presentNode(node, cluster.nodeId)),
        isShuttingDown: isLeaving,
        isAlive: stallWatch.isAlive,
      }),
    };
  },
  routes: ({ health }) => healthRoutes(health),
  startEach: ({ stallWatch }) => stallWatch.start(),
  close: ({ stallWatch }) => stallWatch.stop(),
  metrics: ({ health, cluster }) => ({
    provost_nodes: cluster.liveNodes,
    provost_node_leads: () => Number(cluster.isLeader()),
    provost_health_check: async () =>
      (await health.statuses()).flatMap(([check, now]) => oneOf(CheckStatus.options, now, (status) => ({ check, status }))),
  }),
});
