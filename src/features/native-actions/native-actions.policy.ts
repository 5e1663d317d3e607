import type { NativeAction } from "../../generated/sqlite/client.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { GuildActionView, NativeActionView } from "./native-actions.schema.ts";

/** Who reads what others did: those who read cases, as it is what cases are made of. */
export const nativeActionsPolicy = { read: "cases.read", tend: "system.act" } as const;

/** A row about a person. */
export type PersonalRow = NativeAction & { userId: string };

export function isPersonal(row: NativeAction): row is PersonalRow {
  return row.userId !== null;
}

export function presentNativeAction(row: PersonalRow): NativeActionView {
  return { ...presentAny(row), user_id: row.userId, action: row.kind as NativeActionView["action"] };
}

/** As the list of a server has it. */
export function presentGuildAction(row: NativeAction): GuildActionView {
  return {
    ...presentAny(row),
    user_id: row.userId,
    action: row.kind as GuildActionView["action"],
    members_removed: row.count,
    inactive_days: row.days,
  };
}

function presentAny(row: NativeAction) {
  return {
    id: row.id,
    guild_id: row.guildId,
    by: row.actorId,
    reason: row.reason,
    until: isoOrNull(row.until),
    rule: row.rule,
    at: row.at.toISOString(),
    recorded_at: row.recordedAt.toISOString(),
  };
}
