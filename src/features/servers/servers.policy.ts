import type { Agreement, AgreementParty } from "../../generated/sqlite/client.ts";
import { can, type Call } from "../../kernel/call.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../kernel/visibility.ts";
import type { RegisteredServer } from "./known.ts";
import type { AgreementView, InviteStatus, ServerView, StoredStatus } from "./servers.schema.ts";

/** Permissions of this feature. */
export const registryPermissions = {
  read: "servers.read",
  manage: "servers.manage",
  /** Who may know which record is in force about a server. */
  records: "blacklist.read",
  sweep: "system.act",
} as const;

/** What of a registered server is for whom: readers of the blacklist (staff) and those who manage the register (decider). */
const fields: FieldClasses<ServerView> = {
  id: "public",
  name: "public",
  icon: "public",
  status: "public",
  merged_into: "public",
  aliases: "public",
  owner_user_id: "decider",
  contacts: "decider",
  tags: "public",
  note: "decider",
  invite: "decider",
  blacklist_id: "staff",
  agreements: "public",
  created_at: "public",
  updated_at: "public",
  revision: "public",
};
const visible = createVisibility(fields);

/** The fields whose content stays out of the audit. */
const silentFields: ReadonlySet<string> = new Set(
  Object.entries(fields).flatMap(([field, fieldClass]) => (fieldClass === "public" ? [] : [field])),
);

/** A registered server with its stored status. What leaves goes through {@link visibleServer}. */
export function presentServer(row: RegisteredServer, blacklistId: string | null, agreements: readonly string[]): ServerView {
  return {
    id: row.id,
    name: row.name,
    icon: row.icon,
    status: row.status as StoredStatus,
    ...(row.mergedInto !== null && { merged_into: row.mergedInto }),
    aliases: row.aliases.map(({ aliasId }) => aliasId).toSorted(),
    owner_user_id: row.ownerUserId,
    contacts: row.contacts as ServerView["contacts"] & object,
    tags: row.tags as string[],
    note: row.note,
    invite:
      row.inviteCode === null
        ? null
        : { code: row.inviteCode, status: row.inviteStatus as InviteStatus | null, checked_at: isoOrNull(row.inviteCheckedAt) },
    blacklist_id: blacklistId,
    agreements: [...agreements],
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    revision: row.revision,
  };
}

/** The server without what this viewer may not see; that it is blacklisted is for those who may read the record. */
export function visibleServer(call: Call, view: ServerView): ServerView {
  const readsRecords = can(call, registryPermissions.records);
  const clearance = { ...noClearance, staff: readsRecords, decider: can(call, registryPermissions.manage) };
  const status = readsRecords && typeof view.blacklist_id === "string" ? "blacklisted" : view.status;
  return visible({ ...view, status }, clearance, seesRedactions(call));
}

/** The changed fields before and after, for the audit. What is not for every reader of the register is named, never shown. */
export function difference(before: Partial<ServerView>, after: ServerView): { before: object; after: object } {
  const was: Record<string, unknown> = {};
  const is: Record<string, unknown> = {};
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)] as (keyof ServerView)[])) {
    if (key === "revision" || key === "updated_at" || JSON.stringify(before[key]) === JSON.stringify(after[key])) continue;
    if (before[key] !== undefined) was[key] = silentFields.has(key) ? "(hidden)" : before[key];
    is[key] = silentFields.has(key) ? "(hidden)" : (after[key] ?? null);
  }
  return { before: was, after: is };
}

/** The status that counts at a moment, whether or not the sweep has come by. */
export function agreementStatusAt(row: Pick<Agreement, "status" | "startsAt" | "endsAt">, now: Date): AgreementView["status"] {
  if (row.status === "ended" || (row.endsAt !== null && row.endsAt <= now)) return "ended";
  if (row.status === "suspended") return "suspended";
  return row.startsAt <= now ? "active" : "scheduled";
}

export function presentAgreement(row: Agreement & { parties: AgreementParty[] }, now: Date): AgreementView {
  const endedAt = row.endedAt ?? (agreementStatusAt(row, now) === "ended" ? row.endsAt : null);
  return {
    id: row.id,
    status: agreementStatusAt(row, now),
    server_ids: row.parties.map(({ serverId }) => serverId).toSorted(),
    covers: row.covers as AgreementView["covers"],
    cooling_off_days: row.coolingOffDays,
    terms: row.terms,
    starts_at: row.startsAt.toISOString(),
    ends_at: isoOrNull(row.endsAt),
    origin_reference: row.originReference,
    created_at: row.createdAt.toISOString(),
    ended: endedAt === null ? null : { at: endedAt.toISOString(), reason: row.endReason },
    revision: row.revision,
  };
}
