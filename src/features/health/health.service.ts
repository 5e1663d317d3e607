import { say } from "../../kit/say.ts";
import { can, type Call } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import type { CapabilitiesView, CheckView, HealthView, NodeView, ProbeView, ReadinessView } from "./health.schema.ts";

export interface HealthService {
  /** The status that each check has now. */
  statuses(): Promise<[CheckName, CheckView["status"]][]>;
  /** The health and compatibility answer; it fails only when storage cannot serve, everything else merely degrades it. */
  get(call: Call): Promise<HealthView>;
  /** Whether the process works at all. */
  live(): ProbeView;
  /** Whether requests can be served: storage works and no shutdown has begun. Discord being away does not matter. */
  ready(): Promise<ReadinessView>;
}

type CheckName = keyof HealthView["checks"];
export type HealthCheck = () => CheckView | Promise<CheckView>;

interface HealthGround {
  clock: Clock;
  service: { name: string; version: string; instanceId: string; commit?: string };
  checks: Record<CheckName, HealthCheck>;
  capabilities: () => CapabilitiesView;
  /** Every route with whether it can be used as this installation is set up. */
  routes: () => HealthView["routes"];
  isShuttingDown: () => boolean;
  /** False once the process can no longer do its work and should be restarted. */
  isAlive?: () => boolean;
  /** The processes that serve together; none where there is only one. */
  nodes?: () => readonly NodeView[];
  /** Milliseconds a check may take. */
  patience?: number;
}

/** What the service says about itself: alive, ready, and how well the parts it stands on do. */
export function createHealthService(ground: HealthGround): HealthService {
  const { clock, service, nodes = () => [], patience = 2000 } = ground;
  const names = Object.keys(ground.checks) as CheckName[];
  const check = Object.fromEntries(names.map((name) => [name, shared(ground.checks[name], patience)])) as Record<
    CheckName,
    () => Promise<CheckView>
  >;

  async function makeAll(): Promise<HealthView["checks"]> {
    const found = await Promise.all(names.map(async (name) => [name, await check[name]()] as const));
    return Object.fromEntries(found) as HealthView["checks"];
  }

  return {
    statuses: async (): Promise<[CheckName, CheckView["status"]][]> =>
      Object.entries(await makeAll()).map(([name, { status }]) => [name as CheckName, status]),

    async get(call: Call): Promise<HealthView> {
      const seen = await makeAll();
      const isDetailed = canSeeDetails(call);
      const status = overall(seen.storage, Object.values(seen));
      const shown = Object.entries(seen).map(([name, one]) => [name, presentCheck(one, isDetailed)] as const);
      return {
        success: status !== "error",
        status,
        service: {
          name: service.name,
          version: service.version,
          instance_id: service.instanceId,
          ...(isDetailed && service.commit !== undefined && { commit: service.commit }),
        },
        api: { version: "1", contract: "community-moderation/1", compatible: true },
        ...(isDetailed && nodes().length > 0 && { nodes: [...nodes()] }),
        capabilities: ground.capabilities(),
        routes: ground.routes(),
        checks: Object.fromEntries(shown) as HealthView["checks"],
        time: clock.now().toISOString(),
      };
    },

    live(): ProbeView {
      return probe(ground.isAlive?.() ?? true);
    },

    async ready(): Promise<ReadinessView> {
      const [storage, gateway] = await Promise.all([check.storage(), check.discord_gateway()]);
      return { ...probe(!ground.isShuttingDown() && storage.status !== "fail"), discord_gateway: gateway.status };
    },
  };
}

function probe(isWell: boolean): ProbeView {
  return isWell ? { success: true, status: "ok" } : { success: false, status: "error" };
}

function overall(storage: CheckView, all: readonly CheckView[]): HealthView["status"] {
  if (storage.status === "fail") return "error";
  return all.every(({ status }) => status === "pass") ? "ok" : "degraded";
}

/** Callers at the same time share one run of a check, so that asking often costs no more than asking once. */
function shared(check: HealthCheck, patience: number): () => Promise<CheckView> {
  let running: Promise<CheckView> | undefined;
  return () =>
    (running ??= makeCheck(check, patience).finally(() => {
      running = undefined;
    }));
}

/** A check that breaks or takes too long has failed. */
export async function makeCheck(check: HealthCheck, patience: number): Promise<CheckView> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckView>((resolve) => {
    timer = setTimeout(() => resolve({ status: "fail", reason: say("health.the-check-took-too-long") }), patience);
  });
  try {
    return await Promise.race([check(), late]);
  } catch {
    return { status: "fail", reason: say("health.the-check-could-not-be-made") };
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a caller sees more than the status of a check. */
export function canSeeDetails(call: Call): boolean {
  return can(call, "system.health.read");
}

export function presentCheck(check: CheckView, isDetailed: boolean): CheckView {
  return isDetailed ? check : { status: check.status };
}
