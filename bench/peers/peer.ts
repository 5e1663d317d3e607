import type { ChildProcess } from "node:child_process";
import { openSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import pg from "pg";
import { freePort } from "../../test/support/free-port.ts";
import type { PostgresServer } from "../../test/support/postgres-server.ts";
import { ask, type createProcesses } from "../processes.ts";
import type { Target } from "../target.ts";
import type { Installed } from "./scratch.ts";

/** What each server is asked, by the name of the operation. */
export const operations = ["read one", "list of 50", "create"] as const;
export type Operation = (typeof operations)[number];

export interface Setting {
  processes: ReturnType<typeof createProcesses>;
  installed: Installed;
  postgres: PostgresServer;
  /** Of this run; removed at its end. */
  folder: string;
}

type Starting = Pick<Setting, "processes" | "folder"> & { installed: Pick<Installed, "node"> };

/** A server that runs. */
export interface Running {
  child: ChildProcess;
  port: number;
  /** Megabytes it held once it was ready. */
  idle: number;
}

/** A server with its records, ready to be measured. */
export interface Peer {
  name: string;
  host: Running;
  requests: Readonly<Record<Operation, Target["request"]>>;
  /** Address of its database. */
  database: string;
  /** Statements that count what is written with a record, by what it is: each has to count as many as there are records. */
  counts: Readonly<Record<string, string>> & { records: string };
  /** Looks at what it has written. @throws Error what is wrong with it */
  verify?(): Promise<void>;
}

const patienceMs = 120_000;
const restMs = 2000;

/** A database of its own for each. @returns its address */
export async function createDatabase({ postgres }: Pick<Setting, "postgres">, name: string): Promise<string> {
  await query(postgres.url("postgres"), `CREATE DATABASE ${name}`);
  return postgres.url(name);
}

/** @returns the rows of the answer */
export async function query(url: string, sql: string): Promise<Record<string, unknown>[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Record<string, unknown>>(sql)).rows;
  } finally {
    await client.end();
  }
}

export interface Start {
  name: string;
  file: string;
  args?: readonly string[];
  flags?: readonly string[];
  cwd: string;
  /** @param port a free one */
  env(port: number): Readonly<Record<string, string>>;
  /** Answers with a success once it is ready. */
  readyPath: string;
}

/** Start a server as it is operated: production, its log written to a file. Waits until it is ready. */
export async function startServer({ processes, installed, folder }: Starting, start: Start): Promise<Running> {
  const port = await freePort();
  const log = join(folder, `${start.name}.log`);
  const child = processes.startProgram({
    file: start.file,
    args: start.args ?? [],
    flags: start.flags ?? [],
    node: installed.node,
    cwd: start.cwd,
    env: { PATH: process.env["PATH"], HOME: process.env["HOME"], NODE_ENV: "production", ...start.env(port) },
    output: openSync(log, "a"),
  });
  const end = performance.now() + patienceMs;
  const isReady = async (): Promise<boolean> => (await fetch(`http://127.0.0.1:${port.toString()}${start.readyPath}`)).ok;
  while (!(await isReady().catch(() => false))) {
    if (child.exitCode !== null || performance.now() > end)
      throw new Error(`${start.name} did not start: ${readFileSync(log, "utf8").slice(-2000)}`);
    await wait(100);
  }
  // What it does once more after its start is no part of its rest.
  await wait(restMs);
  return { child, port, idle: await ask<number>(child, "memory") };
}

/** @throws Error when the answer is not a success */
export async function send<Answer>(
  method: string,
  address: string,
  headers: Readonly<Record<string, string>>,
  body?: unknown,
  type = "application/json",
): Promise<Answer> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const answer = await fetch(address, {
    method,
    headers: { ...headers, ...(body !== undefined && { "Content-Type": type }) },
    ...(body !== undefined && { body: text }),
  });
  const said = await answer.text();
  if (!answer.ok) throw new Error(`${method} ${address}: ${answer.status.toString()} ${said.slice(0, 500)}`);
  return JSON.parse(said === "" ? "null" : said) as Answer;
}
