import { expect } from "vitest";
import pg from "pg";
import type { User } from "../../sandbox/index.ts";
import type { Answer } from "../support/client.ts";
import type { World } from "../support/world.ts";
import { eventually } from "./cluster.ts";
import type { PostgresProxy } from "./postgres-proxy.ts";

interface Asked {
  actor?: User;
  key?: string;
}

/** How one process is asked. */
type Ask = (method: string, path: string, body?: unknown, asked?: Asked) => Promise<Answer>;

interface Process {
  ask: Ask;
  proxy: PostgresProxy;
}

/** Who is needed: set up while nothing is lost. @param keys how many keys there are to revoke */
export async function preparePeople(world: World, keys: number) {
  const owner = await world.staff("owner");
  const [denied, suspended] = [await world.staff("moderator"), await world.staff("moderator")];
  const channels = ["alerts", "reviews"].map((name) => world.guild.createChannel(name).id);
  const made: { key: string; key_id: string }[] = [];
  for (let count = 0; count < keys; count += 1) {
    const { status, body } = await world.post("/keys", { name: `key${count.toString()}`, scopes: ["blacklist.read"] }, { actor: owner });
    expect(status, JSON.stringify(body)).toBe(201);
    made.push(body.data);
  }
  return { guildId: world.guild.id, owner, denied, suspended, channels, keys: made };
}
type People = Awaited<ReturnType<typeof preparePeople>>;

interface Change {
  make: (ask: Ask) => Promise<Answer>;
  /** What a process says from memory. */
  inMemory: (ask: Ask) => Promise<unknown>;
  inDatabase: (client: pg.Client) => Promise<unknown>;
}

async function valueOf(client: pg.Client, sql: string, values: readonly unknown[]): Promise<unknown> {
  return (await client.query<{ value: unknown }>(sql, [...values])).rows[0]?.value;
}

const mayRead = async (ask: Ask, asked: Asked): Promise<boolean> =>
  (await ask("GET", "/blacklist?limit=1", undefined, asked)).status === 200;

/** Changes of everything that a process holds in memory of what people decide, one kind after the other. */
function changesOf({ guildId, owner, denied, suspended, channels, keys }: People): ((turn: number) => Change)[] {
  const isOdd = (turn: number): boolean => turn % 2 === 1;
  const reason = "Looking what memory does.";
  return [
    (turn) => ({
      make: (ask) => {
        const overrides = [{ key: "blacklist.read", effect: isOdd(turn) ? "clear" : "deny", reason }];
        return ask("PATCH", `/permissions/users/${denied.id}`, { overrides }, { actor: owner });
      },
      inMemory: (ask) => mayRead(ask, { actor: denied }),
      inDatabase: (client) => valueOf(client, "SELECT count(*) = 0 AS value FROM user_permissions WHERE user_id = $1", [denied.id]),
    }),
    (turn) => ({
      make: (ask) => ask("POST", `/staff/${suspended.id}/${isOdd(turn) ? "reinstate" : "suspend"}`, { reason }, { actor: owner }),
      inMemory: (ask) => mayRead(ask, { actor: suspended }),
      inDatabase: (client) => valueOf(client, "SELECT count(*) = 0 AS value FROM user_permissions WHERE user_id = $1", [suspended.id]),
    }),
    (turn) => ({
      make: (ask) => ask("PUT", `/channels/${guildId}`, { alerts: channels[turn % 2] }, { actor: owner }),
      inMemory: async (ask) => (await ask("GET", "/channels", undefined, { actor: owner })).body.data[0].alerts,
      inDatabase: (client) =>
        valueOf(client, "SELECT (SELECT value->'channels'->>'alerts' FROM settings WHERE key = $1) AS value", [`channels:${guildId}`]),
    }),
    (turn) => ({
      make: (ask) => {
        const rules = isOdd(turn) ? [] : [{ category: "raid", stance: "notify" }];
        return ask("PUT", `/guilds/${guildId}/stance`, { rules }, { actor: owner });
      },
      inMemory: async (ask) => (await ask("GET", `/guilds/${guildId}/stance`, undefined, { actor: owner })).body.data.rules.length,
      inDatabase: (client) =>
        valueOf(client, "SELECT coalesce((SELECT jsonb_array_length(value->'rules') FROM settings WHERE key = $1), 0) AS value", [
          `stance:${guildId}`,
        ]),
    }),
    (turn) => {
      const { key, key_id: id } = keys[turn] ?? expect.fail("there are not so many keys");
      return {
        make: async (ask) => {
          expect(await mayRead(ask, { key })).toBe(true);
          return ask("DELETE", `/keys/${id}`, undefined, { actor: owner });
        },
        inMemory: (ask) => mayRead(ask, { key }),
        inDatabase: (client) => valueOf(client, "SELECT revoked_at IS NULL AS value FROM api_keys WHERE key_id = $1", [id]),
      };
    },
  ];
}

/** How many kinds of changes there are. */
export const kinds = 5;

export interface Told {
  /** Changes that were answered with 503. */
  refused: number;
  /** Of those, how many are in the database. */
  committed: number;
  lost: number;
  /** The longest time after a change until every process agreed with the database, in milliseconds. */
  slowestMs: number;
}

/** Make changes while the answer to one COMMIT in ten is lost, each through another process, and see after each that memory is as the database. */
export async function changeWhileCommitsAreLost(
  databaseUrl: string,
  processes: readonly Process[],
  people: People,
  count: number,
): Promise<Told> {
  const client = new pg.Client({ connectionString: databaseUrl });
  // A test that fails drops the database first.
  client.on("error", () => undefined);
  await client.connect();
  const changes = changesOf(people);
  const told: Told = { refused: 0, committed: 0, lost: 0, slowestMs: 0 };
  for (const { proxy } of processes) proxy.loseOneIn(10);
  for (let index = 0; index < count; index += 1) {
    const change = (changes[index % kinds] ?? expect.fail())(Math.floor(index / kinds));
    const { ask } = processes[index % processes.length] ?? expect.fail();
    const before = await change.inDatabase(client);
    const { status, body } = await change.make(ask);
    expect([200, 409, 503], JSON.stringify(body)).toContain(status);
    const began = performance.now();
    await eventually(async () => {
      const stored = await change.inDatabase(client);
      const held = await Promise.all(processes.map((one) => change.inMemory(one.ask)));
      return held.every((one) => one === stored);
    }, 10_000);
    told.slowestMs = Math.max(told.slowestMs, performance.now() - began);
    if (status !== 503) continue;
    told.refused += 1;
    if ((await change.inDatabase(client)) !== before) told.committed += 1;
  }
  for (const { proxy } of processes) proxy.loseOneIn(Infinity);
  told.lost = processes.reduce((sum, { proxy }) => sum + proxy.lost(), 0);
  await client.end();
  process.stdout.write(`${count.toString()} changes on ${processes.length.toString()} processes: ${JSON.stringify(told)}\n`);
  return told;
}
