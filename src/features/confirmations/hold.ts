import { say } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { randomInt } from "node:crypto";
import { isDeepStrictEqual } from "node:util";
import type { Tx } from "../../database/database.ts";
import type { Confirmation, Prisma } from "../../generated/sqlite/client.ts";
import type { Actor, Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError } from "../../kernel/errors.ts";
import type { Held } from "../../kernel/held.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { answerOf } from "./records.ts";
import { isForTwo } from "./rights.ts";
import { keysOf, needsOf, titleOf, withoutInput, type ConfirmationRow } from "./rows.ts";
import type { Need } from "./confirmations.schema.ts";

/**
 * Carries out a held change in the transaction that ends its confirmation, for the person who asked (`tx.call`): it checks again
 * all that the service method checked. It may run more than once. @throws ProblemError when it is not allowed any more
 */
export type Apply = (tx: Tx, input: unknown) => Promise<unknown>;

/** A change that may have to wait, as the service method that would make it tells it. */
export interface Confirmable {
  /** The registered service method that carries it out, such as `permissions.users.update`. */
  action: string;
  /** What of `CONFIRM_IN_DISCORD` it belongs to; an `operation` always waits for the person who asks. */
  group: "permissions" | "keys" | "erasure" | "operation";
  /** The permission that allows it; a second person has to hold it as well. */
  permission: string;
  /** JSON that `apply` is given once everything is confirmed. */
  input: object;
  /** What it will do, in plain words. Further lines hold what people wrote: they go when the change ends. */
  summary: string;
  /** Dangerous permissions it would grant; a second person has to hold them as well. */
  dangerous?: readonly string[];
  /** A second person has to confirm it whatever the settings say. */
  secondPerson?: boolean;
  /** Whom it is done to; they cannot be the second person. */
  subjectUserId?: string;
  /** The rank of what it is done to; a second person has to stand above. */
  rank?: number;
}

interface HoldDeps extends Deps<"audit" | "events"> {
  confirmInDiscord: readonly Confirmable["group"][];
  secondPersonForDanger: boolean;
  /** Whether a change can be shown whole to whoever confirms it. */
  fits?: (summary: string) => boolean;
  /** Whether an action is registered. */
  isKnown: (action: string) => boolean;
}

/** How long a change waits, in seconds: for the person who asked, and when a second one has to be found. */
const patience = { alone: 900, forTwo: 86_400 } as const;
const maxPending = 20;

/** Hold what is asked for until the end: nothing is asked with a key while that key ends. It is taken after the locks of what is changed. */
export const lockAsked = (tx: Tx): Promise<void> => tx.lock("confirmations-asked");

/** No characters that look alike. */
const alphabet = "23456789ABCDEFGHJKMNPQRSTUVWXYZ";
const codeLength = 6;
/** Below every rank a role can have. */
const noRank = -1;

export function createHold(deps: HoldDeps): (tx: Tx, change: Confirmable) => Promise<Held | undefined> {
  const { audit, events, isKnown } = deps;

  async function insert(tx: Tx, actor: Actor, change: Confirmable, needs: readonly Need[]): Promise<Confirmation> {
    const row = await tx.db.confirmation.create({
      data: {
        id: uuid7(tx.now.getTime()),
        code: await freshCode(tx),
        ...termsOf(change),
        input: jsonOf(change.input),
        summary: change.summary,
        needs: [...needs],
        actorId: actor.id,
        clientId: tx.call.client?.id ?? null,
        status: "pending",
        answers: answerOf(tx, "asked"),
        createdAt: tx.now,
        expiresAt: endOf(tx, needs),
      },
    });
    audit.record(tx, {
      action: "confirmation.request",
      target: { kind: "confirmation", id: row.id },
      ...(row.subjectUserId !== null && { subjectUserId: row.subjectUserId }),
      after: { action: row.action, summary: titleOf(row), needs, expires_at: row.expiresAt.toISOString() },
      permission: change.permission,
    });
    events.emit(tx, { type: "confirmation.requested", data: { id: row.id, needs } });
    return row;
  }

  return async (tx, change) => {
    if (tx.call.confirmation !== undefined) {
      await requireConfirmed(tx, tx.call.confirmation, change, deps);
      return undefined;
    }
    const needs = neededFor(tx.call, change, deps);
    if (needs.length === 0) return undefined;
    const { actor } = tx.call;
    if (actor === null)
      throw new ProblemError("acting_user_required", { detail: say("confirmations.this-change-has-to-be-confirmed-name") });
    if (!isKnown(change.action)) throw new Error(`nothing is registered to carry out ${change.action}`);
    if (deps.fits?.(change.summary) === false)
      throw new ProblemError("validation_failed", {
        detail: say("confirmations.it-is-too-much-to-be-shown"),
      });
    await lockAsked(tx);
    await requireKey(tx);
    const pending = await tx.db.confirmation.findMany({
      where: { actorId: actor.id, status: "pending", expiresAt: { gt: tx.now } },
      orderBy: { expiresAt: "asc" },
    });
    const known = pending.find((row) => isSame(row, change));
    if (known === undefined) refuseTooMany(pending, tx.now);
    return heldOf(known ?? (await insert(tx, actor, change, needs)));
  };
}

