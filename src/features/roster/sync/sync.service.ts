import { Prisma, type RosterEntry } from "../../../generated/sqlite/client.ts";
import type { Leader } from "../../../cluster/leader.ts";
import type { Deps } from "../../deps.ts";
import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { DiscordActions } from "../../../discord-actions/discord-actions.ts";
import { requirePermission, type Call, requireWrite, unanswered } from "../../../kernel/call.ts";
import { isoOrNull } from "../../../kernel/fields.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { PermissionsService } from "../../permissions/permissions.service.ts";
import type { RosterService } from "../roster.service.ts";
import { liveStatuses } from "../states.ts";
import { createFollow, type Follow } from "./follow.ts";
import { createPeople, type Differing, type People } from "./people.ts";
import { syncPolicy, isBelow, rankOfPerson, stepView, presentPerson } from "./sync.policy.ts";
import { createToDiscord, type ToDiscord } from "./to-discord.ts";
import { say } from "../../../kit/say.ts";
import { createHmac } from "node:crypto";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import {
  SyncRosterInput,
  type SyncPlanView,
  type SyncStatusView,
  SyncMemberInput,
  type SyncChange,
  type SyncMemberView,
} from "./sync.schema.ts";
import { compare, stateOf, type Known, type Difference, type SyncField } from "./compare.ts";
import { highestOf, shownOf, stepsFor, storedOf, type Following, type Shown } from "./diff.ts";

interface MemberDeps extends Deps<"database" | "guildState" | "access" | "clock"> {
  permissions: Pick<PermissionsService, "requireRankAbove">;
  roster: Pick<RosterService, "records" | "find">;
  conflicts: Pick<Conflicts, "requireNoOtherOwn">;
}

/** Compares one person, or brings one side in line with the other. */
function createSyncMember(deps: MemberDeps, people: People, out: ToDiscord) {
  const { database, guildState, access, permissions, roster, conflicts, clock } = deps;

  function viewOf(
    { person, input }: Known,
    entry: RosterEntry | null,
    changes: SyncChange[],
    warnings: readonly string[] = [],
  ): SyncMemberView {
    return {
      user: presentPerson(person),
      direction: input.direction,
      dry_run: input.dry_run,
      state: stateOf(entry),
      in_sync: changes.length === 0,
      changes,
      warnings: [...(person.members.length === 0 ? [say("roster.discord-shows-nothing-of-this-person")] : []), ...warnings],
      stale: !people.isKnown(),
    };
  }

  /** The changes of the roster, and what makes them. @throws ProblemError hierarchy_violation */
  function rosterChanges(call: Call, { person, shown, input }: Known, entry: RosterEntry | null, at: Date): RosterChanges {
    const rows = compare(entry, shown, person, people.rankOf);
    const isAsked = (field: SyncField): boolean => input.apply?.includes(field) ?? true;
    const wanted = rows.filter(({ field, reason }) => reason === null && isAsked(field));
    const isDone = !input.dry_run && wanted.length > 0;
    const changes = rows.map((row) => inwardChange(row, wanted.includes(row), isDone, isAsked(row.field)));
    const following = wanted.length === 0 || shown === null ? null : followingOf(entry, shown, wanted, at);
    if (following !== null) permissions.requireRankAbove(call, rankOfPerson(access, person.id, entry, following.steps));
    return { changes, following };
  }

  function followingOf(entry: RosterEntry | null, shown: Shown, wanted: readonly Difference[], at: Date): Following | null {
    if (entry === null) return stepsFor(null, shown, people.rankOf, at);
    const stored = storedOf(entry);
    const isWanted = (field: SyncField): boolean => wanted.some((row) => row.field === field);
    const merged: Shown = {
      in_guild: isWanted("in_guild") ? shown.in_guild : stored.in_guild,
      held_roles: isWanted("held_roles") ? shown.held_roles : (stored.held_roles ?? shown.held_roles),
      nickname: isWanted("nickname") ? shown.nickname : stored.nickname,
    };
    const staffRole = isWanted("staff_role") ? highestOf(shown.held_roles, people.rankOf) : entry.staffRole;
    return stepsFor(entry, merged, people.rankOf, at, { staffRole });
  }

  async function fromDiscord(call: Call, known: Known): Promise<SyncMemberView> {
    const userId = known.person.id;
    if (!people.isKnown()) throw new ProblemError("roster_stale", { retryAfter: 30 });
    return await database.write(call, async (tx) => {
      await roster.records.lock(tx, userId);
      const entry = await roster.find(tx.db, userId);
      const { changes, following } = rosterChanges(call, known, entry, tx.now);
      const [first, ...more] = following?.steps ?? [];
      if (following === null) return viewOf(known, entry, changes);
      const note = { causeReference: null, source: "discord", permission: syncPolicy.member, reason: known.input.reason } as const;
      if (first !== undefined) {
        const written = await roster.records.write(tx, { userId, entry }, [first, ...more], note, { extras: following.extras });
        return viewOf(known, written, changes);
      }
      if (entry !== null) await tx.db.rosterEntry.update({ where: { id: entry.id }, data: following.extras });
      return viewOf(known, entry, changes);
    });
  }

  return {
    /**
     * Compare one person, or bring the roster in line with Discord, or Discord with the roster. A report and a dry run write nothing.
     * @throws ProblemError permission_denied, acting_user_required, validation_failed, conflict_of_interest, hierarchy_violation, roster_stale
     */
    async member(call: Call, given: unknown): Promise<SyncMemberView> {
      requirePermission(call, syncPolicy.member);
      const input = SyncMemberInput.parse(given);
      const isWrite = input.direction !== "report" && !input.dry_run;
      if (isWrite) requireWrite(call, syncPolicy.member);
      const replay = isWrite ? await database.findReplay(call) : undefined;
      if (replay !== undefined) return replay.value as SyncMemberView;
      const person = await access.resolve(input.discord_user_id);
      if (person.isUnanswered) throw unanswered();
      if (input.direction !== "report") await conflicts.requireNoOtherOwn(database.read, call, person.id);
      const known: Known = { person, shown: shownOf(person, guildState.guilds()), input };
      if (isWrite && input.direction === "from_discord") return await fromDiscord(call, known);
      const entry = await roster.find(database.read, person.id);
      if (input.direction === "to_discord") return await out.toDiscord(call, known, entry, (...answer) => viewOf(known, entry, ...answer));
      if (input.direction === "from_discord") return viewOf(known, entry, rosterChanges(call, known, entry, clock.now()).changes);
      const rows = compare(entry, known.shown, person, people.rankOf);
      return viewOf(
        known,
        entry,
        rows.map((row) => ({ ...row, action: "none", applied: false })),
      );
    },
  };
}

