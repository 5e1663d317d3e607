import { say } from "../../../kit/say.ts";
import { z } from "zod";
import { routesFor, type Route } from "../../../operations/route.ts";
import { auditChecks } from "./checks.ts";
import { auditPermissions } from "./audit.policy.ts";
import {
  AcknowledgeFindingsInput,
  auditCodes,
  FindingResults,
  FixFindingsInput,
  ListRosterAuditsQuery,
  ListRosterFindingsQuery,
  RecordId,
  RosterAuditAnswer,
  RosterAuditReport,
  RosterAuditSummary,
  RosterFindingView,
  RunRosterAuditInput,
  WithdrawAcknowledgementsInput,
} from "./audit.schema.ts";
import type { RosterAudits } from "./audits.service.ts";

const { get, post } = routesFor("roster");
const capability = "roster.audit";
const params = z.object({ id: RecordId.meta({ description: "Id of the report", example: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f" }) });
const access = { permission: auditPermissions.audit };

const exampleId = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e70";
const finding = {
  id: exampleId,
  code: "trial_overdue" as const,
  severity: "warning" as const,
  user: { id: "80351110224678912", username_snapshot: "mona", display_name: "Mona", in_community: true },
  detail: "The trial was to end on 2026-11-18.",
  facts: { trial_ends_at: "2026-11-18T10:00:00.000Z" },
  fix: { action: "end_trial" as const, detail: say("roster.the-trial-is-over-the-entry-is") },
  since: "2026-11-19T03:00:00.000Z",
  is_new: false,
  acknowledged: null,
  fixed_at: null,
};
const summary = {
  id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f",
  status: "done" as const,
  trigger: "request" as const,
  scope: { role: "moderator" },
  checks: ["trial_overdue" as const],
  skipped: [],
  by: "80351110224678913",
  started_at: "2026-11-20T10:00:00.000Z",
  ended_at: "2026-11-20T10:00:01.000Z",
  members_scanned: 42,
  findings_total: 1,
  new_total: 0,
  summary: { trial_overdue: 1 },
};
const report = {
  ...summary,
  stale: false,
  findings: [finding],
  acknowledged_total: 0,
  compared_to: {
    id: "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6e",
    at: "2026-11-19T03:00:00.000Z",
    new: 0,
    resolved: 0,
    resolved_findings: [],
  },
  withheld: 0,
};
const codes = auditCodes.map((code) => {
  const { severity, description, permission } = auditChecks[code];
  return `- \`${code}\` (${severity}${permission === undefined ? "" : `, \`${permission}\``}): ${description}`;
});

/** HTTP routes for audits of the roster. */
export function rosterAuditsRoutes(audits: RosterAudits): Route[] {
  return [...runRoutes(audits), ...reportRoutes(audits), ...findingRoutes(audits)];
}

function runRoutes(audits: RosterAudits): Route[] {
  return [
    post("/roster/audit", "runRosterAudit", {
      capability,
      summary: "Look for what is not as it should be on the roster",
      description: [
        "Compares the roster with the guilds and with what else is known, and the report with the run before of the same scope and checks. While the guilds are not known well enough, the checks that rest on them are left out and named in `skipped`. One run at a time.",
        "Some kinds are shown only to holders of a further permission, and never about one's own accounts:",
        codes.join("\n"),
      ].join("\n\n"),
      access,
      request: { body: RunRosterAuditInput, bodyOptional: true, example: { scope: { role: "moderator" }, checks: ["trial_overdue"] } },
      success: { status: 200, shape: "single", schema: RosterAuditReport, description: "The report", example: report },
      refusals: ["sync_in_progress"],
      handle: ({ call, body }) => audits.run(call, body),
    }),
  ];
}

function reportRoutes(audits: RosterAudits): Route[] {
  return [
    get("/roster/audits", "listRosterAudits", {
      capability,
      summary: "List the runs of the audit, newest first",
      description: "Reports are kept for 90 days.",
      access,
      request: { query: ListRosterAuditsQuery },
      success: { status: 200, shape: "list", schema: RosterAuditSummary, description: "A page of runs", example: summary },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, query }) => audits.list(call, query),
    }),
    get("/roster/audits/{id}", "getRosterAudit", {
      capability,
      summary: "Read the report of a run",
      description: "A report that does not exist is answered with `state: absent`.",
      access,
      request: { params },
      success: {
        status: 200,
        shape: "single",
        schema: RosterAuditAnswer,
        description: "The report with its gravest findings",
        example: { state: "present" as const, ...report },
      },
      handle: ({ call, params: { id } }) => audits.get(call, id),
    }),
    get("/roster/audits/{id}/findings", "listRosterFindings", {
      capability,
      summary: "List what a run found, the gravest first",
      description: "Of a run that does not exist the list is empty.",
      access,
      request: { params, query: ListRosterFindingsQuery },
      success: { status: 200, shape: "list", schema: RosterFindingView, description: "A page of findings", example: finding },
      refusals: ["invalid_cursor", "unknown_parameter"],
      handle: ({ call, params: { id }, query }) => audits.findings(call, id, query),
    }),
  ];
}

function findingRoutes(audits: RosterAudits): Route[] {
  const success = { status: 200, shape: "single", schema: FindingResults, description: "What became of each" } as const;
  const done = (outcome: "fixed" | "acknowledged" | "withdrawn", detail: string) => ({
    dry_run: false,
    results: [{ id: exampleId, outcome, detail }],
  });
  const acknowledgements = "/roster/audit/acknowledgements";
  return [
    post("/roster/audit/fixes", "fixRosterFindings", {
      capability,
      summary: "Put findings right",
      description:
        "Each finding is looked at again, and only what still holds is put right, in a transaction of its own. Nobody but an owner puts right what concerns their own rank or a higher one.",
      access: { permission: auditPermissions.fix },
      request: { body: FixFindingsInput, example: { findings: [exampleId], reason: "The trial went well." } },
      success: { ...success, example: done("fixed", "The entry is active now.") },
      handle: ({ call, body }) => audits.fix(call, body),
    }),
    post(acknowledgements, "acknowledgeRosterFindings", {
      capability,
      summary: "Decide to live with findings",
      description: "They stay in every report, marked and counted apart, until the time that is named or until it is withdrawn.",
      access,
      request: { body: AcknowledgeFindingsInput, example: { findings: [exampleId], reason: "The trial was made longer by word." } },
      success: { ...success, example: done("acknowledged", "It stays in reports, marked.") },
      handle: ({ call, body }) => audits.acknowledge(call, body),
    }),
    post(`${acknowledgements}/withdraw`, "withdrawRosterAcknowledgements", {
      capability,
      summary: "Take acknowledgements back",
      access,
      request: { body: WithdrawAcknowledgementsInput, example: { findings: [exampleId] } },
      success: { ...success, example: done("withdrawn", "It counts again.") },
      handle: ({ call, body }) => audits.withdraw(call, body),
    }),
  ];
}
