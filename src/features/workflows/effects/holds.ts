import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { statusAt, wholeRequest, wholeRequests, type RequestChanges, type Request } from "../requests/workflows.policy.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { noHold } from "../requests/changes.ts";
import { stepOf } from "../requests/steps.ts";
import { tellOf } from "../requests/told.ts";
import type { Tx } from "../../../database/database.ts";
import type { EventType } from "../../events/types.ts";
import type { EffectInputs } from "./inputs.ts";
import type { Approval, Done, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";
import { isOpenStatus, openStatuses } from "../state/table.ts";
import { lockKept } from "../requests/attempt.ts";
import { remindAtOf } from "../requests/timers.ts";

export type HoldEffectDeps = Deps<"audit" | "events" | "reach">;

interface Change {
  action: "hold" | "release";
  event: EventType;
  changes: RequestChanges;
  reason: string;
  permission: PermissionKey;
  actorId: string | null;
}

const key = "recruitment.hold";
const notHeld = { isHeld: false, ...noHold };

/** What approvals do to other open requests: while somebody is listed, nobody recruits them by mistake. */
export function createHoldEffects({ audit, events, reach }: HoldEffectDeps): SomeEffects<typeof key> {
  async function write(tx: Tx, row: Request, { action, event, changes, reason, permission, actorId }: Change): Promise<void> {
    const revision = row.revision + 1;
    const data = { ...changes, revision, updatedAt: tx.now };
    await tx.db.workflowRequest.update({
      where: { id: row.id },
      data: { ...data, remindAt: remindAtOf({ ...row, ...data } as unknown as Request) },
    });
    const { id: requestId, reference, status } = row;
    await tx.db.workflowStep.create({ data: stepOf(tx, row, { action, actorId, to: status, noteInternal: reason }) });
    const about = row.subjects.find(({ kind }) => kind === "user")?.subjectId;
    const target = { kind: "workflow", id: requestId, reference };
    audit.record(tx, { action: `workflow.${action}`, target, ...(about !== undefined && { subjectUserId: about }), reason, permission });
    tellOf(events, tx, event, row, { status, action });
  }

  async function hold({ tx, request, permission, actorId }: Approval, row: Request): Promise<Done> {
    const target = { kind: "workflow", id: row.id, reference: row.reference };
    // Beside this one: when the other request is reversed, the hold passes on.
    if (row.isHeld && row.holdReference !== null)
      return { status: "done", target, detail: say("workflows.an-open-recruitment-is-held-already"), undo: {} };
    if (row.isHeld) return { status: "skipped", target, detail: say("workflows.somebody-holds-an-open-recruitment-already") };
    const reason = `Approval of ${request.reference}`;
    const changes = { isHeld: true, holdBy: null, holdAt: tx.now, holdReason: reason, holdReference: request.reference };
    await write(tx, row, { action: "hold", event: "workflow.held", changes, reason, permission, actorId });
    return { status: "done", target, detail: say("workflows.an-open-recruitment-is-held"), undo: {} };
  }

  async function release({ tx, request, reason, permission, actorId }: Reversal, row: Request): Promise<Undone> {
    if (!row.isHeld || !isOpenStatus(row.status)) return { restored: true, detail: say("workflows.the-recruitment-was-not-held-any-more") };
    if (row.holdReference !== request.reference) {
      return { restored: row.holdReference !== null, detail: say("workflows.somebody-else-holds-the-recruitment-and-that") };
    }
    const heir = await heirOf(tx, row, request.id);
    const changes = heir === null ? notHeld : { holdReason: `Approval of ${heir}`, holdReference: heir };
    const action = heir === null ? "release" : "hold";
    const event = heir === null ? "workflow.updated" : "workflow.held";
    await write(tx, row, { action, event, changes, reason, permission, actorId });
    return {
      restored: true,
      detail:
        heir === null ? say("workflows.the-recruitment-is-not-held-any-more") : say("workflows.another-request-holds-the-recruitment-now"),
    };
  }

  async function concerned({ tx }: Approval, { userId }: EffectInputs[typeof key]): Promise<Request[]> {
    return await openRecruitments(tx, [userId, ...(await reach.linkedAccountsOf(tx.db, userId))]);
  }

  return {
    [key]: {
      preview: say("workflows.their-open-recruitment-requests-are-held"),
      /** Nothing is in the way; but their locks come before those of records and matches, as their own approvals take them. */
      async check(approval, input) {
        await concerned(approval, input);
        return [];
      },
      async apply(approval, input) {
        const rows = await concerned(approval, input);
        const done: Done[] = [];
        for (const row of rows) done.push(await hold(approval, row));
        return done.length > 0 ? done : [{ status: "skipped", detail: say("workflows.there-is-no-open-recruitment-request") }];
      },
      async undo(reversal, { targetId }) {
        const { tx, request } = reversal;
        // All of them before the first, in the one order.
        await lockKept(
          tx,
          request.effects.flatMap((one) => (one.key === key && one.targetId !== null ? [one.targetId] : [])),
        );
        const row = await wholeRequest(tx, await tx.db.workflowRequest.findUnique({ where: { id: targetId ?? "" } }));
        return row === null ? { restored: true, detail: say("workflows.the-recruitment-request-is-gone") } : await release(reversal, row);
      },
    },
  };
}

/** The open recruitment requests about some people, each locked. */
async function openRecruitments(tx: Tx, userIds: readonly string[]): Promise<Request[]> {
  const subjects = { some: { kind: "user", subjectId: { in: [...userIds] } } };
  const where = { type: "recruitment", status: { in: [...openStatuses] }, subjects };
  const found = await tx.db.workflowRequest.findMany({ where, select: { id: true } });
  const ids = found.map(({ id }) => id);
  if (ids.length === 0) return [];
  await lockKept(tx, ids);
  const open = await tx.db.workflowRequest.findMany({ where: { ...where, id: { in: ids } }, orderBy: { id: "asc" } });
  const rows = await wholeRequests(tx, open);
  return rows.filter((row) => isOpenStatus(statusAt(row, tx.now)));
}

/** Another request whose approval holds the same since the hold began: what somebody released stays released; null when there is none. */
async function heirOf(tx: Tx, held: Request, requestId: string): Promise<string | null> {
  const found = await tx.db.workflowEffect.findFirst({
    where: {
      key,
      status: "done",
      targetId: held.id,
      requestId: { not: requestId },
      ...(held.holdAt !== null && { at: { gte: held.holdAt } }),
    },
    orderBy: { at: "asc" },
    select: { request: { select: { reference: true } } },
  });
  return found?.request.reference ?? null;
}
