import type { Deps } from "../deps.ts";
import type { Logger } from "../../database/database.ts";
import type { Webhook } from "../../generated/sqlite/client.ts";
import { pause } from "../../kernel/pause.ts";
import type { Told } from "../events/events.policy.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import type { Attempt } from "./attempt.ts";
import { eventMessage, gapMessage, type Message } from "./message.ts";
import type { Progress } from "./progress.ts";
import type { DisableReason } from "./records.ts";
import { afterAttempt, isDelivered, type Run } from "./schedule.ts";
import type { Sight } from "./sight.ts";

export interface EndpointDeps extends Deps<"clock"> {
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

export type Endpoint = ReturnType<typeof createEndpoint>;

/** After a failure of ours, or while nobody can say what somebody may see. */
const retryMs = 5000;
const longestMs = 3_600_000;

/**
 * Tells one address of events, strictly one after the other in the order of commits. While one is not taken, the others wait. How far it
 * came is written down a little later, so after a crash the last few are sent again under their ids.
 */
export function createEndpoint(webhook: Webhook, deps: EndpointDeps) {
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
    /** Of the web-hook as it was read. */
    revision: webhook.revision,
    position: (): number => position,
    state: (): "active" | "failing" | "paused" | "disabled" =>
      webhook.state === "active" ? (run.failures > 0 ? "failing" : "active") : (webhook.state as "paused" | "disabled"),
    /** When the event happened that waits to be delivered; undefined: none does. */
    waitingSince: (): Date | undefined => (ended.signal.aborted ? undefined : waitingSince),
    /** There are further events, or time has passed. */
    wake,
    /** What its key may has changed. */
    forgetSight: (): void => void (sight = undefined),
    /** End it; what is under way is given up, and sent again by whoever goes on. */
    async end(): Promise<void> {
      end();
      await ending;
    },
  };
}
