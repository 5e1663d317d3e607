import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import type { Tx } from "../../database/database.ts";
import { requirePermission, requireWrite, can, type Call } from "../../kernel/call.ts";
import { asRows, changedColumns, requireFitting, subjectsOf, dueAfter, timeOf, type CaseDraft } from "./fields.ts";
import { casesPolicy, requireImpartial, requireOutranks, type Ranks, type WholeCase } from "./cases.policy.ts";
import { differenceOf, settingsOf } from "./presenter.ts";
import type { CaseRecords } from "./records.ts";
import { UpdateCaseInput, CreateCaseInput, type CaseView, type Suggestion } from "./cases.schema.ts";
import { requireMove, statusMoves } from "./states.ts";
import { fieldError } from "../../kernel/errors.ts";
import type { ListWorkflowsQuery, WorkflowView } from "../workflows/requests/workflows.schema.ts";
import { filledBy } from "./templates/templates.ts";

/** What can still be changed once a case is closed. */
const changeableAfterwards = new Set(["status", "confidential", "retention_until"]);

export interface UpdateDeps extends Deps<"database" | "guildState" | "reach"> {
  access: Ranks;
  records: CaseRecords;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

type Input = ReturnType<typeof UpdateCaseInput.parse>;

export function createUpdate({ database, guildState, access, reach, records, present, shown }: UpdateDeps) {
  /** The rules that an opened case does not know: they are about what it is to be. */
  async function requireAllowed(tx: Tx, row: WholeCase, input: Input): Promise<void> {
    const { status, subjects, lead, team } = input;
    if (status !== undefined && status !== row.status) requireMove(row.status, statusMoves[status]);
    if (Object.keys(input).some((field) => !changeableAfterwards.has(field))) requireMove(row.status, "update");
    if (row.isConfidential && input.confidential === false) requirePermission(tx.call, casesPolicy.confidential);
    if (subjects !== undefined) {
      requireImpartial(await records.viewerOf(tx.call, tx.db), { subjects: asRows(subjects) });
      requireOutranks(tx.call, access, { subjects: asRows(subjects) });
    }
    if (subjects === undefined && lead === undefined && team === undefined) return;
    const members = row.members.map(({ userId }) => userId);
    await requireFitting(tx, access, reach, {
      subjects: subjects ?? subjectsOf(row),
      lead: lead === undefined ? row.leadId : lead,
      team: team ?? members,
      before: new Set(row.leadId === null ? members : [row.leadId, ...members]),
    });
  }

  return {
    /**
     * Change a case. Nothing changed: nothing written.
     * @throws ProblemError record_not_found, precondition_failed, invalid_transition, conflict_of_interest, hierarchy_violation,
     * permission_denied (to lift confidentiality), validation_failed (people who are not staff)
     */
    async update(call: Call, key: string, given: UpdateCaseInput, ifMatch?: number): Promise<CaseView> {
      requireWrite(call, casesPolicy.update);
      const input = UpdateCaseInput.parse(given);
      const view = await database.write(call, async (tx) => {
        const row = await records.open(tx, key, casesPolicy.update, { move: "keep", ifMatch });
        await requireAllowed(tx, row, input);
        const columns = await changedColumns(tx, guildState, row, input);
        const wanted = differenceOf(settingsOf(row), sentSettings(input));
        if (wanted === undefined) return await present(tx, row);
        return await present(
          tx,
          await records.change(tx, row, columns, { action: "case.update", permission: casesPolicy.update, ...wanted }),
        );
      });
      return await shown(call, view);
    },
  };
}

/** What was sent, as the settings of a case say it. */
function sentSettings(input: Input): object {
  const time = (at: string | null | undefined) => (typeof at === "string" ? new Date(at).toISOString() : at);
  const sent = {
    ...input,
    subjects: input.subjects?.map(({ kind, id }) => `${kind}:${id}`).toSorted(),
    due_at: time(input.due_at),
    retention_until: time(input.retention_until),
  };
  return Object.fromEntries(Object.entries(sent).filter(([, value]) => value !== undefined));
}

/** Requests as their own feature lists them. */
export interface RequestList {
  list(call: Call, query: ListWorkflowsQuery): Promise<{ data: WorkflowView[] }>;
}

/** At most so many requests are offered for linking. */
const maxSuggestions = 20;

export interface OpeningDeps extends Deps<"database" | "reach"> {
  access: Ranks;
  /** Requests as their own feature lists them for a caller. */
  requests: RequestList;
  records: CaseRecords;
  openInTx: (tx: Tx, draft: CaseDraft) => Promise<WholeCase>;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

/** How a case begins. */
export function createOpening({ database, access, reach, requests, records, openInTx, present, shown }: OpeningDeps) {
  /** @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed */
  async function requireAllowed(tx: Tx, { subjects, lead, team = [] }: CaseDraft): Promise<void> {
    const about = { subjects: asRows(subjects) };
    requireImpartial(await records.viewerOf(tx.call, tx.db), about);
    requireOutranks(tx.call, access, about);
    await requireFitting(tx, access, reach, { subjects, lead: lead ?? null, team });
  }

  /** Open requests about the same subjects that the caller may see. */
  async function suggestionsFor(call: Call, { subjects }: CaseView): Promise<Suggestion[]> {
    if (!can(call, "workflows.read")) return [];
    const found = new Map<string, Suggestion>();
    for (const { id } of subjects) {
      const { data } = await requests.list(call, { status: "open", subject: id, limit: maxSuggestions });
      for (const { reference, type, status } of data) found.set(reference, { reference, type, status });
    }
    return [...found.values()].slice(0, maxSuggestions);
  }

  return {
    /** Open a case. @throws ProblemError conflict_of_interest, hierarchy_violation, validation_failed */
    async create(call: Call, given: CreateCaseInput): Promise<CaseView> {
      requireWrite(call, casesPolicy.create);
      const input = CreateCaseInput.parse(given);
      const view = await database.write(call, async (tx) => {
        const draft = await draftOf(tx, input);
        await requireAllowed(tx, draft);
        return await present(tx, await openInTx(tx, draft));
      });
      return { ...(await shown(call, view)), suggestions: await suggestionsFor(call, view) };
    },
  };
}

/** A case as a caller asks for it, filled by the template it names. @throws ProblemError validation_failed */
async function draftOf(tx: Tx, input: ReturnType<typeof CreateCaseInput.parse>): Promise<CaseDraft> {
  const filled = await filledBy(tx, input.template);
  const { title = filled.title, type = filled.type ?? "general", priority = filled.priority ?? "normal" } = input;
  if (title === undefined) throw fieldError("/title", "required", say("cases.send-a-title-or-a-template-that"));
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
