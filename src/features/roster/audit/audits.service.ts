import { say } from "../../../kit/say.ts";
import type { Claims } from "../../../cluster/claims.ts";
import type { Deps } from "../../deps.ts";
import type { Logger } from "pino";
import { requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { CallsignsService } from "../../callsigns/callsigns.service.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { StaffService } from "../../staff/staff.service.ts";
import { createAcknowledge } from "./acknowledge.ts";
import { createFixes } from "./fixes.ts";
import { createNightly } from "./nightly.ts";
import { createAuditPeople } from "./people.ts";
import { auditPermissions } from "./audit.policy.ts";
import { createAuditReports } from "./reports.ts";
import { createAuditRuns } from "./runs.ts";
import { createScan } from "./scan.ts";
import { auditCodes, RunRosterAuditInput, type AuditScope, type RosterAuditReport } from "./audit.schema.ts";
import type { RosterService } from "../roster.service.ts";
import type { RosterSync } from "../sync/sync.service.ts";

export type RosterAudits = ReturnType<typeof createRosterAudits>;

export interface RosterAuditsDeps extends Deps<"database" | "events" | "access" | "cursors" | "clock"> {
  audit: Pick<AuditService, "record" | "noteDenied">;
  permissions: Pick<PermissionsService, "requireRankAbove">;
  reach: LinkReach;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
  roster: RosterService;
  callsigns: CallsignsService;
  staff: Pick<StaffService, "suspendInTx">;
  rosterSync: Pick<RosterSync, "isKnown" | "member">;
  claims: Claims | undefined;
  /** The hour (UTC) of the nightly audit; null: none. */
  hour: number | null;
  inactiveDays: number;
  logger: Logger;
}

/** Finds what is not as it should be about those on the roster. */
export function createRosterAudits(deps: RosterAuditsDeps) {
  const { database, access, callsigns } = deps;
  const people = createAuditPeople(deps);
  const scan = createScan({ ...deps, people });
  const runs = createAuditRuns({ ...deps, scan, isGuildStateReliable: deps.rosterSync.isKnown });
  const reports = createAuditReports({ ...deps, runs });
  const acknowledge = createAcknowledge(deps);
  const fixes = createFixes({ ...deps, people, visible: acknowledge.visible, isGuildStateReliable: deps.rosterSync.isKnown });

  /** @throws ProblemError validation_failed for a pool or staff role that nobody knows */
  async function requireKnown({ pool, role }: AuditScope): Promise<void> {
    if (pool !== undefined && !(await callsigns.knowsPool(database.read, pool)))
      throw fieldError("/scope/pool", "unknown_pool", say("callsigns.there-is-no-such-pool-of-callsigns-2"));
    const isKnown = role === undefined || access.role(role) !== undefined || (await isOnRoster(role));
    if (!isKnown) throw fieldError("/scope/role", "unknown_role", say("callsigns.there-is-no-such-staff-role"));
  }

  /** A staff role that was removed may still stand on the roster. */
  async function isOnRoster(staffRole: string): Promise<boolean> {
    return (await database.read.rosterEntry.findFirst({ where: { staffRole }, select: { id: true } })) !== null;
  }

  return {
    /**
     * Look at everybody in the scope, and keep the report unless told otherwise.
     * @returns what this caller may see of it
     * @throws ProblemError sync_in_progress while another run goes on, validation_failed
     */
    async run(call: Call, given: RunRosterAuditInput): Promise<RosterAuditReport> {
      requireWrite(call, auditPermissions.audit);
      const { scope = {}, checks, save } = RunRosterAuditInput.parse(given);
      await requireKnown(scope);
      const codes = auditCodes.filter((code) => checks === undefined || checks.includes(code));
      const wanted = { scope, codes, trigger: "request" } as const;
      if (!save) return await reports.unkept(call, await runs.look(wanted), wanted);
      const replay = await database.findReplay(call);
      const { id } = replay === undefined ? await runs.run(call, wanted) : (replay.value as { id: string });
      return await reports.of(call, id);
    },

    list: reports.list,
    get: reports.get,
    findings: reports.findings,
    fix: fixes.fix,
    acknowledge: acknowledge.acknowledge,
    withdraw: acknowledge.withdraw,

    ...createNightly({ ...deps, runs }),
  };
}
