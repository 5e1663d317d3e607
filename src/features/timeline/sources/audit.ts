import { say } from "../../../kit/say.ts";
import type { AuditEntry } from "../../../generated/sqlite/client.ts";
import { byId, sourceOf, type Source } from "../source.ts";

type AuditedKind = "authorization" | "match" | "staff";
type Wording = Readonly<Record<string, readonly [event: string, summary: string]>>;

/** What audited actions mean for the person they were done to: the event, and the same in plain words. */
const audited: Readonly<Record<AuditedKind, Wording>> = {
  authorization: {
    "authorization_session.create": ["requested", say("timeline.was-asked-for-access")],
    "authorization_session.decline": ["declined", say("timeline.said-no-when-asked-for-access")],
    "authorization_session.expire": ["unanswered", say("timeline.did-not-answer-in-time-when-asked")],
    "authorization_session.cancel": ["called_off", say("timeline.being-asked-for-access-was-called-off")],
    "authorization_session.fail": ["failed", say("timeline.being-asked-for-access-ended-in-a")],
    "authorization.grant": ["granted", say("timeline.granted-access")],
    "authorization.revoke": ["revoked", say("timeline.access-or-being-asked-for-it-was")],
    "authorization.lose": ["lost", say("timeline.discord-no-longer-accepts-the-grant")],
    "authorization.expire": ["expired", say("timeline.the-grant-ran-out")],
    "user.erase": ["erased", say("timeline.what-they-had-shared-was-deleted-as")],
    "user.erase_again": ["erased", say("timeline.what-they-had-shared-was-deleted-again")],
    "user.redact": ["erased", say("timeline.what-they-had-shared-was-deleted-by")],
  },
  match: { "match.resolve": ["resolved", say("timeline.a-match-was-looked-at-and-decided")] },
  staff: {
    "staff.suspend": ["suspended", say("timeline.was-suspended-from-staff")],
    "staff.reinstate": ["reinstated", say("timeline.was-reinstated-as-staff")],
    "staff.loa_start": ["leave_started", say("timeline.took-leave-or-planned-it")],
    "staff.loa_end": ["leave_ended", say("timeline.came-back-from-leave-or-called-it")],
    "user_permissions.update": ["permissions_changed", say("timeline.personal-permissions-were-changed")],
    "user_permissions.expire": ["permissions_expired", say("timeline.personal-permissions-ran-out")],
    "owner.create": ["owner_added", say("timeline.became-an-owner")],
    "owner.remove": ["owner_removed", say("timeline.is-no-longer-an-owner")],
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
