import type { TimelineEntryView, TimelineKind } from "./timeline.schema.ts";
import type { Entry } from "./source.ts";

/** Who may ask for a history at all, and who may have the accounts of one person merged. */
export const timelinePolicy = { read: "users.authorization.read", alts: "users.links.read", records: "blacklist.read" } as const;

/** What a reader holds to see entries of a kind; the others are left out. */
export const kindPermissions = {
  authorization: "users.authorization.read",
  match: "users.matches.read",
  blacklist: "blacklist.read",
  request: "workflows.read",
  case: "cases.read",
  staff: "staff.discipline",
  link: "users.links.read",
  native_action: "cases.read",
} as const satisfies Record<TimelineKind, string>;

/** An entry as an answer shows it; what nobody knows of it is left out. */
export function presentEntry(entry: Entry): TimelineEntryView {
  const { at, source, row, kind, event, userId, summary, reference, recordId, actorId } = entry;
  return {
    id: `${source}:${row}`,
    at: at.toISOString(),
    kind,
    event,
    user_id: userId,
    summary,
    ...(typeof reference === "string" && { reference }),
    ...(typeof recordId === "string" && { record_id: recordId }),
    ...(typeof actorId === "string" && { actor_id: actorId }),
  };
}
