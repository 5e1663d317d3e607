import { say } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { linksPolicy, StoredBasis } from "./links.policy.ts";
import { type LinkChange, type LinkRecords, ending, type LinkChanges, type LinkDraft } from "./records.ts";
import { linkConfidences } from "../../kernel/vocabulary.ts";
import { maxBasis } from "./links.schema.ts";
import type { Undone, UndoNote } from "../../kernel/undo.ts";
import { createHash } from "node:crypto";
import { z } from "zod";
import { isoOrNull } from "../../kernel/fields.ts";
import { listed } from "../../kernel/words.ts";

/** A field before and after a change. */
const pair = <Value extends z.ZodType>(value: Value) => z.tuple([value, value]).optional();

/**
 * What is needed to take back that two accounts were linked. Of grounds it keeps how many were added and what the whole was by its
 * hash, not what they say.
 */
const LinkUndo = z.strictObject({
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
type LinkUndo = z.infer<typeof LinkUndo>;

/** What takes back that a link was made. */
function undoOfMade({ id }: AccountLink): LinkUndo {
  return { link_id: id, is_merged: false };
}

/** What takes back that a link was strengthened by so many grounds. */
function undoOfMerge(before: AccountLink, after: AccountLink, added: number): LinkUndo {
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
function restoringOf(row: AccountLink, undo: LinkUndo): { changes: LinkChanges; kept: string[] } {
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
function resultOf(kept: readonly string[]): Undone {
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

/** A link that an approved request leads to. */
export interface RequestedLink extends LinkDraft {
  /** The permission that approved it. */
  permission: string;
}

/** Links as parts of other features' transactions. Those features have checked rights, ranks and conflicts. */
export function createInTx(records: LinkRecords) {
  return {
    /**
     * Link two accounts, or strengthen the link they have: it only ever gets surer, reaches further and gains grounds.
     * @throws ProblemError invalid_transition when the group would grow too large
     */
    async createLinkInTx(tx: Tx, draft: RequestedLink): Promise<LinkChange & { isMerged: boolean; undo: LinkUndo }> {
      const [userId, otherId] = draft.userIds;
      if (userId === otherId) throw new ProblemError("invalid_transition", { detail: say("links.an-account-is-not-linked-with-itself") });
      await records.lock(tx);
      const note = { userId, permission: draft.permission };
      const linked = await records.findActive(tx, draft.userIds);
      if (linked === null) {
        const made = await records.create(tx, draft, { ...note, verb: "create" });
        return { ...made, isMerged: false, undo: undoOfMade(made.row) };
      }
      const merged = await records.change(tx, linked, strengthened(linked, draft), { ...note, verb: "update" });
      return { ...merged, isMerged: true, undo: undoOfMerge(linked, merged.row, Math.min(draft.basis.length, maxBasis)) };
    },

    /**
     * Take back what `createLinkInTx` did: the link it made ends, whatever became of it; what it changed of another one and nobody
     * changed since is put back.
     * @param undo as `createLinkInTx` answered it
     */
    async undoLinkInTx(tx: Tx, undo: unknown, { reason, permission }: UndoNote): Promise<Undone> {
      const parsed = LinkUndo.parse(undo);
      await records.lock(tx);
      const row = await tx.db.accountLink.findUnique({ where: { id: parsed.link_id } });
      if (row === null) return { restored: false, detail: say("links.the-link-was-erased") };
      if (row.status !== "active") return { restored: false, detail: say("links.the-link-had-ended-already") };
      const note = { userId: row.userA, permission, reason };
      if (!parsed.is_merged) {
        await records.change(tx, row, ending(tx, reason), { ...note, verb: "end" });
        return { restored: true, detail: say("links.the-link-was-ended") };
      }
      const { changes, kept } = restoringOf(row, parsed);
      if (Object.keys(changes).length > 0) await records.change(tx, row, changes, { ...note, verb: "update" });
      return resultOf(kept);
    },

    /** End a link that counts; one that is over stays as it is and answers null. @throws ProblemError record_not_found */
    async endLinkInTx(tx: Tx, id: string, reason: string, permission: string = linksPolicy.manage): Promise<LinkChange | null> {
      await records.lock(tx);
      const row = await tx.db.accountLink.findUnique({ where: { id } });
      if (row === null) throw recordNotFound();
      if (row.status !== "active") return null;
      return await records.change(tx, row, ending(tx, reason), { verb: "end", userId: row.userA, permission, reason });
    },
  };
}

function strengthened(row: AccountLink, draft: RequestedLink): LinkChanges {
  const isSurer = linkConfidences.findIndex((known) => known === row.confidence) < linkConfidences.indexOf(draft.confidence);
  const confidence = isSurer ? draft.confidence : row.confidence;
  return {
    confidence,
    propagates: confidence !== "suspected" && (row.propagates || draft.propagates),
    basis: [...StoredBasis.parse(row.basis), ...draft.basis].slice(-maxBasis).map((one) => ({ ...one })),
    primaryUserId: draft.primaryUserId ?? row.primaryUserId,
    reviewAt: row.reviewAt !== null && row.reviewAt > draft.reviewAt ? row.reviewAt : draft.reviewAt,
    originReference: row.originReference ?? draft.originReference,
  };
}
