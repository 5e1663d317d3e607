import type { ReadClient, TransactionClient } from "../../database/database.ts";
import type { RosterEntry } from "../../generated/sqlite/client.ts";
import type { Call } from "../../kernel/call.ts";
import { groupBy } from "../../kernel/group.ts";
import { caseReference } from "../../kernel/parsing.ts";
import type { HiddenIds } from "../../kernel/visibility.ts";
import type { Access, AccessDirectory } from "../permissions/access/access-directory.ts";
import { presentEntry } from "./roster.policy.ts";
import type { EntryView } from "./roster.schema.ts";

type Reader = ReadClient | TransactionClient;

/** Whole entries with what other features know of their people: a fixed number of queries, however many there are. */
export async function viewsOf(
  db: Reader,
  rows: readonly RosterEntry[],
  { access, now }: { access: Pick<AccessDirectory, "of" | "role">; now: Date },
): Promise<EntryView[]> {
  const userIds = rows.map(({ userId }) => userId);
  const profiles = await db.staffProfile.findMany({ where: { userId: { in: userIds } } });
  const slots = await db.callsignSlot.findMany({
    where: { userId: { in: userIds }, state: "assigned" },
    orderBy: [{ pool: "asc" }, { number: "asc" }],
  });
  const surroundings = {
    access,
    now,
    profiles: new Map(profiles.map((profile) => [profile.userId, profile])),
    callsigns: groupBy(slots, ({ userId }) => userId ?? ""),
    seen: await lastSeen(db, userIds),
  };
  return rows.map((row) => presentEntry(row, surroundings));
}

/** Where people stand, with somebody Discord was asked about. */
export function knowing(access: Pick<AccessDirectory, "of" | "role">, person: Access): Pick<AccessDirectory, "of" | "role"> {
  return { role: access.role, of: (userId) => (userId === person.id ? person : access.of(userId)) };
}

/** When people last did something with a request: every vote and decision is a step of one. */
async function lastSeen(db: Reader, userIds: readonly string[]): Promise<Map<string, Date>> {
  const found = await db.workflowStep.groupBy({ by: ["actorId"], where: { actorId: { in: [...userIds] } }, _max: { at: true } });
  return new Map(found.flatMap(({ actorId, _max: { at } }) => (actorId === null || at === null ? [] : [[actorId, at]])));
}

/** Which requests and cases are kept from whom. */
export interface CauseSight {
  hiddenRequests: HiddenIds;
  hiddenCases: HiddenIds;
}

/** Those of some references that a caller may not know of. */
export async function hiddenAmong(
  db: ReadClient,
  call: Call,
  given: readonly (string | null)[],
  { hiddenRequests, hiddenCases }: CauseSight,
): Promise<ReadonlySet<string>> {
  const references = [...new Set(given.flatMap((reference) => reference ?? []))];
  if (references.length === 0) return new Set();
  const named = references.flatMap((reference) => numberOf(reference) ?? []);
  const [requests, cases] = await Promise.all([
    db.workflowRequest.findMany({ where: { reference: { in: references } }, select: { id: true, reference: true } }),
    named.length === 0 ? [] : db.case.findMany({ where: { number: { in: named } }, select: { id: true, number: true } }),
  ]);
  const all = [...requests, ...cases.map(({ id, number }) => ({ id, reference: caseReference(number) }))];
  const ids = (rows: readonly { id: string }[]): string[] => rows.map(({ id }) => id);
  const hidden = new Set((await Promise.all([hiddenRequests(call, ids(requests)), hiddenCases(call, ids(cases))])).flat());
  return new Set(all.flatMap(({ id, reference }) => (hidden.has(id) ? [reference] : [])));
}

function numberOf(reference: string): number | null {
  const [, digits] = /^CASE-(\d{6,9})$/.exec(reference) ?? [];
  return digits === undefined ? null : Number(digits);
}
