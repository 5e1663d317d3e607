import { say, andMore, term, serverId } from "../../kit/say.ts";
import type { Deps } from "../deps.ts";
import { lackingFor, type SetUp } from "../../discord-actions/set-up.ts";
import type { ForeignGuild } from "../../discord/guild-state.ts";
import type { Discord } from "../../discord/client.ts";
import type { EvidenceService } from "../evidence/evidence.service.ts";
import type { NativeWatch } from "../native-actions/watch.ts";
import type { FollowsService } from "../follows/follows.service.ts";
import type { JobState } from "../../jobs.ts";
import type { Deliveries } from "../workflows/delivery/deliveries.ts";
import { failuresMs, failuresText, joinFailures } from "../../discord-actions/failures.ts";
import type { TaskState } from "../../kit/task.ts";
import type { createListActions } from "../lists/actions.service.ts";
import type { ListWorker } from "../lists/worker.ts";
import type { Rules } from "../lists/rules.ts";
import type { WorkflowsService } from "../workflows/requests/workflows.service.ts";
import type { LeftOut } from "../alerts/alerts.ts";
import type { Cards } from "../workflows/cards/cards.ts";
import { databaseRefusal } from "../../database/refusals.ts";
import { groupBy } from "../../kernel/group.ts";
import { operatorText } from "../../kernel/operator-errors.ts";

const storageCheckMs = 1000;
/** How long an answer of the store of evidence counts: anybody may ask for the health. */
const reachMs = 10_000;
/** How long events that were not understood are told of. */
const faultsToldMs = 600_000;
/** Cards may be so many seconds behind: a pause of Discord is no reason to call anybody. */
const cardsBehindSeconds = 60;
/** How long what an approval left to be done may be late before there is a warning, and before it is wrong. */
const [lateSeconds, tooLateSeconds] = [60, 3600];
/** A job that has not ended well for so long needs somebody; one that failed less long ago is told of. */
const jobMs = 3_600_000;

export interface ChecksDeps extends Deps<"database" | "clock" | "guildState" | "servedGuilds"> {
  /** Says what is wrong with the signed positions of the audit. */
  audit: { state(): { reason?: string } };
  discord: Discord;
  /** Says how far what approvals left to be done is behind. */
  deliveries: Pick<Deliveries, "state" | "failuresSince">;
  /** Says how far what servers do about listed people is behind, and what of it failed. */
  lists: { worker: Pick<ListWorker, "state">; actions: Pick<ReturnType<typeof createListActions>, "failuresSince"> };
  /** Says how each job has done. */
  jobStates: () => readonly JobState[];
  /** Says how the review cards do. */
  cards: Pick<Cards, "state">;
  /** Says which alerts could not be shown. */
  alerts: { leftOut(): readonly LeftOut[] };
  /** Says why files of evidence cannot be kept or read. */
  evidence: Pick<EvidenceService, "trouble">;
  /** Says where the bot may not view the audit log. */
  nativeWatch: Pick<NativeWatch, "unseen">;
  /** Say what servers are set up for. */
  workflows: { direct: Pick<WorkflowsService["direct"], "actionsIn"> };
  listRules: Pick<Rules, "of">;
  /** Says which lists of others cannot be read. */
  follows: Pick<FollowsService, "inTrouble">;
}

interface Check {
  status: "pass" | "warn" | "fail";
  reason?: string;
  age_seconds?: number;
}

/**
 * What the health answer looks at: storage takes a commit, Discord is connected, the guild state is live, the audit is signed, review cards are
 * posted, jobs end well, the bot may do what servers are set up for, files of evidence can be kept, what was approved is carried out in time,
 * nothing that the bot could not do waits for a person, and lists of others can be read.
 */
