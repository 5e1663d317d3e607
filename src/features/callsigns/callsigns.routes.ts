import type { Route } from "../../http/route.ts";
import type { CallsignRegistry } from "./callsigns.registry.service.ts";

/** The HTTP door to callsigns. */
export function callsignsRoutes(_registry: CallsignRegistry): Route[] {
  return [];
}
