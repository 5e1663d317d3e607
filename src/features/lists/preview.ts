import type { Leader } from "../../cluster/leader.ts";
import type { Deps } from "../deps.ts";
import type { Presences } from "../../discord/guild/presence.ts";
import type { GuildState } from "../../discord/guild-state.ts";
import type { BlacklistRecord } from "../../generated/sqlite/client.ts";
import type { GuildPreview } from "../../kernel/guild-preview.ts";
import type { StanceRule } from "./lists.schema.ts";
import type { ListSource, OwnList } from "./own-list.ts";
import { barOf, isBarred } from "./stance-roles.ts";
import type { Rules } from "./rules.ts";
import { verdictsOf, type Listing, type Verdict } from "./verdict.ts";
import { standingKeyOf } from "./ledger.ts";

export interface Previews {
  /** What a guild would do if these were its rules: who is acted on and was not before, and what is taken back. */
  ofRules(guildId: string, own: readonly StanceRule[]): Promise<GuildPreview>;
  /** Whether a guild would do anything else about these people if it had other rules. */
  differs(guildId: string, before: readonly StanceRule[], after: readonly StanceRule[], userIds: readonly string[]): Promise<boolean>;
  /** What each guild would do if there were these records about people; guilds without any of them among their members are left out. */
  ofRecords(records: readonly BlacklistRecord[]): Promise<GuildPreview[]>;
}

export interface PreviewDeps extends Deps<"database" | "clock" | "access"> {
  sources: readonly ListSource[];
  ownList: Pick<OwnList, "listedBy">;
  rules: Rules;
  most: number;
  guildState: Pick<GuildState, "guilds" | "role"> & { presences: Pick<Presences, "membersOf" | "joinedAt"> };
  /** Answers who is in which guild, which is in the memory of one process. */
  leader: Leader;
}

const atOnce = 450;

