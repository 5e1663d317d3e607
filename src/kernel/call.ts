import { say } from "../kit/say.ts";
import { lackText, ProblemError } from "./errors.ts";
import type { PermissionKey } from "./permissions.ts";

/** The transport a call came through; kept in the audit. */
export type Via = "rest" | "slash" | "job" | "cli" | "web";

/** One rule that spoke in a permission decision. */
export interface Reason {
  code: "role_mapping" | "user_allow" | "user_deny" | "suspension" | "blacklist" | "not_member" | "unknown" | "loa_policy" | "owner";
  /** Where the rule stands, such as `role_deny`, `role_allow`, `default` or `guild`. */
  source: string;
  /** What the rule belongs to: a staff role key, an override id, a guild id. */
  ref: string | null;
}

/** The answer to "may this person do that", with the rules that decided it, in order. */
export interface Decision {
  allowed: boolean;
  reasons: readonly Reason[];
}

/** The Discord user a call acts for, with their access resolved in memory. */
export interface Actor {
  id: string;
  isStaff: boolean;
  isOwner: boolean;
  /** The highest rank of their staff roles; owners are above every rank. */
  rank: number;
  /** Whether the guild state behind this access is older than the limit for privileged writes. */
  isStale(): boolean;
  /** Whether nobody can say if they are staff: Discord could not be asked about them, and the guild state has gaps. */
  isUnknown?(): boolean;
  /** @param guildId what the call is about, if a guild: entries limited to that guild count, too */
  decide(permission: string, guildId?: string): Decision;
  /** Until when a permission is held; null: permanently, undefined when it is not held. */
  heldUntil(permission: string, guildId?: string): Date | null | undefined;
}

/** The API key (or the system itself) a call came from. */
export interface CallClient {
  id: string;
  name: string;
  /** @param permission any text: keys of an older version, and scopes such as `cases.*`, are asked about, too */
  allows(permission: string): boolean;
  /** When the key itself ends; absent for the service itself. */
  expiresAt?: Date;
  /** Whether a key with delegation may name acting users now; absent for the service itself. */
  mayName?(): boolean;
}

/** An idempotency key that the effect's own transaction keeps. `status` is what the transport answers on success. */
export interface IdempotencyClaim {
  scope: string;
  fingerprint: string;
  status: number;
  /** Make sure that no other process is at the same, before anything is done outside the transaction. @throws ProblemError idempotency_in_progress */
  alone?: () => Promise<void>;
}

/** Everything a service method knows about who asks. A slash command has an actor and no client. */
export interface Call {
  client: CallClient | null;
  actor: Actor | null;
  via: Via;
  requestId: string;
  idempotency: IdempotencyClaim | null;
  /** Set by the database when the answer is the stored one of an earlier request. */
  replayed: boolean;
  /** Who may be speaking for the acting user: the accounts that made the API key of the call. */
  makers?: readonly string[];
  /** The acting user proved themself by a signed assertion. In Discord and on the pages they always have. */
  isSigned?: true;
  /** The guild a slash command was given in. It allows nothing: see `aboutGuildId`. */
  guildId?: string;
  /** The guild that the call acts in, as its path says: entries limited to that guild count, wherever the call was given. */
  aboutGuildId?: string;
  /** The held change that is being carried out now: what it needed has been confirmed. */
  confirmation?: string;
  /** Work of this process for itself, which each of several does, not only the one that leads. */
  isOfProcess?: true;
  /** Done first in every transaction of this call, which comes to nothing with it. The database hands it the transaction. */
  within?: (tx: never) => Promise<void>;
}

export interface PermissionOptions {
  /** The user whose own data this is: being that user stands in for the permission. */
  own?: string | undefined;
}

/** Whether this call holds a permission: key scopes ∩ permissions of the acting staff member. */
export function can(call: Call, permission: PermissionKey, options: PermissionOptions = {}): boolean {
  if (call.client !== null && !call.client.allows(permission)) return false;
  if (call.actor === null) return call.client !== null;
  if (options.own !== undefined && call.actor.id === options.own) return true;
  return call.actor.isStaff && isAllowed(call.actor, call, permission);
}

/**
 * A call about a guild is decided as in that guild. An allowance for one guild never counts for a call that reaches further; what is denied in
 * the guild where a command is given stays denied there.
 */
function isAllowed(actor: Actor, { guildId, aboutGuildId }: Call, permission: PermissionKey): boolean {
  if (aboutGuildId !== undefined) return actor.decide(permission, aboutGuildId).allowed;
  return actor.decide(permission).allowed && (guildId === undefined || actor.decide(permission, guildId).allowed);
}

