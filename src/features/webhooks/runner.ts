import type { Deps } from "../deps.ts";
import { oneAtATime, type Changes } from "../../cluster/changes.ts";
import type { Tx, Logger } from "../../database/database.ts";
import type { Webhook } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { forEachIsolated, partByPart, requireNoneFailed, sweepIsolated } from "../../kernel/isolated.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import type { WebhookRecords, DisableReason } from "./records.ts";
import { webhooksPolicy } from "./webhooks.policy.ts";
import { pause } from "../../kernel/pause.ts";
import type { Told } from "../events/events.policy.ts";
import { type Attempt, eventMessage, gapMessage, type Message } from "./attempt.ts";
import type { Progress } from "./progress.ts";
import { afterAttempt, isDelivered, type Run } from "./schedule.ts";
import type { Sight } from "./sight.ts";

interface EndpointDeps extends Deps<"clock"> {
  eventStreams: Pick<EventStreamsService, "after" | "typesOf">;
  sightOf: (webhook: Webhook) => Promise<Sight>;
  attemptsAt: (webhook: Webhook) => ReturnType<Attempt>;
  progress: Progress;
  disable: (id: string, reason: DisableReason) => Promise<void>;
  /** Told of each attempt. */
  onAttempt: (isDelivered: boolean) => void;
  logger: Pick<Logger, "warn" | "error">;
  /** Aborted when the service begins to stop: what is given up then has not failed. */
  stopping: AbortSignal;
  /** What the usual wait after a failure is multiplied with. */
  pace?: number | undefined;
}

interface Endpoint {
  /** Of the web-hook as it was read. */
  revision: number;
  position(): number;
  state(): "active" | "failing" | "paused" | "disabled";
  /** When the event happened that waits to be delivered; undefined: none does. */
  waitingSince(): Date | undefined;
  /** There are further events, or time has passed. */
  wake(): void;
  /** What its key may has changed. */
  forgetSight(): void;
  /** End it; what is under way is given up, and sent again by whoever goes on. */
  end(): Promise<void>;
}

/** After a failure of ours, or while nobody can say what somebody may see. */
const retryMs = 5000;
const longestMs = 3_600_000;

/**
 * Tells one address of events, strictly one after the other in the order of commits. While one is not taken, the others wait. How far it
 * came is written down a little later, so after a crash the last few are sent again under their ids.
 */
function createEndpoint(webhook: Webhook, deps: EndpointDeps): Endpoint {
  const { clock, eventStreams, sightOf, attemptsAt, progress, disable, onAttempt, logger, stopping, pace = 1 } = deps;
  const { id, types } = webhook;
  const wanted = (types as string[]).length === 0 ? undefined : eventStreams.typesOf((types as string[]).join());
  const attempt = attemptsAt(webhook);
  const ended = new AbortController();
  let { position } = webhook;
  let run: Run = webhook;
  let sight: Sight | undefined;
  let waitingSince: Date | undefined;
  let alarm = new AbortController();
  let isWoken = false;

  const wake = (): void => {
    isWoken = true;
    alarm.abort();
  };
  const end = (): void => {
    ended.abort();
    wake();
  };

  const isOver = (): boolean => ended.signal.aborted || stopping.aborted;

  /** Wait until somebody wakes it, so long at most. */
  async function rest(ms: number): Promise<void> {
    alarm = new AbortController();
    if (!isWoken) await pause(Math.min(ms, longestMs), alarm.signal);
    isWoken = false;
  }

  async function loop(): Promise<void> {
    while (!isOver()) {
      const dueInMs = (run.nextAttemptAt?.getTime() ?? 0) - clock.now().getTime();
      try {
        if (dueInMs > 0) await rest(dueInMs);
        else if (!(await tellSome())) await rest(longestMs);
      } catch (error) {
        logger.warn({ err: error, webhook_id: id }, "a web-hook could not go on; it is tried again");
        await pause(retryMs, ended.signal);
      }
    }
  }

  /** @returns whether there was anything to tell */
  async function tellSome(): Promise<boolean> {
    // Of what fails only the first is tried.
    const found = eventStreams.after(position, run.failures > 0 ? 1 : undefined);
    const events = found instanceof Promise ? await found : found;
    waitingSince = events[0] === undefined ? undefined : new Date(events[0].view.at);
    for (const event of events) if (!(await tell(event))) return true;
    if (events.length > 0) waitingSince = undefined;
    return events.length > 0;
  }

  /** @returns whether the next one may follow */
  async function tell(event: Told): Promise<boolean> {
    if (isOver()) return false;
    waitingSince = new Date(event.view.at);
    const seen = (sight ??= await sightOf(webhook));
    const standing = await seen.standing();
    if (standing === "unknown") {
      await pause(retryMs, ended.signal);
      return false;
    }
    if (standing !== "welcome") {
      await stop(standing);
      return false;
    }
    if (event.seq > position + 1 && !(await send(gapMessage(id, position, event), event.seq - 1))) return false;
    if ((wanted === undefined || wanted.has(event.view.type)) && (await seen.sees(event)))
      return await send(eventMessage(event), event.seq);
    position = event.seq;
    progress.skip(id, position);
    return true;
  }

  /** @param passes where it stands once the message is delivered */
  async function send(message: Message, passes: number): Promise<boolean> {
    const { outcome, row } = await attempt("event", message, run.failures + 1, ended.signal);
    if (isOver()) return false;
    const { end: reason, ...next } = afterAttempt(run, outcome, clock.now(), { chance: Math.random(), pace });
    run = next;
    const isDone = isDelivered(outcome);
    if (isDone) position = passes;
    onAttempt(isDone);
    await progress.note({ id, position, run, row });
    if (reason !== undefined) await stop(reason);
    return isDone;
  }

  async function stop(reason: DisableReason): Promise<void> {
    await progress.flush();
    await disable(id, reason);
    end();
  }

  const ending = webhook.state === "active" ? loop() : Promise.resolve();
  return {
    revision: webhook.revision,
    position: (): number => position,
    state: (): "active" | "failing" | "paused" | "disabled" =>
      webhook.state === "active" ? (run.failures > 0 ? "failing" : "active") : (webhook.state as "paused" | "disabled"),
    waitingSince: (): Date | undefined => (ended.signal.aborted ? undefined : waitingSince),
    wake,
    forgetSight: (): void => void (sight = undefined),
    async end(): Promise<void> {
      end();
      await ending;
    },
  };
}