/** Counts what would follow for the members guilds have now. Nothing is written. */
export function createPreviews({ database, clock, access, sources, ownList, rules, most, guildState, leader }: PreviewDeps): Previews {
  /** What all lists say about some people. */
  async function listingsOf(userIds: readonly string[]): Promise<Map<string, Listing[]>> {
    const all = new Map<string, Listing[]>();
    for (const source of sources)
      for (const [userId, listings] of await source.listingsOf(database.read, userIds, clock.now()))
        all.set(userId, [...(all.get(userId) ?? []), ...listings]);
    return all;
  }

  async function exemptIn(guildId: string, userIds: readonly string[]): Promise<ReadonlySet<string>> {
    const rows = await database.read.listExemption.findMany({
      where: { guildId, userId: { in: [...userIds] }, OR: [{ until: null }, { until: { gt: clock.now() } }] },
      select: { userId: true },
    });
    return new Set(rows.map(({ userId }) => userId));
  }

  /** What stands in a guild of what bots take back, by its key. */
  async function standingIn(
    guildId: string,
    userIds?: readonly string[],
  ): Promise<ReadonlyMap<string, { userId: string; isOurs: boolean }>> {
    const rows = await database.read.listAction.findMany({
      where: { guildId, standingKey: { not: null }, ...(userIds !== undefined && { userId: { in: [...userIds] } }) },
      select: { standingKey: true, userId: true, state: true, changed: true, action: true },
    });
    return new Map(
      rows.map((row) => [
        row.standingKey ?? "",
        { userId: row.userId, isOurs: row.state === "done" && row.changed && row.action !== "kick" },
      ]),
    );
  }

  function verdictsFor(
    guildId: string,
    userId: string,
    listings: readonly Listing[],
    own: readonly StanceRule[],
    isExempt: boolean,
  ): Verdict[] {
    const { isOwner, held } = access.of(userId);
    const isProtected = isOwner || held.length > 0 || guildState.guilds().some(({ id, ownerId }) => id === guildId && ownerId === userId);
    const isBarredRole = (roleId: string): boolean => isBarred(barOf({ access, guildState }, guildId, roleId));
    return verdictsOf(listings, own, { guildId, isExempt, isProtected, isBarredRole });
  }

  const counted = (
    guildId: string,
    people: Readonly<Record<"notify" | "propose" | "apply" | "takeBack", ReadonlySet<string>>>,
  ): GuildPreview => ({
    guild_id: guildId,
    notify: people.notify.size,
    propose: people.propose.size,
    apply: people.apply.size,
    take_back: people.takeBack.size,
    waiting: Math.max(0, people.apply.size + people.propose.size - most),
  });

  /** Which of some people are in each guild. */
  const presentAmong = leader.answering("lists.present", (userIds: readonly string[]) =>
    guildState
      .guilds()
      .filter(({ present }) => present)
      .map(({ id }) => ({ guildId: id, here: userIds.filter((userId) => guildState.presences.joinedAt(id, userId) !== undefined) })),
  );

  const ofRules = leader.answering(
    "lists.preview",
    async ({ guildId, own }: { guildId: string; own: readonly StanceRule[] }): Promise<GuildPreview> => {
      const standing = await standingIn(guildId);
      const here = [...guildState.presences.membersOf(guildId)].filter((userId) => sources.some(({ mayList }) => mayList(userId)));
      const away = [...standing.values()]
        .map(({ userId }) => userId)
        .filter((userId) => guildState.presences.joinedAt(guildId, userId) === undefined);
      const people = { notify: new Set<string>(), propose: new Set<string>(), apply: new Set<string>(), takeBack: new Set<string>() };
      const wanted = new Set<string>();
      const all = [...new Set([...here, ...away])];
      for (let from = 0; from < all.length; from += atOnce) {
        const some = all.slice(from, from + atOnce);
        const [listings, exempt] = [await listingsOf(some), await exemptIn(guildId, some)];
        for (const userId of some) {
          const isHere = guildState.presences.joinedAt(guildId, userId) !== undefined;
          for (const verdict of verdictsFor(guildId, userId, listings.get(userId) ?? [], own, exempt.has(userId))) {
            const key = standingKeyOf(guildId, userId, verdict);
            wanted.add(key);
            if (isHere && !standing.has(key)) people[verdict.stance].add(userId);
          }
        }
      }
      for (const [key, { userId, isOurs }] of standing) if (isOurs && !wanted.has(key)) people.takeBack.add(userId);
      return counted(guildId, people);
    },
  );

  return {
    ofRules: (guildId: string, own: readonly StanceRule[]): Promise<GuildPreview> => ofRules({ guildId, own }),

    async differs(
      guildId: string,
      before: readonly StanceRule[],
      after: readonly StanceRule[],
      userIds: readonly string[],
    ): Promise<boolean> {
      const [listings, exempt] = [await listingsOf(userIds), await exemptIn(guildId, userIds)];
      const told = (own: readonly StanceRule[]) =>
        userIds.map((userId) =>
          verdictsFor(guildId, userId, listings.get(userId) ?? [], own, exempt.has(userId)).map(({ key, seconds }) => [key, seconds]),
        );
      return JSON.stringify(told(before)) !== JSON.stringify(told(after));
    },

    async ofRecords(records: readonly BlacklistRecord[]): Promise<GuildPreview[]> {
      const about = records.filter(({ kind, startsAt }) => kind === "user" && startsAt <= clock.now());
      const listed = await ownList.listedBy(database.read, about);
      const previews: GuildPreview[] = [];
      for (const { guildId, here } of listed.size === 0 ? [] : await presentAmong([...listed.keys()])) {
        if (here.length === 0) continue;
        const people = { notify: new Set<string>(), propose: new Set<string>(), apply: new Set<string>(), takeBack: new Set<string>() };
        for (let from = 0; from < here.length; from += atOnce) {
          const some = here.slice(from, from + atOnce);
          const [exempt, standing] = [await exemptIn(guildId, some), await standingIn(guildId, some)];
          for (const userId of some)
            for (const verdict of verdictsFor(guildId, userId, listed.get(userId) ?? [], rules.of(guildId), exempt.has(userId)))
              if (!standing.has(standingKeyOf(guildId, userId, verdict))) people[verdict.stance].add(userId);
        }
        previews.push(counted(guildId, people));
      }
      return previews;
    },
  };
}
