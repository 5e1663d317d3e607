import type { Route } from "../../http/route.ts";
import type { CallsignPoolsService } from "./callsigns.pools.service.ts";

/** The HTTP door to pools of callsigns. */
export function poolsRoutes(_pools: CallsignPoolsService): Route[] {
  return [];
}
