import type { AuditEntry } from "../../../generated/sqlite/client.ts";
import { byId, sourceOf, type Source } from "../source.ts";

type AuditedKind = "authorization" | "match" | "staff";
type Wording = Readonly<Record<string, readonly [event: string, summary: string]>>;

/** What audited actions mean for the person they were done to: the event, and the same in plain words. */
const audited: Readonly<Record<AuditedKind, Wording>> = {
  authorization: {
    "authorization_session.create": ["requested", "Was asked for access."],
    "authorization_session.decline": ["declined", "Said no when asked for access."],
    "authorization_session.expire": ["unanswered", "Did not answer in time when asked for access."],
    "authorization_session.cancel": ["called_off", "Being asked for access was called off."],
    "authorization_session.fail": ["failed", "Being asked for access ended in a failure."],
    "authorization.grant": ["granted", "Granted access."],
    "authorization.revoke": ["revoked", "Access, or being asked for it, was taken back."],
    "authorization.lose": ["lost", "Discord no longer accepts the grant."],
    "authorization.expire": ["expired", "The grant ran out."],
    "user.erase": ["erased", "What they had shared was deleted, as they wished."],
    "user.erase_again": ["erased", "What they had shared was deleted again: an older backup had brought it back."],
    "user.redact": ["erased", "What they had shared was deleted by staff."],
  },
  match: { "match.resolve": ["resolved", "A match was looked at and decided about."] },
  staff: {
    "staff.suspend": ["suspended", "Was suspended from staff."],
    "staff.reinstate": ["reinstated", "Was reinstated as staff."],
    "staff.loa_start": ["leave_started", "Took leave, or planned it."],
    "staff.loa_end": ["leave_ended", "Came back from leave, or called it off."],
    "user_permissions.update": ["permissions_changed", "Personal permissions were changed."],
    "user_permissions.expire": ["permissions_expired", "Personal permissions ran out."],
    "owner.create": ["owner_added", "Became an owner."],
    "owner.remove": ["owner_removed", "Is no longer an owner."],
  },
};

/** What was done to a person of one kind, from the audit: what was decided, never the details of it. */
export function auditSource(kind: AuditedKind): Source {
  const actions = audited[kind];
  return sourceOf<AuditEntry>({
    name: `${kind}.audit`,
    kind,
    find: (db, query) => db.auditEntry.findMany(query),
    total: (db, query) => db.auditEntry.count(query),
    time: "at",
    key: byId,
    about: ({ userIds }) => ({ subjectUserId: { in: [...userIds] }, action: { in: Object.keys(actions) } }),
    tell(row) {
      const [event, summary] = actions[row.action] ?? [row.action, row.action];
      return {
        event,
        summary,
        userId: row.subjectUserId ?? "",
        actorId: row.actorId,
        ...(row.targetKind === "match" && { recordId: row.targetId }),
      };
    },
  });
}
