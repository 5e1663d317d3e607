// @module-tag both
// @module-tag slow
import fc from "fast-check";
import { expect, test } from "vitest";
import { isStorableText } from "../../src/kernel/storable.ts";
import { createWorld, type World } from "../support/world.ts";
import type { User } from "../../sandbox/index.ts";
import { fitting, oneOf } from "../contract/fuzz/values.ts";
import { freshId, type Schema } from "../contract/document.ts";
import { staffAtConsole } from "../contract/world.ts";
import { hostileRuns } from "../support/size.ts";
import { bytesOf, hostileTextsOf, maybeSpoiled, spoiledText } from "./hostile-values.ts";
import { createWatch, type Watch } from "./watch.ts";

const ids = fc.nat().map(freshId);
const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18" };

async function createScene(watch: Watch) {
  const world = await createWorld({ env: { MCP: "on", LOG_LEVEL: "warn" }, log: watch.log });
  const admin = await staffAtConsole(world, "owner");
  /** What a client sends, whatever it is. @returns the messages that are answered */
  async function send(bytes: Buffer, more: Record<string, string> = {}): Promise<any[]> {
    const answer = await fetch(`${world.url}/mcp`, {
      method: "POST",
      headers: { ...headers, authorization: `Bearer ${world.key}`, "x-acting-user": admin.id, ...more },
      body: new Uint8Array(bytes),
    });
    const text = await answer.text();
    const isEvents = answer.headers.get("content-type")?.startsWith("text/event-stream") === true;
    const said = isEvents
      ? text.split("\n").flatMap((line) => (line.startsWith("data: {") ? [JSON.parse(line.slice(6))] : []))
      : text === ""
        ? []
        : [JSON.parse(text)].flat();
    // The id is the client's own, and is given back as it was.
    watch.check({ status: answer.status, headers: answer.headers, body: said.map(({ id: _, ...one }) => one) }, "mcp");
    for (const one of said) {
      if ((one?.error?.code === -32_603 && !isRefusal(one.error.message)) || one?.result?.structuredContent?.code === "internal_error")
        watch.fault(`failed: ${JSON.stringify(one).slice(0, 500)} after ${bytes.toString().slice(0, 500)}`);
    }
    return said;
  }
  return { world, admin, send };
}
type Scene = Awaited<ReturnType<typeof createScene>>;

