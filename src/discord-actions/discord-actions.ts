import { say } from "../kit/say.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Discord } from "../discord/client.ts";
import type { Call } from "../kernel/call.ts";
import { DiscordAction, type Performed } from "../kernel/discord-port.ts";
import type { Clock } from "../kernel/clock.ts";
import { backOff, persistently } from "../kernel/pause.ts";
import { createTurns } from "../kernel/turns.ts";
import type { Logger } from "pino";
import { createTasks, type Attempted, type Tasks } from "../kit/task.ts";
import type { Judge } from "./judge.ts";
import type { Impossible, Waits } from "./possible.ts";
import { outcomeOf, type Outcome } from "./outcome.ts";
import { createReturns, memberKey, type ReturnsDeps } from "./returns.ts";
import type { ActionSource, Claimed, Ended, CauseName } from "./source.ts";
import type { PermissionKey } from "../kernel/permissions.ts";

type Data = Readonly<Record<string, string | number | null>>;

/** Where failures of actions, and their ends, are reported. */
interface ActionEvents {
  emit(tx: Tx, event: { type: "discord_action.failed" | "discord_action.recovered"; data: Data; permission?: PermissionKey }): void;
}

/** An action and why the bot does it. */
export interface ActionOfCause {
  action: { kind: DiscordAction["kind"]; guildId?: string; userId?: string };
  cause: CauseName;
  /** Who may know of it, where not everybody who reads requests may. */
  permission?: string | undefined;
}

/** An action failed, and the bot does not try it again by itself. */
function tellFailed(events: ActionEvents, tx: Tx, about: ActionOfCause, why: { discord_code: number | null; error: string }): void {
  tell(events, tx, "discord_action.failed", about, why);
}

/** An action that had failed is done after all, or is no longer to be done. */
export function tellRecovered(events: ActionEvents, tx: Tx, about: ActionOfCause): void {
  tell(events, tx, "discord_action.recovered", about, {});
}

function tell(
  events: ActionEvents,
  tx: Tx,
  type: "discord_action.failed" | "discord_action.recovered",
  { action, cause, permission }: ActionOfCause,
  more: Data,
): void {
  events.emit(tx, {
    type,
    data: {
      ...(action.guildId !== undefined && { guild_id: action.guildId }),
      ...(action.userId !== undefined && { user_id: action.userId }),
      action: action.kind,
      cause: cause.feature,
      id: cause.id,
      place: cause.place,
      reference: cause.reference,
      ...(cause.list !== undefined && { list: cause.list }),
      ...more,
    },
    // What a list asks for tells that somebody is listed.
    ...(cause.feature === "list" && { permission: "blacklist.read" as const }),
    ...(permission !== undefined && { permission: permission as PermissionKey }),
  });
}

/** How the service reaches Discord. */
export type DiscordPort = Pick<Discord, "actions" | "status">;

export interface DiscordActionsDeps {
  database: Database;
  discord: DiscordPort;
  events: ActionEvents;
  guildState: { presences: ReturnsDeps["presences"] };
  judge: Pick<Judge, "now">;
  clock: Clock;
  logger: Logger;
}

/** How often actions of a kind came to an outcome. */
export interface ActionCount {
  kind: DiscordAction["kind"];
  outcome: Outcome["state"];
  count: number;
}

/** An action on a member that is done at once or not at all. */
export type DirectAction = Extract<DiscordAction, { guildId: string }>;

export interface DiscordActions {
  /** The tasks of a source, ready to be started by its feature. */
  tasksOf<Claim extends Claimed>(source: ActionSource<Claim>): Tasks;
  /**
   * Do something to a person in a server at once, for somebody who waits for the answer. What Discord would refuse is answered without a
   * request, and nothing is left for later: where the person is away, it is not done.
   */
  perform(action: DirectAction): Promise<Performed>;
  /** How often actions came to each outcome since the start of the process. */
  counts(): ActionCount[];
}

const everyKind = DiscordAction.options.map(({ shape }) => shape.kind.value);
const everyOutcome: readonly Outcome["state"][] = ["done", "failed", "later", "away"];
/** How many people the bot acts on at the same time. Discord's own limits are waited for by the calls. */
const places = 6;
const spent: Outcome = {
  state: "failed",
  detail: say("discord-actions.nobody-knows-how-the-last-attempt-ended"),
  code: null,
  mayBeDone: true,
};
const isAway: Performed = { outcome: "away", detail: say("discord-actions.they-are-not-in-the-server") };
/** How long a busy storage is asked to take an outcome, in milliseconds: with the attempt itself, less than the lease. */
const insistMs = 30_000;
/** How long a message may keep the action behind it waiting, in milliseconds. */
const briefMs = 3000;

/**
 * Everything the bot does to people in Discord: bans, kicks, timeouts, roles, nicknames and messages. An action is taken on in one transaction
 * and its outcome is written in another, so that none is lost, and Discord's state is read before it is changed, so that none is done twice.
 */
