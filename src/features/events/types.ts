import type { PermissionKey } from "../../kernel/permissions.ts";

/** What is told of an event: who may be told, and what it means. */
interface EventKind {
  /** Holders of this permission of the catalog are told. */
  permission: PermissionKey;
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
  "appeal.decided": { permission: "workflows.read", description: "An appeal was decided" },
  "appeal.filed": { permission: "workflows.read", description: "An appeal was filed" },
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
  "callsign.assigned": { permission: "callsigns.read", description: "A person got a callsign" },
  "callsign.low_pool": { permission: "callsigns.read", description: "A pool of callsigns has few numbers left" },
  "callsign.released": { permission: "callsigns.read", description: "A callsign rests after its holder, or is free again" },
  "callsign.repaired": { permission: "callsigns.read", description: "A repair of the registry changed callsigns, or was taken back" },
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
  "poach_clearance.changed": { permission: "servers.read", description: "A clearance to be recruited was granted, used or ended" },
  "poach_incident.changed": { permission: "servers.read", description: "An incident of poaching was counted against a server, or voided" },
  "request_draft.changed": { permission: "workflows.read", description: "A request was suggested, or a suggestion was filed or dismissed" },
  "roster.audited": {
    permission: "roster.audit",
    description: "An audit of the roster was made; its counts leave out what not every auditor may see",
  },
  "roster.changed": { permission: "roster.read", description: "Somebody joined the roster, left it, or stands there otherwise" },
  "roster.drift": {
    permission: "roster.read",
    description: "Discord shows so many changes at once that the roster does not follow by itself",
  },
  "server.changed": { permission: "servers.read", description: "A registered server was added or changed" },
  "staff.access_changed": {
    permission: "staff.access.read",
    description: "What a person may do at all changed: suspended, reinstated, on leave",
  },
  "staff.profile_changed": { permission: "staff.profile.read", description: "The profile of a staff member changed" },
  "staff_role.changed": { permission: "staffroles.read", description: "A staff role or the Discord roles that stand for it changed" },
  "user.erased": { permission: "users.authorization.read", description: "What a person had shared was deleted: forget it, too" },
  "workflow.claimed": { permission: "workflows.read", description: "Somebody took a request on, or was assigned to it" },
  "workflow.created": { permission: "workflows.read", description: "A request was filed" },
  "workflow.decided": { permission: "workflows.read", description: "A request was approved, denied, withdrawn or closed as void" },
  "workflow.escalated": { permission: "workflows.read", description: "A request went to a higher tier" },
  "workflow.expired": { permission: "workflows.read", description: "Nobody decided a request in its time" },
  "workflow.held": { permission: "workflows.read", description: "A request was held: it cannot be approved until it is released" },
  "workflow.needs_info": { permission: "workflows.read", description: "The requester is asked; the clocks stand still" },
  "workflow.overdue": {
    permission: "workflows.read",
    description: "A request waits longer than it should: for a first look, a decision, an answer, a release, or its end is near",
  },
  "workflow.reversed": { permission: "workflows.read", description: "An approval was taken back" },
  "workflow.updated": {
    permission: "workflows.read",
    description: "Anything else about a request changed, also what was left to be done after a decision",
  },
  "workflow.voted": { permission: "workflows.read", description: "Somebody voted; more votes are needed" },
} as const satisfies Record<string, EventKind>;

export type EventType = keyof typeof eventTypes;
