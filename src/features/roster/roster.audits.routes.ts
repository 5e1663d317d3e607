import type { Route } from "../../http/route.ts";
import type { RosterAudits } from "./roster.audits.service.ts";

/** The HTTP door to audits of the roster. */
export function rosterAuditsRoutes(_audits: RosterAudits): Route[] {
  return [];
}
