import type { Tx } from "../../database/database.ts";
import type { WorkflowRequest } from "../../generated/sqlite/client.ts";
import { blacklistReference } from "../../kernel/stored.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { LinksService } from "../links/links.service.ts";
import type { RegistryService } from "../servers/servers.service.ts";
import { agreementDraft, draftsOf, linkDraftsOf } from "./effects.drafts.ts";
import type { EffectKey, Kind } from "./workflows.kinds.ts";
import type { EffectView } from "./workflows.schema.ts";

type Listing = Awaited<ReturnType<BlacklistService["createWithin"]>>;

/** An approval that takes effect, inside its transaction. */
export interface Approval {
  tx: Tx;
  row: WorkflowRequest;
  payload: Record<string, unknown>;
  reasonPublic: string | null;
  approvedBy: readonly string[];
  permission: string;
}

interface Effect {
  preview: string;
  /** Later effects see what earlier ones listed. */
  apply(approval: Approval, listings: Listing[]): Promise<EffectView[]>;
}

export interface EffectParts {
  blacklist: BlacklistService;
  links: Pick<LinksService, "createLinkWithin">;
  agreements: Pick<RegistryService, "createAgreementWithin">;
}

export type Effects = ReturnType<typeof createEffects>;

/** What approvals do, by name; a further effect is a further entry. */
export function createEffects({ blacklist, agreements, links }: EffectParts) {
  const table: Readonly<Record<EffectKey, Effect>> = {
    "blacklist.create": {
      preview: "The subject is put on the blacklist; an active record is strengthened instead.",
      async apply(approval, listings) {
        const { tx, row, permission } = approval;
        const drafts = draftsOf(approval);
        await blacklist.lockSubjects(tx, drafts);
        for (const draft of drafts) {
          listings.push(
            await blacklist.createWithin(tx, draft, { action: "blacklist.create", permission, reason: `Approval of ${row.reference}` }),
          );
        }
        return listings.map((listing) => listingEffect(listing));
      },
    },
    "matches.recompute": {
      preview: "Everyone concerned is compared with the record.",
      apply: (_approval, listings) => Promise.resolve([matchesEffect(listings)]),
    },
    "agreement.create": {
      preview: "The agreement is made between the servers, from its start to its end.",
      apply: async (approval) => [agreementEffect(await agreements.createAgreementWithin(approval.tx, agreementDraft(approval)))],
    },
    "account_link.create": {
      preview: "The accounts are linked, each with each; a link there is becomes surer instead.",
      async apply(approval) {
        const done: EffectView[] = [];
        for (const draft of linkDraftsOf(approval)) done.push(linkEffect(await links.createLinkWithin(approval.tx, draft)));
        return done;
      },
    },
  };

  return {
    preview: (kind: Kind, payload: Record<string, unknown>) => effectsOf(kind, payload).map((key) => ({ key, detail: table[key].preview })),

    /** Do everything an approval of this kind does; whatever throws undoes the approval. */
    async apply(kind: Kind, approval: Approval): Promise<EffectView[]> {
      const listings: Listing[] = [];
      const done: EffectView[] = [];
      for (const key of effectsOf(kind, approval.payload)) done.push(...(await table[key].apply(approval, listings)));
      return done;
    },
  };
}

function effectsOf({ effects }: Kind, payload: Record<string, unknown>): readonly EffectKey[] {
  return typeof effects === "function" ? effects(payload) : effects;
}

function agreementEffect(made: Awaited<ReturnType<RegistryService["createAgreementWithin"]>>): EffectView {
  const key = "agreement.create";
  if (made === null) {
    const detail = "Nothing was made: it would be over before it begins, or it names fewer than two servers.";
    return { key, status: "skipped", target: null, detail };
  }
  const detail = made.status === "scheduled" ? `The agreement was made and begins at ${made.starts_at}.` : "The agreement was made.";
  return { key, status: "done", target: { kind: "agreement", id: made.id }, detail };
}

function linkEffect({ row, isMerged }: Awaited<ReturnType<LinksService["createLinkWithin"]>>): EffectView {
  return {
    key: isMerged ? "account_link.merge" : "account_link.create",
    status: "done",
    target: { kind: "account_link", id: row.id },
    detail: isMerged ? "The link of the two accounts was strengthened." : "The two accounts were linked.",
  };
}

function listingEffect({ row, isMerged }: Listing): EffectView {
  const reference = blacklistReference(row.number);
  const detail = isMerged ? "The active record was strengthened." : "A record was created.";
  return {
    key: isMerged ? "blacklist.merge" : "blacklist.create",
    status: "done",
    target: { kind: "blacklist", id: row.id, reference },
    detail,
  };
}

function matchesEffect(listings: readonly Listing[]): EffectView {
  const sum = (count: "added" | "changed" | "removed") => listings.reduce((total, { matches }) => total + matches[count], 0).toString();
  return {
    key: "matches.recompute",
    status: "done",
    target: null,
    detail: `${sum("added")} added, ${sum("changed")} changed, ${sum("removed")} removed.`,
  };
}
