import type { Database, Tx } from "../../database/database.ts";
import { nextNumber } from "../../database/counter.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { Prisma } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { requireWrite } from "../../kernel/call.ts";
import type { Clock } from "../../kernel/clock.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { WorkflowKind } from "../../kernel/workflow-kinds.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { Effects } from "./effects.ts";
import type { FilingLimits } from "./workflows.filing.ts";
import { checkFiling } from "./workflows.filing.ts";
import type { Intake } from "./workflows.intake.ts";
import { understand } from "./workflows.intake.ts";
import { kinds } from "./workflows.kinds.ts";
import { subjectRows } from "./workflows.policy.ts";
import type { CreationAnswer } from "./workflows.schema.ts";
import { visibleCreation } from "./workflows.visibility.ts";

export interface CreateParts {
  database: Database;
  audit: AuditService;
  effects: Effects;
  guildState: GuildState;
  clock: Clock;
  filing: FilingLimits;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix: string | null | undefined;
}

const urgencyFactor = 4;

export function createFiling(parts: CreateParts) {
  const { database, audit, effects, filing, referencePrefix } = parts;

  /**
   * File a request. The body is understood generously: see the kinds' aliases and what they assume.
   * @throws ZodError, ProblemError duplicate_open, cooldown, rate_limited
   */
  async function create(call: Call, type: WorkflowKind, body: unknown): Promise<CreationAnswer> {
    requireWrite(call, `workflows.${type}.create`);
    const intake = understand(kinds[type], body);
    return visibleCreation(call, await database.write(call, (tx) => fileWithin(tx, type, intake)));
  }

  /**
   * File a request inside another transaction of this room. The caller has checked the right to, and redacts what leaves.
   * @throws ProblemError duplicate_open, cooldown, rate_limited
   */
  async function fileWithin(tx: Tx, type: WorkflowKind, intake: Intake): Promise<CreationAnswer> {
    const kind = kinds[type];
    const subjects = subjectRows(kind, intake.payload);
    const duplicates = await checkFiling(tx, { type, kind, subjects, limits: filing });
    const prefix = referencePrefix ?? kind.prefix;
    const number = await nextNumber(tx, `workflow:${prefix}`);
    const reference = `${prefix}-REQ-${number.toString().padStart(6, "0")}`;
    const row = rowOf(tx, type, intake, reference, requesterName(parts.guildState, tx.call));
    // Two plain inserts: a nested one would read everything back while others wait for the counter.
    await tx.db.workflowRequest.createMany({ data: [row] });
    await tx.db.workflowSubject.createMany({ data: subjects.map((subject) => ({ ...subject, requestId: row.id })) });
    const about = subjects.find((subject) => subject.kind === "user")?.subjectId;
    audit.record(tx, {
      action: "workflow.create",
      target: { kind: "workflow", id: row.id, reference },
      ...(about !== undefined && { subjectUserId: about }),
      after: { type, status: row.status, priority: row.priority, urgent: row.urgent },
      permission: `workflows.${type}.create`,
    });
    return {
      success: true,
      id: row.id,
      reference,
      status: "pending",
      warnings: intake.warnings,
      duplicates,
      effects_preview: effects.preview(kind, intake.payload),
    };
  }
  return { create, fileWithin };
}

function requesterName(guildState: GuildState, call: Call): string | null {
  return call.actor === null ? null : (guildState.members(call.actor.id)[0]?.username ?? null);
}

function rowOf(tx: Tx, type: WorkflowKind, intake: Intake, reference: string, name: string | null) {
  const { call, now } = tx;
  const { payload, common, extra } = intake;
  const kind = kinds[type];
  const haste = common.urgent ? urgencyFactor : 1;
  const summary =
    common.summary ?? [payload["reason"], payload["allegation"], payload["grounds"]].find((text) => typeof text === "string") ?? "";
  return {
    id: uuid7(now.getTime()),
    reference,
    type,
    status: "pending",
    priority: common.priority,
    urgent: common.urgent,
    title: common.title ?? kind.title(payload),
    summary: String(summary),
    payload: payload as Prisma.InputJsonObject,
    extra: extra as Prisma.InputJsonObject,
    requesterId: call.actor?.id ?? null,
    requesterName: name,
    clientId: call.client?.id ?? null,
    requestedVia: call.via,
    evidence: common.evidence as Prisma.InputJsonValue[],
    related: common.related,
    externalId: common.external_id ?? null,
    approvalsRequired: typeof kind.approvals === "number" ? kind.approvals : kind.approvals(payload),
    effects: [],
    links: [],
    dueFirstTouchAt: addSeconds(now, kind.clocks.firstTouch / haste),
    dueDecisionAt: addSeconds(now, kind.clocks.decision / haste),
    expiresAt: addSeconds(now, kind.clocks.expiry),
    createdAt: now,
    updatedAt: now,
  };
}
