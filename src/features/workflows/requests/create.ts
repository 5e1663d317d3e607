import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { stepOf } from "./steps.ts";
import { tellOf } from "./told.ts";
import { textsOf, toJson } from "../../../kernel/parsing.ts";
import type { Tx } from "../../../database/database.ts";
import { nextNumber } from "../../../database/counter.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { Prisma } from "../../../generated/sqlite/client.ts";
import { requireWrite, requireIn, can, isOwnWord, type Call } from "../../../kernel/call.ts";
import { uuid7 } from "../../../kernel/ids.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import type { GrantsService } from "../../authorization/grants/grants.service.ts";
import type { LinkReach } from "../../links/reach.ts";
import { appealEndOf, findOwnDecision } from "../appeals/decisions.ts";
import { requireOnlyAppeal, type Suspensions } from "../appeals/suspensions.ts";
import { findTarget } from "../effects/appeal-target.ts";
import type { Checks } from "../checks/checks.ts";
import type { Effects } from "../effects/effects.ts";
import { approvalsFor, confidentialPrefix, policyOf, type Policy } from "../policies/policies.ts";
import { begun, moreEvidence, placesOf } from "./changes.ts";
import { remindAtOf } from "./timers.ts";
import { checkFiling, type FilingLimits } from "./filing.ts";
import { understand, type Intake } from "./intake.ts";
import { actsIn, type Ranks } from "./context.ts";
import { kinds } from "../kinds/kinds.ts";
import { isRestricted, isRequester, statusAt, subjectRows, viewerOf, getWholeRequest, type Request } from "./workflows.policy.ts";
import { isOpenStatus } from "../state/table.ts";
import type { CreationAnswer } from "./workflows.schema.ts";
import { visibleCreation } from "./visibility.ts";
import { placed, type ServedServers } from "./where.ts";

export interface CreateDeps extends Deps<"database" | "audit" | "events" | "reach" | "guildState"> {
  access: Pick<Ranks, "guildIds">;
  suspensions: Pick<Suspensions, "followInTx">;
  effects: Effects;
  checks: Checks;
  grants: GrantsService;
  filing: FilingLimits;
  served: ServedServers;
  /** Gives every kind this one prefix and one counter. */
  referencePrefix: string | null | undefined;
}

/** Files a request inside another transaction of this feature. The caller has checked the right to, and redacts what leaves. */
export type FileInTx = (tx: Tx, type: WorkflowKind, intake: Intake, options?: { isDirect?: boolean }) => Promise<CreationAnswer>;

export interface FilingOptions {
  /** What else is written with the request, or refuses it. */
  alongside?: (tx: Tx, filed: Pick<CreationAnswer, "id" | "reference">) => Promise<void>;
}

