import type { Deps } from "../deps.ts";
import { createHold, lockAsked, type Apply, type Confirmable } from "./hold.ts";
import type { Tx, Database } from "../../database/database.ts";
import { earliestOf } from "../../database/earliest.ts";
import type { ApiKey } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call, requireWrite, type Actor } from "../../kernel/call.ts";
import { systemClock, type Clock } from "../../kernel/clock.ts";
import { recordNotFound, problems, ProblemError } from "../../kernel/errors.ts";
import { sweepIsolated } from "../../kernel/isolated.ts";
import { toPage, withTotal, type Page } from "../../kernel/page.ts";
import type { AuditService } from "../audit/audit.service.ts";
import type { EventsService } from "../events/events.service.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { confirmationsPermission, presentConfirmation } from "./confirmations.policy.ts";
import { createConfirmationRecords, type ConfirmationRecords } from "./records.ts";
import { canSee, concerns, isForTwo, requireOther, requireOwnWord, requireSecondPerson } from "./rights.ts";
import { keyOf, withoutInput, answersOf, needsOf, statusAt, type ConfirmationRow } from "./rows.ts";
import { type ConfirmationView, type ListConfirmationsQuery, DeclineConfirmationInput, type Need } from "./confirmations.schema.ts";
import { say, worded } from "../../kit/say.ts";
import { ZodError } from "zod";
import { isHeld, type Held } from "../../kernel/held.ts";
import { isRevision, requireRevision } from "../../kernel/revision.ts";

interface DecideDeps extends Deps<"reach"> {
  database: Database;
  clock: Clock;
  records: ConfirmationRecords;
  access: Pick<AccessDirectory, "actorOf" | "allHold">;
  actions: ReadonlyMap<string, Apply>;
  operations: ReadonlyMap<string, RunOperation>;
}

/** A held call of an operation, as it was asked for. */
interface HeldOperation {
  operation: string;
  input: unknown;
  /** The API key it was asked with. */
  clientId: string | null;
}

/**
 * Carries out a held call of an operation, with every check again, in transactions of its own: the first of them ends the confirmation.
 * @returns what the operation answers @throws ProblemError when it is not allowed any more
 */
type RunOperation = (call: Call, held: HeldOperation) => Promise<unknown>;

/** The change was confirmed and is not allowed (any more): everything is rolled back, and the refusal is kept. */
class RefusedChangeError extends Error {
  override name = "RefusedChangeError";
  readonly problem: ProblemError;

  constructor(problem: ProblemError) {
    super(problem.message, { cause: problem });
    this.problem = problem;
  }
}

/** Somebody said something a moment ago: what they said counts, and nothing happens twice. */
class SaidBeforeError extends Error {
  override name = "SaidBeforeError";
}

/** Which change somebody says yes to, and in which revision. */
interface Said {
  id: string;
  ifMatch: number | undefined;
}