interface RosterChanges {
  changes: SyncChange[];
  following: Following | null;
}

function inwardChange({ field, discord, roster, reason }: Difference, isWanted: boolean, isDone: boolean, isAsked: boolean): SyncChange {
  const action = field === "entry" ? "create_entry" : "set_roster";
  if (isWanted) return { field, discord, roster, action, applied: isDone, reason: null };
  return { field, discord, roster, action: "none", applied: false, reason: isAsked ? reason : say("roster.not-asked-for") };
}

interface PlanDeps extends Deps<"database" | "audit" | "access" | "clock"> {
  conflicts: Pick<Conflicts, "otherAccountsOf">;
  isFollowing: boolean;
  /** How following stands at the process that follows. */
  followState: (input: null) => Promise<Pick<SyncStatusView, "pending" | "held_back" | "tripped_at" | "last_round_at">>;
  /** Of the hashes of plans. */
  fingerprintKey: Buffer;
}

const shownPeople = 200;

/** Everything in which the roster and the guilds differ, as one plan that a person looks at and applies. */
function createSyncPlan(
  { database, audit, access, conflicts, isFollowing, followState, clock, fingerprintKey }: PlanDeps,
  people: People,
  follow: Follow,
) {
  async function draw(call: Call): Promise<{ differing: Differing[]; within: string[]; view: SyncPlanView }> {
    const everybody = await people.differing(await people.everyone(), clock.now());
    const differing = everybody.filter(({ steps }) => steps.length > 0);
    const { live, limit } = await follow.allowance();
    const own = new Set(await conflicts.otherAccountsOf(database.read, call));
    const isWithin = (one: Differing): boolean =>
      !own.has(one.userId) && isBelow(call, rankOfPerson(access, one.userId, one.entry, one.steps));
    const within = differing.filter(isWithin).map(({ userId }) => userId);
    const reached = new Set(within);
    const view: SyncPlanView = {
      dry_run: true,
      plan_hash: hashOf(fingerprintKey, differing),
      people: differing.length,
      steps: countsOf(differing),
      plan: differing.slice(0, shownPeople).map(({ userId, entry, steps }) => ({
        user_id: userId,
        steps: steps.map((step, index) => stepView(step, steps[index - 1]?.after.staff_role ?? entry?.staffRole ?? null)),
        withheld: !reached.has(userId),
      })),
      live,
      limit,
      withheld: differing.length - within.length,
      applied: 0,
      stale: !people.isKnown(),
    };
    return { differing, within, view };
  }

  async function carryOut(call: Call, planHash: string): Promise<SyncPlanView> {
    const replay = await database.findReplay(call);
    if (replay !== undefined) return replay.value as SyncPlanView;
    if (!people.isKnown()) throw new ProblemError("roster_stale", { retryAfter: 30 });
    const { within, view } = await draw(call);
    if (view.plan_hash !== planHash) {
      const detail = say("roster.what-differs-is-not-what-the-plan");
      throw new ProblemError("invalid_transition", { detail, extra: { plan_hash: view.plan_hash } });
    }
    const { changed } = await people.apply({ ...call, idempotency: null }, within, () => people.isKnown());
    const answer = { ...view, dry_run: false, applied: changed };
    return await database.write(call, (tx) => {
      const { people: differed, steps, withheld } = view;
      const target = { kind: "roster", id: planHash };
      audit.record(tx, {
        action: "roster.sync",
        target,
        after: { people: differed, steps, withheld, applied: changed },
        permission: syncPolicy.apply,
      });
      return Promise.resolve(answer);
    });
  }

  return {
    /**
     * Everything in which the roster and the guilds differ; with the hash of that plan it is applied, however much it is.
     * @throws ProblemError validation_failed, invalid_transition with the present `plan_hash` when something has changed since, roster_stale
     */
    async all(call: Call, given: unknown): Promise<SyncPlanView> {
      requireWrite(call, syncPolicy.apply);
      const { dry_run, plan_hash } = SyncRosterInput.parse(given);
      if (dry_run) return (await draw(call)).view;
      if (plan_hash === undefined) throw fieldError("/plan_hash", "required", say("callsigns.make-a-dry-run-first-and-name"));
      const done = await follow.inTurn(() => carryOut(call, plan_hash));
      follow.note(null);
      return done;
    },

    /** How it stands with following. */
    async status(call: Call): Promise<SyncStatusView> {
      requirePermission(call, syncPolicy.member);
      const { limit, changed } = await follow.allowance();
      return {
        following: isFollowing,
        ...(await followState(null)),
        stale: !people.isKnown(),
        changed_in_10_minutes: changed.size,
        limit,
      };
    },
  };
}

