import { Client, GatewayIntentBits, Partials } from "discord.js";
import type { ClientOptions } from "discord.js";
import { onTestFinished } from "vitest";
import { createSandbox } from "../../src/sandbox/index.ts";
import type { Sandbox, SandboxOptions } from "../../src/sandbox/index.ts";

/** A sandbox that stops with the test. */
export async function startSandbox(options: SandboxOptions = {}): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  onTestFinished(() => sandbox.stop());
  return sandbox;
}

const usualIntents = [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers, GatewayIntentBits.GuildModeration];

/** A discord.js client set up for the sandbox, not yet logged in; it is destroyed with the test. */
export function createBot(sandbox: Sandbox, options: Partial<ClientOptions> = {}): Client {
  const client = new Client({
    intents: usualIntents,
    partials: [Partials.GuildMember, Partials.User],
    ...options,
    rest: { api: sandbox.apiBase, timeout: 5000, ...options.rest },
  });
  client.on("error", () => undefined);
  onTestFinished(() => client.destroy());
  return client;
}

/** A client that is logged in and ready. */
export async function startBot(sandbox: Sandbox, options: Partial<ClientOptions> = {}): Promise<Client<true>> {
  const client = createBot(sandbox, options);
  const ready = new Promise<Client<true>>((resolve) => client.once("clientReady", resolve));
  await client.login(sandbox.env().DISCORD_TOKEN);
  return ready;
}

/** A plain call to the sandbox's REST API as the bot, past any client library. */
export async function callApi(sandbox: Sandbox, method: string, path: string, body?: unknown) {
  const response = await fetch(`${sandbox.apiBase}/v10${path}`, {
    method,
    headers: {
      Authorization: `Bot ${sandbox.env().DISCORD_TOKEN}`,
      ...(body !== undefined && { "Content-Type": "application/json" }),
    },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: (text === "" ? null : JSON.parse(text)) as unknown };
}