/** What people say about held changes. */
function createDecisions({ database, clock, records, access, reach, actions, operations }: DecideDeps) {
  /** Which change a key names and who asked for it; whether the caller may know is seen under its lock. */
  async function locate(key: string): Promise<Pick<ConfirmationRow, "id" | "actorId" | "action">> {
    const where = keyOf(key);
    const select = { id: true, actorId: true, action: true };
    const found = where === undefined ? null : await database.read.confirmation.findFirst({ where, select });
    if (found === null) throw recordNotFound();
    return found;
  }

  async function carryOut(tx: Tx, row: ConfirmationRow, requester: Actor): Promise<void> {
    const apply = actions.get(row.action);
    if (apply === undefined) {
      throw new RefusedChangeError(
        new ProblemError("unsupported_operation", { detail: say("confirmations.this-version-cannot-carry-it-out-ask") }),
      );
    }
    const makers = answersOf(row).find(({ as }) => as === "asked")?.makers ?? [];
    if (!access.allHold(makers, row.permission)) throw new RefusedChangeError(askedInVain(row));
    const { input } = await tx.db.confirmation.findUniqueOrThrow({ where: { id: row.id }, select: { input: true } });
    try {
      await apply({ ...tx, call: callOf(tx.call, row, requester) }, input);
    } catch (error) {
      throw refusalOf(error) ?? error;
    }
  }

  async function accept(tx: Tx, { id, ifMatch }: Said, requester: Actor) {
    const { row, isSaid } = await records.open(tx, id, "yes", ifMatch);
    if (isSaid) return sayAgain(tx, row);
    const need = requireTurn(tx.call, row);
    if (need === "second_person") requireOther(row, await reach.linkedAccountsOf(tx.db, requireActor(tx.call).id));
    const needs = needsOf(row).filter((one) => one !== need);
    const isLast = needs.length === 0;
    const changed = await records.change(tx, row, { verb: "accept", answer: need, needs, ...(isLast && { status: "applied" }) });
    if (isLast) await carryOut(tx, changed, requester);
    return presentConfirmation(tx.call, changed, tx.now);
  }

  /** Run a held call of an operation for the person who asked. Its first transaction ends the confirmation, so that both happen or none. */
  async function carryOutOperation(call: Call, said: Said, requester: Actor, run: RunOperation): Promise<ConfirmationView> {
    const { id, ifMatch } = said;
    const { input, ...held } = await database.read.confirmation.findUniqueOrThrow({ where: { id } });
    if (!canSee(call, held)) throw recordNotFound();
    requireRevision(ifMatch, held.revision);
    if (statusAt(held, clock.now()) !== "pending") return await database.write(call, (tx) => accept(tx, said, requester));
    requireTurn(call, held);
    let ended: ConfirmationView | undefined;
    const within = async (tx: Tx): Promise<void> => {
      if (ended !== undefined) return;
      const own: Tx = { ...tx, call };
      const { row, isSaid } = await records.open(own, id, "yes");
      if (isSaid || !isRevision(ifMatch, row.revision)) throw new SaidBeforeError();
      const changed = await records.change(own, row, { verb: "accept", answer: requireTurn(call, row), needs: [], status: "applied" });
      tx.afterCommit(() => (ended = presentConfirmation(call, changed, tx.now)));
    };
    const { confirmation: _held, ...asked } = callOf(call, held, requester);
    try {
      const answer = await run({ ...asked, within }, { operation: held.action, input, clientId: held.clientId });
      if (ended === undefined) await database.write({ ...call, idempotency: null }, within);
      // A second person has to confirm it now: that is another change, which waits.
      return isHeld(answer) ? await show(call, answer.confirmation_required.id) : (ended ?? (await show(call, id)));
    } catch (error) {
      if (error instanceof SaidBeforeError) return await database.write(call, (tx) => accept(tx, said, requester));
      throw refusalOf(error) ?? error;
    }
  }

  async function show(call: Call, id: string): Promise<ConfirmationView> {
    const row = await database.read.confirmation.findUniqueOrThrow({ where: { id }, omit: withoutInput });
    return presentConfirmation(call, row, clock.now());
  }

  /** The answer to what somebody has said before: nothing happens. */
  function sayAgain({ call, now, afterCommit }: Tx, row: ConfirmationRow): ConfirmationView {
    afterCommit(() => void (call.replayed = true));
    return presentConfirmation(call, row, now);
  }

  /** Nothing stays of the attempt but that it failed. */
  async function markFailed(call: Call, id: string, { code }: ProblemError): Promise<void> {
    await database.write({ ...call, idempotency: null }, async (tx) => {
      const row = await records.read(tx, id);
      if (row.status !== "pending") return;
      const [answer = "second_person"] = needsOf(row);
      await records.change(tx, row, { verb: "fail", status: "failed", answer, failure: code });
    });
  }

  return {
    /**
     * Say yes, as the person who asked (in Discord) or as the second person. The last yes carries the change out. Who says it again gets
     * the answer again (`call.replayed`), and nothing happens.
     * @param key id or code
     * @throws ProblemError record_not_found, precondition_failed, invalid_transition (not the caller's turn), conflict_of_interest,
     * permission_denied, cannot_grant_unheld, hierarchy_violation, and what the change itself is refused with: then it has failed permanently
     */
    async confirm(call: Call, key: string, ifMatch?: number): Promise<ConfirmationView> {
      requireWrite(call, confirmationsPermission);
      const { id, actorId, action } = await locate(key);
      // The person who asked may have to be looked up at Discord: not while the database waits.
      const requester = await access.actorOf(actorId);
      const run = operations.get(action);
      try {
        if (run !== undefined) return await carryOutOperation(call, { id, ifMatch }, requester, run);
        return await database.write(call, (tx) => accept(tx, { id, ifMatch }, requester));
      } catch (error) {
        if (!(error instanceof RefusedChangeError)) throw error;
        await markFailed(call, id, error.problem);
        throw error.problem;
      }
    },

    /** Say no, as the person who asked or as a possible second person; again as with `confirm`. @throws ProblemError as `confirm` */
    async decline(call: Call, key: string, input: DeclineConfirmationInput = {}, ifMatch?: number): Promise<ConfirmationView> {
      requireWrite(call, confirmationsPermission);
      const { reason } = DeclineConfirmationInput.parse(input);
      const { id } = await locate(key);
      return await database.write(call, async (tx) => {
        const { row, isSaid } = await records.open(tx, id, "no", ifMatch);
        if (isSaid) return sayAgain(tx, row);
        const actor = requireActor(call);
        if (actor.id !== row.actorId) requireSecond(call, actor, row);
        const declined = await records.change(tx, row, { verb: "decline", status: "declined", answer: "declined", reason });
        return presentConfirmation(call, declined, tx.now);
      });
    },
  };
}

