import type { Logger } from "pino";
import type { Deps } from "../../deps.ts";
import type { Judge } from "../../../discord-actions/judge.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { systemClock, type Clock } from "../../../kernel/clock.ts";
import { ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { type WorkflowKind, workflowKinds } from "../../../kernel/vocabulary.ts";
import type { AuditService } from "../../audit/audit.service.ts";
import type { MatchesService } from "../../intelligence/matches/matches.service.ts";
import type { LinkReach } from "../../links/reach.ts";
import type { ServedServers } from "./where.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { EvidenceService } from "../../evidence/evidence.service.ts";
import { createDirect, type DirectDeps } from "../direct/direct.service.ts";
import { createSuspensions, type SuspensionDeps } from "../appeals/suspensions.ts";
import { createBulk } from "../bulk/bulk.service.ts";
import { createComments } from "../comments/comments.service.ts";
import { createEffectTable, type EffectRooms } from "../effects/table.ts";
import { createEffects, type Effects } from "../effects/effects.ts";
import type { LaterGivingDeps } from "../effects/giving.ts";
import { createHistory } from "../history/history.service.ts";
import { createOverturning } from "./overturn.ts";
import { createLengths, type LengthDeps } from "./lengths.ts";
import { createChecks, type ChecksDeps } from "../checks/checks.ts";
import { prefixesOf, type Staff } from "../policies/check.ts";
import { policiesOf } from "../policies/policies.ts";
import { createPoliciesService } from "../policies/policies.service.ts";
import { createReminders, createExpiry } from "./deadlines.ts";
import { createStats } from "../stats/stats.service.ts";
import { actions, permissionOf } from "../state/table.ts";
import { createTypes } from "../types/types.service.ts";
import { createActing, type ActOptions, type Acting } from "./act.ts";
import { createFiling } from "./create.ts";
import { defaultFilingLimits, type FilingLimits } from "./filing.ts";
import { kindOf, kinds } from "../kinds/kinds.ts";
import { canSee, mayKnow, readPermission, viewerOf } from "./workflows.policy.ts";
import type { Reading } from "./read.ts";
import { z } from "zod";
import { understandAmend, type Amendment } from "../amend/fields.ts";
import type { DecisionInput } from "./decision.ts";
import type { WorkflowView } from "./workflows.schema.ts";
import type { VoteJudges } from "./votes.ts";

export type WorkflowsService = ReturnType<typeof createWorkflowsService>;

interface OwnDeps extends Deps<"database" | "events" | "guildState" | "cursors"> {
  audit: Pick<AuditService, "record" | "noteDenied">;
  evidence: Pick<EvidenceService, "moveInTx">;
  grants: GrantsService;
  access: Staff & DirectDeps["access"] & LaterGivingDeps["access"];
  /** Who belongs together: linked accounts share a conflict of interest. */
  reach: LinkReach;
  matches: Pick<MatchesService, "recomputeUser">;
  clock?: Clock;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix?: string | null | undefined;
  filing?: FilingLimits;
  served: ServedServers;
  requests: Reading;
  judge: Judge;
  logger: Logger;
}

export type WorkflowsDeps = OwnDeps &
  VoteJudges &
  Omit<EffectRooms, "overturning" | "lengths"> &
  Pick<LengthDeps, "causes" | "roster" | "staff"> &
  ChecksDeps &
  Pick<SuspensionDeps, "blacklist">;

export function createWorkflowsService(parts: WorkflowsDeps) {
  const { database, audit, events, evidence, guildState, access, reach, matches, cursors, clock = systemClock } = parts;
  const { referencePrefix, filing = defaultFilingLimits, served, requests: reading, notices } = parts;
  const overturning = createOverturning({ audit, events, reach, effects: () => effects });
  const lengths = createLengths({ ...parts, effects: () => effects });
  const effects: Effects = createEffects(createEffectTable({ ...parts, overturning, lengths }), notices, parts.causes, events, parts);
  const checks = createChecks(parts);
  const suspensions = createSuspensions(parts);
  const { create, fileInTx } = createFiling({
    database,
    audit,
    events,
    effects,
    checks,
    grants: parts.grants,
    reach,
    guildState,
    access,
    filing,
    served,
    referencePrefix,
    suspensions,
  });
  const { act, decide, approveInTx, undoInTx } = createActing({
    database,
    audit,
    events,
    effects,
    access,
    permissions: parts.permissions,
    reach,
    served,
    matches,
    notices,
    moveEvidence: evidence.moveInTx,
    suspensions,
  });

  const beside = {
    policies: createPoliciesService({ database, audit, access, cursors, referencePrefix }),
    stats: createStats({ database, reach, clock }),
    direct: createDirect({
      database,
      logger: parts.logger,
      clock,
      judge: parts.judge,
      causes: parts.causes,
      audit,
      events,
      guildState,
      access,
      reach,
      fileInTx,
      approveInTx,
      undoInTx,
    }),
    types: createTypes({ database, effects, referencePrefix }),
  };

  const { findVisible } = reading;
  const comments = createComments({
    database,
    audit,
    events,
    effects,
    guildState,
    access,
    reach,
    cursors,
    clock,
    notices,
    findVisible,
  });
  const history = createHistory({ database, guildState, reach, cursors, clock, findVisible });

  /** The kind whose references begin like this one; undefined where all kinds share one prefix. */
  async function kindByReference(reference: string): Promise<WorkflowKind | undefined> {
    if (typeof referencePrefix === "string") return undefined;
    const policies = await policiesOf(database.read, workflowKinds);
    const [begins] = reference.toUpperCase().split("-REQ-");
    return workflowKinds.find((kind) => prefixesOf(kind, policies.get(kind)?.prefix ?? "").some((prefix) => prefix === begins));
  }

  return {
    create,
    fileInTx,
    effects,
    ...reading,
    ...createAmending({ decide, get: reading.get }),
    ...createBulk({ database, audit, reach, decide }),
    comments,
    history,
    ...beside,
    ...createExpiry({ database, audit, events, clock, logger: parts.logger }),
    ...createReminders({ database, events, clock, logger: parts.logger }),
    resumeDue: suspensions.resumeDue,

    /** As the decision route says it: the kind in any spelling. @throws ProblemError record_not_found for a kind that does not exist, and as `act` of one that does */
    async decide(call: Call, type: string, key: string, body: unknown, options?: ActOptions) {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      return await act(call, kind, key, body, options);
    },

    /**
     * The kind of a request, for transports that do not name it. Of what the caller may neither read nor act on, its reference alone tells:
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

/** Changes requests: the action `amend`, with what only describes a request besides. */
export function createAmending({ decide, get }: Pick<Acting, "decide"> & Pick<Reading, "get">) {
  return {
    /**
     * Change a request: its payload, after which earlier votes lapse, or what describes it.
     * @returns the request as it stands now
     * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest,
     * hierarchy_violation, precondition_failed, invalid_transition, duplicate_open
     */
    async amend(call: Call, type: string, key: string, body: unknown, ifMatch?: number): Promise<WorkflowView> {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      const amendment = understandAmend(kinds[kind], body);
      const { id } = await decide(call, kind, key, inputOf(amendment), { ifMatch }).catch((error: unknown) => {
        throw amendment.isFlat ? flattened(error) : error;
      });
      return await get(call, kind, id);
    },
  };
}

function inputOf({ payload, described, reasonPublic, reasonInternal }: Amendment): DecisionInput {
  const body = { decision: "amend", ...(payload !== undefined && { payload }) };
  return { action: "amend", ruling: undefined, reasonPublic, reasonInternal, revision: undefined, body, described };
}

/** Fields that stood flat are named as they stood. */
function flattened(error: unknown): unknown {
  if (error instanceof z.ZodError)
    return new z.ZodError(
      error.issues.map((issue) => ({ ...issue, path: issue.path[0] === "payload" ? issue.path.slice(1) : issue.path })),
    );
  if (!(error instanceof ProblemError) || error.errors === undefined) return error;
  const { code, detail, extra, errors } = error;
  const stood = errors.map((one) => ({ ...one, pointer: one.pointer.replace(/^\/payload(?=\/)/, "") }));
  return new ProblemError(code, { errors: stood, ...(detail !== undefined && { detail }), ...(extra !== undefined && { extra }) });
}
