import { addSeconds } from "../../../kernel/clock.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import type { BlacklistService } from "../../blacklist/blacklist.service.ts";
import type { LinksService } from "../../links/links.service.ts";
import type { RegistryService } from "../../servers/servers.service.ts";
import type { EffectInputs } from "./inputs.ts";
import type { Approval } from "./types.ts";
import { untilOf } from "./words.ts";

type AgreementDraft = Parameters<RegistryService["createAgreementInTx"]>[1];
type LinkDraft = Parameters<LinksService["createLinkInTx"]>[1];
type Draft = Parameters<BlacklistService["createInTx"]>[1];

const day = 86_400;
/** What a link takes of the grounds of a request. */
const maxGrounds = 20;
const maxNote = 500;

/** The agreement that an approved request asks for. */
export function agreementDraft({ tx, request: row, permission }: Approval, told: EffectInputs["agreement.create"]): AgreementDraft {
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
export function linkDraftsOf({ from, request: row, permission }: Approval, told: EffectInputs["account_link.create"]): LinkDraft[] {
  const { user_ids: ids, confidence, kind, basis, propagate } = told;
  const length = parseDuration(told.review_after ?? "") ?? (confidence === "suspected" ? 90 : 365) * day;
  const common = {
    confidence,
    kind,
    basis: basis.slice(0, maxGrounds).map(({ type, note = row.reference }) => ({ type, note: note.slice(0, maxNote) })),
    propagates: propagate.matches || propagate.blacklist,
    primaryUserId: told.primary_user_id ?? null,
    reviewAt: addSeconds(from, length),
    originReference: row.reference,
    permission,
  };
  return ids.flatMap((one, place) => ids.slice(place + 1).map((other): LinkDraft => ({ ...common, userIds: [one, other] })));
}

/** The records that an approved request asks for: one for a person, one for every id of a server. */
export function draftsOf(approval: Approval, input: EffectInputs["blacklist.create"]): Draft[] {
  const { from, request: row, approvedBy } = approval;
  const common = {
    category: input.category,
    severity: input.severity,
    reasonPublic: approval.input.reasonPublic,
    reasonInternal: input.reason,
    evidence: row.evidence as object[],
    reviewAt: addSeconds(from, parseDuration(input.reviewAfter) ?? 0),
    expiresAt: untilOf(input.length, from),
    source: "workflow" as const,
    originReference: row.reference,
    createdBy: row.requesterId,
    approvedBy,
  };
  if (input.kind === "user")
    return [
      {
        ...common,
        kind: "user",
        subjectId: input.userId,
        scope: input.scope,
        serverIds: [...input.serverIds],
        recommendedAction: input.recommendedAction,
        includeAlts: input.includeAlts,
      },
    ];
  return input.serverIds.map((serverId) => ({
    ...common,
    kind: "server",
    subjectId: serverId,
    subjectName: input.name,
    scope: "network",
    memberPolicy: input.memberPolicy,
    gracePeriod: parseDuration(input.gracePeriod) ?? null,
    exemptUserIds: [...input.exemptUserIds],
  }));
}
