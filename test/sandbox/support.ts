import { Client, GatewayIntentBits, Partials, type ClientOptions } from "discord.js";
import { onTestFinished } from "vitest";
import { createSandbox, type Sandbox, type SandboxOptions } from "../../sandbox/index.ts";
import { startsAtOnce } from "../support/pauses.ts";

/** A sandbox that stops with the test; one that runs beside others brings its own `onEnd`. */
export async function startSandbox(options: SandboxOptions = {}, onEnd = onTestFinished): Promise<Sandbox> {
  const sandbox = await createSandbox(options);
  onEnd(() => sandbox.stop());
  return sandbox;
}

const usualIntents = [GatewayIntentBits.Guilds, GatewayIntentBits.GuildMembers, GatewayIntentBits.GuildModeration];

/** A discord.js client set up for the sandbox, not yet logged in; it is destroyed with the test. */
export function createBot(sandbox: Sandbox, options: Partial<ClientOptions> = {}, onEnd = onTestFinished): Client {
  const client = new Client({
    intents: usualIntents,
    partials: [Partials.GuildMember, Partials.User],
    ...options,
    rest: { api: sandbox.apiBase, timeout: 5000, ...options.rest },
    // The library's own keeps two session starts five seconds apart.
    ws: { buildIdentifyThrottler: () => Promise.resolve(startsAtOnce(1)) },
  });
  client.on("error", () => undefined);
  onEnd(() => client.destroy());
  return client;
}

/** A client that is logged in and ready. */
export async function startBot(sandbox: Sandbox, options: Partial<ClientOptions> = {}, onEnd = onTestFinished): Promise<Client<true>> {
  const client = createBot(sandbox, options, onEnd);
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
