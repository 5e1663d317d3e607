import type { Route } from "../../http/route.ts";
import type { DraftsService } from "./drafts.service.ts";

/** The HTTP door to suggested requests. */
export function draftsRoutes(_drafts: DraftsService): Route[] {
  return [];
}