export function createChecks(databaseUrl: string, deps: ChecksDeps) {
  const { database, clock, audit, discord, cards, alerts, deliveries, evidence, jobStates, nativeWatch, guildState, servedGuilds } = deps;
  const { workflows, listRules, lists, follows } = deps;
  let reached: { trouble: Promise<string | undefined>; at: number } | undefined;
  let latest: { check: Promise<Check>; at: number } | undefined;

  async function tryStorage(): Promise<Check> {
    try {
      await database.check();
      return { status: "pass" };
    } catch (error) {
      const shown = databaseRefusal(databaseUrl, error);
      return { status: "fail", reason: operatorText(shown) ?? say("health.the-database-does-not-answer") };
    }
  }

  /** What rules about listed people do; what a record recommends is a kick or a ban. */
  function doneToListed(guildId: string): SetUp[] {
    const acting = listRules.of(guildId).filter(({ stance }) => stance === "apply" || stance === "propose");
    return acting.flatMap(({ action, role_id: roleId }): SetUp[] => {
      if (action === "role") return roleId === null ? [] : [{ kind: "role_add", roleId }];
      return action === null ? [{ kind: "kick" }, { kind: "ban" }] : [{ kind: action }];
    });
  }

  return {
    /** Whether the bot may do in each server what it is set up for there, by direct moderation and by rules about listed people. */
    async discord_permissions(): Promise<Check> {
      const lackingIn = async (guildId: string): Promise<string[]> => {
        const alone = (await workflows.direct.actionsIn(guildId)).map((kind): SetUp => ({ kind }));
        return lackingFor(guildState.standings.of(guildId), [...alone, ...doneToListed(guildId)]);
      };
      const lacking = (await Promise.all([...servedGuilds].map(lackingIn))).flat();
      return lacking.length === 0 ? { status: "pass" } : { status: "warn", reason: lacking.join(" ") };
    },
    audit_checkpoints(): Check {
      const { reason } = audit.state();
      return reason === undefined
        ? { status: "pass" }
        : { status: "warn", reason: say("health.the-head-of-the-audit-cannot-be", { reason }) };
    },
    async review_cards(): Promise<Check> {
      const { refusals, dueSeconds } = await cards.state();
      const refused = refusals.map(({ channelId, detail }) =>
        say("health.discord-takes-no-messages-of-the-bot", { channel: channelId, detail }),
      );
      const isLate = dueSeconds >= cardsBehindSeconds;
      const late = isLate ? [say("health.review-cards-could-not-be-brought-up")] : [];
      const reasons = [...refused, ...late, ...leftOutTexts(alerts.leftOut())];
      if (reasons.length === 0) return { status: "pass" };
      return { status: "warn", reason: reasons.join(" "), ...(isLate && { age_seconds: dueSeconds }) };
    },
    async evidence_store(): Promise<Check> {
      const now = performance.now();
      if (reached === undefined || now - reached.at > reachMs) reached = { trouble: evidence.trouble(), at: now };
      const reason = await reached.trouble;
      return reason === undefined ? { status: "pass" } : { status: "fail", reason };
    },
    jobs: (): Check => jobsCheck(jobStates(), clock.now().getTime()),
    deliveries: async (): Promise<Check> => lateCheck(say("health.what-approvals-left-to-be-done"), await deliveries.state(), clock.now()),
    /** What failed and waits for a person, and what is late of what lists ask for; `deliveries` has what is late of approvals. */
    async discord_actions(): Promise<Check> {
      const since = new Date(clock.now().getTime() - failuresMs);
      const [behind, ...failures] = await Promise.all([
        lists.worker.state(),
        deliveries.failuresSince(since),
        lists.actions.failuresSince(since),
      ]);
      const late = lateCheck(say("health.what-servers-do-about-listed-people"), behind, clock.now());
      const failed = failuresText(joinFailures(failures));
      if (failed === undefined) return late;
      return {
        ...late,
        status: late.status === "fail" ? "fail" : "warn",
        reason: [...(late.reason === undefined ? [] : [late.reason]), failed].join(" "),
      };
    },
    /** Lists of others that no longer say anything new, as they contradicted themselves or cannot be read. */
    async followed_lists(): Promise<Check> {
      const troubles = await follows.inTrouble();
      if (troubles.length === 0) return { status: "pass" };
      const named = troubles.slice(0, maxListed).map(({ name, state, problem: reason }) => {
        const key = state === "stopped" ? "health.list-stopped" : "health.list-unreadable";
        return say(key, { name: JSON.stringify(name), problem: reason ?? "" });
      });
      const more = troubles.length > maxListed ? [say("health.and-more", { count: troubles.length - maxListed })] : [];
      return { status: "warn", reason: [...named, ...more].join(" ") };
    },
    /** Each check is a durable commit, so that anyone who polls health shares one a second. */
    storage(): Promise<Check> {
      const now = performance.now();
      if (latest === undefined || now - latest.at > storageCheckMs) latest = { check: tryStorage(), at: now };
      return latest.check;
    },
    discord_gateway(): Check {
      const { state, reason = faultsOf(discord.eventFaults()), since } = discord.status();
      const age_seconds = Math.max(0, Math.round((Date.now() - since.getTime()) / 1000));
      if (state === "ready") return { status: "pass", ...(reason !== undefined && { reason }), age_seconds };
      return {
        status: state === "fatal" || state === "down" ? "fail" : "warn",
        reason: reason ?? say("health.the-gateway-link-is", { state: term(state) }),
        age_seconds,
      };
    },
    guild_state(): Check {
      const { stale, ageSeconds } = guildState.freshness();
      const age = ageSeconds === null ? {} : { age_seconds: Math.round(ageSeconds) };
      const present = new Set(guildState.guilds().flatMap((guild) => (guild.present ? [guild.id] : [])));
      const absent = stale ? [] : [...servedGuilds].filter((id) => !present.has(id));
      const staleText =
        ageSeconds === null ? say("health.the-guild-state-has-not-been-read") : say("health.the-last-known-guild-state-answers");
      const reasons = [
        ...(stale ? [staleText] : []),
        ...absentTexts(absent),
        ...unseenTexts(nativeWatch.unseen()),
        ...foreignTexts(guildState.foreignGuilds()),
      ];
      if (reasons.length === 0) return { status: "pass", ...age };
      return { status: guildState.isTooOld() ? "fail" : "warn", reason: reasons.join(" "), ...age };
    },
  };
}

