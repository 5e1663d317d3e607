import type { UserServer } from "../../../generated/sqlite/client.ts";
import { can, type Call } from "../../../kernel/call.ts";
import { createVisibility, noClearance, seesRedactions, type FieldClasses } from "../../../kernel/visibility.ts";
import type { KnownServer } from "../../servers/facts.ts";
import { intelligencePermissions, type ServerDetails } from "../intelligence.policy.ts";
import type { ServerRef, UserServerView } from "../intelligence.schema.ts";

/** Who may know how the register stands towards a server. */
const registry = "servers.read";

/** What of a server of a person's list is for whom: readers of the blacklist (staff) and of the register (decider). */
const fields: FieldClasses<UserServerView> = {
  server: { id: "public", name_snapshot: "public", icon: "public", status: "decider", merged_into: "decider" },
  relation: "public",
  tags: "decider",
  agreements: "decider",
  blacklist_id: "staff",
};
const visible = createVisibility(fields);

/** A server of a person's list: what was stored of it, where that may be kept, and what the community knows of it by itself. */
export interface ListedServer {
  row: UserServer;
  details: ServerDetails | null;
  known: KnownServer | undefined;
}

/**
 * Whether a caller is shown a server of which only a hash is stored: the register or a record in force says which one it is, to those
 * who may read that. A defunct server is out of the register as far as people's lists go.
 */
export function isShown(call: Call, known: KnownServer | undefined): boolean {
  if (known === undefined) return false;
  if (known.registered !== null && known.registered.status !== "defunct" && can(call, registry)) return true;
  return known.blacklistId !== null && can(call, intelligencePermissions.records);
}

/** The server without what this viewer may not see; that it is blacklisted is for those who may read the record. */
export function presentUserServer(call: Call, { row, details, known }: ListedServer): UserServerView {
  const staff = can(call, intelligencePermissions.records);
  const view: UserServerView = {
    server: serverRef(details, known, staff),
    relation: {
      is_owner: row.relation === "owner",
      can_manage: row.relation !== "member",
      is_member: row.leftAt === null,
      joined_seen_first_at: row.firstSeenAt.toISOString(),
      last_seen_at: row.lastSeenAt.toISOString(),
      ...(row.leftAt !== null && { left_at: row.leftAt.toISOString() }),
    },
    tags: known?.registered?.tags ?? [],
    agreements: known?.agreements ?? [],
    blacklist_id: known?.blacklistId ?? null,
  };
  return visible(view, { ...noClearance, staff, decider: can(call, registry) }, seesRedactions(call));
}

function serverRef(details: ServerDetails | null, known: KnownServer | undefined, readsRecords: boolean): ServerRef {
  const name = details?.name ?? known?.name;
  const registered = known?.registered ?? null;
  const isBlacklisted = readsRecords && known !== undefined && known.blacklistId !== null;
  return {
    id: details?.id ?? known?.id ?? "",
    ...(typeof name === "string" && { name_snapshot: name }),
    icon: details?.icon ?? known?.icon ?? null,
    status: isBlacklisted ? "blacklisted" : (registered?.status ?? "known"),
    ...(typeof registered?.mergedInto === "string" && { merged_into: registered.mergedInto }),
  };
}
