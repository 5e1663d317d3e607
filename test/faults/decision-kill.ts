import { appendFileSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { readConfig } from "../../src/config/config.ts";
import type { PrismaClient } from "../../src/database/database.ts";
import { Prisma } from "../../src/generated/sqlite/client.ts";
import { systemCall, type Actor, type Call } from "../../src/kernel/call.ts";
import type { Performed } from "../../src/kernel/discord-port.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { openServices } from "../../src/features.ts";

/** What is decided, by whom, under which idempotency key. */
export interface Decision {
  actor: string;
  type: string;
  key: string;
  body: Record<string, unknown>;
  scope: string;
}

/** One copy of a database, and the statement its decision never gets past. */
export interface Job {
  url: string;
  /** Statements that are carried out; null: all, and the answer is never given. */
  statements: number | null;
  /** Where the bot notes what it was asked to do, if the message is to be delivered instead of anything decided. */
  sent?: string;
  /** Die in this very call instead of standing still. */
  dieAt?: "before COMMIT" | "after COMMIT";
}

export interface Orders {
  decision: Decision;
  jobs: readonly Job[];
}

/** Everybody who decides here may do everything. */
function owner(id: string): Actor {
  return {
    id,
    isStaff: id.startsWith("9"),
    isOwner: true,
    rank: 100,
    isStale: () => false,
    decide: () => ({ allowed: true, reasons: [] }),
    heldUntil: () => null,
  };
}

/** Every service on a database that is there, without doors. */
export async function openOn(url: string, secondsLater = 0) {
  const folder = mkdtempSync(join(tmpdir(), "provost-kill-"));
  const reading = readConfig({
    DISCORD_TOKEN: `${Buffer.from("80351110224678912").toString("base64url")}.nobody.${"connects".repeat(5)}`,
    DISCORD_CLIENT_ID: "80351110224678912",
    DISCORD_CLIENT_SECRET: "nobody-signs-in",
    GUILD_IDS: "80351110224678912",
    DATABASE_URL: url,
    DATA_DIR: folder,
    LOG_LEVEL: "silent",
    SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
    ENCRYPTION_KEYS: `test:${Buffer.alloc(32, 2).toString("base64")}`,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  const services = await openServices({
    ...reading,
    logger: pino({ level: "silent" }),
    clock: { now: () => new Date(Date.now() + secondsLater * 1000) },
  });
  Object.assign(services.access, { of: owner, known: owner, actorOf: owner, resolve: (id: string) => Promise.resolve(owner(id)) });
  return {
    services,
    async close() {
      await services.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
export type Opened = Awaited<ReturnType<typeof openOn>>;

export function callOf(actor: string, scope?: string): Call {
  const idempotency = scope === undefined ? null : { scope, fingerprint: scope, status: 200 };
  return {
    client: { id: "client", name: "client", allows: () => true },
    actor: owner(actor),
    via: "rest",
    requestId: uuid7(),
    idempotency,
    replayed: false,
  };
}

export async function decide({ services }: Opened, { actor, type, key, body, scope }: Decision) {
  const call = callOf(actor, scope);
  const answer = await services.workflows.decide(call, type, key, body);
  return { answer, replayed: call.replayed };
}

/** Have the bot do what is due. It notes each action, and whether it was told that the action may be done already. */
export async function deliver({ services }: Opened, sent: string, step: <T>(work: () => T) => T = (work) => work()): Promise<number> {
  const perform = (action: { id: string }, earlier?: { mayBeDone: boolean }): Promise<Performed> =>
    step(() => {
      appendFileSync(sent, `${action.id} ${earlier?.mayBeDone === true ? "again" : "first"}\n`);
      return Promise.resolve({ outcome: "done", detail: "Sent.", changed: true });
    });
  Object.assign(services.discord, { actions: { perform }, status: () => ({ state: "ready" }) });
  return await services.deliveries.deliverDue(systemCall("job", uuid7()));
}

/** Every row of every table, in no order. */
export async function everyRow({ services }: Opened): Promise<Record<string, string[]>> {
  const tables = await Promise.all(
    Object.keys(Prisma.ModelName).map(async (model) => {
      const name = (model.charAt(0).toLowerCase() + model.slice(1)) as "setting";
      const rows = await (services.database.read as unknown as PrismaClient)[name].findMany();
      // Each opening signs the instance's own row anew.
      const others = rows.filter(({ key }) => key !== "instance_id");
      return [model, others.map((row) => JSON.stringify(row)).toSorted()] as const;
    }),
  );
  return Object.fromEntries(tables.filter(([, rows]) => rows.length > 0));
}

/** The same without what no two runs share: ids, times, salts and hashes. */
export function inShape(tables: Record<string, string[]>): Record<string, string[]> {
  const alike = (row: string): string =>
    row
      .replaceAll(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, "#")
      .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "@")
      .replaceAll(/"(salt|hash|head|prevHash|payloadCommitment|requestId|contentKey)":"[^"#]+"/g, '"$1":"*"');
  return Object.fromEntries(Object.entries(tables).map(([model, rows]) => [model, rows.map(alike).toSorted()]));
}

/** The rows that only one of two has, by table. */
export function differences(found: Record<string, string[]>, wanted: Record<string, string[]>): string[] {
  return [...new Set([...Object.keys(found), ...Object.keys(wanted)])].flatMap((model) => {
    const [here, there] = [found[model] ?? [], wanted[model] ?? []];
    if (JSON.stringify(here) === JSON.stringify(there)) return [];
    const only = (some: string[], others: string[], sign: string) =>
      some.filter((row) => !others.includes(row)).map((row) => `${model} ${sign} ${row}`);
    return [
      `${model}: ${here.length.toString()} rows for ${there.length.toString()}`,
      ...only(here, there, "+"),
      ...only(there, here, "-"),
    ];
  });
}
