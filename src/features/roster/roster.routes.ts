import type { Route } from "../../http/route.ts";
import type { RosterEntries } from "./roster.entries.service.ts";

/** The HTTP door to entries of the roster. */
export function rosterRoutes(_entries: RosterEntries): Route[] {
  return [];
}
