import { caseCommands } from "./cases.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import type { DraftRecords } from "../workflows/drafts/records.ts";
import { actionsRoutes } from "./actions/actions.routes.ts";
import { type ActionsDeps, createActionsService } from "./actions/actions.service.ts";
import { casesRoutes } from "./cases.routes.ts";
import { type CasesDeps, createCasesService } from "./cases.service.ts";

interface CasesNeeds
  extends Omit<CasesDeps, "drafts" | "dropEvidence">, Omit<ActionsDeps, "cases" | "drafts" | "thresholds">, Pick<Core, "config"> {
  audit: AuditService;
  cursors: Core["cursors"];
  clock: Core["clock"];
  database: Core["database"];
  access: CasesDeps["access"];
  reach: CasesDeps["reach"];
  events: CasesDeps["events"];
  eventStreams: Pick<EventStreamsService, "registerHiddenIds">;
  evidence: Pick<EvidenceService, "register" | "dropOf">;
  draftRecords: DraftRecords;
}

export const cases = feature({
  commands: caseCommands,
  create({ config, evidence, eventStreams, draftRecords: drafts, ...deps }: CasesNeeds) {
    const cases = createCasesService({ ...deps, drafts, dropEvidence: (tx, caseId) => evidence.dropOf(tx, "case", caseId) });
    const actions = createActionsService({ ...deps, drafts, cases, thresholds: config.strikeThresholds });
    evidence.register("case", cases.evidenceHost);
    drafts.registerCause(actions.causes);
    for (const reader of [deps.audit, eventStreams]) reader.registerHiddenIds(cases.hiddenIds);
    return { cases, actions, hiddenCases: cases.hiddenIds, visibleCases: cases.visibleTo };
  },
  routes: ({ cases, actions }) => [...casesRoutes(cases), ...actionsRoutes(actions)],
  jobs: ({ cases, actions }) => ({ cases: cases.sweep, strikes: actions.sweep }),
});
