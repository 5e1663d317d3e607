import { inWords } from "../../kit/say.ts";
import { randomBytes, createHash, createHmac } from "node:crypto";
import type { Tx } from "../../database/database.ts";
import type { SeriesEnd } from "../../database/known-ends.ts";
import type { Insert, Series } from "../../database/tx.ts";
import type { AuditEntry } from "../../generated/sqlite/client.ts";
import { uuid7 } from "../../kernel/ids.ts";
import { callerOf, type AuditedCaller } from "../../kernel/denied.ts";
import type { Head } from "./checkpoints.ts";
import { showText } from "../../kernel/storable.ts";
import { canonicalJson } from "../../kernel/canonical-json.ts";

/** Where the chain starts. */
export const genesis = "0".repeat(64);

/** `value` as every database gives it back: dates as text, no undefined, no characters PostgreSQL refuses. */
export function storable(value: unknown): unknown {
  const text = JSON.stringify(value);
  return text === undefined ? null : cleaned(JSON.parse(text));
}

function cleaned(value: unknown): unknown {
  if (typeof value === "string") return showText(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [showText(key), cleaned(entry)]));
}

/** The hash of an entry: SHA-256 over the previous hash and the canonical JSON of its visible columns, `erased` only where it says something. */
export function entryHash(entry: Omit<AuditEntry, "hash">): string {
  const { prevHash, erased, ...columns } = entry;
  const visible = { ...columns, at: columns.at.toISOString(), ...(erased !== null && { erased }) };
  return createHash("sha256").update(prevHash).update(canonicalJson(visible)).digest("hex");
}

/** What an entry says about its details without holding them. */
export function commitment(salt: string, payload: unknown): string {
  return createHmac("sha256", Buffer.from(salt, "base64url")).update(canonicalJson(payload)).digest("hex");
}

/** One thing that happened, as the service method that did it tells it. Actor, client, transport and request come from `tx.call`. */
export interface AuditInput {
  /** `entity.verb`, such as `staff_role.update`. */
  action: string;
  target?: { kind: string; id: string; reference?: string };
  /** The person it was done to, when there is one. */
  subjectUserId?: string;
  /** The person it was done to, where the target is nothing but that person. */
  user?: string;
  guildId?: string;
  reason?: string;
  /** JSON of the changed fields before and after; never secrets or tokens. */
  before?: unknown;
  after?: unknown;
  /** The permission that allowed it. */
  permission?: string;
  breakGlass?: boolean;
  /** Something was tried and came to nothing. */
  outcome?: "failed";
  /** Positions in the chain, as [first, last] pairs, whose details this change erased. */
  erased?: [number, number][];
}

/** An entry on its way into the chain. Refused attempts are written later, by somebody else than who made them. */
export type QueuedEntry = Omit<AuditInput, "outcome"> & { outcome?: "denied" | "failed"; caller?: AuditedCaller };

/**
 * Queues entries of a transaction, which are chained and inserted when its work is done.
 * @param onHead told the new head of the chain after the commit
 */
export function createRecorder(onHead: (head: Head) => void = () => undefined): (tx: Tx, entry: QueuedEntry) => void {
  const chain: Series<QueuedEntry> = {
    name: "audit",
    rowsOf(tx, inputs, last) {
      const { entries, payloads, head } = chained(tx, inputs, last);
      tx.afterCommit(() => onHead(head));
      const inserts: Insert[] = [
        { model: "AuditEntry", rows: entries },
        { model: "AuditPayload", rows: payloads },
      ];
      return { inserts, head: head.hash };
    },
  };
  return (tx, entry) => tx.append(chain, entry);
}

function chained(tx: Tx, inputs: readonly QueuedEntry[], last: SeriesEnd) {
  let { number: seq } = last;
  let hash = last.head ?? genesis;
  const entries: AuditEntry[] = [];
  const payloads: { seq: number; salt: string; payload: object }[] = [];
  for (const input of inputs) {
    seq += 1;
    const salt = randomBytes(16).toString("base64url");
    const said = { reason: input.reason ?? null, before: input.before ?? null, after: input.after ?? null };
    // An entry keeps the words, as its hash covers them.
    const payload = storable(inWords(said)) as object;
    const unsigned = { ...columns(tx, input), seq, payloadCommitment: commitment(salt, payload), prevHash: hash };
    hash = entryHash(unsigned);
    entries.push({ ...unsigned, hash });
    payloads.push({ seq, salt, payload });
  }
  return { entries, payloads, head: { seq, hash } };
}

function columns(tx: Tx, input: QueuedEntry): Omit<AuditEntry, "seq" | "payloadCommitment" | "prevHash" | "hash"> {
  const { now } = tx;
  const caller = input.caller ?? callerOf(tx.call);
  const target = input.user === undefined ? input.target : { kind: "user", id: input.user };
  return {
    id: uuid7(now.getTime()),
    at: now,
    action: input.action,
    outcome: input.outcome ?? "ok",
    actorId: caller.actorId,
    clientId: caller.clientId,
    via: caller.via,
    targetKind: target?.kind ?? null,
    targetId: target === undefined ? null : showText(target.id),
    targetReference: target?.reference ?? null,
    subjectUserId: input.user ?? input.subjectUserId ?? null,
    guildId: input.guildId ?? null,
    requestId: caller.requestId,
    permissionUsed: input.permission ?? null,
    breakGlass: input.breakGlass ?? false,
    erased: input.erased === undefined ? null : JSON.stringify(input.erased),
  };
}