export interface RunnerDeps extends Omit<EndpointDeps, "eventStreams" | "disable" | "onAttempt">, Deps<"database" | "clock"> {
  eventStreams: Pick<EventStreamsService, "after" | "typesOf" | "join">;
  records: WebhookRecords;
  changes: Changes;
  /** Closes the connections to receivers. */
  closeConnections: () => void;
}

export interface Runner {
  /** Begin with what is stored, now or, where it cannot be read, within a minute. */
  start(): void;
  /** End what is under way and write down how far it came. */
  stop(): Promise<void>;
  /** Forget old attempts and secrets, and write down where web-hooks stand that had nothing to tell. For the job that runs each minute. */
  sweep(call: Call): Promise<void>;
  flush(): Promise<void>;
  /** Metrics. */
  attempts(): (readonly [
    {
      readonly outcome: "failed" | "delivered";
    },
    number,
  ])[];
  byState(): (readonly [
    {
      readonly state: "active" | "disabled" | "failing" | "paused";
    },
    number,
  ])[];
  /** For how many seconds the oldest event has waited that is not delivered; 0: none does. */
  oldestWaiting(): number;
}

/** Attempts are kept for so long, and so many of each web-hook. */
const keptMs = 30 * 86_400_000;
const keptOfEach = 10_000;
const states = ["active", "failing", "paused", "disabled"] as const;

interface Forgettable {
  what: string;
  webhookId?: string;
  forget: (tx: Tx) => Promise<unknown>;
}

