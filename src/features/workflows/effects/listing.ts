import { say } from "../../../kit/say.ts";
import type { GuildState } from "../../../discord/guild-state.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { LinksService } from "../../links/links.service.ts";
import { blacklistReference } from "../../../kernel/parsing.ts";
import { namesText } from "./place-words.ts";
import { draftsOf, linkDraftsOf } from "./drafts.ts";
import type { WorkflowEffect } from "../../../generated/sqlite/client.ts";
import type { Done, Earlier, Reversal, SomeEffects } from "./types.ts";
import type { Undone } from "../../../kernel/undo.ts";

type Keys = "account_link.create" | "blacklist.create" | "matches.recompute";
type Listing = Awaited<ReturnType<BlacklistService["createInTx"]>>;

export interface ListingEffectDeps {
  blacklist: Pick<BlacklistService, "createInTx" | "undoCreateInTx" | "revokeInTx" | "lockSubjects">;
  links: Pick<LinksService, "createLinkInTx" | "undoLinkInTx">;
  guildState: Pick<GuildState, "guilds">;
}

/** What approvals list and link. */
export function createListingEffects({ blacklist, links, guildState }: ListingEffectDeps): SomeEffects<Keys> {
  const serverName = (id: string): string => guildState.guilds().find((guild) => guild.id === id)?.name ?? `server ${id}`;
  const undoListing = async ({ tx, request, reason, permission }: Reversal, { undo, targetId }: WorkflowEffect): Promise<Undone> => {
    if (undo === null) {
      // Of an older version nothing is known but the record: one that the request made is revoked.
      const record = await tx.db.blacklistRecord.findUnique({ where: { id: targetId ?? "" }, select: { originReference: true } });
      const isMade = record?.originReference === request.reference;
      const revoked = isMade ? await blacklist.revokeInTx(tx, targetId ?? "", { reason, permission }) : null;
      return revoked === null
        ? { restored: false, detail: say("workflows.it-was-done-by-an-older-version") }
        : { restored: true, detail: say("blacklist.the-record-was-revoked") };
    }
    const { restored, detail } = await blacklist.undoCreateInTx(tx, undo, { reason, permission });
    return { restored, detail };
  };

  return {
    "blacklist.create": {
      preview(input) {
        if (input.kind === "server" || input.scope === "network") return say("workflows.the-subject-is-put-on-the-blacklist");
        const list = say("workflows.the-blacklist-of", { name: namesText(input.serverIds.map(serverName)) });
        return say("workflows.the-subject-is-put-on-an-active", { list });
      },
      async apply(approval, input) {
        const { tx, request, permission } = approval;
        const drafts = draftsOf(approval, input);
        await blacklist.lockSubjects(tx, drafts);
        const done: Done[] = [];
        for (const draft of drafts) {
          const note = { action: "blacklist.create", permission, reason: `Approval of ${request.reference}` } as const;
          const isOver = draft.expiresAt instanceof Date && draft.expiresAt <= tx.now;
          if (isOver) done.push({ status: "skipped", detail: say("callsigns.its-time-is-over") });
          else done.push(listingEffect(await blacklist.createInTx(tx, draft, note)));
        }
        return done;
      },
      undo: undoListing,
    },
    "matches.recompute": {
      preview: say("workflows.everyone-concerned-is-compared-with-the-record"),
      apply: (_approval, _input, earlier) => Promise.resolve([matchesEffect(earlier)]),
    },
    "account_link.create": {
      preview: say("workflows.the-accounts-are-linked-each-with-each"),
      async apply(approval, input) {
        const done: Done[] = [];
        for (const draft of linkDraftsOf(approval, input)) {
          const { row, isMerged, undo } = await links.createLinkInTx(approval.tx, draft);
          done.push({
            key: isMerged ? "account_link.merge" : "account_link.create",
            status: "done",
            target: { kind: "account_link", id: row.id },
            detail: isMerged ? say("workflows.the-link-of-the-two-accounts-was") : say("workflows.the-two-accounts-were-linked"),
            undo,
          });
        }
        return done;
      },
      async undo({ tx, reason, permission }, { undo }) {
        if (undo === null) return { restored: false, detail: say("workflows.it-was-done-before-reversals-could-take") };
        return await links.undoLinkInTx(tx, undo, { reason, permission });
      },
    },
  };
}

function listingEffect({ row, isMerged, matches, undo }: Listing): Done {
  return {
    key: isMerged ? "blacklist.merge" : "blacklist.create",
    status: "done",
    target: { kind: "blacklist", id: row.id, reference: blacklistReference(row.number) },
    detail: isMerged ? say("workflows.the-active-record-was-strengthened") : say("workflows.a-record-was-created"),
    undo,
    memo: matches,
  };
}

function matchesEffect(earlier: Earlier): Done {
  const listings = earlier
    .filter(({ key }) => key.startsWith("blacklist."))
    .flatMap(({ memo }) => (memo === undefined ? [] : [memo as Listing["matches"]]));
  const sum = (count: "added" | "changed" | "removed") => listings.reduce((total, matches) => total + matches[count], 0).toString();
  return {
    status: "done",
    detail: say("workflows.added-changed-removed", { added: sum("added"), changed: sum("changed"), removed: sum("removed") }),
  };
}
