import { say, term } from "../../../kit/say.ts";
import { z } from "zod";
import { caseReference } from "../../../kernel/parsing.ts";
import type { ActionsService } from "../../cases/actions/actions.service.ts";
import type { CasesService } from "../../cases/cases.service.ts";
import type { DraftRecords } from "../drafts/records.ts";
import type { CaseInput, EffectInputs } from "./inputs.ts";
import type { Approval, Done, Earlier, Reversal, SomeEffects } from "./types.ts";
import { untilOf } from "./words.ts";
import type { Undone } from "../../../kernel/undo.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";

type Keys = "case.action" | "case.append" | "case.open" | "draft.blacklist";
const Suggested = z.object({ open_key: z.string() });

export interface CasesEffectDeps {
  cases: Pick<CasesService, "appendOrOpenInTx" | "undoCaseInTx">;
  actions: Pick<ActionsService, "recordInTx" | "undoRecordInTx">;
  drafts: Pick<DraftRecords, "suggestInTx" | "dismissInTx">;
}

/** What approvals leave in cases. */
export function createCasesEffects({ cases, actions, drafts }: CasesEffectDeps): SomeEffects<Keys> {
  const undoCase = ({ tx, reason, permission, actorId }: Reversal, { undo }: WorkflowEffect): Promise<Undone> =>
    cases.undoCaseInTx(tx, undo, { reason, permission, authorId: actorId });

  async function appendToCase(approval: Approval, input: CaseInput): Promise<Done[]> {
    const { row, isNew, undo } = await cases.appendOrOpenInTx(approval.tx, await caseOf(approval, input));
    const reference = caseReference(row.number);
    const detail = isNew ? say("workflows.a-case-was-opened") : say("workflows.it-was-added-to-the-open-case");
    return [{ status: "done", target: { kind: "case", id: row.id, reference }, detail, undo }];
  }

  return {
    "case.open": {
      preview: say("workflows.a-case-is-opened-for-the-lead"),
      apply: appendToCase,
      undo: undoCase,
    },
    "case.append": {
      preview: say("workflows.it-is-added-to-the-open-case"),
      apply: appendToCase,
      undo: undoCase,
    },
    "case.action": {
      preview: ({ action, points }) => say("workflows.the-is-recorded-in-the-case-with", { action: term(action), points }),
      async apply(approval, input, earlier) {
        const { action, undo } = await actions.recordInTx(approval.tx, caseIdOf(earlier), actionOf(approval, input));
        const detail = say("workflows.the-was-recorded-with-points", { action: term(input.action), points: action.points });
        return [{ status: "done", target: { kind: "case_action", id: action.id }, detail, undo }];
      },
      undo: ({ tx, reason, permission }, { undo }) => actions.undoRecordInTx(tx, undo, { reason, permission }),
    },
    "draft.blacklist": {
      preview: say("workflows.a-request-to-blacklist-the-user-is"),
      async apply({ tx, request }, { userId: id, reason }) {
        const openKey = `referral:${id}`;
        const draft = await drafts.suggestInTx(tx, {
          type: "blacklist-user",
          payload: { user_id: id, reason, related: [request.reference] },
          subject: { kind: "user", id },
          cause: say("workflows.refers-the-user-to-the-blacklist", { reference: request.reference }),
          causeReference: request.reference,
          openKey,
        });
        if (draft === null) return [{ status: "skipped", detail: say("workflows.it-is-suggested-already") }];
        return [
          {
            status: "done",
            target: { kind: "request_draft", id: draft.id },
            detail: say("workflows.the-request-was-suggested"),
            undo: { open_key: openKey },
          },
        ];
      },
      async undo({ tx, reason }, { undo }) {
        const dismissed = await drafts.dismissInTx(tx, [Suggested.parse(undo).open_key], reason);
        return dismissed > 0
          ? { restored: true, detail: say("workflows.the-suggestion-was-dismissed") }
          : { restored: false, detail: say("workflows.the-suggestion-was-filed-or-dismissed-already") };
      },
    },
  };
}

/** The case an approval leads to. */
async function caseOf({ tx, request, actorId, permission }: Approval, { type, subject, text, caseKey, people }: CaseInput) {
  return {
    title: request.title,
    priority: request.priority,
    originReference: request.reference,
    originRequestId: request.id,
    authorId: actorId,
    permission,
    body: `${request.reference} was approved. ${text ?? request.summary}`.trim().slice(0, maxNote),
    type,
    subject,
    caseReference: caseKey === undefined || (await isConfidential(tx, caseKey)) ? undefined : caseKey,
    ...people,
  };
}

const maxNote = 4000;

/** A confidential case is added to by those who may know of it, never by naming it in a request. */
async function isConfidential({ db }: Approval["tx"], named: string): Promise<boolean> {
  const number = /^CASE-(\d{6,9})$/i.exec(named)?.[1];
  const where = number === undefined ? { id: named.toLowerCase() } : { number: Number(number) };
  return (await db.case.findFirst({ where, select: { isConfidential: true } }))?.isConfidential ?? false;
}

function caseIdOf(earlier: Earlier): string {
  const id = earlier.find(({ key }) => key === "case.append")?.target?.id;
  if (id === undefined) throw new Error("an action is recorded in the case that was found before it");
  return id;
}

/** What is recorded of a punishment; without a length it counts permanently. */
function actionOf({ from, request, permission }: Approval, { action, userId, points, reason, length }: EffectInputs["case.action"]) {
  return {
    kind: action === "blacklist_referral" ? ("other" as const) : action,
    userId,
    points,
    reason,
    expiresAt: untilOf(length, from),
    originReference: request.reference,
    permission,
  };
}
