import { z } from "zod";
import type { Route, RouteSpec } from "../../http/route.ts";
import { route } from "../../http/route.ts";
import { ProblemError } from "../../kernel/errors.ts";

type Door = Pick<RouteSpec, "method" | "operationId" | "summary"> & { path: string; permission: string; capability: string };

const doors: readonly Door[] = [
  {
    method: "post",
    path: "/callsigns/next",
    operationId: "allocateCallsign",
    summary: "Allocate the next callsign",
    permission: "callsigns.allocate",
    capability: "callsigns.next",
  },
  {
    method: "get",
    path: "/callsigns/next",
    operationId: "previewCallsign",
    summary: "Look the next callsign up",
    permission: "callsigns.read",
    capability: "callsigns.lookup",
  },
  {
    method: "post",
    path: "/callsigns/repair",
    operationId: "repairCallsigns",
    summary: "Repair the callsign registry",
    permission: "callsigns.repair",
    capability: "callsigns.repair",
  },
];

/** The optional callsign routes: known to clients, not offered by this service. */
export function callsignsRoutes(): Route[] {
  return doors.map(({ permission, capability, ...door }) =>
    route(
      {
        ...door,
        tags: ["callsigns"],
        access: { permission },
        capability,
        success: { status: 200, shape: "single", schema: z.record(z.string(), z.unknown()), description: "Not offered" },
        refusals: ["unsupported_operation"],
      },
      () => Promise.reject(new ProblemError("unsupported_operation", { extra: { capability } })),
    ),
  );
}
