import type { Database, Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { requirePermission, requireWrite, type Call } from "../../kernel/call.ts";
import type { LinkReach } from "../links/reach.ts";
import { asRows, changedColumns, requireFitting, subjectsOf } from "./fields.ts";
import { casesPolicy, requireImpartial, requireOutranks, type Ranks, type WholeCase } from "./cases.policy.ts";
import { differenceOf, settingsOf } from "./presenter.ts";
import type { CaseRecords } from "./records.ts";
import { UpdateCaseInput, type CaseView } from "./cases.schema.ts";
import { requireMove, statusMoves } from "./states.ts";

/** What can still be changed once a case is closed. */
const changeableAfterwards = new Set(["status", "confidential", "retention_until"]);

export interface UpdateDeps {
  database: Database;
  guildState: GuildState;
  standing: Ranks;
  reach: Pick<LinkReach, "groupOf">;
  records: CaseRecords;
  present: (tx: Tx, row: WholeCase) => Promise<CaseView>;
  shown: (call: Call, view: CaseView) => Promise<CaseView>;
}

type Input = ReturnType<typeof UpdateCaseInput.parse>;

export function createUpdate({ database, guildState, standing, reach, records, present, shown }: UpdateDeps) {
  /** The rules that an opened case does not know: they are about what it is to be. */
  async function requireAllowed(tx: Tx, row: WholeCase, input: Input): Promise<void> {
    const { status, subjects, lead, team } = input;
    if (status !== undefined && status !== row.status) requireMove(row.status, statusMoves[status]);
    if (Object.keys(input).some((field) => !changeableAfterwards.has(field))) requireMove(row.status, "update");
    if (row.isConfidential && input.confidential === false) requirePermission(tx.call, casesPolicy.confidential);
    if (subjects !== undefined) {
      requireImpartial(await records.viewerOf(tx.call, tx.db), { subjects: asRows(subjects) });
      requireOutranks(tx.call, standing, { subjects: asRows(subjects) });
    }
    if (subjects === undefined && lead === undefined && team === undefined) return;
    const members = row.members.map(({ userId }) => userId);
    await requireFitting(tx, standing, reach, {
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
