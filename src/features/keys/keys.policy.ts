import { say, term } from "../../kit/say.ts";
import { z } from "zod";
import type { ApiKey } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import type { AccessDirectory } from "../permissions/access/access-directory.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError, fieldError } from "../../kernel/errors.ts";
import { onWire } from "../../kernel/wire.ts";
import { KeyView, PublicKey, keysLimits, type KeyEnd } from "./keys.schema.ts";

/** What a key may do, from where, and until when. */
export interface KeySettings extends Pick<ApiKey, "name" | "expiresAt"> {
  scopes: string[];
  delegation: KeyView["delegation"];
  publicKey: PublicKey | null;
  ipAllowlist: string[];
}

/** Who may call the service methods of this feature. */
export const keysPolicy = {
  create: "clients.manage",
  read: "clients.manage",
  update: "clients.manage",
  revoke: "clients.manage",
  rotate: "clients.manage",
  sweep: "system.act",
} as const;

export const secondsPerDay = 86_400;
const warningSeconds = 30 * secondsPerDay;

const Texts = z.array(z.string());

/** The list in a JSON column. */
export function textsOf(column: unknown): string[] {
  return Texts.parse(column);
}

export function settingsOf(row: ApiKey): KeySettings {
  return {
    name: row.name,
    scopes: textsOf(row.scopes),
    delegation: KeyView.shape.delegation.parse(row.delegation),
    publicKey: PublicKey.nullable().parse(row.publicKey),
    ipAllowlist: textsOf(row.ipAllowlist),
    expiresAt: row.expiresAt,
  };
}

/** Who may know what a key is proved with, and so speak through it for anybody. */
export function makersOf({ makers, createdBy }: Pick<ApiKey, "makers" | "createdBy">): string[] {
  return makers === null ? [createdBy ?? []].flat() : textsOf(makers);
}

/**
 * What a key may do at a moment: its scopes, as far as everybody who made it holds them then. Who made a key knows its secret, so it never
 * does more than they may, and names nobody unless they may make such keys.
 */
export function limitsOf(access: Pick<AccessDirectory, "allHold">, makers: readonly string[], isInScopes: (permission: string) => boolean) {
  return {
    allows: (permission: string): boolean => isInScopes(permission) && access.allHold(makers, permission),
    mayName: (): boolean => access.allHold(makers, keysPolicy.create),
  };
}

/** The makers of what this call makes: who asks, and those who may be asking in their place. */
export function makersIn({ actor, makers = [] }: Call, before: readonly string[] = []): string[] {
  return [...new Set([...before, ...makers, ...(actor === null ? [] : [actor.id])])];
}

/** Shows a key as it stands at a moment. */
export type PresentKey = (row: ApiKey, now: Date) => KeyView;

export function stateAt(row: Pick<ApiKey, "revokedAt" | "expiresAt">, now: Date): KeyView["state"] {
  if (row.revokedAt !== null) return "revoked";
  return row.expiresAt <= now ? "expired" : "active";
}

/**
 * Everything about a key that may be seen; the hash of its secret is not.
 * @param isLimited whether it may do less than its settings say, as somebody who made it does not hold that
 */
export function presentKey(row: ApiKey, now: Date, isLimited: boolean): KeyView {
  const state = stateAt(row, now);
  return {
    ...onWire(row, "id", "keyId"),
    state,
    warning: state === "active" ? warningOf(row, now, isLimited) : null,
    makers: makersOf(row),
    ...presentSettings(settingsOf(row)),
    ...onWire(row, "createdBy", "createdAt", "lastUsedAt", "rotatedFrom", "revokedAt", "revision"),
  };
}

function warningOf(row: ApiKey, now: Date, isLimited: boolean): KeyView["warning"] {
  if (isLimited) return "limited";
  return row.expiresAt < addSeconds(now, warningSeconds) ? "expires_soon" : null;
}

/** The settings as answers and audit entries show them. */
export function presentSettings(settings: KeySettings) {
  return onWire(settings, "name", "scopes", "delegation", "publicKey", "ipAllowlist", "expiresAt");
}

/** A key that has ended stays as it ended. @throws ProblemError invalid_transition */
export function requireActive(row: ApiKey, now: Date): void {
  const state = stateAt(row, now);
  if (state === "active") return;
  throw new ProblemError("invalid_transition", {
    detail: say("keys.the-key-is-make-a-new-one", { state: term(state) }),
    extra: { from: state },
  });
}

/** Signed delegation needs a public key, and nothing else takes one. @throws ProblemError validation_failed */
export function requireFittingKey(delegation: KeyView["delegation"], publicKey: PublicKey | null | undefined): void {
  const hasKey = publicKey !== null && publicKey !== undefined;
  if (hasKey === (delegation === "signed")) return;
  throw hasKey
    ? fieldError("/public_key", "only_signed", say("keys.a-public-key-belongs-to-signed-delegation"))
    : fieldError("/public_key", "required", say("keys.signed-delegation-needs-the-public-key-that"));
}

/** The end that was named, if any. @throws ProblemError validation_failed when it has passed or is too far */
export function endOf({ expires_at: at, expires_days: days }: KeyEnd, now: Date): Date | undefined {
  if (days !== undefined) return addSeconds(now, days * secondsPerDay);
  if (at === undefined) return undefined;
  const end = new Date(at);
  if (end <= now) throw fieldError("/expires_at", "in_the_past", say("keys.the-end-lies-in-the-past-to"));
  if (end > addSeconds(now, keysLimits.expiresDays * secondsPerDay))
    throw fieldError("/expires_at", "too_large", say("keys.a-key-lasts-at-most-days", { days: keysLimits.expiresDays }));
  return end;
}

/**
 * Nobody who cannot be asked makes a key that outlives their own: a client without acting user stays within its own end.
 * @param asked the end the caller named, or undefined
 * @param otherwise the end when none is named; it is moved to the bound
 * @throws ProblemError cannot_grant_unheld
 */
export function boundEnd(call: Call, asked: Date | undefined, otherwise: Date): Date {
  const bound = call.actor === null ? call.client?.expiresAt : undefined;
  const wanted = asked ?? otherwise;
  if (bound === undefined || wanted <= bound) return wanted;
  if (asked === undefined) return bound;
  throw new ProblemError("cannot_grant_unheld", {
    detail: say("keys.without-an-acting-user-a-key-ends", { at: bound.toISOString() }),
    extra: { missing_in: "key" },
  });
}
