import type { Route } from "../../http/route.ts";
import type { CasesService } from "./cases.service.ts";

/** The HTTP door to cases. */
export function casesRoutes(_cases: CasesService): Route[] {
  return [];
}
