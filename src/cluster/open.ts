import { hostname } from "node:os";
import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import { systemClock } from "../kernel/clock.ts";
import { uuid7 } from "../kernel/ids.ts";
import { version } from "../version.ts";
import type { Changes } from "./changes.ts";
import type { Cluster, LeaderView } from "./cluster.ts";
import { createLeadership } from "./leadership.ts";
import { createNodes, type OwnNode } from "./nodes.ts";
import { createChangeReader } from "./reader.ts";

/** This process among those that serve an installation. */
export const ownNode: OwnNode = { id: uuid7(), host: hostname(), pid: process.pid, version, startedAt: systemClock.now() };

export interface ClusterOptions {
  url: string;
  database: Pick<Database, "read" | "write">;
  changes: Changes;
  logger: Logger;
  /** What this process tells the others while it leads. */
  view(): LeaderView;
}

/** What the service does with the cluster, beside what features see of it. */
export interface ClusterMember extends Cluster {
  /** Before anything is read into memory. @throws OperatorError when this process cannot serve beside the others */
  join(): Promise<void>;
  /** Hear of changes, and lead when no other process does. */
  start(hooks: { onWon(): void; onLost(): void }): void;
  /** Let another process lead: this one does nothing more that only the leader may do. */
  handOver(): Promise<void>;
  /** @param isLeaving whether the process ends */
  stop(isLeaving: boolean): Promise<void>;
  /** The epoch this process has led in; undefined while it never did. */
  epoch(): number | undefined;
}

/** Several processes on one PostgreSQL. */
export function createCluster({ url, database, changes, logger, view }: ClusterOptions): ClusterMember {
  const own = ownNode;
  const name = `${own.pid.toString()} ${own.host.slice(0, 32)}`;
  let hooks = { onWon: (): void => undefined, onLost: (): void => undefined };
  const leadership = createLeadership({
    url,
    nodeId: own.id,
    name,
    logger,
    onWon: () => hooks.onWon(),
    onLost: () => hooks.onLost(),
  });
  let isResigning = false;
  const nodes = createNodes({ own, database, logger, tellOthers: () => (leadership.isLeading() && !isResigning ? view() : undefined) });
  const reader = createChangeReader({ url, name, read: database.read, changes, logger });

  return {
    isOn: true,
    nodeId: own.id,
    liveNodes: () => Math.max(1, nodes.live().length),
    nodes: nodes.live,
    isLeader: leadership.isLeading,
    leader: () => (leadership.isLeading() ? undefined : nodes.leader()),
    epoch: leadership.epoch,
    async join() {
      await nodes.join();
      await reader.begin();
    },
    start(given) {
      hooks = given;
      reader.start();
      nodes.start();
      leadership.start();
    },
    async handOver() {
      isResigning = true;
      if (leadership.isLeading()) await nodes.resign().catch(() => undefined);
      await leadership.stop();
    },
    async stop(isLeaving) {
      await leadership.stop();
      await reader.stop();
      await nodes.stop();
      if (isLeaving) await nodes.leave().catch(() => undefined);
    },
  };
}
