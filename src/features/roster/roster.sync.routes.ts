import type { Route } from "../../http/route.ts";
import type { RosterSync } from "./roster.sync.service.ts";

/** The HTTP door to the comparison of Discord and the roster. */
export function rosterSyncRoutes(_sync: RosterSync): Route[] {
  return [];
}
