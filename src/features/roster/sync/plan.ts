import { say } from "../../../kit/say.ts";
import type { Deps } from "../../deps.ts";
import { createHmac } from "node:crypto";
import { requirePermission, requireWrite, type Call } from "../../../kernel/call.ts";
import { fieldError, ProblemError } from "../../../kernel/errors.ts";
import type { Conflicts } from "../../links/conflicts.ts";
import type { Follow } from "./follow.ts";
import type { Differing, People } from "./people.ts";
import { isBelow, rankOfPerson, stepView, syncPolicy } from "./sync.policy.ts";
import { SyncRosterInput, type SyncPlanView, type SyncStatusView } from "./sync.schema.ts";

export interface PlanDeps extends Deps<"database" | "audit" | "access" | "clock"> {
  conflicts: Pick<Conflicts, "otherAccountsOf">;
  isFollowing: boolean;
  /** How following stands at the process that follows. */
  followState: (input: null) => Promise<Pick<SyncStatusView, "pending" | "held_back" | "tripped_at" | "last_round_at">>;
  /** Of the hashes of plans. */
  fingerprintKey: Buffer;
}

const shownPeople = 200;

/** Everything in which the roster and the guilds differ, as one plan that a person looks at and applies. */
export function createSyncPlan(
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
