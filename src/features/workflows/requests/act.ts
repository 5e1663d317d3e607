import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import type { PermissionKey } from "../../../kernel/permissions.ts";
import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../../database/database.ts";
import { jsonObject } from "../../../kernel/parsing.ts";
import { can, requireIn, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError, recordNotFound } from "../../../kernel/errors.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { isRevision } from "../../../kernel/revision.ts";
import type { WorkflowKind } from "../../../kernel/vocabulary.ts";
import { amenderOf, redescribe, requireHaste, type Redescribed } from "../amend/fields.ts";
import { presentEffect, type Effects } from "../effects/effects.ts";
import { reversalBlockers, type Giving } from "../effects/giving.ts";
import type { Blocker } from "../effects/types.ts";
import { approvalsFor, policyOf, type Policy } from "../policies/policies.ts";
import {
  approvalsOf,
  approversOf,
  requiredOf,
  transition,
  type Attempt,
  type Context,
  type Moved,
  type State,
} from "../state/transition.ts";
import { amendPermission, moves, permissionOf } from "../state/table.ts";
import { amendedPayload, assigneeFor, lockKept } from "./attempt.ts";
import { actsIn, deciderOf } from "./context.ts";
import { understandDecision, type DecisionInput } from "./decision.ts";
import { requireUnique } from "./filing.ts";
import { requireKnownFields } from "./intake.ts";
import { kinds } from "../kinds/kinds.ts";
import { canSee, mayKnow, stateOf, subjectsOf, viewerOf, getWholeRequest, type Request } from "./workflows.policy.ts";
import { approvalOf, createSideEffects, type SideEffectDeps } from "./side-effects.ts";
import { isWaived, presentBlocker, refusal } from "./presenter.ts";
import type { DecisionAnswer, EffectView } from "./workflows.schema.ts";
import { visibleDecision } from "./visibility.ts";
import { judgeVotes, type VoteJudges } from "./votes.ts";
import type { ServedServers } from "./where.ts";

export interface Acting {
  decide(call: Call, type: WorkflowKind, key: string, input: DecisionInput, options?: ActOptions): Promise<DecisionAnswer>;
  /**
   * Approve a request for its requester, in the transaction that files it. The caller has found that a server's policy lets them; the
   * rules about subjects, linked accounts, ranks and the number of approvals hold as for everybody.
   * @throws ProblemError as `act`
   */
  approveInTx(tx: Tx, type: WorkflowKind, id: string, reason: string): Promise<DecisionAnswer>;
  /**
   * Reverse a direct decision for the person who made it. The caller has found that it is theirs to take back alone; the rules about
   * subjects, linked accounts and ranks hold as for everybody. Once more changes nothing.
   * @throws ProblemError as `act`
   */
  undoInTx(tx: Tx, type: WorkflowKind, id: string, reason: string): Promise<DecisionAnswer>;
  /**
   * Do something to a request: every action of the table of moves. The same by the same person again answers as before, with
   * `replayed`.
   * @param key id or reference
   * @throws ZodError, ProblemError acting_user_required, permission_denied, record_not_found, conflict_of_interest,
   * hierarchy_violation, precondition_failed, already_decided, invalid_transition
   */
  act(call: Call, type: WorkflowKind, key: string, body: unknown, options?: ActOptions): Promise<DecisionAnswer>;
  openRequest(
    tx: Tx,
    options: {
      type: WorkflowKind;
      key: string;
      permission: PermissionKey | null;
      accounts: readonly string[];
    },
  ): Promise<Request>;
}

export interface ActDeps extends SideEffectDeps, Deps<"database">, VoteJudges {
  effects: Effects;
  reach: VoteJudges["reach"];
  permissions: Giving;
  served: ServedServers;
}

interface MoveOptions {
  ifMatch?: number | undefined;
  /** The requester approves it in the transaction that files it: see {@link Decider}. */
  isDirect?: boolean;
  /** Its author takes their own direct decision back: see {@link Decider}. */
  isOwnUndo?: boolean;
}

export interface ActOptions extends Pick<MoveOptions, "ifMatch"> {
  /** Show what would come of it, and write nothing. */
  isDryRun?: boolean | undefined;
  /** What else is written with the move, or refuses it. */
  alongside?: (tx: Tx, moved: Pick<DecisionAnswer, "id" | "reference">) => Promise<void>;
}

/** A move that is understood, with all it depends on. */
interface Prepared {
  request: Request;
  /** Of its kind, as it holds now. */
  policy: Policy;
  state: State;
  attempt: Attempt;
  context: Context;
  /** The caller's further accounts. */
  accounts: readonly string[];
  /** The whole payload after an amendment, if that changes it. */
  amended: Record<string, unknown> | undefined;
  redescribed: Redescribed | undefined;
  /** Whose earlier votes no longer count. */
  lapsed: readonly string[];
}

