import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { Cursors } from "../../kernel/page.ts";
import { type WorkflowKind, workflowKinds } from "../../kernel/workflow-kinds.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { LinkReach } from "../links/links.reach.ts";
import type { EventsService } from "../events/events.service.ts";
import type { GrantsService } from "../authorization/grants.service.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import { createAmending } from "./amend.ts";
import type { BulkParts } from "./bulk.service.ts";
import { createBulk } from "./bulk.service.ts";
import { createComments } from "./comments.service.ts";
import type { EffectRooms } from "./effects.table.ts";
import { createEffectTable } from "./effects.table.ts";
import type { Effects } from "./effects.ts";
import { createEffects } from "./effects.ts";
import { createHistory } from "./history.service.ts";
import { createOverturning } from "./workflows.overturn.ts";
import type { ChecksParts } from "./checks.ts";
import { createChecks } from "./checks.ts";
import type { Staff } from "./policies.check.ts";
import { policiesOf } from "./policies.ts";
import { createPolicies } from "./policies.service.ts";
import { createReminders } from "./reminders.ts";
import { createStats } from "./stats.service.ts";
import { actions, permissionOf } from "./transition.table.ts";
import { createTypes } from "./types.service.ts";
import type { ActOptions } from "./workflows.act.ts";
import { createActing } from "./workflows.act.ts";
import { createFiling } from "./workflows.create.ts";
import { createExpiry } from "./workflows.expiry.ts";
import type { FilingLimits } from "./workflows.filing.ts";
import { defaultFilingLimits } from "./workflows.filing.ts";
import { kindOf } from "./workflows.kinds.ts";
import { canSee, mayKnow, readPermission, viewerOf } from "./workflows.policy.ts";
import { createReading } from "./workflows.read.ts";

export type WorkflowsService = ReturnType<typeof createWorkflowsService>;

interface OwnParts {
  database: Database;
  audit: Pick<AuditService, "record" | "noteDenied">;
  events: Pick<EventsService, "emit">;
  evidence: Pick<EvidenceService, "moveWithin">;
  grants: GrantsService;
  guildState: GuildState;
  standing: Staff;
  /** Who belongs together: linked accounts share a conflict of interest. */
  reach: LinkReach;
  matches: Pick<MatchesService, "recomputeUser">;
  cursors: Cursors;
  clock?: Clock;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix?: string | null | undefined;
  filing?: FilingLimits;
  /** The wrong fields behind a schema's issues. */
  fieldErrors: BulkParts["fieldErrors"];
}

export type WorkflowsParts = OwnParts & Omit<EffectRooms, "overturning"> & ChecksParts;

export function createWorkflowsService(parts: WorkflowsParts) {
  const { database, audit, events, evidence, guildState, standing, reach, matches, cursors, clock = systemClock } = parts;
  const { referencePrefix, filing = defaultFilingLimits } = parts;
  const overturning = createOverturning({ audit, events, reach, effects: () => effects });
  const effects: Effects = createEffects(createEffectTable({ ...parts, overturning }));
  const checks = createChecks(parts);
  const { create, fileWithin } = createFiling({
    database,
    audit,
    events,
    effects,
    checks,
    grants: parts.grants,
    reach,
    guildState,
    filing,
    referencePrefix,
  });
  const { act, decide } = createActing({ database, audit, events, effects, standing, reach, matches, moveEvidence: evidence.moveWithin });

  const reading = createReading({ database, guildState, standing, reach, cursors, clock });
  const beside = {
    policies: createPolicies({ database, audit, standing, cursors, referencePrefix }),
    stats: createStats({ database, clock }),
    types: createTypes({ database, effects, referencePrefix }),
  };

  const { findVisible } = reading;
  const comments = createComments({ database, audit, events, effects, guildState, standing, reach, cursors, clock, findVisible });
  const history = createHistory({ database, guildState, reach, cursors, clock, findVisible });

  /** The kind whose references begin like this one; undefined where all kinds share one prefix. */
  async function kindByReference(reference: string): Promise<WorkflowKind | undefined> {
    if (typeof referencePrefix === "string") return undefined;
    const policies = await policiesOf(database.read, workflowKinds);
    return workflowKinds.find((kind) => reference.toUpperCase().startsWith(`${policies.get(kind)?.prefix ?? ""}-REQ-`));
  }

  return {
    create,
    fileWithin,
    effects,
    ...reading,
    ...createAmending({ decide, get: reading.get }),
    ...createBulk({ database, audit, reach, decide, fieldErrors: parts.fieldErrors }),
    comments,
    history,
    ...beside,
    ...createExpiry({ database, audit, events, clock }),
    ...createReminders({ database, events, clock }),

    /** As the decision route says it: the kind in any spelling. @throws ProblemError record_not_found for a kind that does not exist, and as `act` of one that does */
    async decide(call: Call, type: string, key: string, body: unknown, options?: ActOptions) {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      return await act(call, kind, key, body, options);
    },

    /**
     * The kind of a request, for doors that do not name it. Of what the caller may neither read nor act on, its reference alone tells:
     * one that is hidden and one that does not exist are the same kind, or both of none.
     * @param key id or reference, in any case
     */
    async kindOfKey(key: string, call: Call): Promise<WorkflowKind | undefined> {
      const name = key.trim();
      const found = await database.read.workflowRequest.findFirst({
        where: { OR: [{ reference: name.toUpperCase() }, { id: name.toLowerCase() }] },
        select: { type: true, requesterId: true, subjects: true },
      });
      const kind = found === null ? undefined : kindOf(found.type);
      if (found === null || kind === undefined) return await kindByReference(name);
      const viewer = await viewerOf(database.read, reach, call);
      const isActing = actions.some((action) => can(call, permissionOf(action, kind) ?? readPermission));
      return canSee(viewer, found) || (isActing && mayKnow(viewer, found)) ? kind : await kindByReference(name);
    },
  };
}
