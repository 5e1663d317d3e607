import type { Deps } from "../../deps.ts";
import { tellOf } from "../requests/told.ts";
import type { Tx } from "../../../database/database.ts";
import type { Prisma, WorkflowEffect } from "../../../generated/sqlite/client.ts";
import { amendsKeyOf } from "../effects/discord-effect.ts";
import type { Effects } from "../effects/effects.ts";
import { createConsequences, type ConsequenceDeps } from "./consequences.ts";
import { tellRecoveredEffect } from "../effects/request-causes.ts";
import { lockKept } from "../requests/attempt.ts";
import { wholeRequest, type Request } from "../requests/workflows.policy.ts";

/** Where an effect stands: its request, and its place among that request's effects. */
export type Place = Pick<WorkflowEffect, "requestId" | "place">;

export interface EffectRecordDeps extends Deps<"audit" | "events">, ConsequenceDeps {
  effects: Pick<Effects, "append" | "takenBack">;
}

export type EffectChanges = Prisma.WorkflowEffectUncheckedUpdateManyInput;

/** An effect with its request, read under the request's lock. */
export interface Opened {
  request: Request;
  row: WorkflowEffect;
}

/** Hold a request and read one of its effects; undefined when it is not there any more. */
export async function openEffect(tx: Tx, { requestId, place }: Place): Promise<Opened | undefined> {
  await lockKept(tx, [requestId]);
  const request = await wholeRequest(tx, await tx.db.workflowRequest.findUnique({ where: { id: requestId } }));
  const row = request?.effects.find((effect) => effect.place === place);
  return request === null || row === undefined ? undefined : { request, row };
}

/** Writes how effects stand, and tells of it; the request's own revision stays: nobody decides about a delivery. */
export function createEffectRecords(parts: EffectRecordDeps): EffectRecords {
  const { audit, events, effects } = parts;
  const consequences = createConsequences(parts);

  async function write(tx: Tx, { request, row }: Opened, changes: EffectChanges, permission = "system.act"): Promise<void> {
    const { requestId, place } = row;
    const after = { ...row, ...changes } as WorkflowEffect;
    await tx.db.workflowEffect.updateMany({ where: { requestId, place }, data: { ...changes, updatedAt: tx.now } });
    if (after.status === row.status) return;
    await consequences.follow(tx, request, after);
    tellRecoveredEffect(events, tx, { request, row, status: after.status });
    const { id, reference, status } = request;
    const about = request.subjects.find(({ kind }) => kind === "user")?.subjectId;
    audit.record(tx, {
      action: "workflow.effect",
      ...(after.status === "failed" && { outcome: "failed" as const }),
      target: { kind: "workflow", id, reference },
      ...(about !== undefined && { subjectUserId: about }),
      before: { status: row.status },
      after: { key: row.key, status: after.status, attempts: after.attempts },
      permission,
    });
    tellOf(events, tx, "workflow.updated", request, { status, action: "effect" });
  }

  return {
    write,

    async takeBack(tx: Tx, opened: Opened, delivered: { until?: string }): Promise<void> {
      const before = { changed: true, ...delivered };
      const { request, row } = opened;
      const amended = await effects.takenBack({ ...row, undo: before }, { tx, reason: request.reference });
      if (amended === undefined) return await write(tx, opened, { dueAt: null });
      const { status, detail, amends, undo = before } = amended;
      await write(tx, opened, { status, detail, undo, dueAt: null });
      await effects.append(
        tx,
        request,
        amends.map((done) => ({ key: amendsKeyOf(row.key), ...done })),
      );
    },
  };
}

export interface EffectRecords {
  write(tx: Tx, given: Opened, changes: EffectChanges, permission?: string): Promise<void>;
  /** The bot did what had been called off: leave it the opposite. @param delivered what is known of it; what may be done counts as done */
  takeBack(
    tx: Tx,
    opened: Opened,
    delivered: {
      until?: string;
    },
  ): Promise<void>;
}
