import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { inject, onTestFinished } from "vitest";
import { type App, createApp } from "../../src/app.ts";
import { singleProcess, type Cluster } from "../../src/cluster/cluster.ts";
import { readConfig } from "../../src/config/config.ts";
import type { Clock } from "../../src/kernel/clock.ts";
import { createWorld, type World, type WorldOptions } from "../support/world.ts";

/** What is shared by rows is so on PostgreSQL alone. */
export const isPostgres = (): boolean => inject("dialect") === "postgres";

interface PairOptions extends Pick<WorldOptions, "aroundVerbs" | "log"> {
  env?: Record<string, string>;
  clock?: Clock;
  /** How many processes each of the two believes to be alive. */
  liveNodes?: () => number;
}

/** Two services over one database: the world's own, which is connected to Discord, and another that only answers. */
export interface Pair {
  world: World;
  /** The app of the world, and the other one. */
  apps: readonly [App, App];
  /** Ask one of the two, past the network. */
  ask(app: App, method: string, path: string, headers?: Record<string, string>, body?: object): Promise<Response>;
}

export async function createPair({
  env = {},
  clock,
  liveNodes = () => 2,
  log = () => undefined,
  aroundVerbs,
}: PairOptions = {}): Promise<Pair> {
  const own = {
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `test:${randomBytes(32).toString("base64")}`,
    RATE_LIMITS: "read=100000/1,write=100000/1,authorize=100000/1,export=100000/1,failed_auth=100000/1",
    ROSTER_FOLLOWS_DISCORD: "false",
    ROSTER_AUDIT_HOUR: "off",
    ...env,
  };
  const node = (nodeId: string, isLeader: boolean): Cluster => ({
    ...singleProcess,
    isOn: true,
    nodeId,
    liveNodes,
    isLeader: () => isLeader,
  });
  const both = { ...(clock !== undefined && { clock }), ...(aroundVerbs !== undefined && { aroundVerbs }) };
  const world = await createWorld({ env: own, cluster: node("one", true), log, ...both });
  const folder = await mkdtemp(join(tmpdir(), "provost-other-"));
  const reading = readConfig({
    ...world.sandbox.env(),
    GUILD_IDS: world.guild.id,
    OWNER_IDS: "",
    DATABASE_URL: world.databaseUrl,
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    LOG_LEVEL: "warn",
    ...own,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const other = await createApp({
    ...reading,
    ...both,
    cluster: node("two", false),
    acceptsOtherDatabase: true,
    isScheduled: false,
    logTo: { write: log },
  });
  onTestFinished(async () => {
    await other.stop();
    await rm(folder, { recursive: true, force: true });
  });
  return {
    world,
    apps: [world.app, other],
    ask: async (app, method, path, headers = {}, body) =>
      app.http.request(path, {
        method,
        headers: {
          authorization: `Bearer ${world.key}`,
          accept: "*/*",
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      }),
  };
}

/** Both at once, in an order that changes. */
export function raced<T>(turn: number, first: () => Promise<T>, second: () => Promise<T>): Promise<T[]> {
  return Promise.all(turn % 2 === 0 ? [first(), second()] : [second(), first()]);
}