export function createDiscordActions({ database, discord, events, guildState, judge, clock, logger }: DiscordActionsDeps): DiscordActions {
  /** How often actions ended, by kind and outcome, since the start. */
  const counts = new Map(
    everyKind.flatMap((kind) =>
      everyOutcome.map((outcome) => [`${kind}:${outcome}`, { kind, outcome, count: 0 }] as [string, ActionCount]),
    ),
  );

  /** What is done to one person in one server never overlaps, whoever asks for it: each is worked out from what the one before has left. */
  const turns = createTurns();

  function count(kind: DiscordAction["kind"], outcome: Outcome["state"]): void {
    const known = counts.get(`${kind}:${outcome}`);
    if (known !== undefined) known.count += 1;
  }

  /** A failure is told once, to everybody who follows events: alerts, web-hooks and clients. */
  function tellFailure(tx: Tx, { action }: Claimed, outcome: Outcome, { cause, permission }: Ended): void {
    if (outcome.state !== "failed") return;
    tellFailed(events, tx, { action, cause, permission }, { discord_code: outcome.code, error: outcome.detail });
  }

  async function performNow(action: DirectAction): Promise<Performed> {
    const performed = await turns.take(memberKey(action), () => discord.actions.perform(action));
    return performed.outcome === "away" ? isAway : performed;
  }

  return {
    tasksOf<Claim extends Claimed>(source: ActionSource<Claim>): Tasks {
      const returns = createReturns(source, { database, presences: guildState.presences, logger }, () => tasks.wake());

      /** What came of it is known: a storage that is busy is asked again, as nobody else may try before the lease has ended. */
      async function write(call: Call, claimed: Claim, performed: Performed | undefined, since: number): Promise<Attempted> {
        const began = performance.now();
        const pauseOf = (tries: number): number | undefined =>
          performance.now() - began > insistMs ? undefined : backOff(tries, { firstMs: 100, mostMs: 2000 });
        return await persistently(() => writeOnce(call, claimed, performed, since), pauseOf);
      }

      async function writeOnce(call: Call, claimed: Claim, performed: Performed | undefined, since: number): Promise<Attempted> {
        return await database.write(call, async (tx) => {
          const outcome = performed === undefined ? spent : outcomeOf(tx.now, claimed, performed);
          const ended = await source.end(tx, claimed, outcome);
          if (ended.isWritten) tellFailure(tx, claimed, outcome, ended);
          const { action } = claimed;
          tx.afterCommit(() => {
            count(action.kind, outcome.state);
            if (outcome.state === "away" && "guildId" in action) returns.wait(action, since);
          });
          return outcome.state === "later" ? "later" : "ended";
        });
      }

      /** Take it on, do it and write down what came of it. */
      async function attempt(call: Call, id: string): Promise<Attempted> {
        const claimed = await database.write(call, (tx) => source.claim(tx, id));
        if (claimed === undefined) return "passed";
        if (claimed === "handled") return "ended";
        const { action, mayBeDone, isBrief = false, isSpent = false, refused } = claimed;
        const since = clock.now().getTime();
        if (isSpent) return await write(call, claimed, undefined, since);
        if (refused !== undefined) return await write(call, claimed, { outcome: "failed", detail: refused }, since);
        let performed: Performed;
        try {
          performed = await discord.actions.perform(action, { mayBeDone, ...(isBrief && { deadlineMs: briefMs }) });
        } catch (error) {
          // Nobody knows what became of it: the next attempt, after the lease, looks at Discord first.
          logger.error({ err: error, task: source.name, action: action.kind }, "an action in Discord failed unexpectedly");
          return "later";
        }
        return await write(call, claimed, performed, since);
      }

      const tasks = createTasks(
        {
          name: source.name,
          places,
          isReady: () => discord.status().state === "ready",
          due: source.due,
          nextDue: source.nextDue,
          attempt: (call, id, key) => turns.take(key, () => attempt(call, id)),
        },
        { clock, logger },
      );

      return {
        ...tasks,
        start() {
          returns.start().catch((error: unknown) => {
            logger.error(
              { err: error, task: source.name },
              "what waits for people to return could not be read; it is read at the next start",
            );
          });
          tasks.start();
        },
      };
    },

    async perform(action: DirectAction): Promise<Performed> {
      const verdict = judge.now(action);
      const performed = verdict === null || verdict.outcome === "already" ? await performNow(action) : unperformed(verdict);
      count(action.kind, outcomeOf(clock.now(), { action, attempts: 1, isBrief: true }, performed).state);
      return performed;
    },

    counts: (): ActionCount[] => [...counts.values()],
  };
}

function unperformed({ outcome, detail }: Impossible | Waits): Performed {
  return outcome === "waits" ? isAway : { outcome: "failed", detail };
}