/** Runs the web-hooks in the server. Without any, nothing is followed and nothing waits. */
export function createRunner(deps: RunnerDeps): Runner {
  const { database, clock, changes, eventStreams, records, progress, closeConnections, logger } = deps;
  const endpoints = new Map<string, Endpoint>();
  const attempts = { delivered: 0, failed: 0 };
  let isRunning = false;
  let isLoaded = false;
  let leave: Promise<() => void> | undefined;
  const endpointDeps = {
    ...deps,
    disable: records.disable,
    onAttempt: (isDelivered: boolean) => void (attempts[isDelivered ? "delivered" : "failed"] += 1),
  };

  /** What was told before is read from where each stands. */
  async function join(): Promise<() => void> {
    const left = await eventStreams.join((grown) => {
      const isKeyChanged = grown.some(({ type }) => type.startsWith("api_key."));
      for (const endpoint of endpoints.values()) {
        if (isKeyChanged) endpoint.forgetSight();
        endpoint.wake();
      }
    });
    for (const endpoint of endpoints.values()) endpoint.wake();
    return left;
  }

  /** Follow events while there is a web-hook. */
  async function follow(): Promise<void> {
    if (endpoints.size > 0) {
      leave ??= join();
      const joining = leave;
      await joining.catch((error: unknown) => {
        if (leave === joining) leave = undefined;
        throw error;
      });
      return;
    }
    const left = leave;
    leave = undefined;
    (await left)?.();
  }

  /** Let a web-hook go on as it is stored now; what it has told since the last write counts. */
  async function put(row: Webhook): Promise<void> {
    const before = endpoints.get(row.id);
    const position = Math.max(row.position, before?.position() ?? 0);
    void before?.end();
    endpoints.set(row.id, createEndpoint({ ...row, position }, endpointDeps));
    await follow();
  }

  /** Begin with what is stored, and take over what another process has changed. */
  async function load(): Promise<void> {
    const rows = await database.read.webhook.findMany();
    const changed = rows.filter(({ id, revision }) => endpoints.get(id)?.revision !== revision);
    const failed = await forEachIsolated(changed, put, {
      logger,
      failure: "a web-hook could not be begun; it is tried again within a minute",
      idsOf: ({ id }) => ({ webhook_id: id }),
    });
    const stored = new Set(rows.map(({ id }) => id));
    for (const id of endpoints.keys()) if (!stored.has(id)) await remove(id);
    requireNoneFailed(failed);
    isLoaded = true;
  }

  async function remove(id: string): Promise<void> {
    void endpoints.get(id)?.end();
    endpoints.delete(id);
    await follow();
  }

  records.onChange((row, isGone) => {
    if (!isRunning || (!isGone && endpoints.get(row.id)?.revision === row.revision)) return;
    const going = isGone ? remove(row.id) : put(row);
    void going.catch((error: unknown) => logger.warn({ err: error }, "events could not be followed; web-hooks go on within a minute"));
  });

  return {
    start(): void {
      isRunning = true;
      const again = oneAtATime(load);
      changes.listen("webhooks", () => (isRunning ? again() : undefined));
      void again().catch((error: unknown) =>
        logger.warn({ err: error }, "the web-hooks could not be read; it is tried again within a minute"),
      );
    },

    async stop(): Promise<void> {
      isRunning = false;
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.end()));
      endpoints.clear();
      await follow();
      await progress.flush();
      closeConnections();
    },

    async sweep(call: Call): Promise<void> {
      requirePermission(call, webhooksPolicy.sweep);
      if (!isLoaded) await load();
      if (endpoints.size === 0) return;
      await partByPart({
        async known() {
          await follow();
          await progress.flush();
          for (const endpoint of endpoints.values()) endpoint.wake();
          return 0;
        },
        forgotten: () => forget(call),
      });
    },

    flush: progress.flush,
    attempts: () => (["delivered", "failed"] as const).map((outcome) => [{ outcome }, attempts[outcome]] as const),
    byState: () => {
      const found = [...endpoints.values()].map((endpoint) => endpoint.state());
      return states.map((state) => [{ state }, found.filter((one) => one === state).length] as const);
    },
    oldestWaiting(): number {
      const since = [...endpoints.values()].flatMap((endpoint) => endpoint.waitingSince()?.getTime() ?? []);
      return since.length === 0 ? 0 : Math.max(0, (clock.now().getTime() - Math.min(...since)) / 1000);
    },
  };

  /** What is not kept any longer, each for itself. */
  async function forgettable(): Promise<Forgettable[]> {
    const now = clock.now();
    // Ids are in the order of their times.
    const oldest = { id: { lt: uuid7(now.getTime() - keptMs) } };
    const over = { formerUntil: { lte: now } };
    const tooOld = await database.read.webhookDelivery.count({ where: oldest });
    const outdated = await database.read.webhook.findMany({ where: over, select: { id: true } });
    const tooMany = await tooManyOf();
    return [
      ...(tooOld > 0 ? [{ what: "old attempts", forget: ({ db }: Tx) => db.webhookDelivery.deleteMany({ where: oldest }) }] : []),
      ...tooMany.map(({ id, webhookId }) => ({
        what: "attempts that are too many",
        webhookId,
        forget: ({ db }: Tx) => db.webhookDelivery.deleteMany({ where: { webhookId, id: { lte: id } } }),
      })),
      ...outdated.map(({ id }) => ({
        what: "a former secret",
        webhookId: id,
        forget: ({ db }: Tx) => db.webhook.updateMany({ where: { id, ...over }, data: { formerSecret: null, formerUntil: null } }),
      })),
    ];
  }

  async function forget(call: Call): Promise<number> {
    return await sweepIsolated<Forgettable>({
      size: Infinity,
      find: forgettable,
      work: (all) =>
        database.write(call, async (tx) => {
          for (const one of all) await one.forget(tx);
          return all.length;
        }),
      logger,
      failure: "what a web-hook does not need any more could not be deleted; it is tried again in a minute",
      idsOf: ({ what, webhookId }) => ({ what, webhook: webhookId }),
    });
  }

  /** The newest attempt that is one too many, of each web-hook that has one. */
  async function tooManyOf(): Promise<{ id: string; webhookId: string }[]> {
    const last = await database.read.$queryRaw<{ id: string | null; webhookId: string }[]>`SELECT w.id AS "webhookId",
      (SELECT d.id FROM webhook_deliveries AS d WHERE d.webhook_id = w.id ORDER BY d.id DESC LIMIT 1 OFFSET ${keptOfEach}) AS id
      FROM webhooks AS w`;
    return last.flatMap(({ id, webhookId }) => (id === null ? [] : [{ id, webhookId }]));
  }
}
