import type { Route } from "../../http/route.ts";
import type { RosterEntries } from "./roster.entries.service.ts";

/** The HTTP door to the history of people. */
export function rosterHistoryRoutes(_entries: RosterEntries): Route[] {
  return [];
}
