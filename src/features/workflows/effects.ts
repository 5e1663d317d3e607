import type { z } from "zod";
import type { Tx } from "../../database/database.ts";
import type { WorkflowRequest } from "../../generated/sqlite/client.ts";
import { addSeconds } from "../../kernel/clock.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { Kind } from "./workflows.kinds.ts";
import type { BlacklistUserPayload } from "./workflows.payloads.ts";
import type { BlacklistServerPayload } from "./workflows.payloads-servers.ts";
import type { EffectView } from "./workflows.schema.ts";

export type EffectKey = Kind["effects"][number];
type Draft = Parameters<BlacklistService["createWithin"]>[1];
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

export type Effects = ReturnType<typeof createEffects>;

const compromisedLength = 30 * 86_400;

/** What approvals do, by name; a further effect is a further entry. */
export function createEffects({ blacklist }: { blacklist: BlacklistService }) {
  const table: Readonly<Record<EffectKey, Effect>> = {
    "blacklist.create": {
      preview: "The subject is put on the blacklist; an active record is strengthened instead.",
      async apply(approval, listings) {
        const { tx, row, permission } = approval;
        for (const draft of draftsOf(approval)) {
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
  };

  return {
    preview: (kind: Kind) => kind.effects.map((key) => ({ key, detail: table[key].preview })),

    /** Do everything an approval of this kind does; whatever throws undoes the approval. */
    async apply(kind: Kind, approval: Approval): Promise<EffectView[]> {
      const listings: Listing[] = [];
      const done: EffectView[] = [];
      for (const key of kind.effects) done.push(...(await table[key].apply(approval, listings)));
      return done;
    },
  };
}

function listingEffect({ row, isMerged }: Listing): EffectView {
  const reference = `BL-${row.number.toString().padStart(6, "0")}`;
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

function draftsOf(approval: Approval): Draft[] {
  if (approval.row.type === "blacklist-user") return [userDraft(approval, approval.payload as z.output<typeof BlacklistUserPayload>)];
  const payload = approval.payload as z.output<typeof BlacklistServerPayload>;
  return [...new Set([payload.server_id, ...payload.aliases])].map((serverId) => serverDraft(approval, payload, serverId));
}

function userDraft(approval: Approval, payload: z.output<typeof BlacklistUserPayload>): Draft {
  const isCompromised = payload.category === "compromised" || payload.compromised_account;
  return {
    ...commonDraft(approval, payload),
    kind: "user",
    subjectId: payload.user_id,
    scope: payload.scope,
    serverIds: payload.server_ids,
    recommendedAction: payload.recommended_action,
    expiresAt: endOf(approval.tx.now, payload.duration, isCompromised ? compromisedLength : undefined),
  };
}

function serverDraft(approval: Approval, payload: z.output<typeof BlacklistServerPayload>, serverId: string): Draft {
  return {
    ...commonDraft(approval, payload),
    kind: "server",
    subjectId: serverId,
    subjectName: payload.server_name,
    scope: "network",
    memberPolicy: payload.member_policy,
    gracePeriod: parseDuration(payload.grace_period) ?? null,
    exemptUserIds: payload.exempt_user_ids,
    expiresAt: endOf(approval.tx.now, payload.duration, undefined),
  };
}

function commonDraft(
  { tx, row, reasonPublic, approvedBy }: Approval,
  payload: { category: string; severity: Draft["severity"]; reason: string; review_after: string },
) {
  return {
    category: payload.category,
    severity: payload.severity,
    reasonPublic,
    reasonInternal: payload.reason,
    evidence: row.evidence as object[],
    reviewAt: addSeconds(tx.now, parseDuration(payload.review_after) ?? 0),
    source: "workflow" as const,
    originReference: row.reference,
    createdBy: row.requesterId,
    approvedBy,
  };
}

/** null and nothing at all mean permanent. */
function endOf(now: Date, duration: string | null | undefined, fallback: number | undefined): Date | null {
  const seconds = typeof duration === "string" ? parseDuration(duration) : duration === undefined ? fallback : undefined;
  return seconds === undefined ? null : addSeconds(now, seconds);
}
