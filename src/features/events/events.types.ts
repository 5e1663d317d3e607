/** What is told of an event: who may be told, and what it means. */
interface EventKind {
  /** Holders of this permission of the catalog are told. */
  permission: string;
  description: string;
}

/** Every type of event there is, ordered by name: `entity.what_happened`. */
export const eventTypes = {
  "api_key.created": { permission: "clients.manage", description: "An API key was made" },
  "api_key.expiring": { permission: "clients.manage", description: "An API key ends in 30, 7 or 1 days" },
  "api_key.revoked": { permission: "clients.manage", description: "An API key was ended" },
  "api_key.rotated": { permission: "clients.manage", description: "An API key got a successor and ends, at once or after a while" },
  "api_key.updated": { permission: "clients.manage", description: "The name, scopes, delegation, addresses or end of an API key changed" },
  "account_link.changed": { permission: "users.links.read", description: "Two accounts were linked, the link changed, or it ended" },
  "agreement.changed": { permission: "servers.read", description: "An agreement between servers began or ended" },
  "authorization.declined": { permission: "users.authorization.read", description: "A person said no to a session" },
  "authorization.expired": {
    permission: "users.authorization.read",
    description: "A session nobody answered or a grant nobody refreshed is over, or Discord ended the grant",
  },
  "authorization.failed": { permission: "users.authorization.read", description: "A session failed, such as by a wrong account" },
  "authorization.granted": { permission: "users.authorization.read", description: "A person granted access" },
  "authorization.revoked": {
    permission: "users.authorization.read",
    description: "A grant was taken back, or open sessions were called off",
  },
  "blacklist.created": { permission: "blacklist.read", description: "A subject was listed" },
  "blacklist.expired": { permission: "blacklist.read", description: "A blacklist record came to its end" },
  "blacklist.imported": { permission: "blacklist.read", description: "An import changed records; the feed of changes names them" },
  "blacklist.purged": { permission: "blacklist.read", description: "A record was deleted for good: forget it, too" },
  "blacklist.review_due": { permission: "blacklist.read", description: "A record should be looked at again" },
  "blacklist.revoked": { permission: "blacklist.read", description: "A blacklist record was taken back" },
  "blacklist.updated": { permission: "blacklist.read", description: "A blacklist record changed, began to count or was replaced" },
  "case.closed": { permission: "cases.read_all", description: "A case was closed with an outcome" },
  "case.opened": { permission: "cases.read_all", description: "A case was opened" },
  "case.updated": {
    permission: "cases.read_all",
    description: "A case changed: its fields, notes, actions, links or evidence, or it went to the bin or came back",
  },
  "confirmation.ended": { permission: "audit.read", description: "A held change was carried out, declined, failed or expired" },
  "confirmation.requested": { permission: "audit.read", description: "A change is held until it is confirmed" },
  "match.closed": { permission: "users.matches.read", description: "A match ended: resolved away, left, void or expired" },
  "match.opened": { permission: "users.matches.read", description: "A person matches a record, for the first time or again" },
  "owner.changed": { permission: "staff.read", description: "Somebody became an owner or is one no longer" },
  "permission.changed": { permission: "permissions.read", description: "What a staff role or a person holds was changed" },
  "request_draft.changed": { permission: "workflows.read", description: "A request was suggested, or a suggestion was filed or dismissed" },
  "server.changed": { permission: "servers.read", description: "A registered server was added or changed" },
  "staff.access_changed": {
    permission: "staff.access.read",
    description: "What a person may do at all changed: suspended, reinstated, on leave",
  },
  "staff.profile_changed": { permission: "staff.profile.read", description: "The profile of a staff member changed" },
  "staff_role.changed": { permission: "staffroles.read", description: "A staff role or the Discord roles that stand for it changed" },
  "user.erased": { permission: "users.authorization.read", description: "What a person had shared was deleted: forget it, too" },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof eventTypes;
