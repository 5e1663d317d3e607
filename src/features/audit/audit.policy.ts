import type { AuditEntry, AuditPayload } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { can } from "../../kernel/call.ts";
import type { AuditView } from "./audit.schema.ts";

interface Details {
  reason: string | null;
  before: unknown;
  after: unknown;
}

/** An entry as a reader sees it; reason, before and after need `audit.read` and are absent once erased. */
export function presentAuditEntry(call: Call, row: AuditEntry, payload: AuditPayload | undefined): AuditView {
  const details = payload !== undefined && can(call, "audit.read") ? (payload.payload as unknown as Details) : undefined;
  return {
    seq: row.seq,
    id: row.id,
    at: row.at.toISOString(),
    action: row.action,
    outcome: row.outcome,
    actor: row.actorId === null ? null : { id: row.actorId },
    client: row.clientId === null ? null : { id: row.clientId },
    via: row.via,
    target: row.targetKind === null ? null : { kind: row.targetKind, id: row.targetId ?? "", reference: row.targetReference },
    subject_user_id: row.subjectUserId,
    guild_id: row.guildId,
    request_id: row.requestId,
    permission_used: row.permissionUsed,
    break_glass: row.breakGlass,
    ...(details !== undefined && { reason: details.reason, before: details.before, after: details.after }),
    prev_hash: row.prevHash,
    hash: row.hash,
  };
}
