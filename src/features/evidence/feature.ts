import { feature } from "../../compose.ts";
import { evidenceRoutes } from "./evidence.routes.ts";
import { createEvidenceService, type EvidenceDeps } from "./evidence.service.ts";

/** It comes before the features whose records hold evidence: they register themselves as hosts. */
export const evidence = feature({
  // One server per database: what it deletes, nobody else refers to.
  create: (deps: Omit<EvidenceDeps, "isShared">) => ({ evidence: createEvidenceService({ ...deps, isShared: false }) }),
  routes: ({ evidence }) => evidenceRoutes(evidence),
  jobs: ({ evidence }) => ({ evidence: evidence.sweep }),
  load: ({ evidence }) => evidence.prepare(),
  close: ({ evidence }) => evidence.drained(),
});
