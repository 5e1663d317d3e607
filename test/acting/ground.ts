import { type ChildProcess, spawn } from "node:child_process";
import { randomBytes, randomUUID } from "node:crypto";
import { once } from "node:events";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { expect, inject } from "vitest";
import type { GuildHandle, User } from "../../sandbox/index.ts";
import { installation } from "../cli/installation.ts";
import { operatorEnv } from "../cli/run.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { Look, Order } from "../faults/acting-orders.ts";
import { answerOf, createClient, type Answer } from "../support/client.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld } from "../support/world.ts";

export const reason = "Raided #general with three accounts.";
/** How long the timeout of a list lasts, in minutes. */
export const listedMinutes = 180;
/** The clock of the service and of Discord runs this much slower than the machine's, so that only what a play says makes time pass. */
const slowness = 50;
const minuteMs = 60_000;

export type ActingGround = Awaited<ReturnType<typeof createActingGround>>;

/**
 * The service in processes of its own (one on SQLite, two on PostgreSQL) against one Discord with two servers, where owners decide alone. Listed
 * people are banned from the first and timed out in the second.
 */
export async function createActingGround(onEnd: (end: () => Promise<void>) => void) {
  const ends: (() => Promise<unknown>)[] = [];
  onEnd(async () => {
    for (const end of ends.toReversed()) await end();
  });
  const isShared = inject("dialect") === "postgres";
  const epoch = Date.now();
  const time = { offset: 0 };
  const now = (): number => Math.floor(epoch + (Date.now() - epoch) / slowness) + time.offset;
  const keys = { SECRET_KEY: randomBytes(32).toString("base64"), ENCRYPTION_KEYS: `a:${randomBytes(32).toString("base64")}` };
  const world = await createWorld({
    furtherGuilds: ["Quay"],
    clock: { now: () => new Date(now()) },
    discordNow: now,
    env: keys,
    onEnd: (end) => ends.push(end),
  });
  const { sandbox } = world;
  const guilds = [world.guild, ...world.furtherGuilds] as [GuildHandle, GuildHandle];
  const staff: User[] = [];
  for (let left = 30; left > 0; left -= 1) staff.push(await staffAtConsole(world, "owner"));
  const [owner, approver, reverser, granter, taker, ...filers] = staff as [User, User, User, User, User, ...User[]];
  const everybody = { level: "moderator" };
  for (const [index, guild] of guilds.entries()) {
    const rules = { timeout: everybody, ban: everybody, kick: everybody, warning: everybody };
    const act = index === 0 ? { action: "ban" } : { action: "timeout", timeout_seconds: listedMinutes * 60 };
    for (const [path, body] of [
      ["direct", rules],
      ["stance", { rules: [{ category: "raid", stance: "apply", ...act }] }],
    ] as const) {
      const put = await world.put(`/guilds/${guild.id}/${path}`, body, { actor: owner });
      expect(put.status, JSON.stringify(put.body)).toBeLessThan(300);
    }
  }
  await world.app.stop();

  const env = {
    ...sandbox.env(),
    ...keys,
    GUILD_IDS: guilds.map(({ id }) => id).join(),
    DATABASE_URL: world.databaseUrl,
    ...(isShared && { CLUSTER: "on", EVIDENCE_STORE: "database" }),
    ROSTER_FOLLOWS_DISCORD: "false",
    ROSTER_AUDIT_HOUR: "off",
    SQLITE_SYNCHRONOUS: "normal",
    // Alerts and the breaker have tests of their own.
    ACTION_BREAKER: "1000",
    RATE_LIMITS: "read=1000000/1,write=1000000/1,authorize=1000000/1,export=1000000/1,failed_auth=1000000/1",
    LOG_LEVEL: "error",
    ACTING_EPOCH: epoch.toString(),
    ACTING_SLOWNESS: slowness.toString(),
  };
  const program = (await installation()).children.acting;
  const client = createClient();
  ends.push(async () => client.close());

  function createNode(name: string, dataDir: string) {
    let child: ChildProcess | undefined;
    let ready: Promise<string> = Promise.reject(new Error("not started"));
    ready.catch(() => undefined);
    let isClosing = false;
    let starts = 0;
    let printed = "";
    const asked = new Map<number, { resolve: (answer: unknown) => void; reject: (error: Error) => void }>();
    let count = 0;
    let port = "";

    async function run(): Promise<string> {
      port ||= (await freePort()).toString();
      starts += 1;
      const own = { ...env, PORT: port, DATA_DIR: dataDir, ACTING_OFFSET: time.offset.toString() };
      const started = spawn(process.execPath, [program], { env: operatorEnv(own), stdio: ["ignore", "pipe", "pipe", "ipc"] });
      child = started;
      for (const stream of [started.stdout, started.stderr]) stream?.on("data", (part: Buffer) => (printed += part.toString()));
      const told = new Promise<string>((resolve, reject) => {
        started.on("message", (message: { url?: string; id?: number; answer?: unknown; error?: string }) => {
          if (message.url !== undefined) return resolve(message.url);
          const order = asked.get(message.id ?? 0);
          if (message.error === undefined) order?.resolve(message.answer);
          else order?.reject(new Error(message.error));
          asked.delete(message.id ?? 0);
        });
        started.once("close", (code, signal) => {
          const error = new Error(`${name} ended with ${String(code ?? signal)}: ${printed.slice(-3000)}`);
          reject(error);
          for (const { reject: refuse } of asked.values()) refuse(error);
          asked.clear();
          // Whoever is killed is started again; whoever fails by itself is at fault.
          if (isClosing) return;
          ready = signal === "SIGKILL" ? run() : Promise.reject(error);
          ready.catch(() => undefined);
        });
      });
      const url = await told;
      // The time may have moved while it started.
      started.send({ id: 0, order: { do: "time", offset: time.offset } });
      return url;
    }

    return {
      name,
      start(): void {
        ready = run();
        ready.catch(() => undefined);
      },
      url: (): Promise<string> => ready,
      starts: () => starts,
      printed: () => printed,
      async order(order: Order): Promise<unknown> {
        await ready;
        count += 1;
        const id = count;
        return await new Promise((resolve, reject) => {
          asked.set(id, { resolve, reject });
          child?.send({ id, order }, (error) => {
            if (error !== null) reject(error);
          });
        });
      },
      async kill(): Promise<void> {
        const dying = child;
        if (dying === undefined || dying.exitCode !== null || dying.signalCode !== null) return;
        const ended = once(dying, "exit");
        dying.kill("SIGKILL");
        await ended;
      },
      async close(): Promise<void> {
        isClosing = true;
        await this.kill();
      },
    };
  }
  const folders = isShared ? ["one", "two"].map((name) => join(dirname(world.dataDir), name)) : [world.dataDir];
  const nodes = folders.map((folder, index) => createNode(`process ${index.toString()}`, folder));
  for (const node of nodes) {
    ends.push(() => node.close());
    node.start();
    await node.url();
  }
  /** An order to whoever lives; whoever dies meanwhile has had it. */
  const toAll = (order: Order): Promise<unknown> => Promise.all(nodes.map((node) => node.order(order).catch(() => undefined)));

  let turn = 0;
  /** Ask one of the processes, and ask again under the same key when it dies before it has answered, as clients do. */
  async function send(method: string, path: string, body: object | undefined, actor: User): Promise<Answer> {
    const sent = body === undefined ? undefined : JSON.stringify(body);
    const key = randomUUID();
    const end = performance.now() + 60_000;
    for (let last = "nobody answered"; performance.now() < end; await delay(50)) {
      turn += 1;
      const node = nodes[turn % nodes.length] as (typeof nodes)[number];
      try {
        const answer = answerOf(
          await client.send((await node.url()) + path, {
            method,
            headers: {
              accept: "*/*",
              authorization: `Bearer ${world.key}`,
              "x-acting-user": actor.id,
              ...(method !== "GET" && { "idempotency-key": key }),
              ...(sent !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(sent).toString() }),
            },
            body: sent,
          }),
        );
        if (answer.status !== 503 && answer.body?.code !== "idempotency_in_progress") return answer;
        last = JSON.stringify(answer.body);
      } catch (error) {
        last = String(error);
        if (/ended with (?!SIGKILL)/.test(last)) throw error;
      }
    }
    throw new Error(`${method} ${path} has no answer`);
  }
  const answered = async (path: string, body: object, actor: User): Promise<any> => {
    const answer = await send("POST", path, body, actor);
    expect(answer.status, `${path}: ${JSON.stringify(answer.body)}`).toBeLessThan(300);
    return answer.body;
  };
  let filed = 0;
  /** Somebody who may file one more request this hour. */
  const filer = (): User => filers[(filed += 1) % filers.length] as User;

  /** Do something at the process that leads, and again at the next one when it dies meanwhile. */
  async function atLeader(order: Order): Promise<unknown> {
    const end = performance.now() + 120_000;
    for (let last: unknown; ; await delay(20)) {
      for (const node of nodes) {
        try {
          if ((await node.order({ do: "is leader" })) === true) return await node.order(order);
        } catch (error) {
          last = error;
          if (!/SIGKILL|channel closed/i.test(String(error))) throw error;
        }
      }
      if (performance.now() > end)
        throw new Error(`nobody leads: ${String(last)} ${nodes.map(({ printed }) => printed().slice(-2000)).join("\n")}`);
    }
  }

  const ground = {
    world,
    nodes,
    guilds,
    now,
    /** Everything that Discord has told is known, and everything that is due is done. */
    async settle(): Promise<void> {
      await sandbox.caughtUp();
      await atLeader({ do: "settle" });
      await sandbox.caughtUp();
      await atLeader({ do: "hear" });
    },
    async pass(minutes: number): Promise<void> {
      time.offset += minutes * minuteMs;
      await toAll({ do: "time", offset: time.offset });
      await ground.settle();
    },
    toAll,
    /** What the service has recorded of some people. */
    look: async (people: readonly User[]): Promise<Look> => (await atLeader({ do: "look", people: people.map(({ id }) => id) })) as Look,
    /** @returns the answer to somebody who moderates alone */
    moderate: (user: User, guild: GuildHandle, body: object): Promise<Answer> =>
      send("POST", `/guilds/${guild.id}/moderation`, { user_id: user.id, reason, notify_subject: false, ...body }, filer()),
    approve: (reference: string): Promise<unknown> => ground.decide("punishment", reference, { decision: "approve" }, approver),
    /** @returns the reference of what one person has filed and another has approved */
    async fileAndApprove(user: User, guild: GuildHandle, body: object): Promise<string> {
      const input = { user_id: user.id, reason, notify_subject: false, guild_ids: [guild.id], on_duplicate: "join", ...body };
      const { reference } = await answered("/workflows/punishment", input, filer());
      await ground.approve(reference as string);
      return reference as string;
    },
    decide: (kind: string, reference: string, body: object, actor: User): Promise<unknown> =>
      answered(`/workflows/${kind}/${reference}/decision`, { reason: "It was looked into again.", ...body }, actor),
    reverse: (reference: string): Promise<unknown> => ground.decide("punishment", reference, { decision: "reverse" }, reverser),
    /** @returns the reference of the appeal that gave a decision another length */
    async reduce(user: User, target: string, length: string): Promise<string> {
      const body = { target, grounds: "The account was stolen that day.", user_id: user.id, desired_outcome: "reduce" };
      const { reference } = await answered("/workflows/appeal", body, filer());
      await ground.decide("appeal", reference as string, { decision: "reduce", new_duration: length }, granter);
      return reference as string;
    },
    restore: (appeal: string): Promise<unknown> => ground.decide("appeal", appeal, { decision: "reverse" }, taker),
    /** @returns the number of the record */
    async list(user: User): Promise<string> {
      const body = { kind: "user", subject_id: user.id, category: "raid", severity: "high", reason_public: reason };
      return (await answered("/blacklist", body, owner)).data.number as string;
    },
    async revoke(number: string): Promise<void> {
      const answer = await send("DELETE", `/blacklist/${number}`, { reason: "It was somebody else." }, reverser);
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    },
    /** Have lists leave somebody alone in the first server, or no longer. */
    async exempt(user: User, isExempt: boolean): Promise<void> {
      const path = `/guilds/${guilds[0].id}/exemptions`;
      const body = { user_id: user.id, reason };
      const answer = isExempt ? await send("POST", path, body, reverser) : await send("DELETE", `${path}/${user.id}`, undefined, reverser);
      expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(300);
    },
    isBanned: (user: User): boolean => guilds[0].bans().some(({ user: one }) => one.id === user.id),
  };
  return ground;
}
