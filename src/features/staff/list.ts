import type { GuildState } from "../../discord/guild-state.ts";
import type { Position } from "../../kernel/page.ts";
import type { Standing, Standings } from "../permissions/standing/standing.ts";
import { isAvailable } from "./profile/profile.policy.ts";
import type { ProfileRow } from "./profile/store.ts";
import type { StaffListQuery } from "./staff.schema.ts";

/** Everyone who is or was staff, highest rank first, then by id. */
export type Roster = readonly Standing[];

/** The roster, sorted again only after something changed. */
export function createRoster(standing: Standings): () => Roster {
  let roster: Roster = [];
  let version = -1;
  return () => {
    if (version !== standing.version) {
      version = standing.version;
      const all = standing.people().map((id) => standing.of(id));
      roster = all.filter((one) => one.status !== null).toSorted((a, b) => b.rank - a.rank || compareIds(a.id, b.id));
    }
    return roster;
  };
}

/** Ids are numbers written as text. */
export function compareIds(a: string, b: string): number {
  return a.length - b.length || (a < b ? -1 : a > b ? 1 : 0);
}

/** Profiles by person, as far as a list needs them. */
export type Profiles = ReadonlyMap<string, ProfileRow>;

/** What of the profiles decides whether somebody is listed; undefined: nothing does. */
export function profilesAsked({ department, available }: StaffListQuery): { department?: string } | undefined {
  if (department !== undefined) return { department };
  return available === undefined ? undefined : {};
}

/** @param current the standing as of now: a temporary entry may have ended since the roster was sorted */
export function matches(current: Standing, query: StaffListQuery, profiles: Profiles, now: Date): boolean {
  const { role, level, status, q, department, available } = query;
  if (status === undefined ? current.status === "former" : current.status !== status) return false;
  if (role !== undefined && !current.held.some((one) => one.role.key === role)) return false;
  if (level !== undefined && current.level !== level) return false;
  if (department !== undefined && !profiles.has(current.id)) return false;
  if (available !== undefined && !isOfAvailability(current, available, profiles, now)) return false;
  return q === undefined || isFound(current, q.toLowerCase());
}

function isOfAvailability(current: Standing, available: "true" | "false", profiles: Profiles, now: Date): boolean {
  return current.status !== "former" && isAvailable(current, profiles.get(current.id), now) === (available === "true");
}

function isFound({ id, members }: Standing, q: string): boolean {
  if (id.startsWith(q)) return true;
  return members.some(({ username, globalName, nick }) =>
    [username, globalName, nick].some((name) => name?.toLowerCase().includes(q) === true),
  );
}

/** Where the entries after a position begin. */
export function indexAfter(roster: Roster, [rank, id]: Position): number {
  const found = roster.findIndex((one) => one.rank < Number(rank) || (one.rank === Number(rank) && compareIds(one.id, id) > 0));
  return found === -1 ? roster.length : found;
}

/** What a list says about the age of the guild state. */
export function freshnessMeta(guildState: Pick<GuildState, "freshness">, now: Date): { as_of: string | null; stale: boolean } {
  const { stale, asOf } = guildState.freshness();
  return { as_of: stale ? (asOf?.toISOString() ?? null) : now.toISOString(), stale };
}
