import type { PermissionKey } from "../../kernel/permissions.ts";
import type { Tx } from "../../database/database.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import { newCase, type CaseDraft } from "./fields.ts";
import type { createCaseLinks, Target } from "./links.ts";
import type { createCaseNotes } from "./notes/notes.ts";
import { casesPolicy, wholeCase, type WholeCase } from "./cases.policy.ts";
import { settingsOf } from "./presenter.ts";
import type { CaseRecords } from "./records.ts";
import { isLegal } from "./states.ts";

export interface WithinDeps {
  guildState: GuildState;
  records: CaseRecords;
  notes: Pick<ReturnType<typeof createCaseNotes>, "addNote">;
  links: Pick<ReturnType<typeof createCaseLinks>, "addLink">;
}

/** What is added to a case that is being worked on. */
export interface Addition {
  body: string;
  authorId: string | null;
  /** What it comes from, linked as `related` unless it is linked so already. */
  from?: Target;
  /** The permission that adds it; that of cases themselves by default. */
  permission?: PermissionKey | undefined;
}

/** Cases inside another feature's transaction. The caller has checked rights, ranks and conflicts. */
export function createInTx({ guildState, records, notes, links }: WithinDeps) {
  return {
    /** Open a case. The number is taken here: whatever else the transaction locks, it locks before. */
    async openInTx(tx: Tx, draft: CaseDraft): Promise<WholeCase> {
      const row = await newCase(tx, guildState, draft);
      return await records.insert(tx, row, (made) => ({
        action: "case.open",
        permission: draft.permission ?? casesPolicy.create,
        after: settingsOf(made),
      }));
    },

    /**
     * Add a note, and what it comes from, to a case.
     * @returns undefined, with nothing done, when nothing is added to the case any more: open another one
     */
    async appendInTx(tx: Tx, caseId: string, { body, authorId, from, permission }: Addition): Promise<WholeCase | undefined> {
      await tx.lock(`case:${caseId}`);
      const row = await wholeCase(tx, await tx.db.case.findUnique({ where: { id: caseId } }));
      if (row === null || row.deletedAt !== null || !isLegal(row.status, "note")) return undefined;
      await notes.addNote(tx, row, body, authorId, permission);
      const isLinked = row.links.some(({ rel, kind, targetId }) => rel === "related" && kind === from?.kind && targetId === from.id);
      if (from !== undefined && !isLinked) await links.addLink(tx, row, "related", from, permission);
      return row;
    },
  };
}