/** Ends the transaction of a dry run: nothing of it stays. */
class DryRunEnd extends Error {
  override readonly name = "DryRunEnd";
  readonly answer: DecisionAnswer;
  constructor(answer: DecisionAnswer) {
    super("a dry run ended");
    this.answer = answer;
  }
}

export function createActing(parts: ActDeps): Acting {
  const { database, effects, access, reach, permissions, served } = parts;
  const applySideEffects = createSideEffects(parts);

  async function prepare(tx: Tx, type: WorkflowKind, key: string, input: DecisionInput, options: MoveOptions): Promise<Prepared> {
    const { ifMatch, isDirect = false, isOwnUndo = false } = options;
    const { accounts } = await viewerOf(tx.db, reach, tx.call);
    const opened = await openRequest(tx, { type, key, permission: permissionOf(input.action, type), accounts });
    const person = deciderOf(tx.call, accounts);
    if (person === null) throw new ProblemError("acting_user_required");
    const decider = { ...person, isDirect, isOwnUndo };
    const policy = await policyOf(tx.db, type);
    const { payload } = input.body;
    const judged = await judgeVotes(tx, { access, reach, request: opened, policy, decider, action: input.action });
    const { context: found, request, lapsed } = judged;
    const amended = payload === undefined ? undefined : await amendedPayload(tx, { request, input, isPartial: found.isConflicted, served });
    const isChanged = amended !== undefined && !isDeepStrictEqual(amended, request.payload);
    const redescribed = input.described === undefined ? undefined : redescribe(request, input.described, policy);
    const attempt: Attempt = {
      action: input.action,
      isOutdated: ![input.revision, ifMatch].every((known) => isRevision(known, request.revision)),
      steal: input.body.steal,
      override: input.body.override,
      ...(input.action === "assign" && { assignee: await assigneeFor(tx, { access, reach, request, decider, input }) }),
      ...(input.action === "amend" && { isChanged, isDescribed: Object.keys(redescribed?.before ?? {}).length > 0 }),
    };
    const context = input.described === undefined ? found : amenderOf(found, payload, input.described);
    return {
      request,
      policy,
      state: stateOf(request, policy, tx.now),
      attempt,
      context,
      accounts,
      amended: isChanged ? amended : undefined,
      redescribed,
      lapsed,
    };
  }

  /** A request reaches into a further server only by those who may file it, or change it, there. @throws ProblemError permission_denied */
  function requireReach(call: Call, { request, context, amended }: Prepared): void {
    const type = request.type as WorkflowKind;
    const before = actsIn(access, type, jsonObject(request.payload));
    const added = amended === undefined ? [] : actsIn(access, type, amended).filter((guildId) => !before.includes(guildId));
    if (added.length > 0) requireIn(call, context.isRequester ? `workflows.${type}.create` : amendPermission, added);
  }

  /** What a change has to keep: where it acts, who sets the haste, and that no two open requests of a kind are about the same. */
  async function requireKept(tx: Tx, prepared: Prepared, input: DecisionInput): Promise<void> {
    const { request, policy, state, context, accounts, amended } = prepared;
    const { action, described = {} } = input;
    requireReach(tx.call, prepared);
    requireHaste(context, described);
    requireLength(input, { request, state, context, policy });
    const subjects = amended === undefined ? subjectsOf(request) : kinds[request.type as WorkflowKind].subjects(amended);
    if (action === "reopen" || !isDeepStrictEqual(subjects, subjectsOf(request))) await requireUnique(tx, request, subjects, accounts);
  }

  /** What keeps an approval, or its reversal, from taking effect now, though the move itself is legal. */
  async function blockersOf(tx: Tx, { request, state, context }: Prepared, input: DecisionInput, result: Moved): Promise<Blocker[]> {
    if (isTakenBack(state, result)) return await reversalBlockers(permissions, tx, request.effects);
    if (!isTakingEffect(state, result)) return [];
    const blockers = await effects.check(approvalOf(tx, request, input, context.actorId, result));
    return blockers.filter((blocker) => !isWaived(blocker, input, context));
  }

  /** Move a request, or say why not. */
  async function move(tx: Tx, type: WorkflowKind, key: string, input: DecisionInput, options: MoveOptions): Promise<DecisionAnswer> {
    const prepared = await prepare(tx, type, key, input, options);
    const { request, state, attempt, context } = prepared;
    const result = transition(state, attempt, context);
    if (!result.ok) throw refusal(result, { action: input.action, request, state });
    await requireKept(tx, prepared, input);
    if (result.isReplay) return answerOf(request, state, result, { replayed: true });
    const blockers = await blockersOf(tx, prepared, input, result);
    if (blockers.length > 0)
      throw refusal(
        { ok: false, refused: "invalid_transition", detail: blockers.map(({ detail }) => detail).join(" ") },
        { action: input.action, request, state, blockers },
      );
    const isWaiving = input.body.override === true && isTakingEffect(state, result);
    const { policy, amended, redescribed, lapsed } = prepared;
    const done = await applySideEffects(tx, {
      tx,
      request,
      input,
      actorId: context.actorId,
      result,
      policy,
      amended,
      redescribed,
      lapsed,
      isWaiving,
      isDirect: options.isDirect === true,
      isOwnUndo: options.isOwnUndo === true,
    });
    const approvalsRequired = amended === undefined ? state.approvalsRequired : approvalsFor(type, policy, amended);
    return answerOf({ ...request, effects: done, revision: request.revision + 1 }, { ...state, approvalsRequired }, result, { lapsed });
  }

  /** What would come of a move: its effects as they would be done, or everything in the way. */
  async function tryOut(tx: Tx, type: WorkflowKind, key: string, input: DecisionInput, options: MoveOptions): Promise<never> {
    const prepared = await prepare(tx, type, key, input, options);
    const { request, state, attempt, context } = prepared;
    // Who only tries has not voted, and does not learn who has.
    const isBlind = prepared.policy.blind_votes;
    const result = transition(state, attempt, context);
    const plan = effects.preview(kinds[type], jsonObject(request.payload)).map(plannedEffect);
    const planned = input.action === "approve" ? plan : [];
    if (!result.ok) {
      const { code, detail = "" } = refusal(result, { action: input.action, request, state });
      const still: Moved = { ok: true, isReplay: false, isFinal: false, isBreakGlass: false, next: { ...state } };
      throw new DryRunEnd({
        ...answerOf({ ...request, effects: [] }, state, still, {}),
        effects: planned,
        dry_run: true,
        blockers: [{ code, detail }],
      });
    }
    const inTheWay = await requireKept(tx, prepared, input).then(() => [], asBlocker);
    const blockers = [...inTheWay, ...(await blockersOf(tx, prepared, input, result))];
    if (result.isReplay || blockers.length > 0 || !result.isFinal) {
      const notes = result.isReplay ? { replayed: true as const } : { lapsed: isBlind ? [] : prepared.lapsed };
      const answer = answerOf({ ...request, effects: [] }, state, result, notes);
      throw new DryRunEnd({ ...answer, effects: planned, dry_run: true, blockers: blockers.map(presentBlocker) });
    }
    throw new DryRunEnd({ ...(await move(tx, type, key, input, options)), dry_run: true, blockers: [] });
  }

  /** As `act`, before what the caller may not see is left out, and of an action that is understood. */
  async function decide(
    call: Call,
    type: WorkflowKind,
    key: string,
    input: DecisionInput,
    options: ActOptions = {},
  ): Promise<DecisionAnswer> {
    const { ifMatch, isDryRun = false, alongside } = options;
    requireRight(call, type, input);
    if (input.body.payload !== undefined) requireKnownFields(kinds[type], input.body.payload);
    try {
      const work = isDryRun ? tryOut : move;
      return await database.write(isDryRun ? { ...call, idempotency: null } : call, async (tx) => {
        const answer = await work(tx, type, key, input, { ifMatch });
        await alongside?.(tx, answer);
        return answer;
      });
    } catch (error) {
      if (error instanceof DryRunEnd) return error.answer;
      throw error;
    }
  }

  return {
    decide,

    approveInTx: (tx: Tx, type: WorkflowKind, id: string, reason: string): Promise<DecisionAnswer> =>
      move(tx, type, id, understandDecision(kinds[type], { decision: "approve", reason }), { isDirect: true }),

    undoInTx: (tx: Tx, type: WorkflowKind, id: string, reason: string): Promise<DecisionAnswer> =>
      move(tx, type, id, understandDecision(kinds[type], { decision: "reverse", reason }), { isOwnUndo: true }),

    async act(call: Call, type: WorkflowKind, key: string, body: unknown, options?: ActOptions): Promise<DecisionAnswer> {
      requirePerson(call);
      return visibleDecision(call, type, await decide(call, type, key, understandDecision(kinds[type], body), options));
    },
    openRequest,
  };
}

