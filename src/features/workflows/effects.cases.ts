import type { z } from "zod";
import { addSeconds } from "../../kernel/clock.ts";
import { parseDuration } from "../../kernel/fields.ts";
import { caseReference } from "../../kernel/stored.ts";
import type { ActionsService } from "../cases/actions.service.ts";
import type { CasesService } from "../cases/cases.service.ts";
import type { DraftsService } from "./drafts.service.ts";
import type { Approval, Done, Earlier, Reversal, SomeEffects } from "./effects.types.ts";
import type { Undone } from "../../kernel/undo.ts";
import type { InvestigationPayload, PunishmentPayload } from "./workflows.payloads.ts";
import type { WorkflowEffect } from "../../generated/sqlite/client.ts";

type Keys = "case.action" | "case.append" | "case.open" | "draft.blacklist";
type Punishment = z.output<typeof PunishmentPayload>;

export interface CasesEffectParts {
  cases: Pick<CasesService, "appendOrOpenWithin" | "undoCaseWithin">;
  actions: Pick<ActionsService, "recordWithin" | "undoRecordWithin">;
  drafts: Pick<DraftsService, "suggestWithin" | "dismissWithin">;
}

/** What approvals leave in cases. */
export function createCasesEffects({ cases, actions, drafts }: CasesEffectParts): SomeEffects<Keys> {
  const undoCase = ({ tx, reason, permission, actorId }: Reversal, { undo }: WorkflowEffect): Promise<Undone> =>
    cases.undoCaseWithin(tx, undo, { reason, permission, authorId: actorId });

  async function bring(approval: Approval): Promise<Done[]> {
    const { row, isNew, undo } = await cases.appendOrOpenWithin(approval.tx, await caseOf(approval));
    const reference = caseReference(row.number);
    const detail = isNew ? "A case was opened." : "It was added to the open case.";
    return [{ status: "done", target: { kind: "case", id: row.id, reference }, detail, undo }];
  }

  return {
    "case.open": {
      preview: "A case is opened, for the lead and the team alone when the request is confidential.",
      apply: bring,
      undo: undoCase,
    },
    "case.append": {
      preview: "It is added to the open case about the subject; without one a case is opened.",
      apply: bring,
      undo: undoCase,
    },
    "case.action": {
      preview: ({ action, points }) => `The ${String(action)} is recorded in the case with ${String(points)} points.`,
      async apply(approval, earlier) {
        const { action, undo } = await actions.recordWithin(approval.tx, caseIdOf(earlier), actionOf(approval));
        const detail = `The ${(approval.payload as Punishment).action} was recorded with ${action.points.toString()} points.`;
        return [{ status: "done", target: { kind: "case_action", id: action.id }, detail, undo }];
      },
      undo: ({ tx, reason, permission }, { undo }) => actions.undoRecordWithin(tx, undo, { reason, permission }),
    },
    "draft.blacklist": {
      preview: "A request to blacklist the user is suggested; a person files it.",
      async apply({ tx, payload, request }) {
        const { user_id: id, reason } = payload as Punishment;
        const openKey = `referral:${id}`;
        const draft = await drafts.suggestWithin(tx, {
          type: "blacklist-user",
          payload: { user_id: id, reason, related: [request.reference] },
          subject: { kind: "user", id },
          cause: `${request.reference} refers the user to the blacklist.`,
          causeReference: request.reference,
          openKey,
        });
        if (draft === null) return [{ status: "skipped", detail: "It is suggested already." }];
        return [
          {
            status: "done",
            target: { kind: "request_draft", id: draft.id },
            detail: "The request was suggested.",
            undo: { open_key: openKey },
          },
        ];
      },
      async undo({ tx, reason }, { undo }) {
        const dismissed = await drafts.dismissWithin(tx, [(undo as { open_key: string }).open_key], reason);
        return dismissed > 0
          ? { restored: true, detail: "The suggestion was dismissed." }
          : { restored: false, detail: "The suggestion was filed or dismissed already." };
      },
    },
  };
}

/** The case an approval leads to. */
async function caseOf({ tx, type, request, payload, actorId, permission }: Approval) {
  const common = {
    title: request.title,
    priority: request.priority,
    originReference: request.reference,
    originRequestId: request.id,
    authorId: actorId,
    permission,
    body: `${request.reference} was approved. ${String(payload["reason"] ?? payload["allegation"] ?? request.summary)}`
      .trim()
      .slice(0, longestNote),
  };
  switch (type) {
    case "investigation": {
      const {
        subject,
        confidential,
        lead_user_id: leadId,
        team_user_ids: team,
        due_at: dueAt,
      } = payload as z.output<typeof InvestigationPayload>;
      const about = { kind: subject.kind === "server" ? "server" : "user", id: subject.id } as const;
      const people = { isConfidential: confidential, leadId, team, dueAt: dueAt === undefined ? null : new Date(dueAt) };
      return { ...common, ...people, type: "investigation", subject: about };
    }
    case "punishment": {
      const { user_id: id, case_reference: named } = payload as Punishment;
      const caseKey = named === undefined || (await isConfidential(tx, named)) ? undefined : named;
      return { ...common, type: "punishment", subject: { kind: "user", id } as const, caseReference: caseKey };
    }
    case "poach":
      return { ...common, type: "poach", subject: { kind: "server", id: String(payload["offending_server_id"]) } as const };
    default:
      return { ...common, type: "blacklist", subject: { kind: "user", id: String(payload["user_id"]) } as const };
  }
}

const longestNote = 4000;

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

/** What is recorded of a punishment; without a length it counts for good. */
function actionOf({ from, request, payload, permission }: Approval) {
  const { action, user_id: userId, points, reason, duration } = payload as Punishment;
  const seconds = typeof duration === "string" ? parseDuration(duration) : undefined;
  return {
    kind: action === "blacklist_referral" ? ("other" as const) : action,
    userId,
    points,
    reason,
    expiresAt: seconds === undefined ? null : addSeconds(from, seconds),
    originReference: request.reference,
    permission,
  };
}