/** Each server once, by the alert that was left out last. */
function leftOutTexts(leftOut: readonly LeftOut[]): string[] {
  return [...groupBy(leftOut, ({ guildId }) => guildId)].flatMap(([guildId, those]) => {
    const last = those.at(-1);
    if (last === undefined) return [];
    const filled = { count: those.length, guild: serverId(guildId), at: last.at.toISOString(), detail: last.detail };
    return [say("health.alert-left-out", filled)];
  });
}

/** Whether stored work is done in time. @param what the beginning of a sentence */
function lateCheck(what: string, { due, isMore, oldest }: TaskState, now: Date): Check {
  const age_seconds = oldest === null ? 0 : Math.max(0, Math.round((now.getTime() - oldest.getTime()) / 1000));
  if (oldest === null || age_seconds < lateSeconds) return { status: "pass" };
  const count = `${due.toString()}${isMore ? " or more" : ""}`;
  const reason = say("health.is-late-due-the-oldest-since-look", { what, count, at: oldest.toISOString() });
  return { status: age_seconds < tooLateSeconds ? "warn" : "fail", reason, age_seconds };
}

/** How the jobs of every minute do, at a time. */
export function jobsCheck(states: readonly JobState[], now: number): Check {
  const troubles = states.flatMap((state) => troubleOf(state, now) ?? []);
  if (troubles.length === 0) return { status: "pass" };
  const isWrong = troubles.some(({ status }) => status === "fail");
  return { status: isWrong ? "fail" : "warn", reason: troubles.map(({ reason }) => reason).join(" ") };
}

function troubleOf(
  { name, runningSince, failingSince, lastFailure }: JobState,
  now: number,
): Required<Pick<Check, "status" | "reason">> | undefined {
  if (runningSince !== null && now - runningSince.getTime() >= jobMs)
    return {
      status: "fail",
      reason: say("health.the-job-has-run-since-and-keeps", { name, at: runningSince.toISOString() }),
    };
  if (failingSince !== null && now - failingSince.getTime() >= jobMs)
    return { status: "fail", reason: say("health.the-job-has-failed-every-minute-since", { name, at: failingSince.toISOString() }) };
  if (lastFailure === null || now - lastFailure.getTime() >= jobMs) return undefined;
  return { status: "warn", reason: say("health.the-job-failed-at-the-log-says", { name, at: lastFailure.toISOString() }) };
}

function absentTexts(ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [say("health.the-bot-is-not-in-of-guild", { ids: ids.join(", ") })];
}

function unseenTexts(ids: readonly string[]): string[] {
  return ids.length === 0 ? [] : [say("health.the-bot-may-not-view-the-audit", { ids: ids.join(", ") })];
}

/** So many lists are named. */
const maxListed = 5;
/** So many servers that are not served are named; a public bot can be added to many. */
const maxForeign = 10;

function foreignTexts(guilds: readonly ForeignGuild[]): string[] {
  if (guilds.length === 0) return [];
  const named = guilds.slice(0, maxForeign).map(({ id, name }) => `${name} (${id})`);
  const left = guilds.length - named.length;
  return [say("health.unserved", { names: left > 0 ? andMore(named, left) : named.join(", ") })];
}

/** Events that were not understood lately: nothing is lost, as their guild is read again, but the operator should know. */
function faultsOf({ count, lastAt }: ReturnType<Discord["eventFaults"]>): string | undefined {
  if (lastAt === undefined || Date.now() - lastAt.getTime() > faultsToldMs) return undefined;
  return say("health.events-not-understood", { count, at: lastAt.toISOString() });
}
