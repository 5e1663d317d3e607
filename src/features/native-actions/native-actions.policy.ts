import type { NativeAction } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { NativeActionView } from "./native-actions.schema.ts";

/** Who reads what others did: those who read cases, as it is what cases are made of. */
export const nativeActionsPolicy = { read: "cases.read", tend: "system.act" } as const;

export function presentNativeAction(row: NativeAction): NativeActionView {
  return {
    id: row.id,
    guild_id: row.guildId,
    user_id: row.userId,
    action: row.kind as NativeActionView["action"],
    by: row.actorId,
    reason: row.reason,
    until: isoOrNull(row.until),
    at: row.at.toISOString(),
    recorded_at: row.recordedAt.toISOString(),
  };
}
