import { type Route, routesFor, withStatus } from "../../operations/route.ts";
import { HealthView, ProbeView, ReadinessView } from "./health.schema.ts";
import type { HealthService } from "./health.service.ts";

const { get } = routesFor("health");

/** Probes stay open while the service shuts down or is busy: they say so themselves. */
export const healthRoutes = (health: HealthService): Route[] => [
  get("/health", "getHealth", {
    summary: "Health and compatibility",
    description: "Needs no credentials; a key holding `system.health.read` sees the details of the checks.",
    access: { public: true, credentials: "optional" },
    probe: true,
    // It runs every check; the probes below are the cheap ones.
    limit: "read",
    success: {
      status: 200,
      shape: "flat",
      schema: HealthView,
      description: "The service works, perhaps with parts missing",
      otherStatuses: { 503: "Storage cannot serve" },
    },
    handle: async ({ call }) => {
      const view = await health.get(call);
      return withStatus(view, view.status === "error" ? 503 : 200);
    },
  }),
  get("/livez", "getLiveness", {
    summary: "Whether the process works at all",
    access: { public: true },
    probe: true,
    success: { status: 200, shape: "flat", schema: ProbeView, description: "It does", otherStatuses: { 503: "It should be restarted" } },
    handle: async () => answerProbe(health.live()),
  }),
  get("/readyz", "getReadiness", {
    summary: "Whether requests can be served",
    description: "Storage works and its schema is current; Discord being away is named, and does not matter.",
    access: { public: true },
    probe: true,
    success: { status: 200, shape: "flat", schema: ReadinessView, description: "They can", otherStatuses: { 503: "Not now" } },
    handle: async () => answerProbe(await health.ready()),
  }),
];

function answerProbe<View extends ProbeView>(view: View) {
  return withStatus(view, view.success ? 200 : 503);
}
