import { say } from "../../kit/say.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { listed } from "../../kernel/words.ts";
import type { Undone } from "../../kernel/undo.ts";
import { StoredBasis } from "./links.policy.ts";
import type { LinkChanges } from "./rows.ts";

/** A field before and after a change. */
const pair = <Value extends z.ZodType>(value: Value) => z.tuple([value, value]).optional();

/**
 * What is needed to take back that two accounts were linked. Of grounds it keeps how many were added and what the whole was by its
 * hash, not what they say.
 */
export const LinkUndo = z.strictObject({
  link_id: z.string(),
  is_merged: z.boolean(),
  confidence: pair(z.string()),
  propagates: pair(z.boolean()),
  primary_user_id: pair(z.string().nullable()),
  review_at: pair(z.string().nullable()),
  origin_reference: pair(z.string().nullable()),
  basis: z
    .strictObject({ added: z.int().nonnegative(), hash: z.string(), dropped: StoredBasis })
    .optional()
    .meta({ description: "`dropped`: the oldest grounds, where there was no room for more" }),
});
export type LinkUndo = z.infer<typeof LinkUndo>;

/** What takes back that a link was made. */
export function undoOfMade({ id }: AccountLink): LinkUndo {
  return { link_id: id, is_merged: false };
}

/** What takes back that a link was strengthened by so many grounds. */
export function undoOfMerge(before: AccountLink, after: AccountLink, added: number): LinkUndo {
  const held = StoredBasis.parse(before.basis);
  const room = StoredBasis.parse(after.basis).length - added;
  const differing = Object.entries(plainOf(before)).flatMap(([field, was]) => {
    const is = plainOf(after)[field as Plain];
    return was === is ? [] : [[field, [was, is]]];
  });
  return {
    link_id: before.id,
    is_merged: true,
    ...Object.fromEntries(differing),
    ...(added > 0 && { basis: { added, hash: hashOf(after), dropped: held.slice(0, held.length - room) } }),
  };
}

/** What puts a strengthened link back, and the fields that somebody changed since, which stay. */
export function restoringOf(row: AccountLink, undo: LinkUndo): { changes: LinkChanges; kept: string[] } {
  const is = plainOf(row);
  const changed = Object.keys(is).filter((field) => undo[field as Plain] !== undefined) as Plain[];
  const kept = new Set<string>(changed.filter((field) => undo[field]?.[1] !== is[field]));
  // What is suspected never propagates: so both come back together, or neither does.
  if (undo.confidence?.[0] === "suspected" && row.propagates) {
    if (kept.has("confidence") && undo.propagates !== undefined) kept.add("propagates");
    if (undo.propagates === undefined || kept.has("propagates")) kept.add("confidence");
  }
  const basis = undo.basis?.hash === hashOf(row) ? earlierBasis(row, undo.basis) : undefined;
  if (undo.basis !== undefined && basis === undefined) kept.add("basis");
  const fields = Object.fromEntries(changed.filter((field) => !kept.has(field)).map((field) => earlier(field, undo)));
  return { changes: { ...fields, ...(basis !== undefined && { basis }) }, kept: [...kept] };
}

/** How an attempt went, in words: all of it, or all but what somebody changed since. */
export function resultOf(kept: readonly string[]): Undone {
  if (kept.length === 0) return { restored: true, detail: say("links.the-link-is-as-it-was-before") };
  return { restored: false, detail: say("blacklist.what-was-changed-since-stays-as-it", { kept: listed(kept) }) };
}

type Plain = keyof ReturnType<typeof plainOf>;

/** The columns that hold the fields. */
const columns = {
  confidence: "confidence",
  propagates: "propagates",
  primary_user_id: "primaryUserId",
  review_at: "reviewAt",
  origin_reference: "originReference",
} as const satisfies Record<Plain, keyof LinkChanges>;

function earlier(field: Plain, undo: LinkUndo): [column: string, value: string | boolean | Date | null] {
  const was = undo[field]?.[0] ?? null;
  return [columns[field], field === "review_at" && typeof was === "string" ? new Date(was) : was];
}

function plainOf(row: AccountLink) {
  return {
    confidence: row.confidence,
    propagates: row.propagates,
    primary_user_id: row.primaryUserId,
    review_at: isoOrNull(row.reviewAt),
    origin_reference: row.originReference,
  };
}

function earlierBasis(row: AccountLink, { added, dropped }: NonNullable<LinkUndo["basis"]>) {
  const held = StoredBasis.parse(row.basis);
  return [...dropped, ...held.slice(0, held.length - added)].map((one) => ({ ...one }));
}

function hashOf(row: AccountLink): string {
  const basis = StoredBasis.parse(row.basis).map(({ type, note }) => [type, note]);
  return createHash("sha256").update(JSON.stringify(basis)).digest("hex");
}
