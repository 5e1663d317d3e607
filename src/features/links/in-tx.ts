import { say } from "../../kit/say.ts";
import type { Tx } from "../../database/database.ts";
import type { AccountLink } from "../../generated/sqlite/client.ts";
import { ProblemError, recordNotFound } from "../../kernel/errors.ts";
import { linksPolicy, StoredBasis } from "./links.policy.ts";
import type { LinkChange, LinkRecords } from "./records.ts";
import { ending, type LinkChanges, type LinkDraft } from "./rows.ts";
import { linkConfidences } from "../../kernel/vocabulary.ts";
import { maxBasis } from "./links.schema.ts";
import type { Undone, UndoNote } from "../../kernel/undo.ts";
import { LinkUndo, restoringOf, resultOf, undoOfMade, undoOfMerge } from "./undo.ts";

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
