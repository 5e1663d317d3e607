import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { randomBytes } from "node:crypto";
import { GatewayIntentBits } from "discord.js";
import { createApp } from "../../src/app.ts";
import { createProvostClient, ProvostError, type ClientOptions, type ProvostClient } from "../../client/index.ts";
import { readConfig } from "../../src/config/config.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createSandbox, type Sandbox } from "../index.ts";

/** The sandbox, the service and a key, with a transcript of everything asked. */
export interface Stage {
  sandbox: Sandbox;
  key: string;
  url: string;
  client: ProvostClient;
  /** The client in the name of a person. */
  as(person: { id: string }): ProvostClient;
  /** A client that leaves no line in the transcript. */
  quiet: ProvostClient;
  /** Fail the demo unless a call is refused with this status. @returns the refusal */
  refused(status: number, call: Promise<unknown>): Promise<ProvostError>;
  /** Print a finding and fail the demo when it is not true. */
  check(finding: string, isTrue: boolean): void;
  say(line: string): void;
  /** Ask until `isReady`, at most `ms`; answers how long it took. */
  until(isReady: () => Promise<boolean>, ms: number, what: string): Promise<number>;
  close(): Promise<void>;
}

/**
 * @param members how many further members the first guild gets
 * @param ackDeadlineMs how long Discord waits for the first answer to an interaction; its usual three seconds by default
 */
export async function createStage(say: (line: string) => void, members: number, ackDeadlineMs?: number): Promise<Stage> {
  /** What ends each thing that was begun, also where the next one does not begin. */
  const ends: (() => Promise<unknown>)[] = [];
  const close = async (): Promise<void> => {
    for (const end of ends.splice(0).toReversed()) await end();
  };
  try {
    const folder = await mkdtemp(join(tmpdir(), "provost-demo-"));
    ends.push(() => rm(folder, { recursive: true, force: true }));
    const sandbox = await createSandbox({ seed: "small", ...(ackDeadlineMs !== undefined && { ackDeadlineMs }) });
    ends.push(() => sandbox.stop());
    const { harbour, quarry } = sandbox.seeded.guilds;
    // It is blacklisted later: no server of the community.
    quarry.removeBot();
    harbour.allowCommands(Object.values(sandbox.seeded.roles));
    sandbox.setPrivilegedIntents(GatewayIntentBits.GuildMembers | GatewayIntentBits.MessageContent);
    if (members > 0) harbour.addMembers(members);
    const app = await createApp({ ...demoConfig(sandbox, folder), logTo: { write: () => undefined } });
    ends.push(() => app.stop());
    await app.start();
    const url = app.address();
    sandbox.allowRedirect(`${url}/authorize/callback`);
    const { key } = await app.keys.bootstrap(systemCall("cli", uuid7()), { name: "demo" });
    // What is refused is a part of the play, also where it would pass after a while.
    const options = { baseUrl: url, key, retries: { attempts: 1 } };
    const client = createProvostClient({ ...options, fetch: createTranscript(say) });
    return {
      sandbox,
      key,
      url,
      client,
      as: ({ id }) => client.as(id),
      quiet: createProvostClient(options),
      refused,
      say,
      check: (finding, isTrue) => check(say, finding, isTrue),
      until,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function demoConfig(sandbox: Sandbox, folder: string) {
  const { guilds, users } = sandbox.seeded;
  const reading = readConfig({
    ...sandbox.env(),
    GUILD_IDS: [guilds.harbour.id, guilds.lighthouse.id].join(),
    OWNER_IDS: users.olivia.id,
    // Inside the folder, as the copy of the journal of deletions stands beside it.
    DATA_DIR: join(folder, "data"),
    PORT: "0",
    LOG_LEVEL: "silent",
    SECRET_KEY: randomBytes(32).toString("base64"),
    ENCRYPTION_KEYS: `demo:${randomBytes(32).toString("base64")}`,
  });
  if (!reading.ok) throw new Error(reading.lines.join("\n"));
  return reading;
}

/** A line for what is asked, and one for what is answered. */
function createTranscript(say: (line: string) => void): NonNullable<ClientOptions["fetch"]> {
  return async (url, init) => {
    const started = performance.now();
    const response = await fetch(url, init);
    const text = await response.text();
    const took = (performance.now() - started).toFixed(1);
    const { body } = init;
    say(
      `   > ${init.method ?? "GET"} ${url.pathname}${url.search}${body instanceof Uint8Array ? ` ${short(new TextDecoder().decode(body))}` : ""}`,
    );
    say(`   < ${response.status.toString()} in ${took} ms  ${short(text)}`);
    if (response.status === 202) throw new Error(`${url.pathname} waits for a confirmation, as nothing in the demo should: ${text}`);
    return new Response(text, response);
  };
}

async function refused(status: number, call: Promise<unknown>): Promise<ProvostError> {
  const refusal = await call.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (refusal instanceof ProvostError && refusal.status === status) return refusal;
  throw new Error(`a call should have been refused with ${status.toString()}`, { cause: refusal });
}

function check(say: (line: string) => void, finding: string, isTrue: boolean): void {
  say(`   ${isTrue ? "ok" : "NOT TRUE"}: ${finding}`);
  if (!isTrue) throw new Error(`not true: ${finding}`);
}

async function until(isReady: () => Promise<boolean>, ms: number, what: string): Promise<number> {
  const started = performance.now();
  while (!(await isReady())) {
    if (performance.now() - started > ms) throw new Error(`waited ${ms.toString()} ms in vain for ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return performance.now() - started;
}

function short(text: string): string {
  return text.length > 220 ? `${text.slice(0, 200)}… (${text.length.toString()} characters)` : text;
}
