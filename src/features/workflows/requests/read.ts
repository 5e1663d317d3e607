import type { Deps } from "../../deps.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { recordNotFound } from "../../../kernel/errors.ts";
import { withTotal, type Page } from "../../../kernel/page.ts";
import { walk, walkedPage } from "../../../database/walk.ts";
import { countOf } from "../../../database/where.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { countComments } from "../comments/comments.policy.ts";
import { defaultPolicy, policiesOf } from "../policies/policies.ts";
import { contextsOf, deciderOf, type Ranks } from "./context.ts";
import { conditions, knownWhere, withoutMe } from "./filters.ts";
import { kindOf } from "../kinds/kinds.ts";
import { orders } from "./order.ts";
import { canSee, readPermission, viewerOf, readRequests, type ReadRequest, type Request, type Viewer } from "./workflows.policy.ts";
import { presentRequest } from "./presenter.ts";
import { ListWorkflowsQuery, type WorkflowView } from "./workflows.schema.ts";

export interface Reading {
  /** A request the caller may see. @throws ProblemError record_not_found */
  findVisible(call: Call, type: string, key: string): Promise<Request>;
  /** @param key id or reference, in any case @throws ProblemError record_not_found, also for what the caller may not know of */
  get(
    call: Call,
    type: string,
    key: string,
    options?: {
      isWhyNotAsked?: boolean;
    },
  ): Promise<WorkflowView>;
  /** Requests the caller may see, newest first by default. @throws ZodError, ProblemError invalid_cursor */
  list(call: Call, query: ListWorkflowsQuery): Promise<Page<WorkflowView>>;
}

export interface ReadDeps extends Deps<"database" | "guildState" | "reach" | "cursors" | "clock"> {
  access: Ranks;
}

const list = "requests";

/** How requests are read: one by one, or in lists. */
export function createReading({ database, guildState, access, reach, cursors, clock }: ReadDeps): Reading {
  const source = { db: database.read, dialect: database.dialect };

  /** Requests as their reader sees them; what that takes besides the rows is read once for all of them. */
  async function presentAll({ call, accounts }: Viewer, rows: readonly ReadRequest[], isWhyNotAsked = false): Promise<WorkflowView[]> {
    const { read } = database;
    const now = clock.now();
    const decider = deciderOf(call, accounts);
    const contexts = decider === null ? [] : await contextsOf(read, access, decider, rows);
    const kinds = [...new Set(rows.map(({ type }) => type as WorkflowKind))];
    const policies = await policiesOf(read, kinds);
    return rows.map((row, index) => {
      const type = row.type as WorkflowKind;
      const policy = policies.get(type) ?? defaultPolicy(type);
      const commentsCount = countComments(call, row, accounts);
      return presentRequest(call, row, { guildState, now, context: contexts[index] ?? null, policy, commentsCount, isWhyNotAsked });
    });
  }

  /** A request the caller may see. @param key id or reference, in any case @throws ProblemError record_not_found */
  async function findWithViewer(call: Call, type: string, key: string): Promise<{ request: ReadRequest; viewer: Viewer }> {
    requireReader(call);
    const kind = kindOf(type);
    if (kind === undefined) throw recordNotFound();
    const where = { type: kind, OR: [{ id: key.toLowerCase() }, { reference: key.toUpperCase() }] };
    const found = await database.read.workflowRequest.findFirst({ where });
    if (found === null) throw recordNotFound();
    const [request] = await readRequests(source, [found]);
    const viewer = await viewerOf(database.read, reach, call);
    if (request === undefined || !canSee(viewer, request)) throw recordNotFound();
    return { request, viewer };
  }

  return {
    findVisible: async (call: Call, type: string, key: string): Promise<Request> => (await findWithViewer(call, type, key)).request,

    async get(call: Call, type: string, key: string, options: { isWhyNotAsked?: boolean } = {}): Promise<WorkflowView> {
      const { request, viewer } = await findWithViewer(call, type, key);
      const [view] = await presentAll(viewer, [request], options.isWhyNotAsked);
      if (view === undefined) throw recordNotFound();
      return view;
    },

    async list(call: Call, query: ListWorkflowsQuery): Promise<Page<WorkflowView>> {
      requireReader(call);
      const { limit, cursor, count, ...given } = ListWorkflowsQuery.parse(query);
      const filters = withoutMe(call, given);
      const order = orders[filters.sort];
      const position = cursor === undefined ? undefined : cursors.decode(list, filters, cursor);
      const viewer = await viewerOf(database.read, reach, call);
      const walked = await walk("WorkflowRequest", {
        ...conditions({ call, filters, now: clock.now(), dialect: database.dialect }),
        read: database.read,
        order,
        usual: knownWhere(viewer),
        position,
        limit,
      });
      const data = await presentAll(viewer, await readRequests(source, walked.rows));
      const page = walkedPage(walked, { data, limit }, (reached) => cursors.encode(list, filters, reached));
      return withTotal(page, { count }, () => countOf(database.read, "WorkflowRequest", walked.everything));
    },
  };
}

/** Anyone who may read requests, and everybody else for their own: the rows decide then. */
export function requireReader(call: Call): void {
  if (call.actor === null) requirePermission(call, readPermission);
}
