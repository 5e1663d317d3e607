import type { Decision } from "../../../kernel/call.ts";
import { places } from "../resolve.ts";
import { standingOf, type PersonFacts, type Standing } from "./person.ts";

/** So many combinations of Discord roles are kept; a staff has few. */
const capacity = 5000;

/** Standings of which everything but the person is the same for all who hold the same Discord roles. */
export interface SharedStandings {
  of(facts: PersonFacts): Standing;
  /** What roles give, or where they count, has changed. */
  forget(): void;
}

export function createSharedStandings(): SharedStandings {
  const known = new Map<string, Standing>();

  function byRoles(facts: PersonFacts): Standing {
    const key = combination(facts);
    const found = known.get(key);
    if (found !== undefined) return found;
    if (known.size >= capacity) known.clear();
    const made = withKeptDecisions(standingOf(facts));
    known.set(key, made);
    return made;
  }

  return {
    of(facts) {
      if (!isByRolesAlone(facts)) return standingOf(facts);
      const { userId: id, members } = facts;
      return { ...byRoles(facts), id, members };
    },
    forget: () => known.clear(),
  };
}

/** Whether nothing is known of them but the guilds they are in and the roles they hold there. */
function isByRolesAlone({ isStored, ownerSource, overrides, leave, listing }: PersonFacts): boolean {
  return isStored && ownerSource === null && overrides.length === 0 && leave === null && listing === null;
}

function combination({ members, isPresentGuild }: PersonFacts): string {
  let key = "";
  for (const { present, guildId, roleIds } of members) if (present && isPresentGuild(guildId)) key += `${guildId}:${roleIds.join(",")};`;
  return key;
}

/** Without entries of the person the guild is of no matter, and every decision stays as it is. */
function withKeptDecisions(standing: Standing): Standing {
  const kept: (Decision | undefined)[] = [];
  return {
    ...standing,
    decide(permission) {
      const place = places.get(permission);
      return place === undefined ? standing.decide(permission) : (kept[place] ??= standing.decide(permission));
    },
  };
}
