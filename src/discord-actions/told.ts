import type { Tx } from "../database/database.ts";
import type { DiscordAction } from "../kernel/discord-port.ts";
import type { PermissionKey } from "../kernel/permissions.ts";
import type { CauseName } from "./source.ts";

type Data = Readonly<Record<string, string | number | null>>;

/** Where failures of actions, and their ends, are reported. */
export interface ActionEvents {
  emit(tx: Tx, event: { type: "discord_action.failed" | "discord_action.recovered"; data: Data; permission?: PermissionKey }): void;
}

/** An action and why the bot does it. */
export interface ActionOfCause {
  action: { kind: DiscordAction["kind"]; guildId?: string; userId?: string };
  cause: CauseName;
  /** Who may know of it, where not everybody who reads requests may. */
  permission?: string | undefined;
}

/** An action failed, and the bot does not try it again by itself. */
export function tellFailed(events: ActionEvents, tx: Tx, about: ActionOfCause, why: { discord_code: number | null; error: string }): void {
  tell(events, tx, "discord_action.failed", about, why);
}

/** An action that had failed is done after all, or is no longer to be done. */
export function tellRecovered(events: ActionEvents, tx: Tx, about: ActionOfCause): void {
  tell(events, tx, "discord_action.recovered", about, {});
}

function tell(
  events: ActionEvents,
  tx: Tx,
  type: "discord_action.failed" | "discord_action.recovered",
  { action, cause, permission }: ActionOfCause,
  more: Data,
): void {
  events.emit(tx, {
    type,
    data: {
      ...(action.guildId !== undefined && { guild_id: action.guildId }),
      ...(action.userId !== undefined && { user_id: action.userId }),
      action: action.kind,
      cause: cause.feature,
      id: cause.id,
      place: cause.place,
      reference: cause.reference,
      ...(cause.list !== undefined && { list: cause.list }),
      ...more,
    },
    // What a list asks for tells that somebody is listed.
    ...(cause.feature === "list" && { permission: "blacklist.read" as const }),
    ...(permission !== undefined && { permission: permission as PermissionKey }),
  });
}
