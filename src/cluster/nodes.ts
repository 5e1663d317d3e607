import type { Logger } from "pino";
import type { Database } from "../database/database.ts";
import { Prisma } from "../generated/sqlite/client.ts";
import { processCall } from "../kernel/call.ts";
import { uuid7 } from "../kernel/ids.ts";
import { OperatorError } from "../kernel/operator-errors.ts";
import { pause } from "../kernel/pause.ts";
import type { LeaderView, NodeInfo } from "./cluster.ts";

/** One process of an installation for as long as it runs. */
export interface OwnNode {
  id: string;
  host: string;
  pid: number;
  version: string;
  startedAt: Date;
}

interface NodesOptions {
  own: OwnNode;
  database: Pick<Database, "read" | "write">;
  logger: Logger;
  /** What this one tells the others while it leads. */
  tellOthers(): LeaderView | undefined;
}

/** How often a process says that it is there, and when one that has not said so counts as gone. */
const [heartbeatSeconds, goneSeconds] = [5, 15];
/** How often it is looked who is there, and whether there is something to tell. */
const lookMs = 1000;

interface Row {
  id: string;
  host: string;
  pid: number;
  version: string;
  started_at: Date;
  heartbeat_at: Date;
  leads: string | null;
  leader_id: string | null;
}

export interface Nodes {
  live(): readonly NodeInfo[];
  /** What the process that leads has told; undefined where it is this one, or none. */
  leader(): LeaderView | undefined;
  /** @throws OperatorError when processes of another version serve the installation with which this one cannot share it */
  join(): Promise<void>;
  start(): void;
  stop(): Promise<void>;
  /** It leads no more, and does nothing more that a leader does. */
  resign(): Promise<void>;
  /** It serves no more: the others need not wait until it counts as gone. */
  leave(): Promise<void>;
}

/** Which processes serve an installation. All times are those of the database. */
export function createNodes({ own, database, logger, tellOthers }: NodesOptions): Nodes {
  const stopping = new AbortController();
  let loop: Promise<void> | undefined;
  let known: readonly NodeInfo[] = [];
  let told: LeaderView | undefined;
  let saidAt = -Infinity;
  let said = "";

  async function look(): Promise<void> {
    const rows = await database.read.$queryRaw<Row[]>`
      SELECT n.id, n.host, n.pid, n.version, n.started_at, n.heartbeat_at, n.leads::text AS leads, l.node_id AS leader_id
      FROM nodes n LEFT JOIN leadership l ON l.node_id = n.id
      WHERE n.heartbeat_at > (now() AT TIME ZONE 'UTC') - make_interval(secs => ${goneSeconds}) ORDER BY n.started_at, n.id`;
    known = rows.map((row) => ({
      id: row.id,
      host: row.host,
      pid: row.pid,
      version: row.version,
      startedAt: row.started_at,
      heartbeatAt: row.heartbeat_at,
      isLeader: row.leader_id !== null && row.leads !== null,
    }));
    const leads = rows.find(({ leader_id: id, id: nodeId }) => id !== null && nodeId !== own.id)?.leads ?? null;
    told = leads === null ? undefined : viewOf(JSON.parse(leads) as Stored);
  }

  async function sayHello(): Promise<void> {
    const view = tellOthers();
    // What changes all the time is told with the next heartbeat.
    const text =
      view === undefined ? "" : JSON.stringify([view.discord.state, view.discord.reason, view.discord.reconnects, view.guildState.isLive]);
    if (text === said && performance.now() - saidAt < heartbeatSeconds * 1000) return;
    const leads = view === undefined ? Prisma.sql`NULL` : Prisma.sql`${JSON.stringify(view)}::jsonb`;
    await database.write(processCall(uuid7()), async ({ db }) => {
      await db.$executeRaw`
        INSERT INTO nodes (id, host, pid, version, started_at, heartbeat_at, leads)
        VALUES (${own.id}, ${own.host}, ${own.pid}, ${own.version}, ${own.startedAt}, now() AT TIME ZONE 'UTC', ${leads})
        ON CONFLICT (id) DO UPDATE SET heartbeat_at = EXCLUDED.heartbeat_at, leads = EXCLUDED.leads`;
    });
    [said, saidAt] = [text, performance.now()];
  }

  async function run(): Promise<void> {
    let isTold = false;
    while (!stopping.signal.aborted) {
      await pause(lookMs, stopping.signal);
      if (stopping.signal.aborted) return;
      try {
        await sayHello();
        await look();
        isTold = false;
      } catch (error) {
        if (!isTold) logger.warn({ err: error }, "this process cannot tell the others that it is there; it is tried again");
        isTold = true;
      }
    }
  }

  return {
    live: (): readonly NodeInfo[] => known,
    leader: (): LeaderView | undefined => told,
    async join(): Promise<void> {
      await look();
      const other = known.find(({ id, version }) => id !== own.id && majorOf(version) !== majorOf(own.version));
      if (other !== undefined)
        throw new OperatorError(
          `Process ${other.pid.toString()} on ${other.host} serves this database with version ${other.version}, and this is version ${own.version}. Stop every process of the other version first, or start this one with version ${other.version}.`,
        );
      await sayHello();
      await look();
    },
    start(): void {
      loop = run();
    },
    async stop(): Promise<void> {
      stopping.abort();
      await loop;
    },
    async resign(): Promise<void> {
      await database.write(processCall(uuid7()), async ({ db }) => {
        await db.$executeRaw`UPDATE nodes SET leads = NULL WHERE id = ${own.id}`;
      });
    },
    async leave(): Promise<void> {
      await database.write(processCall(uuid7()), async ({ db }) => {
        await db.$executeRaw`DELETE FROM nodes WHERE id = ${own.id}`;
      });
    },
  };
}

/** Versions below 1 break with their second number. */
function majorOf(version: string): string {
  const [major = "", minor = ""] = version.split(".");
  return major === "0" ? `0.${minor}` : major;
}

interface Stored {
  locales: Record<string, string>;
  discord: Omit<LeaderView["discord"], "since"> & { since: string };
  guildState: { isLive: boolean; asOf: string | null };
}

function viewOf({ discord, guildState: { isLive, asOf }, locales }: Stored): LeaderView {
  return {
    locales,
    discord: { ...discord, since: new Date(discord.since) },
    guildState: { isLive, asOf: asOf === null ? null : new Date(asOf) },
  };
}
