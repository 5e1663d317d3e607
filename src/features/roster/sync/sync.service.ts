import { Prisma } from "../../../generated/sqlite/client.ts";
import type { Leader } from "../../../cluster/leader.ts";
import type { Deps } from "../../deps.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { DiscordActions } from "../../../discord-actions/discord-actions.ts";
import { requirePermission, type Call } from "../../../kernel/call.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { RosterService } from "../roster.service.ts";
import { liveStatuses } from "../states.ts";
import { createFollow } from "./follow.ts";
import { createSyncMember } from "./member.ts";
import { createPeople } from "./people.ts";
import { createSyncPlan } from "./plan.ts";
import { syncPolicy } from "./sync.policy.ts";
import { createToDiscord } from "./to-discord.ts";

export type RosterSync = ReturnType<typeof createRosterSync>;

export interface RosterSyncDeps extends Deps<"database" | "audit" | "events" | "guildState" | "access" | "clock"> {
  permissions: Pick<PermissionsService, "requireRankAbove" | "requireMayGiveRole">;
  roster: RosterService;
  discordActions: Pick<DiscordActions, "perform">;
  conflicts: Pick<Conflicts, "otherAccountsOf" | "requireNoOtherOwn">;
  isFollowing: boolean;
  /** Of the hashes of plans. */
  fingerprintKey: Buffer;
  logger: Logger;
  /** Answers how following stands: it follows at one process. */
  leader: Leader;
}

/** People of one statement. */
const readAtOnce = 500;

/** Keeps the roster and the guilds in step. */
export function createRosterSync(deps: RosterSyncDeps) {
  const people = createPeople(deps);
  const follow = createFollow(deps, people);
  const followState = deps.leader.answering("roster.following", async () => {
    const { heldBack, trippedAt, lastRoundAt, isAnybody, pending } = follow.state();
    return {
      pending: isAnybody && deps.isFollowing ? (await people.everyone()).length : pending,
      held_back: heldBack,
      tripped_at: isoOrNull(trippedAt),
      last_round_at: isoOrNull(lastRoundAt),
    };
  });
  const { database, access, logger } = deps;
  let tracked = "";

  /** Everybody on the roster is known of, also who holds no staff role yet: else nobody sees that the role is missing. */
  async function trackEntries(): Promise<void> {
    const onRoster = Prisma.sql`WHERE t.status IN (${Prisma.join([...liveStatuses])}) ORDER BY t.user_id`;
    const rows = await database.read.$select("RosterEntry", onRoster, ["userId", "heldRoles"]);
    const users = rows.map(({ userId }) => userId);
    const bare = rows.filter(({ heldRoles }) => !Array.isArray(heldRoles) || heldRoles.length === 0);
    const held = await formerHoldersAmong(bare.map(({ userId }) => userId));
    const neverStaff = bare.flatMap(({ userId }) => (held.has(userId) ? [] : [userId]));
    const found = `${users.join()};${neverStaff.join()}`;
    if (found === tracked) return;
    tracked = found;
    access.trackAlso(new Set(users), new Set(neverStaff));
  }

  /** Those who lost a staff role, in Discord or on the roster, as their history says. */
  async function formerHoldersAmong(userIds: readonly string[]): Promise<Set<string>> {
    const found = new Set<string>();
    for (let from = 0; from < userIds.length; from += readAtOnce) {
      const where = {
        userId: { in: userIds.slice(from, from + readAtOnce) },
        OR: [{ event: "role_removed" }, { formerRole: { not: null } }],
      };
      const rows = await database.read.rosterEvent.findMany({ where, select: { userId: true }, distinct: ["userId"] });
      for (const { userId } of rows) found.add(userId);
      await nextTurn();
    }
    return found;
  }

  return {
    /** Whether what is known of the guilds is current and complete. */
    isKnown: people.isKnown,
    ...createSyncMember(deps, people, createToDiscord(deps, people)),
    ...createSyncPlan({ ...deps, followState }, people, follow),

    start(): void {
      trackEntries().catch((error: unknown) => {
        logger.warn({ err: error }, "roster: those on it could not be read; it is tried again within a minute");
      });
      follow.start();
    },
    stop: follow.stop,

    /** Have everyone on the roster stored, whatever roles they hold. */
    trackEntries,

    /** What is left of following. For the job that runs each minute. @returns how many entries were changed, or differ where nothing follows */
    async catchUp(call: Call): Promise<number> {
      requirePermission(call, syncPolicy.jobs);
      await trackEntries();
      return await follow.catchUp(call);
    },
  };
}
