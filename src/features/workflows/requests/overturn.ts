import { say } from "../../../kit/say.ts";
import { placesOf, begun, noClaim, noEscalation, noHold } from "./changes.ts";
import type { Deps } from "../../deps.ts";
import { statusAt, subjectsOf, viewerOf, getWholeRequest, type RequestChanges, type Request } from "./workflows.policy.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import type { Severity, WorkflowKind } from "../../../kernel/vocabulary.ts";
import { approversOf } from "../state/transition.ts";
import { stepOf } from "./steps.ts";
import { tellOf } from "./told.ts";
import { z } from "zod";
import type { Tx } from "../../../database/database.ts";
import { Prisma } from "../../../generated/sqlite/client.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { EventType } from "../../events/types.ts";
import type { Effects } from "../effects/effects.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { policyOf } from "../policies/policies.ts";
import { lockKept } from "./attempt.ts";
import type { DecisionInput } from "./decision.ts";
import { kinds } from "../kinds/kinds.ts";
import { requireUnique } from "./filing.ts";
import type { WorkflowDecision } from "./workflows.schema.ts";
import { remindAtOf } from "./timers.ts";

export type Overturning = ReturnType<typeof createOverturning>;

export interface OverturnDeps extends Deps<"audit" | "events" | "reach"> {
  effects: () => Effects;
}

/** Why a decision is overturned, by whom and by what right. */
export interface OverturnNote {
  reason: string;
  permission: PermissionKey;
  actorId: string | null;
  /** The reference of the appeal. */
  cause: string;
}

const Reversed = z.object({ request_id: z.string(), revision: z.int() });
const Reopened = z.object({
  request_id: z.string(),
  revision: z.int(),
  status: z.string(),
  decision: z.unknown(),
  decided_at: z.string().nullable(),
});
const Chosen = z.object({ duration: z.string().nullable().optional(), effects: z.record(z.string(), z.boolean()).optional() });
const reopenable: ReadonlySet<string> = new Set(["denied", "withdrawn", "expired"]);
/** A request that is decided anew waits for no answer. */
const noPause = { pausedAt: null, infoDueAt: null, questions: Prisma.DbNull };
const changedSince: Undone = { restored: false, detail: say("workflows.the-request-was-changed-since") };

/** What the decision that approved a request said of how it takes effect. */
async function chosenBy(tx: Tx, requestId: string): Promise<Pick<DecisionInput["body"], "duration" | "effects">> {
  const where = { requestId, action: "approve", to: "approved" };
  const step = await tx.db.workflowStep.findFirst({ where, orderBy: { revision: "desc" }, select: { data: true } });
  return Chosen.parse(step?.data ?? {});
}

/** What the decision on an appeal said of its ruling. */
function ruledBy({ ruling }: WorkflowDecision): Partial<DecisionInput["body"]> {
  if (ruling === undefined) return {};
  const { duration, severity, points, instructions, message } = ruling;
  return { new_duration: duration, new_severity: severity as Severity | undefined, new_points: points, instructions, message };
}