export function createFiling(parts: CreateDeps) {
  const { database, audit, events, effects, checks, grants, reach, filing, served, referencePrefix, suspensions } = parts;

  /**
   * File a request. The body is understood generously: see the kinds' aliases and what they assume.
   * @throws ZodError, ProblemError duplicate_open, cooldown, rate_limited
   */
  async function create(call: Call, type: WorkflowKind, body: unknown, { alongside }: FilingOptions = {}): Promise<CreationAnswer> {
    const { intake, isForOneself } = requireFiling(call, type, body);
    // Of whom an API key alone says who they are, a consent shows it.
    if (isForOneself && !isOwnWord(call)) await grants.requireGrant(call.actor?.id ?? "");
    const answer = await database.write(call, async (tx) => {
      await requireAppealable(tx, { reach, type, intake, isForOneself });
      const filed = await fileInTx(tx, type, intake);
      await alongside?.(tx, filed);
      return filed;
    });
    return visibleCreation(call, answer);
  }

  /**
   * File a request inside another transaction of this feature, which takes no lock afterwards unless it is `isDirect`. The caller has checked
   * the right to, and redacts what leaves; whether it holds in each server in which an approval acts is checked here.
   * @param options.isDirect its requester approves it in the same transaction
   * @throws ProblemError permission_denied, validation_failed where it acts in Discord and does not say where, duplicate_open, cooldown, rate_limited
   */
  async function fileInTx(
    tx: Tx,
    type: WorkflowKind,
    understood: Intake,
    { isDirect = false }: { isDirect?: boolean } = {},
  ): Promise<CreationAnswer> {
    const kind = kinds[type];
    const { pointerTo } = understood;
    const intake = { ...understood, payload: placed(tx, { kind, payload: understood.payload, served, pointerTo }) };
    const guildIds = actsIn(parts.access, type, intake.payload);
    if (guildIds.length > 0) requireIn(tx.call, `workflows.${type}.create`, guildIds);
    const policy = await policyOf(tx.db, type);
    const subjects = subjectRows(kind, intake.payload);
    const isJoining = intake.common.on_duplicate === "join";
    const { accounts } = await viewerOf(tx.db, reach, tx.call);
    const asked = { type, accounts, coolDownSeconds: policy.cool_down_seconds, isJoining, isDirect, subjects, limits: filing };
    const { duplicates, joined } = await checkFiling(tx, asked);
    if (joined !== undefined) return await join(tx, joined, intake);
    const open = referencePrefix ?? policy.prefix;
    const prefix = isRestricted(subjects) ? confidentialPrefix(open) : open;
    await suspensions.followInTx(tx, null, { type, isOpen: true, payload: intake.payload });
    const checked = kind.isChecked === true ? await checks.of(tx.db, String(intake.payload["user_id"]), tx.now) : null;
    const number = await nextNumber(tx, `workflow:${prefix}`, { isLast: !isDirect });
    const reference = `${prefix}-REQ-${number.toString().padStart(6, "0")}`;
    const row = rowOf(tx, type, intake, { reference, policy, name: requesterName(parts.guildState, tx.call) });
    const filed = stepOf(tx, { id: row.id, revision: 0, status: null }, { action: "create", to: row.status });
    tx.insert([
      { model: "WorkflowRequest", rows: [{ ...row, checks: checked, isRestricted: isRestricted(subjects) }] },
      { model: "WorkflowSubject", rows: subjects.map((subject) => ({ ...subject, requestId: row.id })) },
      { model: "WorkflowStep", rows: [filed] },
    ]);
    recordFiled(tx, type, {
      id: row.id,
      reference,
      subjects,
      after: { type, status: row.status, priority: row.priority, urgent: row.urgent },
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

  function recordFiled(
    tx: Tx,
    type: WorkflowKind,
    told: { id: string; reference: string; subjects: { kind: string; subjectId: string }[]; after: object },
  ): void {
    const { id, reference, subjects, after } = told;
    const about = subjects.find((subject) => subject.kind === "user")?.subjectId;
    audit.record(tx, {
      action: "workflow.create",
      target: { kind: "workflow", id, reference },
      ...(about !== undefined && { subjectUserId: about }),
      after,
      permission: `workflows.${type}.create`,
    });
    const said = { status: "pending", action: "create" };
    tellOf(events, tx, "workflow.created", { id, reference, type, subjects }, said);
    const own = kinds[type].events?.filed;
    if (own !== undefined) tellOf(events, tx, own, { id, reference, type, subjects }, said);
  }

  /** Anyone who files what is open already joins it: what they bring is kept with it, and they are as partial as its requester. */
  async function join(tx: Tx, open: Request, intake: Intake): Promise<CreationAnswer> {
    await tx.lock(`workflow:${open.id}`);
    const row = await getWholeRequest(tx, open.id);
    const status = row.status as CreationAnswer["status"];
    const { id, reference } = row;
    const answer: CreationAnswer = {
      success: true,
      id,
      reference,
      status,
      joined: true,
      warnings: intake.warnings,
      duplicates: [],
      effects_preview: [],
    };
    const isNew = requireJoinable(tx, row);
    if (!isNew && intake.common.evidence.length === 0) return answer;
    if (isNew)
      await tx.db.workflowSubject.createMany({ data: [{ requestId: row.id, kind: "joined", subjectId: tx.call.actor?.id ?? "" }] });
    const kept = moreEvidence(row.evidence as unknown[], intake.common.evidence);
    const data = { evidence: kept as Prisma.InputJsonValue, revision: row.revision + 1, updatedAt: tx.now };
    await tx.db.workflowRequest.update({ where: { id: row.id }, data });
    await tx.db.workflowStep.createMany({ data: [stepOf(tx, row, { action: "join", to: row.status })] });
    audit.record(tx, {
      action: "workflow.join",
      target: { kind: "workflow", id: row.id, reference: row.reference },
      permission: `workflows.${row.type}.create`,
    });
    tellOf(events, tx, "workflow.updated", row, { status: row.status, action: "join" });
    return answer;
  }
  return { create, fileInTx };
}

const maxJoined = 50;

/**
 * Whether anyone who files the same is new to it. Anyone who works on it or has voted stays on that side.
 * @throws ProblemError duplicate_open, storage_busy when it was decided meanwhile
 */
function requireJoinable(tx: Tx, row: Request): boolean {
  const actor = tx.call.actor?.id;
  if (!isOpenStatus(statusAt(row, tx.now))) throw new ProblemError("storage_busy", { retryAfter: 1 });
  if (actor === undefined || isRequester(row, actor)) return false;
  const joined = row.subjects.filter(({ kind }) => kind === "joined").length;
  const isDecider = row.assigneeId === actor || row.votes.some(({ actorId }) => actorId === actor);
  if (joined >= maxJoined || isDecider) throw new ProblemError("duplicate_open", { extra: { reference: row.reference } });
  return true;
}

/**
 * Who may file: holders of the permission, and anyone who files for themselves what people file for themselves.
 * @throws ZodError, ProblemError as requireWrite
 */
function requireFiling(call: Call, type: WorkflowKind, body: unknown): { intake: Intake; isForOneself: boolean } {
  const permission = `workflows.${type}.create` as const;
  const isForOneself = kinds[type].filedForOneself !== undefined && call.actor !== null && !can(call, permission);
  if (!isForOneself) requireWrite(call, permission);
  const intake = understand(kinds[type], body);
  if (isForOneself) {
    // People need no permission to ask about what was decided about themselves.
    if (kinds[type].suspends?.(intake.payload) !== undefined)
      throw fieldError("/suspend", "not_offered", say("workflows.leave-this-out-the-staff-decide-whether"));
    const named = intake.payload["user_id"];
    requireWrite(call, permission, { own: typeof named === "string" ? named : call.actor?.id });
    if (named === undefined) intake.payload["user_id"] = call.actor?.id;
  }
  return { intake, isForOneself };
}

interface Appealing {
  reach: Pick<LinkReach, "linkedAccountsOf">;
  type: WorkflowKind;
  intake: Intake;
  isForOneself: boolean;
}

/**
 * What people file for themselves is filed in time, by staff as well. A person without rights here asks only about what was decided about
 * them, as far as they may know of it, with any account of theirs, and once at a time.
 * @throws ProblemError validation_failed, duplicate_open, cooldown
 */
async function requireAppealable(tx: Tx, { reach, type, intake: { payload }, isForOneself }: Appealing): Promise<void> {
  const field = kinds[type].filedForOneself?.about;
  if (field === undefined) return;
  const name = String(payload[field]);
  const viewer = await viewerOf(tx.db, reach, tx.call);
  const accounts = new Set([tx.call.actor?.id ?? "", ...viewer.accounts]);
  const target = await findTarget(tx.db, name);
  const isKnown = target?.isKnownTo(viewer) === true;
  if (isForOneself) {
    const decision = await findOwnDecision(tx.db, accounts, target?.kind === "case" ? target.reference : name);
    if (!isKnown || decision === undefined)
      throw fieldError(`/${field}`, "unknown_reference", say("workflows.there-is-nothing-about-you-under-this"));
  }
  const end = isKnown ? await appealEndOf(tx.db, target) : null;
  if (end !== null && end <= tx.now)
    throw fieldError(`/${field}`, "appeal_over", say("workflows.the-time-to-appeal-this-ended-at", { at: end.toISOString() }));
  if (isForOneself && target !== null) await requireOnlyAppeal(tx, target, accounts);
}

function requesterName(guildState: GuildState, call: Call): string | null {
  return call.actor === null ? null : (guildState.members(call.actor.id)[0]?.username ?? null);
}

interface New {
  reference: string;
  policy: Policy;
  name: string | null;
}

function rowOf(tx: Tx, type: WorkflowKind, intake: Intake, { reference, policy, name }: New) {
  const { call, now } = tx;
  const { payload, common, extra } = intake;
  // Everybody who reads requests reads the summary: what is not for all of them is not copied there.
  const [said = ""] = ["reason", "allegation", "grounds"].flatMap((name) =>
    kinds[type].classes[name] === "public" ? textsOf([payload[name]]) : [],
  );
  const summary = common.summary ?? said;
  const clocks = begun(now, policy, common.urgent);
  return {
    id: uuid7(now.getTime()),
    reference,
    type,
    status: "pending",
    priority: common.priority,
    urgent: common.urgent,
    title: common.title ?? kinds[type].title(payload),
    summary,
    payload: toJson(payload),
    extra: toJson(extra),
    requesterId: call.actor?.id ?? null,
    requesterName: name,
    clientId: call.client?.id ?? null,
    requestedVia: call.via,
    ...(common.origin !== undefined && { origin: common.origin }),
    evidence: common.evidence as Prisma.InputJsonValue[],
    related: common.related,
    externalId: common.external_id ?? null,
    approvalsRequired: approvalsFor(type, policy, payload),
    links: [],
    ...clocks,
    ...placesOf({ priority: common.priority, dueDecisionAt: clocks.dueDecisionAt }),
    remindAt: remindAtOf({
      ...clocks,
      status: "pending",
      firstTouchedAt: null,
      pausedAt: null,
      infoDueAt: null,
      isHeld: false,
      holdAt: null,
      told: null,
    }),
    createdAt: now,
    updatedAt: now,
  };
}