/** A refusal, as a dry run tells it. */
function asBlocker(error: unknown): Blocker[] {
  if (!(error instanceof ProblemError)) throw error;
  return [{ code: error.code, detail: error.said }];
}

function plannedEffect({ key, detail }: { key: string; detail: string }): EffectView {
  return { key, status: "planned", target: null, detail, attempts: 0, last_error: null, due_at: null };
}

function requirePerson(call: Call): void {
  if (call.actor === null) throw new ProblemError("acting_user_required", { detail: say("workflows.a-decision-is-a-persons-name-them") });
}

interface LengthGround {
  request: Request;
  state: State;
  context: Context;
  policy: Policy;
}

/** A decision never makes longer what others approved, nor so grave that it needs more people. @throws ProblemError validation_failed */
function requireLength({ action, body: { duration } }: DecisionInput, { request, state, context, policy }: LengthGround): void {
  const approvers = approversOf(state);
  if (action !== "approve" || duration === undefined || approvers.includes(context.actorId)) return;
  const payload = jsonObject(request.payload);
  const type = request.type as WorkflowKind;
  const isGraver = approvalsFor(type, policy, { ...payload, duration }) > approvalsFor(type, policy, payload);
  if (isGraver) throw fieldError("/duration", "needs_more_people", say("workflows.for-this-length-the-request-needs-more"));
  if (approvers.length > 0 && secondsOf(duration) > secondsOf(payload["duration"]))
    throw fieldError("/duration", "longer_than_approved", say("workflows.others-approved-a-shorter-length-the-request"));
}

