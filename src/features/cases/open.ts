import type { Database, Tx } from "../../database/database.ts";
import { can, requireWrite, type Call } from "../../kernel/call.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { LinkReach } from "../links/reach.ts";
import type { ListWorkflowsQuery, WorkflowView } from "../workflows/requests/workflows.schema.ts";
import { asRows, dueAfter, requireFitting, timeOf, type CaseDraft } from "./fields.ts";
import { casesPolicy, requireImpartial, requireOutranks, type Ranks, type WholeCase } from "./cases.policy.ts";
import type { CaseRecords } from "./records.ts";
import { CreateCaseInput, type CaseView, type Suggestion } from "./cases.schema.ts";
import { filledBy } from "./templates/templates.ts";

/** Requests as their own room lists them. */
export interface RequestList {
  list(call: Call, query: ListWorkflowsQuery): Promise<{ data: WorkflowView[] }>;
}

/** At most so many requests are offered for linking. */
const mostSuggestions = 20;

export interface OpeningDeps {
  database: Database;
  standing: Ranks;
  reach: Pick<LinkReach, "groupOf">;
  /** Requests as their own room lists them for a caller. */
  requests: RequestList;
  records: CaseRecords;
  openWithin: (tx: Tx, draft: CaseDraft) => Promise<WholeCase>;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

/** How a case begins. */
export function createOpening({ database, standing, reach, requests, records, openWithin, present, shown }: OpeningDeps) {
  /** @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed */
  async function requireAllowed(tx: Tx, { subjects, lead, team = [] }: CaseDraft): Promise<void> {
    const about = { subjects: asRows(subjects) };
    requireImpartial(await records.viewerOf(tx.call, tx.db), about);
    requireOutranks(tx.call, standing, about);
    await requireFitting(tx, standing, reach, { subjects, lead: lead ?? null, team });
  }

  /** Open requests about the same subjects that the caller may see. */
  async function suggestionsFor(call: Call, { subjects }: CaseView): Promise<Suggestion[]> {
    if (!can(call, "workflows.read")) return [];
    const found = new Map<string, Suggestion>();
    for (const { id } of subjects) {
      const { data } = await requests.list(call, { status: "open", subject: id, limit: mostSuggestions });
      for (const { reference, type, status } of data) found.set(reference, { reference, type, status });
    }
    return [...found.values()].slice(0, mostSuggestions);
  }

  return {
    /** Open a case. @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed */
    async create(call: Call, given: CreateCaseInput): Promise<CaseView> {
      requireWrite(call, casesPolicy.create);
      const input = CreateCaseInput.parse(given);
      const view = await database.write(call, async (tx) => {
        const draft = await draftOf(tx, input);
        await requireAllowed(tx, draft);
        return await present(tx, await openWithin(tx, draft));
      });
      return { ...(await shown(call, view)), suggestions: await suggestionsFor(call, view) };
    },
  };
}

/** A case as a caller asks for it, filled by the template it names. @throws ProblemError validation_failed */
async function draftOf(tx: Tx, input: ReturnType<typeof CreateCaseInput.parse>): Promise<CaseDraft> {
  const filled = await filledBy(tx, input.template);
  const { title = filled.title, type = filled.type ?? "general", priority = filled.priority ?? "normal" } = input;
  if (title === undefined) throw fieldError("/title", "required", "Send a title, or a template that has one.");
  const due = input.due ?? (input.due_at === undefined ? filled.due : undefined);
  const { subjects, lead, team, confidential, labels = filled.labels, policies = filled.policies } = input;
  return {
    type,
    title,
    priority,
    subjects,
    lead,
    team,
    confidential,
    labels,
    policies,
    dueAt: due === undefined ? timeOf(input.due_at) : dueAfter(tx.now, due),
    retentionUntil: timeOf(input.retention_until),
    originReference: input.origin_reference,
    openedBy: tx.call.actor?.id ?? null,
  };
}
