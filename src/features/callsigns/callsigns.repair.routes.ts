import type { Route } from "../../http/route.ts";
import type { RepairsService } from "./callsigns.repair.service.ts";

/** The HTTP door to repairs of the registry. */
export function repairRoutes(_repairs: RepairsService): Route[] {
  return [];
}
