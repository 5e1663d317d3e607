import type { Deps } from "../deps.ts";
import { oneAtATime, type Changes } from "../../cluster/changes.ts";
import type { Tx } from "../../database/database.ts";
import type { Webhook } from "../../generated/sqlite/client.ts";
import { requirePermission, type Call } from "../../kernel/call.ts";
import { forEachIsolated, partByPart, requireNoneFailed, sweepIsolated } from "../../kernel/isolated.ts";
import { uuid7 } from "../../kernel/ids.ts";
import type { EventStreamsService } from "../events/streams.service.ts";
import { createEndpoint, type Endpoint, type EndpointDeps } from "./endpoint.ts";
import type { WebhookRecords } from "./records.ts";
import { webhooksPolicy } from "./webhooks.policy.ts";

export interface RunnerDeps extends Omit<EndpointDeps, "eventStreams" | "disable" | "onAttempt">, Deps<"database" | "clock"> {
  eventStreams: Pick<EventStreamsService, "after" | "typesOf" | "join">;
  records: WebhookRecords;
  changes: Changes;
  /** Closes the connections to receivers. */
  closeConnections: () => void;
}

export type Runner = ReturnType<typeof createRunner>;

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
export function createRunner(deps: RunnerDeps) {
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
    /** Begin with what is stored, now or, where it cannot be read, within a minute. */
    start(): void {
      isRunning = true;
      const again = oneAtATime(load);
      changes.listen("webhooks", () => (isRunning ? again() : undefined));
      void again().catch((error: unknown) =>
        logger.warn({ err: error }, "the web-hooks could not be read; it is tried again within a minute"),
      );
    },

    /** End what is under way and write down how far it came. */
    async stop(): Promise<void> {
      isRunning = false;
      await Promise.all([...endpoints.values()].map((endpoint) => endpoint.end()));
      endpoints.clear();
      await follow();
      await progress.flush();
      closeConnections();
    },

    /** Forget old attempts and secrets, and write down where web-hooks stand that had nothing to tell. For the job that runs each minute. */
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
    /** Metrics. */
    attempts: () => (["delivered", "failed"] as const).map((outcome) => [{ outcome }, attempts[outcome]] as const),
    byState: () => {
      const found = [...endpoints.values()].map((endpoint) => endpoint.state());
      return states.map((state) => [{ state }, found.filter((one) => one === state).length] as const);
    },
    /** For how many seconds the oldest event has waited that is not delivered; 0: none does. */
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