/** A change that waits lapses with the key it was asked with. */
function endOf({ call, now }: Tx, needs: readonly Need[]): Date {
  const end = addSeconds(now, needs.includes("second_person") ? patience.forTwo : patience.alone);
  const keyEnd = call.client?.expiresAt;
  return keyEnd !== undefined && keyEnd < end ? keyEnd : end;
}

/** The key may have been revoked since the request began. @throws ProblemError credential_revoked */
async function requireKey({ db, call }: Tx): Promise<void> {
  if (call.client === null) return;
  const key = await db.apiKey.findUnique({ where: { id: call.client.id }, select: { revokedAt: true } });
  if (key !== null && key.revokedAt !== null) throw new ProblemError("credential_revoked");
}

function needsTwo({ dangerous = [], secondPerson = false }: Confirmable, { secondPersonForDanger }: HoldDeps): boolean {
  return secondPerson || (secondPersonForDanger && dangerous.length > 0);
}

/** Who has to confirm. The operator at the command line and the service itself are above it; in Discord the person is there already. */
function neededFor({ via }: Call, change: Confirmable, deps: HoldDeps): Need[] {
  if (via === "cli" || via === "job") return [];
  const isStepUp = via !== "slash" && (change.group === "operation" || deps.confirmInDiscord.includes(change.group));
  return [...(isStepUp ? (["acting_user"] as const) : []), ...(needsTwo(change, deps) ? (["second_person"] as const) : [])];
}

/**
 * What is carried out must be no more than what the second person agreed to: things may have moved since.
 * @throws ProblemError invalid_transition
 */
async function requireConfirmed(tx: Tx, id: string, change: Confirmable, deps: HoldDeps): Promise<void> {
  if (!needsTwo(change, deps)) return;
  const row = await tx.db.confirmation.findUniqueOrThrow({ where: { id }, omit: withoutInput });
  const { keys, rank, subjectUserId } = termsOf(change);
  const agreed = new Set(keysOf(row));
  if (isForTwo(row) && keys.every((key) => agreed.has(key)) && rank <= row.rank && subjectUserId === row.subjectUserId) return;
  throw new ProblemError("invalid_transition", { detail: say("confirmations.it-would-do-more-now-than-when") });
}

/** What the change is and who may confirm it. */
function termsOf({ action, permission, dangerous = [], subjectUserId, rank = noRank }: Confirmable) {
  return { action, permission, keys: dangerous.toSorted(), subjectUserId: subjectUserId ?? null, rank };
}

function isSame(row: Confirmation, change: Confirmable): boolean {
  const { action, permission, keys, subjectUserId, rank } = row;
  return isDeepStrictEqual(
    { action, permission, keys, subjectUserId, rank, input: row.input },
    { ...termsOf(change), input: jsonOf(change.input) },
  );
}

/** The input as a database gives it back. */
function jsonOf(input: object): Prisma.InputJsonObject {
  return JSON.parse(JSON.stringify(input)) as Prisma.InputJsonObject;
}

/** @param pending what waits for this person, the first to lapse first */
function refuseTooMany(pending: readonly ConfirmationRow[], now: Date): void {
  const [first] = pending;
  if (first === undefined || pending.length < maxPending) return;
  throw new ProblemError("rate_limited", {
    detail: say("confirmations.changes-of-this-person-wait-for-a", { count: maxPending }),
    retryAfter: Math.max(1, Math.ceil((first.expiresAt.getTime() - now.getTime()) / 1000)),
  });
}

/** Unlike every code so far, so that a code never leads to another change than the one it was made for. */
async function freshCode(tx: Tx): Promise<string> {
  for (;;) {
    const code = Array.from({ length: codeLength }, () => alphabet.charAt(randomInt(alphabet.length))).join("");
    if ((await tx.db.confirmation.findUnique({ where: { code }, select: { id: true } })) === null) return code;
  }
}

function heldOf(row: ConfirmationRow): Held {
  const { id, code, action, summary } = row;
  return {
    confirmation_required: { id, code, action, summary, needs: needsOf(row), status: "pending", expires_at: row.expiresAt.toISOString() },
  };
}
