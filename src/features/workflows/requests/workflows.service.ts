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
import { createAppealEffects, type AppealEffectDeps } from "../effects/appeal.ts";
import { createCasesEffects, type CasesEffectDeps } from "../effects/cases.ts";
import { createDiscordEffects, type DiscordEffectDeps } from "../effects/discord.ts";
import { createServersEffects, type ServersEffectDeps } from "../effects/servers.ts";
import { createStaffEffects, type StaffEffectDeps } from "../effects/staff.ts";
import type { EffectTable, Done, Earlier, Reversal, SomeEffects } from "../effects/types.ts";
import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { LinksService } from "../../links/links.service.ts";
import { blacklistReference } from "../../../kernel/parsing.ts";
import { namesText } from "../effects/place-words.ts";
import { draftsOf, linkDraftsOf } from "../effects/drafts.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { Undone } from "../../../kernel/undo.ts";

type Keys = "account_link.create" | "blacklist.create" | "matches.recompute";
type Listing = Awaited<ReturnType<BlacklistService["createInTx"]>>;

interface ListingEffectDeps {
  blacklist: Pick<BlacklistService, "createInTx" | "undoCreateInTx" | "revokeInTx" | "lockSubjects">;
  links: Pick<LinksService, "createLinkInTx" | "undoLinkInTx">;
  guildState: Pick<GuildState, "guilds">;
}

/** What approvals list and link. */
function createListingEffects({ blacklist, links, guildState }: ListingEffectDeps): SomeEffects<Keys> {
  const serverName = (id: string): string => guildState.guilds().find((guild) => guild.id === id)?.name ?? `server ${id}`;
  const undoListing = async ({ tx, request, reason, permission }: Reversal, { undo, targetId }: WorkflowEffect): Promise<Undone> => {
    if (undo === null) {
      // Of an older version nothing is known but the record: one that the request made is revoked.
      const record = await tx.db.blacklistRecord.findUnique({ where: { id: targetId ?? "" }, select: { originReference: true } });
      const isMade = record?.originReference === request.reference;
      const revoked = isMade ? await blacklist.revokeInTx(tx, targetId ?? "", { reason, permission }) : null;
      return revoked === null
        ? { restored: false, detail: say("workflows.it-was-done-by-an-older-version") }
        : { restored: true, detail: say("blacklist.the-record-was-revoked") };
    }
    const { restored, detail } = await blacklist.undoCreateInTx(tx, undo, { reason, permission });
    return { restored, detail };
  };

  return {
    "blacklist.create": {
      preview(input) {
        if (input.kind === "server" || input.scope === "network") return say("workflows.the-subject-is-put-on-the-blacklist");
        const list = say("workflows.the-blacklist-of", { name: namesText(input.serverIds.map(serverName)) });
        return say("workflows.the-subject-is-put-on-an-active", { list });
      },
      async apply(approval, input) {
        const { tx, request, permission } = approval;
        const drafts = draftsOf(approval, input);
        await blacklist.lockSubjects(tx, drafts);
        const done: Done[] = [];
        for (const draft of drafts) {
          const note = { action: "blacklist.create", permission, reason: `Approval of ${request.reference}` } as const;
          const isOver = draft.expiresAt instanceof Date && draft.expiresAt <= tx.now;
          if (isOver) done.push({ status: "skipped", detail: say("callsigns.its-time-is-over") });
          else done.push(listingEffect(await blacklist.createInTx(tx, draft, note)));
        }
        return done;
      },
      undo: undoListing,
    },
    "matches.recompute": {
      preview: say("workflows.everyone-concerned-is-compared-with-the-record"),
      apply: (_approval, _input, earlier) => Promise.resolve([matchesEffect(earlier)]),
    },
    "account_link.create": {
      preview: say("workflows.the-accounts-are-linked-each-with-each"),
      async apply(approval, input) {
        const done: Done[] = [];
        for (const draft of linkDraftsOf(approval, input)) {
          const { row, isMerged, undo } = await links.createLinkInTx(approval.tx, draft);
          done.push({
            key: isMerged ? "account_link.merge" : "account_link.create",
            status: "done",
            target: { kind: "account_link", id: row.id },
            detail: isMerged ? say("workflows.the-link-of-the-two-accounts-was") : say("workflows.the-two-accounts-were-linked"),
            undo,
          });
        }
        return done;
      },
      async undo({ tx, reason, permission }, { undo }) {
        if (undo === null) return { restored: false, detail: say("workflows.it-was-done-before-reversals-could-take") };
        return await links.undoLinkInTx(tx, undo, { reason, permission });
      },
    },
  };
}

function listingEffect({ row, isMerged, matches, undo }: Listing): Done {
  return {
    key: isMerged ? "blacklist.merge" : "blacklist.create",
    status: "done",
    target: { kind: "blacklist", id: row.id, reference: blacklistReference(row.number) },
    detail: isMerged ? say("workflows.the-active-record-was-strengthened") : say("workflows.a-record-was-created"),
    undo,
    memo: matches,
  };
}

function matchesEffect(earlier: Earlier): Done {
  const listings = earlier
    .filter(({ key }) => key.startsWith("blacklist."))
    .flatMap(({ memo }) => (memo === undefined ? [] : [memo as Listing["matches"]]));
  const sum = (count: "added" | "changed" | "removed") => listings.reduce((total, matches) => total + matches[count], 0).toString();
  return {
    status: "done",
    detail: say("workflows.added-changed-removed", { added: sum("added"), changed: sum("changed"), removed: sum("removed") }),
  };
}

/** The features whose service methods the effects call. */
type EffectRooms = AppealEffectDeps & CasesEffectDeps & DiscordEffectDeps & ListingEffectDeps & ServersEffectDeps & StaffEffectDeps;

/** Everything approvals can do, one table. */
function createEffectTable(rooms: EffectRooms): EffectTable {
  return {
    ...createAppealEffects(rooms),
    ...createCasesEffects(rooms),
    ...createDiscordEffects(rooms),
    ...createListingEffects(rooms),
    ...createServersEffects(rooms),
    ...createStaffEffects(rooms),
  };
}

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
