import type { z } from "zod";
import { addSeconds } from "../../kernel/clock.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { BlacklistService } from "../blacklist/blacklist.service.ts";
import type { LinksService } from "../links/links.service.ts";
import type { RegistryService } from "../servers/servers.service.ts";
import type { Approval } from "./effects.types.ts";
import type { AltRequestPayload, BlacklistUserPayload } from "./workflows.payloads.ts";
import type { BlacklistServerPayload, PoachPayload } from "./workflows.payloads-servers.ts";

type AgreementDraft = Parameters<RegistryService["createAgreementWithin"]>[1];
type LinkDraft = Parameters<LinksService["createLinkWithin"]>[1];
type Draft = Parameters<BlacklistService["createWithin"]>[1];

const day = 86_400;
const compromisedLength = 30 * day;
/** What a link takes of the grounds of a request. */
const mostGrounds = 20;
const longestNote = 500;

/** The agreement that an approved request asks for. */
export function agreementDraft({ tx, request: row, payload, permission }: Approval): AgreementDraft {
  const told = payload as z.output<typeof PoachPayload>;
  return {
    serverIds: told.party_server_ids ?? [],
    covers: told.covers,
    coolingOffDays: told.cooling_off_days,
    terms: told.terms,
    startsAt: told.starts_at === undefined ? tx.now : new Date(told.starts_at),
    endsAt: told.ends_at === undefined ? null : new Date(told.ends_at),
    originReference: row.reference,
    createdBy: row.requesterId,
    permission,
  };
}

/** The links that an approved request asks for: one for every two accounts. */
export function linkDraftsOf({ from, request: row, payload, permission }: Approval): LinkDraft[] {
  const { user_ids: ids, confidence, kind, basis, propagate, ...told } = payload as z.output<typeof AltRequestPayload>;
  const length = parseDuration(told.review_after ?? "") ?? (confidence === "suspected" ? 90 : 365) * day;
  const common = {
    confidence,
    kind,
    basis: basis.slice(0, mostGrounds).map(({ type, note = row.reference }) => ({ type, note: note.slice(0, longestNote) })),
    propagates: propagate.matches || propagate.blacklist,
    primaryUserId: told.primary_user_id ?? null,
    reviewAt: addSeconds(from, length),
    originReference: row.reference,
    permission,
  };
  return ids.flatMap((one, place) => ids.slice(place + 1).map((other): LinkDraft => ({ ...common, userIds: [one, other] })));
}

/** The records that an approved request asks for: one for a person, one for every id of a server. */
export function draftsOf(approval: Approval): Draft[] {
  if (approval.type === "blacklist-user") return [userDraft(approval, approval.payload as z.output<typeof BlacklistUserPayload>)];
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
    includeAlts: payload.include_alts,
    expiresAt: endOf(approval.from, payload.duration, isCompromised ? compromisedLength : undefined),
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
    expiresAt: endOf(approval.from, payload.duration, undefined),
  };
}

function commonDraft(
  { from, request: row, input: { reasonPublic }, approvedBy }: Approval,
  payload: { category: string; severity: Draft["severity"]; reason: string; review_after: string },
) {
  return {
    category: payload.category,
    severity: payload.severity,
    reasonPublic,
    reasonInternal: payload.reason,
    evidence: row.evidence as object[],
    reviewAt: addSeconds(from, parseDuration(payload.review_after) ?? 0),
    source: "workflow" as const,
    originReference: row.reference,
    createdBy: row.requesterId,
    approvedBy,
  };
}

/** null and nothing at all mean permanent. */
function endOf(from: Date, duration: string | null | undefined, fallback: number | undefined): Date | null {
  const seconds = typeof duration === "string" ? parseDuration(duration) : duration === undefined ? fallback : undefined;
  return seconds === undefined ? null : addSeconds(from, seconds);
}
