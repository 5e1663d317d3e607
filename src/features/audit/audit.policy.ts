import type { AuditEntry, AuditPayload } from "../../generated/sqlite/client.ts";
import { jsonObject } from "../../kernel/parsing.ts";
import { can, type Call } from "../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../kernel/visibility.ts";
import { onWire } from "../../kernel/wire.ts";
import type { AuditView } from "./audit.schema.ts";

/** What of an entry is for whom. */
const fields: FieldClasses<AuditView> = {
  seq: "public",
  id: "public",
  at: "public",
  action: "public",
  outcome: "public",
  actor: "public",
  client: "public",
  via: "public",
  target: "public",
  subject_user_id: "public",
  guild_id: "public",
  request_id: "public",
  permission_used: "public",
  break_glass: "public",
  reason: "staff",
  before: "staff",
  after: "staff",
  prev_hash: "public",
  hash: "public",
};
const visible = createVisibility(fields);

/** An entry as a reader sees it; reason, before and after need `audit.read` and are absent once erased. */
export function presentAuditEntry(call: Call, row: AuditEntry, payload: AuditPayload | undefined): AuditView {
  return visible(viewOf(row, payload), { ...noClearance, staff: can(call, "audit.read") }, seesRedactions(call));
}

function viewOf(row: AuditEntry, payload: AuditPayload | undefined): AuditView {
  const { reason, before, after } = jsonObject(payload?.payload);
  return {
    ...onWire(row, "seq", "id", "at", "action", "outcome"),
    actor: row.actorId === null ? null : { id: row.actorId },
    client: row.clientId === null ? null : { id: row.clientId },
    via: row.via,
    target: row.targetKind === null ? null : { kind: row.targetKind, id: row.targetId ?? "", reference: row.targetReference },
    ...onWire(row, "subjectUserId", "guildId", "requestId", "permissionUsed", "breakGlass"),
    ...(payload !== undefined && { reason: typeof reason === "string" ? reason : null, before, after }),
    ...onWire(row, "prevHash", "hash"),
  };
}