function requireActor(call: Call): Actor {
  if (call.actor === null) throw new ProblemError("acting_user_required", { detail: say("confirmations.only-people-confirm") });
  return call.actor;
}

/**
 * What the caller's confirmation stands for.
 * @throws ProblemError invalid_transition when it is not their turn or not their transport, and as {@link requireSecondPerson}
 */
function requireTurn(call: Call, row: ConfirmationRow): Need {
  const actor = requireActor(call);
  const [next = "second_person"] = needsOf(row);
  if (next === "acting_user" && actor.id === row.actorId) {
    if (call.via !== "slash")
      throw new ProblemError("invalid_transition", { detail: say("confirmations.confirm-it-in-discord-with-confirm-accept") });
    return next;
  }
  requireSecond(call, actor, row);
  if (next === "acting_user")
    throw new ProblemError("invalid_transition", { detail: say("confirmations.the-person-who-asked-has-to-confirm") });
  requireOwnWord(call, actor, row);
  return next;
}

function requireSecond(call: Call, actor: Actor, row: ConfirmationRow): void {
  if (!isForTwo(row)) throw new ProblemError("invalid_transition", { detail: say("confirmations.only-the-person-who-asked-can-say") });
  requireSecondPerson(call, actor, row);
}

/** A key never does more than those who made it, also when what was asked with it is carried out later. */
function askedInVain({ permission }: ConfirmationRow): ProblemError {
  return new ProblemError("permission_denied", {
    detail: say("confirmations.it-was-asked-with-an-api-key", { permission }),
    extra: { required: permission, missing_in: "key" },
  });
}

/** In whose name the change is carried out: the person who asked, as they stand now, in the guild they last spoke from. */
function callOf({ via, requestId }: Call, row: ConfirmationRow, requester: Actor): Call {
  const answers = answersOf(row);
  const guildId = answers.findLast((answer) => answer.user_id === row.actorId)?.guild_id;
  const makers = answers.find((answer) => answer.as === "asked")?.makers;
  const base = { client: null, actor: requester, via, requestId, idempotency: null, replayed: false, confirmation: row.id };
  return { ...base, ...(guildId !== undefined && { guildId }), ...(makers !== undefined && { makers }) };
}

/** A permanent refusal; what may pass on another try leaves the change pending. What was asked is not told by it. */
function refusalOf(error: unknown): RefusedChangeError | undefined {
  const problem =
    error instanceof ZodError
      ? new ProblemError("validation_failed", { detail: say("confirmations.what-was-asked-does-not-fit-any") })
      : error;
  if (!(problem instanceof ProblemError) || "retryable" in problems[problem.code]) return undefined;
  const { code, extra } = problem;
  // The acting user of the change is somebody else than the person who reads this.
  const why = worded(problem.detail ?? `${problems[code].title}.`).replace("The acting user", "The person who asked");
  const detail = say("confirmations.it-was-confirmed-but-not-carried-out", { detail: why });
  return new RefusedChangeError(new ProblemError(code, { detail, cause: problem, ...(extra !== undefined && { extra }) }));
}