/** Of a length; without one it has no end. */
function secondsOf(length: unknown): number {
  return typeof length === "string" ? (parseDuration(length) ?? Infinity) : Infinity;
}

/** What can be known before the request is: a permission that is missing. */
function requireRight(call: Call, type: WorkflowKind, { action }: DecisionInput): void {
  requirePerson(call);
  const permission = permissionOf(action, type);
  const isStaffs = moves[action].isRequesters !== true && permission !== null && action !== "unassign";
  if (isStaffs) requireWrite(call, permission);
  else if (moves[action].isRequesters === true && !isInKey(call, action, permission))
    requireWrite(call, `workflows.${type}.create`, { own: call.actor?.id });
  else if (call.actor?.isStale() === true) throw new ProblemError("roster_stale", { retryAfter: 30 });
}

/** Whether the key is for staff who do it; one that is not has to be for those who file. */
function isInKey({ client }: Call, action: DecisionInput["action"], permission: PermissionKey | null): boolean {
  const staffs = [...(permission === null ? [] : [permission]), ...(action === "amend" ? ["workflows.review"] : [])];
  return client === null || staffs.some((one) => client.allows(one));
}

/**
 * Read a request to change it, under its lock. What the caller may not see is not there.
 * @param asked.permission of what is done: anyone who holds it may know of requests without reading them
 * @param asked.accounts the caller's further accounts
 */
export async function openRequest(
  tx: Tx,
  { type, key, permission, accounts }: { type: WorkflowKind; key: string; permission: PermissionKey | null; accounts: readonly string[] },
): Promise<Request> {
  const viewer = { call: tx.call, accounts };
  const found = await tx.db.workflowRequest.findFirst({
    where: { type, OR: [{ id: key.toLowerCase() }, { reference: key.toUpperCase() }] },
    select: { id: true },
  });
  if (found === null) throw recordNotFound();
  await lockKept(tx, [found.id]);
  const request = await getWholeRequest(tx, found.id);
  const isActing = permission !== null && can(tx.call, permission) && mayKnow(viewer, request);
  if (!isActing && !canSee(viewer, request)) throw recordNotFound();
  return request;
}

/** Whether a move puts an approval in force; one of several votes to take it back leaves it as it stands. */
function isTakingEffect(state: State, { next, isReplay }: Moved): boolean {
  return next.status === "approved" && state.status !== "approved" && !isReplay;
}

/** Whether a move takes an approval back. */
function isTakenBack(state: State, { next, isReplay }: Moved): boolean {
  return next.status === "reversed" && state.status !== "reversed" && !isReplay;
}

interface Notes {
  replayed?: true;
  lapsed?: readonly string[];
}

function answerOf(request: Request, state: State, { next, isFinal }: Moved, { lapsed = [], ...notes }: Notes): DecisionAnswer {
  return {
    success: true,
    id: request.id,
    reference: request.reference,
    status: next.status,
    final: isFinal,
    revision: request.revision,
    approvals: {
      have: approvalsOf({ votes: next.votes, payloadRevision: next.payloadRevision }),
      required: requiredOf({ approvalsRequired: state.approvalsRequired, tier: next.tier }),
      ...(lapsed.length > 0 && { lapsed: [...lapsed] }),
    },
    effects: request.effects.map(presentEffect),
    ...notes,
  };
}
