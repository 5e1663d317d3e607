import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import { evidenceRoutes } from "./evidence.routes.ts";
import { createEvidenceService, type EvidenceDeps } from "./evidence.service.ts";

/** It comes before the features whose records hold evidence: they register themselves as hosts. */
export const evidence = feature({
  create: (deps: Omit<EvidenceDeps, "isShared"> & Pick<Core, "cluster">) => ({
    evidence: createEvidenceService({ ...deps, isShared: deps.cluster.isOn }),
  }),
  routes: ({ evidence }) => evidenceRoutes(evidence),
  jobs: ({ evidence }) => ({ evidence: evidence.sweep }),
  async load({ evidence, cluster: { isOn, nodeId, nodes } }) {
    await evidence.prepare();
    const others = nodes().flatMap(({ id }) => (id === nodeId ? [] : [id]));
    if (isOn) await evidence.proveShared(nodeId, others);
  },
  close: ({ evidence }) => evidence.drained(),
});