/** Decisions that an appeal overturns, inside its transaction. The appeal has checked rights, ranks and conflicts. */
export function createOverturning({ audit, events, reach, effects }: OverturnDeps) {
  async function loadForUpdate(tx: Tx, id: string): Promise<Request> {
    await lockKept(tx, [id]);
    return await getWholeRequest(tx, id);
  }

  async function write(
    tx: Tx,
    row: Request,
    changes: RequestChanges & { status: string },
    told: OverturnNote & { action: string; event: EventType },
  ): Promise<number> {
    const revision = row.revision + 1;
    const data = { ...changes, revision, updatedAt: tx.now };
    const changed = { ...row, ...data } as unknown as Request;
    const remindAt = remindAtOf(changed);
    await tx.db.workflowRequest.update({ where: { id: row.id }, data: { ...data, ...placesOf(changed), remindAt } });
    const { action, reason, permission, actorId, cause } = told;
    const step = { action, actorId, to: changes.status, notePublic: reason, data: { cause } };
    await tx.db.workflowStep.create({ data: stepOf(tx, row, step) });
    const about = row.subjects.find(({ kind }) => kind === "user")?.subjectId;
    audit.record(tx, {
      action: `workflow.${action}`,
      target: { kind: "workflow", id: row.id, reference: row.reference },
      ...(about !== undefined && { subjectUserId: about }),
      reason,
      before: { status: row.status },
      after: { status: changes.status, cause },
      permission,
    });
    tellOf(events, tx, told.event, row, { status: changes.status, action });
    return revision;
  }

  return {
    /** Take an approval back with all it did; null, with nothing done, for a request that is not approved. */
    async reverseInTx(tx: Tx, id: string, note: OverturnNote): Promise<z.infer<typeof Reversed> | null> {
      const row = await loadForUpdate(tx, id);
      if (row.status !== "approved") return null;
      const { reason, permission, actorId } = note;
      await effects().undo({ tx, request: row, reason, actorId, permission });
      const said = { by: actorId ?? "", at: tx.now.toISOString(), reason_public: reason, reason_internal: null };
      const decision = { ...(row.decision as WorkflowDecision | null), reversal: said } as Prisma.InputJsonObject;
      const changes = { status: "reversed", reversedAt: tx.now, decision };
      return { request_id: id, revision: await write(tx, row, changes, { ...note, action: "reverse", event: "workflow.reversed" }) };
    },

    /** Put an approval that `reverseInTx` took back in force again: what it does is done anew. */
    async reinstateInTx(tx: Tx, undo: unknown, note: OverturnNote): Promise<Undone> {
      const { request_id: id, revision } = Reversed.parse(undo);
      const row = await loadForUpdate(tx, id);
      if (row.status !== "reversed" || row.revision !== revision) return changedSince;
      const type = row.type as WorkflowKind;
      const chosen = await chosenBy(tx, id);
      const { duration } = chosen;
      const payload = kinds[type].payload.safeParse({ ...jsonObject(row.payload), ...(duration !== undefined && { duration }) });
      if (!payload.success) return { restored: false, detail: say("workflows.the-payload-of-the-request-no-longer") };
      const { reversal: _reversal, ...decision } = row.decision as WorkflowDecision;
      const approvedBy = approversOf(row);
      const input = {
        action: "approve",
        ruling: decision.ruling?.outcome ?? undefined,
        reasonPublic: decision.reason_public,
        reasonInternal: null,
        revision: undefined,
        body: { ...chosen, ...ruledBy(decision) },
      } as const;
      await effects().apply({
        tx,
        type,
        request: row,
        payload: payload.data,
        input,
        from: new Date(decision.at),
        actorId: note.actorId ?? "",
        approvedBy,
        permission: note.permission,
      });
      const changes = { status: "approved", reversedAt: null, decision: decision as Prisma.InputJsonObject };
      await write(tx, row, changes, { ...note, action: "reinstate", event: "workflow.decided" });
      return { restored: true, detail: say("workflows.the-approval-is-in-force-again") };
    },

    /** Have a request decided anew; null, with nothing done, for one that is neither denied nor withdrawn nor expired. */
    async reopenInTx(tx: Tx, id: string, note: OverturnNote): Promise<Prisma.InputJsonObject | null> {
      const row = await loadForUpdate(tx, id);
      const status = statusAt(row, tx.now);
      if (!reopenable.has(status)) return null;
      await requireUnique(tx, row, subjectsOf(row), (await viewerOf(tx.db, reach, tx.call)).accounts);
      const policy = await policyOf(tx.db, row.type as WorkflowKind);
      const changes = {
        ...noClaim,
        ...noEscalation,
        ...noHold,
        ...noPause,
        ...begun(tx.now, policy, row.urgent),
        status: "pending",
        isHeld: false,
        payloadRevision: row.payloadRevision + 1,
        escalationTier: 0,
        decision: Prisma.DbNull,
        decidedAt: null,
        told: Prisma.DbNull,
      };
      const revision = await write(tx, row, changes, { ...note, action: "reopen", event: "workflow.updated" });
      return {
        request_id: id,
        revision,
        status,
        decision: row.decision as Prisma.InputJsonValue,
        decided_at: isoOrNull(row.decidedAt),
      };
    },

    /** Put a decision back that `reopenInTx` took away, if nothing happened to the request since. */
    async undoReopenInTx(tx: Tx, undo: unknown, note: OverturnNote): Promise<Undone> {
      const before = Reopened.parse(undo);
      const row = await loadForUpdate(tx, before.request_id);
      if (row.revision !== before.revision) return changedSince;
      const decision = before.decision === null ? Prisma.DbNull : (before.decision as Prisma.InputJsonObject);
      const decidedAt = before.decided_at === null ? null : new Date(before.decided_at);
      const changes = { status: before.status, decision, decidedAt, payloadRevision: row.payloadRevision - 1 };
      await write(tx, row, changes, { ...note, action: "restore", event: "workflow.updated" });
      return { restored: true, detail: say("workflows.the-request-stands-as-it-was-decided") };
    },

    /** Leave an internal comment on a request. */
    async noteInTx(tx: Tx, id: string, body: string, authorId: string | null): Promise<void> {
      await tx.db.workflowComment.create({
        data: { id: uuid7(tx.now.getTime()), requestId: id, authorId, body, visibility: "internal", createdAt: tx.now },
      });
    },
  };
}
