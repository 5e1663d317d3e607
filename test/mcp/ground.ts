import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { onTestFinished } from "vitest";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

interface Connecting {
  key?: string;
  /** Further headers of each request. */
  headers?: Record<string, string>;
  /** The revision that is spoken: by default the one of 2025 that begins with a handshake. */
  speaks?: "2026-07-28";
}

/** The SDK's own client, as a program of AI has it, speaking for a person. */
export async function connect(
  world: World,
  actor: User | string | null,
  { key = world.key, headers = {}, speaks }: Connecting = {},
): Promise<Client> {
  const id = typeof actor === "object" ? actor?.id : actor;
  const sent = { authorization: `Bearer ${key}`, ...(id !== undefined && { "x-acting-user": id }), ...headers };
  const client = new Client({ name: "test", version: "1" }, speaks === undefined ? {} : { versionNegotiation: { mode: { pin: speaks } } });
  await client.connect(new StreamableHTTPClientTransport(new URL(`${world.url}/mcp`), { requestInit: { headers: sent } }));
  onTestFinished(() => client.close());
  return client;
}

/** What a tool answered, and the text that a model reads. */
export async function use(client: Client, name: string, args: Record<string, unknown> = {}) {
  const { isError = false, structuredContent, content } = await client.callTool({ name, arguments: args });
  const [block] = content;
  return { isError, data: structuredContent as Record<string, any>, text: block?.type === "text" ? block.text : "" };
}
