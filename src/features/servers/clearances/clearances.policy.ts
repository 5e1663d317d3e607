import type { PoachClearance } from "../../../generated/sqlite/client.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { ClearanceView } from "../poaching/poaching.schema.ts";

/** Whether a clearance can be used at a moment, whether or not the sweep has come by. */
export function isInForce({ status, validUntil }: Pick<PoachClearance, "status" | "validUntil">, now: Date): boolean {
  return status === "active" && (validUntil === null || validUntil > now);
}

export function presentClearance(row: PoachClearance, now: Date): ClearanceView {
  const isOver = row.status === "active" && !isInForce(row, now);
  const endedAt = row.endedAt ?? (isOver ? row.validUntil : null);
  return {
    id: row.id,
    status: isOver ? "expired" : (row.status as ClearanceView["status"]),
    user_id: row.userId,
    from_server_id: row.fromServerId,
    to_server_id: row.toServerId,
    valid_until: isoOrNull(row.validUntil),
    used_reference: row.usedReference,
    origin_reference: row.originReference,
    created_at: row.createdAt.toISOString(),
    ended: endedAt === null ? null : { at: endedAt.toISOString(), reason: row.endReason },
  };
}
