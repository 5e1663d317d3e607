import { recordNotFound } from "../../kernel/errors.ts";
import type { ListAction, ListExemption } from "../../generated/sqlite/client.ts";
import { isUndo } from "./ledger.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import { setting, type Stored } from "../../kit/setting.ts";
import { StoredStance, type ExemptionView, type ListActionName, type ListActionView, type StanceView } from "./lists.schema.ts";

/** Who may see and decide what guilds do about listed people. */
export const listsPolicy = {
  read: "blacklist.read",
  manage: "system.settings.manage",
  exempt: "blacklist.update",
  confirm: "blacklist.create",
  undo: "blacklist.revoke",
} as const;

/** A guild that is not of this community does not exist. @throws ProblemError record_not_found */
export function requireServed(served: ReadonlySet<string>, guildId: string): void {
  if (!served.has(guildId)) throw recordNotFound();
}

export const stanceSetting = setting({
  key: "stance:",
  per: "guild",
  schema: StoredStance,
  nothing: { rules: [] },
  permission: listsPolicy,
  action: "stance.update",
  field: null,
  lock: "stances",
});

/** What the bot can do of what a record recommends. */
const doable: Readonly<Record<string, ListActionName>> = { deny_entry: "kick", kick: "kick", ban: "ban" };

export function doableOf(recommended: string | null): ListActionName | null {
  return doable[recommended ?? ""] ?? null;
}

export function presentStance(
  guildId: string,
  { rules, ...known }: StoredStance & Omit<Stored<StoredStance>, "value">,
  nameOf: (listId: string) => string | undefined,
): StanceView {
  return { guild_id: guildId, rules: rules.map((rule) => ({ ...rule, list_name: nameOf(rule.list) ?? rule.list })), ...known };
}

export function presentAction(row: ListAction): ListActionView {
  return {
    id: row.id,
    guild_id: row.guildId,
    user_id: row.userId,
    list: row.listId,
    record: row.recordReference,
    stance: row.stance as ListActionView["stance"],
    action: row.action as ListActionName,
    is_undo: isUndo(row),
    state: row.state as ListActionView["state"],
    error: row.lastError,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
  };
}

export function presentExemption(row: ListExemption): ExemptionView {
  return {
    guild_id: row.guildId,
    user_id: row.userId,
    reason: row.reason,
    until: isoOrNull(row.until),
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    revision: row.revision,
  };
}
