import type { FollowedEntry, FollowedList } from "../../generated/sqlite/client.ts";
import { shownAddress } from "../../kernel/addresses.ts";
import { isoOrNull } from "../../kernel/fields.ts";
import type { FollowedEntryView, FollowedListView, UnreadLineView } from "./follows.schema.ts";

/** Who may see and manage what is followed. */
export const followsPolicy = { read: "lists.read", manage: "lists.manage", adopt: "blacklist.create" } as const;

/** A list in a list of lists. The view has no key: what is stored of it opens only where the list is read. */
export function presentListed(row: Omit<FollowedList, "unreadLines">): FollowedListView {
  return {
    id: row.id,
    name: row.name,
    kind: row.kind as FollowedListView["kind"],
    address: row.address && shownAddress(row.address),
    has_key: row.key !== null,
    categories: row.categories as string[],
    trust: row.trust,
    interval_minutes: row.intervalMinutes,
    state: row.state as FollowedListView["state"],
    problem: row.problem,
    failures: row.failures,
    unread: row.unread,
    last_read_at: isoOrNull(row.lastReadAt),
    next_read_at: isoOrNull(row.nextReadAt),
    created_by: row.createdBy,
    created_at: row.createdAt.toISOString(),
    updated_at: row.updatedAt.toISOString(),
    revision: row.revision,
  };
}

/** A list by itself, with the lines that could not be read. */
export function presentList(row: FollowedList): FollowedListView {
  return { ...presentListed(row), unread_lines: unreadLinesOf(row).map((line) => ({ ...line })) };
}

/** The lines of a list that could not be read, as far as they are kept. */
export function unreadLinesOf({ unreadLines }: Pick<FollowedList, "unreadLines">): readonly UnreadLineView[] {
  return (unreadLines ?? []) as unknown as readonly UnreadLineView[];
}

/** An entry of which something is kept. */
export interface KeptEntry extends FollowedEntry {
  kind: string;
  subject: string;
  category: string;
  severity: string;
  startsAt: Date;
}

/** Whether an entry was told and not taken back; not whether its time has come. */
export function isKept(row: FollowedEntry): row is KeptEntry {
  return row.kind !== null;
}

/** Whether an entry counts now. */
export function isInForce(row: Pick<FollowedEntry, "startsAt" | "expiresAt">, now: Date): boolean {
  return row.startsAt !== null && row.startsAt <= now && (row.expiresAt === null || row.expiresAt > now);
}

export function presentEntry(row: KeptEntry): FollowedEntryView {
  return {
    number: row.number,
    revision: row.revision,
    kind: row.kind as FollowedEntryView["kind"],
    subject_id: row.subject,
    category: row.category,
    severity: row.severity as FollowedEntryView["severity"],
    recommended_action: row.recommendedAction as FollowedEntryView["recommended_action"],
    starts_at: row.startsAt.toISOString(),
    expires_at: isoOrNull(row.expiresAt),
    updated_at: row.updatedAt.toISOString(),
  };
}