/** The same plan has the same hash, whenever it is drawn. The audit keeps it permanently: without the key nobody finds names in it. */
function hashOf(key: Buffer, differing: readonly Differing[]): string {
  const lines = differing.map(({ userId, entry, steps, extras }) => {
    const events = steps.map(({ event, after }) => [event, after.staff_role]);
    return JSON.stringify([userId, entry?.revision ?? 0, events, extras.heldRoles, extras.inGuild, extras.nickname]);
  });
  return createHmac("sha256", key).update(lines.join("\n")).digest("hex");
}

function countsOf(differing: readonly Differing[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { steps } of differing) for (const { event } of steps) counts[event] = (counts[event] ?? 0) + 1;
  return counts;
}

export interface RosterSync {
  start(): void;
  stop(): Promise<void>;
  /** Have everyone on the roster stored, whatever roles they hold. */
  trackEntries(): Promise<void>;
  /** What is left of following. For the job that runs each minute. @returns how many entries were changed, or differ where nothing follows */
  catchUp(call: Call): Promise<number>;
  /**
   * Everything in which the roster and the guilds differ; with the hash of that plan it is applied, however much it is.
   * @throws ProblemError validation_failed, invalid_transition with the present `plan_hash` when something has changed since, roster_stale
   */
  all(call: Call, given: unknown): Promise<SyncPlanView>;
  /** How it stands with following. */
  status(call: Call): Promise<SyncStatusView>;
  /**
   * Compare one person, or bring the roster in line with Discord, or Discord with the roster. A report and a dry run write nothing.
   * @throws ProblemError permission_denied, acting_user_required, validation_failed, conflict_of_interest, hierarchy_violation, roster_stale
   */
  member(call: Call, given: unknown): Promise<SyncMemberView>;
  /** Whether what is known of the guilds is current and complete. */
  isKnown(): boolean;
}

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
export function createRosterSync(deps: RosterSyncDeps): RosterSync {
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

    trackEntries,

    async catchUp(call: Call): Promise<number> {
      requirePermission(call, syncPolicy.jobs);
      await trackEntries();
      return await follow.catchUp(call);
    },
  };
}
