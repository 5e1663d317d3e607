import type { Database } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requirePermission } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { systemClock } from "../../kernel/clock.ts";
import { recordNotFound } from "../../kernel/errors.ts";
import type { Cursors, Page } from "../../kernel/page.ts";
import { toPage, withTotal } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { MatchesService } from "../intelligence/matches.service.ts";
import type { LinkReach } from "../links/links.reach.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { LinksService } from "../links/links.service.ts";
import type { RegistryService } from "../servers/servers.service.ts";
import { createEffects } from "./effects.ts";
import type { Ranks } from "./workflows.context.ts";
import { contextOf } from "./workflows.context.ts";
import { createFiling } from "./workflows.create.ts";
import { createDecisions } from "./workflows.decide.ts";
import { createExpiry } from "./workflows.expiry.ts";
import type { FilingLimits } from "./workflows.filing.ts";
import { defaultFilingLimits } from "./workflows.filing.ts";
import { conditions } from "./workflows.filters.ts";
import { kindOf } from "./workflows.kinds.ts";
import type { Request } from "./workflows.policy.ts";
import { canSee, whole } from "./workflows.policy.ts";
import { presentRequest } from "./workflows.presenter.ts";
import type { WorkflowView } from "./workflows.schema.ts";
import { ListWorkflowsQuery } from "./workflows.schema.ts";

export type WorkflowsService = ReturnType<typeof createWorkflowsService>;

export interface WorkflowsParts {
  database: Database;
  audit: AuditService;
  blacklist: BlacklistService;
  agreements: Pick<RegistryService, "createAgreementWithin">;
  links: Pick<LinksService, "createLinkWithin">;
  guildState: GuildState;
  standing: Ranks;
  /** Who belongs together: linked accounts share a conflict of interest. */
  reach: Pick<LinkReach, "groupOf">;
  matches: Pick<MatchesService, "recomputeUser">;
  cursors: Cursors;
  clock?: Clock;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix?: string | null | undefined;
  filing?: FilingLimits;
}

export function createWorkflowsService(parts: WorkflowsParts) {
  const {
    database,
    audit,
    blacklist,
    agreements,
    links,
    guildState,
    standing,
    reach,
    matches,
    cursors,
    clock = systemClock,
    referencePrefix,
    filing = defaultFilingLimits,
  } = parts;
  const effects = createEffects({ blacklist, agreements, links });
  const { create, fileWithin } = createFiling({ database, audit, effects, guildState, clock, filing, referencePrefix });
  const { decide } = createDecisions({ database, audit, effects, standing, reach, matches });

  /** The caller's further accounts. */
  const accountsOf = async ({ actor }: Call): Promise<string[]> => (actor === null ? [] : await reach.groupOf(database.read, actor.id));

  /** @param accounts further accounts of the caller */
  async function present(call: Call, request: Request, now: Date, accounts: readonly string[]): Promise<WorkflowView> {
    const { actor } = call;
    const context = actor === null ? null : await contextOf(database.read, standing, { actor, accounts }, request);
    return presentRequest(call, request, { guildState, now, context });
  }

  return {
    create,
    fileWithin,
    ...createExpiry({ database, audit, clock }),

    /** As the decision route says it: the kind in any spelling. @throws ProblemError record_not_found for a kind that does not exist, and as `decide` of one that does */
    async decide(call: Call, type: string, key: string, body: unknown, ifMatch?: number) {
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      return decide(call, kind, key, body, ifMatch);
    },

    /** Approve or deny by reference alone, for doors that do not name the kind. */
    async decideByReference(call: Call, reference: string, body: unknown) {
      requirePermission(call, "workflows.read");
      const found = await database.read.workflowRequest.findFirst({
        where: { reference: reference.trim().toUpperCase() },
        select: { type: true },
      });
      const kind = found === null ? undefined : kindOf(found.type);
      if (kind === undefined) throw recordNotFound();
      return decide(call, kind, reference.trim(), body);
    },

    /** The ids of the requests a caller may not know of: confidential ones that are not their business. */
    async hiddenFrom(call: Call): Promise<string[]> {
      const restricted = await database.read.workflowRequest.findMany({
        where: { subjects: { some: { kind: "restricted" } } },
        select: { id: true, requesterId: true, subjects: true },
      });
      return restricted.filter((request) => !canSee(call, request)).map(({ id }) => id);
    },

    /** @param key id or reference, in any case */
    async get(call: Call, type: string, key: string): Promise<WorkflowView> {
      requirePermission(call, "workflows.read");
      const kind = kindOf(type);
      if (kind === undefined) throw recordNotFound();
      const where = { type: kind, OR: [{ id: key.toLowerCase() }, { reference: key.toUpperCase() }] };
      const request = await database.read.workflowRequest.findFirst({ where, include: whole });
      if (request === null || !canSee(call, request)) throw recordNotFound();
      return present(call, request, clock.now(), await accountsOf(call));
    },

    /** Requests the caller may see, newest first unless told. */
    async list(call: Call, query: ListWorkflowsQuery): Promise<Page<WorkflowView>> {
      requirePermission(call, "workflows.read");
      const { limit, cursor, count, ...filters } = ListWorkflowsQuery.parse(query);
      const now = clock.now();
      const bound = { ...filters, ...(filters.requester === "@me" && { requester: call.actor?.id ?? "" }) };
      const position = cursor === undefined ? undefined : cursors.decode("workflows", bound, cursor);
      const asked = { call, filters: bound, now, dialect: database.dialect };
      const direction: Prisma.SortOrder = filters.sort === "created_at" ? "asc" : "desc";
      const rows = await database.read.workflowRequest.findMany({
        where: conditions({ ...asked, position }),
        include: whole,
        orderBy: [{ createdAt: direction }, { id: direction }],
        take: limit + 1,
      });
      const views = new Map<string, WorkflowView>();
      const accounts = await accountsOf(call);
      for (const row of rows.slice(0, limit)) views.set(row.id, await present(call, row, now, accounts));
      const viewOf = (row: Request): WorkflowView => views.get(row.id) ?? presentRequest(call, row, { guildState, now, context: null });
      const page = toPage(rows, limit, viewOf, (last) => cursors.encode("workflows", bound, [last.createdAt.toISOString(), last.id]));
      return withTotal(page, { count }, () =>
        database.read.workflowRequest.count({ where: conditions({ ...asked, position: undefined }) }),
      );
    },
  };
}