export interface ConfirmationsService {
  /** @throws ProblemError record_not_found when it does not exist or is not the caller's business */
  get(call: Call, key: string): Promise<ConfirmationView>;
  /** What waits for the caller's word and what they have asked for, newest first. */
  list(call: Call, query: ListConfirmationsQuery): Promise<Page<ConfirmationView>>;
  /** Hold every change that waits until the end, before anything that one of them may change. */
  lock(tx: Tx): Promise<void>;
  /**
   * Let what was asked with a key end with it: at once when it is revoked, but for the change being carried out, and else no later than
   * the key. The caller holds {@link lock}.
   */
  endWithKey(tx: Tx, given: Pick<ApiKey, "id" | "revokedAt" | "expiresAt">): Promise<void>;
  /** Let every change that waits and is about a person come to nothing, but the one being carried out. */
  endAbout(tx: Tx, userId: string): Promise<void>;
  /** End held changes that nobody confirmed in time; returns how many. For the job that runs each minute. */
  expireDue(call: Call): Promise<number>;
  /** When the next held change expires. */
  nextDue(): Promise<Date | null>;
  /**
   * Say yes, as the person who asked (in Discord) or as the second person. The last yes carries the change out. Who says it again gets
   * the answer again (`call.replayed`), and nothing happens.
   * @param key id or code
   * @throws ProblemError record_not_found, precondition_failed, invalid_transition (not the caller's turn), conflict_of_interest,
   * permission_denied, cannot_grant_unheld, hierarchy_violation, and what the change itself is refused with: then it has failed permanently
   */
  confirm(call: Call, key: string, ifMatch?: number): Promise<ConfirmationView>;
  /** Say no, as the person who asked or as a possible second person; again as with `confirm`. @throws ProblemError as `confirm` */
  decline(call: Call, key: string, input?: DeclineConfirmationInput, ifMatch?: number): Promise<ConfirmationView>;
  /** Name the way a held change of this action is carried out; once, at start. */
  register(action: string, apply: Apply): void;
  /** Name the way held calls of these operations are carried out; once, at start. */
  registerOperations(names: readonly string[], run: RunOperation): void;
  /**
   * Ask, inside the service method's transaction and after all its checks, whether a change has to wait. If so it is kept, and what is
   * returned is the service method's answer; if not, undefined, and the service method goes on.
   * @throws ProblemError acting_user_required when nobody could confirm it, validation_failed when it cannot be shown whole, rate_limited when too much waits for this person,
   * invalid_transition when it is being carried out and would do more than what was confirmed
   */
  hold(tx: Tx, change: Confirmable): Promise<Held | undefined>;
}

export interface ConfirmationsDeps extends Deps<"database" | "cursors" | "reach" | "logger"> {
  audit: AuditService;
  events: EventsService;
  access: Pick<AccessDirectory, "actorOf" | "of" | "allHold">;
  clock?: Clock;
  /** What needs a confirmation in Discord by the acting person. */
  confirmInDiscord: readonly Confirmable["group"][];
  /** Whether granting a dangerous permission needs a second person. */
  secondPersonForDanger: boolean;
  /** Whether a change can be shown whole to whoever confirms it; every one can unless told. */
  fits?: (summary: string) => boolean;
}

/** Changes that wait for a word in Discord, for a second person, or for both. */
export function createConfirmationsService(deps: ConfirmationsDeps): ConfirmationsService {
  const { database, access, reach, cursors, clock = systemClock, logger } = deps;
  const actions = new Map<string, Apply>();
  const operations = new Map<string, RunOperation>();
  const records = createConfirmationRecords(deps);

  return {
    register(action: string, apply: Apply): void {
      if (actions.has(action)) throw new Error(`${action} is registered already`);
      actions.set(action, apply);
    },

    registerOperations(names: readonly string[], run: RunOperation): void {
      for (const name of names) operations.set(name, run);
    },

    hold: createHold({ ...deps, isKnown: (action) => actions.has(action) || operations.has(action) }),
    ...createDecisions({ database, clock, records, access, reach, actions, operations }),
    ...createSweep({ database, records, clock, logger }),

    async get(call: Call, key: string): Promise<ConfirmationView> {
      requirePermission(call, confirmationsPermission);
      const where = keyOf(key);
      const row = where === undefined ? null : await database.read.confirmation.findFirst({ where, omit: withoutInput });
      if (row === null || !canSee(call, row)) throw recordNotFound();
      return presentConfirmation(call, row, clock.now());
    },

    async list(call: Call, query: ListConfirmationsQuery): Promise<Page<ConfirmationView>> {
      requirePermission(call, confirmationsPermission);
      const { limit, cursor } = query;
      const now = clock.now();
      // Few wait at a time, for each person asks for few: who may confirm them is not in the words of the database.
      const where = { status: "pending", expiresAt: { gt: now } };
      const pending = await database.read.confirmation.findMany({ where, orderBy: { id: "desc" }, omit: withoutInput });
      const mine = pending.filter((row) => concerns(call, row));
      const before = cursor === undefined ? undefined : cursors.decode("confirmations", {}, cursor)[1];
      const page = toPage(
        mine.filter((row) => before === undefined || row.id < before),
        limit,
        (row) => presentConfirmation(call, row, now),
        (last) => cursors.encode("confirmations", {}, [last.id, last.id]),
      );
      return withTotal(page, query, () => mine.length);
    },
  };
}

