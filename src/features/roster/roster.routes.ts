import { z } from "zod";
import type { Route, RouteSpec } from "../../http/route.ts";
import { route } from "../../http/route.ts";
import { ProblemError } from "../../kernel/errors.ts";

type Door = Pick<RouteSpec, "method" | "operationId" | "summary"> & { path: string; permission: string; capability: string };

const doors: readonly Door[] = [
  {
    method: "get",
    path: "/roster/history",
    operationId: "listRosterHistory",
    summary: "Read personnel history",
    permission: "roster.history",
    capability: "roster.history",
  },
  {
    method: "post",
    path: "/roster/sync-member",
    operationId: "syncRosterMember",
    summary: "Bring a member and the roster in step",
    permission: "roster.sync",
    capability: "roster.sync_member",
  },
  {
    method: "post",
    path: "/roster/audit",
    operationId: "auditRoster",
    summary: "Audit the roster",
    permission: "roster.audit",
    capability: "roster.audit",
  },
];

/** The optional roster routes: known to clients, not offered by this service. */
export function rosterRoutes(): Route[] {
  return doors.map(({ permission, capability, ...door }) =>
    route(
      {
        ...door,
        tags: ["roster"],
        access: { permission },
        capability,
        success: { status: 200, shape: "single", schema: z.record(z.string(), z.unknown()), description: "Not offered" },
        refusals: ["unsupported_operation"],
      },
      () => Promise.reject(new ProblemError("unsupported_operation", { extra: { capability } })),
    ),
  );
}
