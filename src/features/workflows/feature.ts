import type { GuildState } from "../../discord/guild-state.ts";
import { createNoticeTexts } from "./commands/notices.ts";
import { createReviewControls } from "./commands/controls.ts";
import { queueBoard, sharedCard } from "./commands/card.ts";
import { translator } from "../../kit/say.ts";
import { workflowCommands } from "./workflows.commands.ts";
import { feature } from "../../compose.ts";
import type { Core } from "../../core.ts";
import type { CausesInForce } from "../../discord-actions/in-force.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import type { ConsentEnds } from "../authorization/grants/consent-end.ts";
import { appealPages } from "./appeals/appeals.pages.ts";
import { appealsRoutes } from "./appeals/appeals.routes.ts";
import { createAppeals, type AppealsDeps } from "./appeals/appeals.service.ts";
import { appealEntry } from "./appeals/questions.commands.ts";
import { createQuestions } from "./appeals/questions.service.ts";
import { amendRoutes, bulkRoutes } from "./bulk/changes.routes.ts";
import { type CardsDeps, createCards } from "./cards/cards.ts";
import { createCheckEnd } from "./checks/consented.ts";
import { commentsRoutes } from "./comments/comments.routes.ts";
import { createRequestCauses } from "./effects/request-causes.ts";
import { createDeliveries, type DeliveryDeps } from "./delivery/deliveries.ts";
import { deliveriesRoutes } from "./delivery/deliveries.routes.ts";
import { directRoutes } from "./direct/direct.routes.ts";
import { directSetupEntries } from "./direct/settings.commands.ts";
import { draftsRoutes } from "./drafts/drafts.routes.ts";
import { createDraftsService, type DraftsDeps } from "./drafts/drafts.service.ts";
import { createDraftRecords, type DraftRecords } from "./drafts/records.ts";
import { historyRoutes } from "./history/history.routes.ts";
import { policiesStep, policyEntries } from "./policies/policies.commands.ts";
import { policiesRoutes } from "./policies/policies.routes.ts";
import { createRequestHost } from "./requests/host.ts";
import { createServedServers } from "./requests/where.ts";
import { createReading, type ReadDeps } from "./requests/read.ts";
import { workflowsRoutes } from "./requests/workflows.routes.ts";
import { createWorkflowsService, type WorkflowsDeps, type WorkflowsService } from "./requests/workflows.service.ts";
import { statsRoutes, typesRoutes } from "./types/overview.routes.ts";
import type { Database } from "../../database/database.ts";
import { selectIds } from "../../database/where.ts";
import type { Call } from "../../kernel/call.ts";
import type { NativeRecords } from "../native-actions/records.ts";
import type { LinkReach } from "../links/reach.ts";
import type { Site } from "../../pages/site.ts";
import { createRequestWatch } from "./requests/watching.ts";
import type { SignInService } from "../privacy/sign-in/sign-in.service.ts";
import { mayKnow, viewerOf } from "./requests/workflows.policy.ts";

interface RecordsNeeds extends ReadDeps {
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  eventStreams: Pick<EventStreamsService, "registerHiddenIds">;
  evidence: Pick<EvidenceService, "register">;
}

/** Requests as other features read and suggest them. */
export const requestRecords = feature({
  create(deps: RecordsNeeds) {
    const { audit, events, eventStreams, evidence } = deps;
    const { hiddenIds: hiddenRequests } = createRequestVisibility(deps);
    for (const reader of [audit, eventStreams]) reader.registerHiddenIds(hiddenRequests);
    evidence.register("request", createRequestHost(deps));
    return { hiddenRequests, requests: createReading(deps), draftRecords: createDraftRecords({ audit, events }) };
  },
});

interface WorkflowsNeeds
  extends
    Omit<WorkflowsDeps, "referencePrefix" | "drafts" | "notices" | "causes" | "served">,
    Omit<DraftsDeps, "workflows" | "records">,
    Pick<Core, "config" | "operator" | "publicUrl"> {
  audit: AuditService;
  events: Pick<EventsService, "emit">;
  eventStreams: Pick<EventStreamsService, "registerHiddenIds">;
  consentEnds: Pick<ConsentEnds, "register">;
  database: Core["database"];
  cursors: Core["cursors"];
  draftRecords: DraftRecords;
  causesInForce: CausesInForce;
}

/** Requests and what they suggest, filed and decided. */
export const workflows = feature({
  commands: workflowCommands,
  guide: { entries: [...policyEntries, ...directSetupEntries], step: policiesStep },
  create({ config, draftRecords, eventStreams, consentEnds, causesInForce: causes, ...deps }: WorkflowsNeeds) {
    const notices = createNoticeTexts({ ...deps, appealPage: config.http.isPublic ? () => `${deps.publicUrl()}/appeal` : undefined });
    consentEnds.register(createCheckEnd(deps));
    const { referencePrefix, discord } = config;
    const served = createServedServers(discord.guildIds, deps.guildState);
    const workflows = createWorkflowsService({ ...deps, causes, notices, drafts: draftRecords, referencePrefix, served });
    causes.register(createRequestCauses(workflows.effects.wake, deps.events));
    const drafts = createDraftsService({ ...deps, records: draftRecords, workflows });
    eventStreams.registerHiddenIds(workflows.comments.hiddenIds);
    for (const reader of [deps.audit, eventStreams]) reader.registerHiddenIds(drafts.hiddenIds);
    return { workflows, drafts, notices };
  },
  routes: ({ workflows, drafts }) => [
    ...workflowsRoutes(workflows),
    ...amendRoutes(workflows),
    ...commentsRoutes(workflows),
    ...historyRoutes(workflows),
    ...bulkRoutes(workflows),
    ...policiesRoutes(workflows.policies),
    ...statsRoutes(workflows),
    ...typesRoutes(workflows),
    ...draftsRoutes(drafts),
    ...directRoutes(workflows.direct),
  ],
  jobs: ({ workflows }) => ({
    workflows: {
      // A record that an expired appeal suspended counts again at once.
      run: async (call) => ((await workflows.expireDue(call)) === 0 ? undefined : workflows.resumeDue(call)),
      nextDue: workflows.nextExpiry,
    },
    reminders: { run: workflows.remind, nextDue: workflows.nextReminder },
    suspensions: workflows.resumeDue,
  }),
});

