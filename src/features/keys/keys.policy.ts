import { z } from "zod";
import type { Call } from "../../kernel/call.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { ProblemError, fieldError } from "../../kernel/errors.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { KeyView, PublicKey, keysLimits, type KeyEnd } from "./keys.schema.ts";

/** A row of the table of keys. */
export interface KeyRow {
  id: string;
  keyId: string;
  name: string;
  secretHash: string;
  scopes: unknown;
  delegation: string;
  publicKey: unknown;
  ipAllowlist: unknown;
  createdBy: string | null;
  createdAt: Date;
  expiresAt: Date;
  lastUsedAt: Date | null;
  rotatedFrom: string | null;
  revokedAt: Date | null;
  noticeDays: number | null;
  revision: number;
}

/** What a key may do, from where, and until when. */
export interface KeySettings {
  name: string;
  scopes: string[];
  delegation: KeyView["delegation"];
  publicKey: PublicKey | null;
  ipAllowlist: string[];
  expiresAt: Date;
}

/** Who may call the verbs of this room. */
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

export function settingsOf(row: KeyRow): KeySettings {
  return {
    name: row.name,
    scopes: textsOf(row.scopes),
    delegation: KeyView.shape.delegation.parse(row.delegation),
    publicKey: PublicKey.nullable().parse(row.publicKey),
    ipAllowlist: textsOf(row.ipAllowlist),
    expiresAt: row.expiresAt,
  };
}

export function stateAt(row: Pick<KeyRow, "revokedAt" | "expiresAt">, now: Date): KeyView["state"] {
  if (row.revokedAt !== null) return "revoked";
  return row.expiresAt <= now ? "expired" : "active";
}

/** Everything about a key that may be seen; the hash of its secret is not. */
export function presentKey(row: KeyRow, now: Date): KeyView {
  const state = stateAt(row, now);
  return {
    id: row.id,
    key_id: row.keyId,
    state,
    warning: state === "active" && row.expiresAt < addSeconds(now, warningSeconds) ? "expires_soon" : null,
    ...presentSettings(settingsOf(row)),
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    last_used_at: isoOrNull(row.lastUsedAt),
    rotated_from: row.rotatedFrom,
    revoked_at: isoOrNull(row.revokedAt),
    revision: row.revision,
  };
}

/** The settings as answers and audit entries show them. */
export function presentSettings(settings: KeySettings) {
  const { name, scopes, delegation, publicKey, ipAllowlist, expiresAt } = settings;
  return { name, scopes, delegation, public_key: publicKey, ip_allowlist: ipAllowlist, expires_at: expiresAt.toISOString() };
}

/** A key that has ended stays as it ended. @throws ProblemError invalid_transition */
export function requireActive(row: KeyRow, now: Date): void {
  const state = stateAt(row, now);
  if (state === "active") return;
  throw new ProblemError("invalid_transition", { detail: `The key is ${state}; make a new one.`, extra: { from: state } });
}

/** Signed delegation needs a public key, and nothing else takes one. @throws ProblemError validation_failed */
export function requireFittingKey(delegation: KeyView["delegation"], publicKey: PublicKey | null | undefined): void {
  const hasKey = publicKey !== null && publicKey !== undefined;
  if (hasKey === (delegation === "signed")) return;
  throw hasKey
    ? fieldError("/public_key", "only_signed", "A public key belongs to signed delegation alone.")
    : fieldError("/public_key", "required", "Signed delegation needs the public key that assertions are verified with.");
}

/** The end that was named, if any. @throws ProblemError validation_failed when it has passed or is too far */
export function endOf({ expires_at: at, expires_days: days }: KeyEnd, now: Date): Date | undefined {
  if (days !== undefined) return addSeconds(now, days * secondsPerDay);
  if (at === undefined) return undefined;
  const end = new Date(at);
  if (end <= now) throw fieldError("/expires_at", "in_the_past", "The end lies in the past. To end a key at once, revoke it.");
  if (end > addSeconds(now, keysLimits.expiresDays * secondsPerDay))
    throw fieldError("/expires_at", "too_large", `A key lasts at most ${keysLimits.expiresDays.toString()} days.`);
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
    detail: `Without an acting user, a key ends no later than the one it is made with: ${bound.toISOString()}.`,
    extra: { missing_in: "key" },
  });
}
