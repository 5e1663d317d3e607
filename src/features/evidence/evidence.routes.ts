import type { Route } from "../../http/route.ts";
import type { EvidenceService } from "./evidence.service.ts";

/** The HTTP door to evidence. */
export function evidenceRoutes(_evidence: EvidenceService): Route[] {
  return [];
}