type AppealsNeeds = Omit<AppealsDeps, "questions"> &
  Core &
  Site & { workflows: WorkflowsService; audit: AuditService; evidence: EvidenceService; appealSignIn: SignInService };

/** The page at which people appeal what was decided about them, and what they are asked there. */
export const appeals = feature({
  create(deps: AppealsNeeds) {
    const questions = createQuestions(deps);
    return { appealQuestions: questions, appeals: createAppeals({ ...deps, questions }) };
  },
  guide: { entries: [appealEntry] },
  routes: ({ appealQuestions }) => appealsRoutes(appealQuestions),
  pages: (all) => appealPages({ ...all, isSetUp: all.config.http.isPublic, liveNodes: all.cluster.liveNodes }),
});

/** What approvals leave to be done in Discord, or for a date. */
export const deliveries = feature({
  create(
    deps: Omit<DeliveryDeps, "effects"> & {
      workflows: WorkflowsService;
      nativeRecords: Pick<NativeRecords, "registerEnding">;
      events: Pick<EventsService, "emit" | "onOthers">;
    },
  ) {
    const deliveries = createDeliveries({ ...deps, effects: deps.workflows.effects });
    deps.nativeRecords.registerEnding(deliveries.endedByHand);
    return { deliveries };
  },
  routes: ({ deliveries }) => deliveriesRoutes(deliveries),
  metrics: ({ deliveries }) => ({ provost_deliveries_due: deliveries.countDue, provost_deliveries_failed: deliveries.countFailed }),
  start({ deliveries, workflows, events }) {
    deliveries.start();
    events.onOthers(workflows.effects.wake);
  },
  stop: ({ deliveries }) => ({ deliveries: deliveries.stop }),
});

/** How a request and the queue look in a channel that everybody there reads: in the language of its server. */
function createLooks({ preferredLocale }: Pick<GuildState, "preferredLocale">): CardsDeps["looks"] {
  const translatorOf = (guildId: string | undefined) => translator((guildId === undefined ? undefined : preferredLocale(guildId)) ?? "en");
  return {
    request: (shown, guildId) => sharedCard(shown, translatorOf(guildId)),
    queue: (shown, guildId) => queueBoard(shown, translatorOf(guildId)),
  };
}

type CardsNeeds = Omit<CardsDeps, "pauses" | "looks"> &
  Core & { workflows: WorkflowsService; events: Pick<EventsService, "onEmit" | "onOthers"> };

/** Requests as cards in Discord, and where a request is found there. */
export const cards = feature({
  create({ pauses, workflows, ...deps }: CardsNeeds) {
    const servers = createServedServers(deps.config.discord.guildIds, deps.guildState);
    const cards = createCards({ ...deps, workflows, looks: createLooks(deps.guildState), pauses: pauses.cards });
    const { changed } = createRequestWatch(deps.events);
    return { cards, requestPlaces: { kindOf: workflows.kindOfKey, cardOf: cards.linkOf, changed, servers } };
  },
  controls: ({ cards, clock }, verbs, kept) => createReviewControls({ verbs, kept, clock, refresh: cards.refresh }),
  metrics: ({ cards }) => ({ provost_cards_lag_seconds: async () => (await cards.state()).dueSeconds }),
  start: ({ cards }) => cards.start(),
  stop: ({ cards }) => ({ cards: cards.stop }),
});

/** Which requests are kept from whom, for the features that name requests. */
export function createRequestVisibility({
  database,
  reach,
}: {
  database: Pick<Database, "read">;
  reach: Pick<LinkReach, "linkedAccountsOf">;
}) {
  return {
    /** The ids of the requests a caller may not know of: confidential ones that are not their business. */
    async hiddenIds(call: Call, among?: readonly string[]): Promise<string[]> {
      if (among?.length === 0) return [];
      const ids = among && (await selectIds(database.read, "WorkflowRequest", { id: { in: among }, isRestricted: true }));
      if (ids?.length === 0) return [];
      const restricted = await database.read.workflowRequest.findMany({
        where: ids === undefined ? { isRestricted: true } : { id: { in: ids } },
        select: { id: true, requesterId: true, subjects: true },
      });
      if (restricted.length === 0) return [];
      const viewer = await viewerOf(database.read, reach, call);
      return restricted.filter((request) => !mayKnow(viewer, request)).map(({ id }) => id);
    },
  };
}