/** As {@link can}, and in each of these guilds as well: for what acts in all of them. */
export function canIn(call: Call, permission: PermissionKey, guildIds: readonly string[]): boolean {
  const { actor } = call;
  return can(call, permission) && (actor === null || guildIds.every((guildId) => actor.decide(permission, guildId).allowed));
}

/** Refuse as {@link requirePermission} what acts in several guilds. @throws ProblemError permission_denied */
export function requireIn(call: Call, permission: PermissionKey, guildIds: readonly string[]): void {
  if (!canIn(call, permission, guildIds)) throw denied(permission, "acting_user");
}

/**
 * Refuse a call that lacks a permission.
 * @throws ProblemError permission_denied (missing in the key or the acting user), acting_user_not_staff or discord_unavailable
 */
export function requirePermission(call: Call, permission: PermissionKey, options: PermissionOptions = {}): void {
  if (can(call, permission, options)) return;
  if (call.client !== null && !call.client.allows(permission)) throw denied(permission, "key");
  if (call.actor !== null && !call.actor.isStaff) throw notStaff(call.actor);
  throw denied(permission, "acting_user");
}

/** The refusal of somebody without a staff role; where that is not known, as something to try again. */
export function notStaff(person: Pick<Actor, "isUnknown">): ProblemError {
  return person.isUnknown?.() === true ? unanswered() : new ProblemError("acting_user_not_staff");
}

/** Nothing is decided about somebody of whom nobody knows whether they are staff. @throws ProblemError discord_unavailable */
export function requireAnswered(person: Pick<Actor, "isUnknown">): void {
  if (person.isUnknown?.() === true) throw unanswered();
}

/** Discord could not be asked about a person, and without its answer nothing is done. */
export function unanswered(): ProblemError {
  return new ProblemError("discord_unavailable", { detail: say("kernel.discord-could-not-be-asked-about-the"), retryAfter: 5 });
}

/**
 * Refuse a write that lacks a permission, an actor, or a guild state fresh enough to trust the actor's access.
 * @throws ProblemError as {@link requirePermission}, acting_user_required or roster_stale
 */
export function requireWrite(call: Call, permission: PermissionKey, options: PermissionOptions = {}): void {
  requirePermission(call, permission, options);
  if (call.actor === null && call.client?.allows("system.act") !== true) {
    throw new ProblemError("acting_user_required", { detail: say("http.name-the-staff-member-this-is-done") });
  }
  if (call.actor?.isStale() === true && call.actor.id !== options.own) throw new ProblemError("roster_stale", { retryAfter: 30 });
}

/** The call of the service itself: a job, or the operator's command line. */
export function systemCall(via: "job" | "cli", requestId: string): Call {
  const client = { id: "system", name: "system", allows: () => true };
  return { client, actor: null, via, requestId, idempotency: null, replayed: false };
}

/** The call of work that each of several processes does for itself. */
export const processCall = (requestId: string): Call => ({ ...systemCall("job", requestId), isOfProcess: true });

/**
 * The refusal of fields that a caller sends and may not read: whether they change something would tell what stands there.
 * @param pointers of the fields, as they were sent
 * @param required what reading them needs; undefined where no permission would help
 */
export function notReadable(call: Call, pointers: readonly string[], required?: PermissionKey): ProblemError {
  const missingIn = required !== undefined && call.client?.allows(required) === false ? "key" : "acting_user";
  return new ProblemError("permission_denied", {
    detail: say("kernel.you-can-change-only-what-you-may"),
    errors: pointers.map((pointer) => ({ pointer, in: "body", code: "not_readable", detail: say("kernel.you-may-not-read-this-field") })),
    extra: { ...(required !== undefined && { required }), missing_in: missingIn },
  });
}

function denied(required: string, missingIn: "key" | "acting_user"): ProblemError {
  return new ProblemError("permission_denied", { detail: lackText(required, missingIn), extra: { required, missing_in: missingIn } });
}

/** Whether the acting user has shown who they are. People do in Discord, on the service's own pages, and by an assertion that is signed; the word of an API key is nobody's proof. */
export function isOwnWord({ via, isSigned }: Call): boolean {
  return via !== "rest" || isSigned === true;
}

/** The call of somebody who uses the pages. They have no rights as staff there, also when they are signed in. */
export function webCall(requestId: string, userId: string | null = null): Call {
  const decide: Actor["decide"] = () => ({ allowed: false, reasons: [] });
  const actor =
    userId === null
      ? null
      : { id: userId, isStaff: false, isOwner: false, rank: 0, isStale: () => false, decide, heldUntil: () => undefined };
  return { client: null, actor, via: "web", requestId, idempotency: null, replayed: false };
}