/** The library's own word for a handshake whose fields are wrong: it names them, and calls that its failure. */
const isRefusal = (text: string): boolean => /^\[\s*\{\s*"(expected|origin|code|values)"/.test(text);

async function toolsOf({ send }: Pick<Scene, "send">): Promise<{ name: string; inputSchema: Schema }[]> {
  const [answer] = await send(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/list" })));
  return answer.result.tools;
}

const methods = oneOf(
  "initialize",
  "ping",
  "tools/list",
  "tools/call",
  "resources/list",
  "prompts/get",
  "notifications/initialized",
  "notifications/cancelled",
  "completion/complete",
  "logging/setLevel",
  "tools/",
  "__proto__",
  "server/discover",
  "subscriptions/listen",
);
const message = fc.record(
  {
    jsonrpc: fc.constant("2.0"),
    id: fc.oneof(fc.nat(), hostileTextsOf),
    method: methods,
    params: fc.record(
      {
        name: oneOf("getHealth", "listBlacklist", "createCase", "__proto__", "constructor", "toString"),
        arguments: fc.jsonValue({ maxDepth: 4 }),
        protocolVersion: oneOf("2025-06-18", "2024-11-05", "1", "\0"),
        capabilities: fc.constant({}),
        clientInfo: fc.constant({ name: "a", version: "1" }),
        _meta: fc.jsonValue({ maxDepth: 2 }),
      },
      { requiredKeys: [] },
    ),
  },
  { requiredKeys: ["jsonrpc", "method"] },
);

test(
  "whatever an AI client sends as a message, it is answered or refused, and others are answered meanwhile",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch();
    const { world, admin, send } = await createScene(watch);
    const messages = fc.oneof(
      { weight: 2, arbitrary: maybeSpoiled(message).map((one) => JSON.stringify(one) ?? "") },
      { weight: 1, arbitrary: fc.array(maybeSpoiled(message), { maxLength: 20 }).map((batch) => JSON.stringify(batch)) },
      {
        weight: 1,
        arbitrary: fc.tuple(message, fc.constantFrom(2, 100, 3000)).map(([one, times]) => {
          const text = JSON.stringify(one);
          const fitting = Math.min(times, 1 + Math.ceil(250_000 / text.length));
          return `[${Array(fitting).fill(text).join(",").slice(0, 250_000)}]`;
        }),
      },
      { weight: 1, arbitrary: spoiledText(message.map((one) => JSON.stringify(one))) },
    );
    const heads = fc.oneof(
      { weight: 4, arbitrary: fc.constant({}) },
      {
        weight: 1,
        arbitrary: fc.constantFrom<Record<string, string>[]>(
          { "mcp-protocol-version": "1" },
          { "mcp-protocol-version": "2026-07-28" },
          { "mcp-session-id": "x" },
          { accept: "text/html" },
          { "last-event-id": "-1" },
          { "mcp-method": "tools/call", "mcp-name": "a" },
        ),
      },
    );
    const check = fc.asyncProperty(fc.array(fc.tuple(bytesOf(messages), heads), { minLength: 6, maxLength: 6 }), async (all) => {
      await watch.beside(world, admin, async () => {
        for (const [bytes, more] of all) await send(bytes, more);
      });
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(60), endOnFailure: true });
  },
);

test(
  "whatever an AI client calls a tool with, nothing fails, and what waits for a word can be read and declined in Discord",
  { timeout: 36_000_000 },
  async () => {
    const watch = createWatch();
    const { world, admin, send } = await createScene(watch);
    const tools = await toolsOf({ send });
    expect(tools.length).toBeGreaterThan(100);
    const held: string[] = [];
    const call = (name: string, args: unknown) =>
      send(Buffer.from(JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name, arguments: args } }) ?? ""));
    let [turn, taken] = [0, 0];
    const perRun = 10;
    const check = fc.asyncProperty(fc.array(fc.nat(), { minLength: perRun, maxLength: perRun }), async (seeds) => {
      // Each tool has its turn; what it is called with is made of its own schema.
      const calls = seeds.map((seed) => {
        const tool = tools[(turn += 1) % tools.length]!;
        const arbitrary = maybeSpoiled(fitting(tool.inputSchema, ids));
        return { name: tool.name, args: fc.sample(arbitrary, { seed, numRuns: 1 })[0] };
      });
      await watch.beside(world, admin, async () => {
        for (const { name, args } of calls) {
          const [answer] = await call(name, args);
          if (answer?.result?.isError !== true) taken += 1;
          const code: unknown = answer?.result?.structuredContent?.data?.code;
          if (answer?.result?.structuredContent?.code === "confirmation_required" && typeof code === "string") held.push(code);
        }
      });
      for (const code of held.splice(0)) await decideInDiscord(world, admin, code, watch);
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(check, { numRuns: hostileRuns(80), endOnFailure: true });
    console.info("tools:", { called: turn, taken });
    expect(taken).toBeGreaterThan(0);

    // Held with whatever a body of text can say: it is shown as it will be done.
    const texts = fc.asyncProperty(hostileTextsOf, hostileTextsOf, async (title, summary) => {
      const [answer] = await call("createCase", { body: { title, summary, subjects: [{ kind: "user", id: freshId() }] } });
      const code: unknown = answer?.result?.structuredContent?.data?.code;
      if (typeof code === "string") await decideInDiscord(world, admin, code, watch);
      expect(watch.found()).toEqual([]);
    });
    await fc.assert(texts, { numRuns: hostileRuns(40), endOnFailure: true });
    expect(await world.app.database.read.case.count()).toBe(0);
  },
);

/** Their person reads what waits, and says no. */
async function decideInDiscord(world: World, admin: User, code: string, watch: Watch): Promise<void> {
  const run = await world.sandbox.as(admin).in(world.guild).runSlashCommand("confirm show", { code });
  const { content } = await run.reply();
  if (!isStorableText(content) || content.length > 2000) watch.fault(`shown: ${content.slice(0, 500)}`);
  if (/internal_error|went wrong/.test(content)) watch.fault(`confirm show failed: ${content.slice(0, 500)}`);
  const declined = await world.slash(admin, "confirm decline", { code });
  if (!declined.includes("Declined")) watch.fault(`confirm decline: ${declined.slice(0, 500)}`);
}
