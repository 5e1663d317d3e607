import { hash, randomBytes } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { inject, onTestFinished } from "vitest";
import { dialectOf } from "../../src/database/dialect.ts";
import { evidencePath } from "../../src/features/evidence/stores/folder.ts";
import { evidenceNamed, openSource } from "../../src/backup/source.ts";
import type { User } from "../../sandbox/index.ts";
import { createWorkplace } from "../cli/run.ts";
import { validEnvironment } from "../config/environment.ts";
import { freshId } from "../contract/document.ts";
import { listSomebody, upload } from "../features/evidence-ground.ts";
import { createWorld, type World } from "../support/world.ts";
import { createDumpable } from "./installed-postgres.ts";

/** An operator's shell: their keys, a working directory, and the folder that backups go into. */
export async function createOperator() {
  const env = validEnvironment();
  const work = await createWorkplace();
  onTestFinished(() => work[Symbol.asyncDispose]());
  const keys = { SECRET_KEY: env.SECRET_KEY, ENCRYPTION_KEYS: env.ENCRYPTION_KEYS };
  /** The environment of an installation of this operator. */
  const envOf = (place: Place) => ({ ...env, ...keys, DATA_DIR: place.dataDir, DATABASE_URL: place.url, SQLITE_SYNCHRONOUS: "normal" });
  return { ...work, keys, envOf, backups: join(work.directory, "backups") };
}
export type Operator = Awaited<ReturnType<typeof createOperator>>;

export interface Place {
  dataDir: string;
  url: string;
}

/** A running service with the operator's keys, on a database that can be backed up. */
export async function createSource({ keys }: Operator): Promise<{ world: World; admin: User; place: Place }> {
  const world = await createWorld({ database: await createDumpable(), env: keys });
  return { world, admin: await world.staff("admin"), place: { dataDir: world.dataDir, url: world.databaseUrl } };
}

/** A place where nothing is yet. */
export async function createEmptyPlace(): Promise<Place> {
  const folder = await mkdtemp(join(inject("directory"), "restored-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  await mkdir(join(folder, "data"));
  if (inject("dialect") === "sqlite") return { dataDir: join(folder, "data"), url: `file:${join(folder, "data", "provost.db")}` };
  const { url, remove } = await createDumpable();
  onTestFinished(remove);
  return { dataDir: join(folder, "data"), url };
}

/** Add a file of evidence to a new record. @returns its hash, and the address of the piece */
export async function addEvidence(world: World, actor: User, bytes = randomBytes(20_000)): Promise<{ sha256: string; id: string }> {
  const path = await listSomebody(world, actor);
  const { status, body } = await upload(world, `${path}/evidence`, { actor, bytes });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return { sha256: hash("sha256", bytes), id: body.data.id as string };
}

export interface Acknowledged {
  /** What was acknowledged: the number of a record, or the hash of a file of evidence. */
  what: string;
  at: number;
}

/**
 * Write until told to stop: records, some with files of evidence.
 * @param pauseMs how long each of five clients waits between two writes
 */
export function startLoad(world: World, actor: User, pauseMs = 0) {
  const records: Acknowledged[] = [];
  const files: Acknowledged[] = [];
  const stopping = new AbortController();
  const headers = { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id, "content-type": "application/json" };

  async function record(): Promise<void> {
    while (!stopping.signal.aborted) {
      const body = JSON.stringify({ kind: "user", subject_id: freshId() });
      const answer = await fetch(`${world.url}/blacklist`, { method: "POST", headers, body });
      const { data } = (await answer.json()) as { data: { number: string } };
      records.push({ what: data.number, at: Date.now() });
      if (pauseMs > 0) await delay(pauseMs);
    }
  }
  async function file(): Promise<void> {
    while (!stopping.signal.aborted) {
      files.push({ what: (await addEvidence(world, actor)).sha256, at: Date.now() });
      if (pauseMs > 0) await delay(pauseMs * 10);
    }
  }

  const running = [record(), record(), record(), record(), file()];
  return {
    records,
    files,
    async stop(): Promise<void> {
      stopping.abort();
      await Promise.all(running);
    },
  };
}

/** What is in a place, read from its database and its folder. */
export async function contentOf({ dataDir, url }: Place) {
  const source = await openSource(url);
  try {
    const named = (await evidenceNamed(source)).map(({ sha256 }) => sha256);
    const good = await Promise.all(
      named.map(async (sha256) => {
        const bytes = await readFile(join(dataDir, evidencePath(sha256))).catch(() => undefined);
        return bytes !== undefined && hash("sha256", bytes) === sha256;
      }),
    );
    const names = await source.query("SELECT subject_name AS name FROM blacklist_records WHERE subject_name IS NOT NULL");
    const numbers = (await source.query("SELECT number FROM blacklist_records ORDER BY number")).map(
      ({ number }) => `BL-${String(number).padStart(6, "0")}`,
    );
    const actions = (await source.query("SELECT action FROM audit_entries ORDER BY seq")).map(({ action }) => String(action));
    const erasures = (await source.query("SELECT id FROM erasures ORDER BY id")).map(({ id }) => String(id));
    return {
      dialect: dialectOf(url),
      numbers,
      actions,
      erasures,
      names: names.map(({ name }) => String(name)),
      evidence: named,
      broken: named.filter((_, index) => !good[index]),
    };
  } finally {
    await source.close();
  }
}