const batch = 100;

export interface SweepDeps extends Deps<"database" | "logger"> {
  records: ConfirmationRecords;
  clock: Clock;
}

/** What time does to held changes. */
export function createSweep({ database, records, clock, logger }: SweepDeps) {
  const findDue = (after: { id: string } | undefined): Promise<{ id: string }[]> =>
    database.read.confirmation.findMany({
      where: { status: "pending", expiresAt: { lte: clock.now() }, ...(after !== undefined && { id: { gt: after.id } }) },
      select: { id: true },
      orderBy: { id: "asc" },
      take: batch,
    });

  const expireAll = (call: Call, ids: readonly { id: string }[]): Promise<number> =>
    database.write(call, async (tx) => {
      let expired = 0;
      for (const { id } of ids) {
        const row = await records.read(tx, id);
        if (row.status !== "pending") continue;
        await records.change(tx, row, { verb: "expire", status: "expired" });
        expired += 1;
      }
      return expired;
    });

  return {
    /** Hold every change that waits until the end, before anything that one of them may change. */
    lock: records.lock,

    /**
     * Let what was asked with a key end with it: at once when it is revoked, but for the change being carried out, and else no later than
     * the key. The caller holds {@link lock}.
     */
    async endWithKey(tx: Tx, { id, revokedAt, expiresAt }: Pick<ApiKey, "id" | "revokedAt" | "expiresAt">): Promise<void> {
      await lockAsked(tx);
      const asked = { clientId: id, status: "pending", expiresAt: { gt: tx.now }, NOT: { id: tx.call.confirmation ?? "" } };
      const pending = await tx.db.confirmation.findMany({ where: asked, omit: withoutInput, orderBy: { id: "asc" } });
      for (const row of pending) {
        if (revokedAt !== null) await records.change(tx, row, { verb: "fail", status: "failed", failure: "credential_revoked" });
        else if (row.expiresAt > expiresAt) await tx.db.confirmation.update({ where: { id: row.id }, data: { expiresAt } });
      }
    },

    /** Let every change that waits and is about a person come to nothing, but the one being carried out. */
    async endAbout(tx: Tx, userId: string): Promise<void> {
      const where = { subjectUserId: userId, status: "pending", NOT: { id: tx.call.confirmation ?? "" } };
      const pending = await tx.db.confirmation.findMany({ where, select: { id: true }, orderBy: { id: "asc" } });
      for (const { id } of pending) {
        const row = await records.read(tx, id);
        if (row.status === "pending") await records.change(tx, row, { verb: "expire", status: "expired" });
      }
    },

    /** End held changes that nobody confirmed in time; returns how many. For the job that runs each minute. */
    async expireDue(call: Call): Promise<number> {
      requirePermission(call, "system.act");
      return await sweepIsolated({
        size: batch,
        find: findDue,
        work: (ids) => expireAll(call, ids),
        logger,
        failure: "a change nobody confirmed in time could not be ended; it is tried again in a minute",
        idsOf: ({ id }) => ({ confirmation: id }),
      });
    },

    /** When the next held change expires. */
    nextDue: (): Promise<Date | null> => earliestOf(database.read, "Confirmation", "expiresAt", [{ status: "pending" }]),
  };
}
