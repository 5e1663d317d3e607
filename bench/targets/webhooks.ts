import { setTimeout as delay } from "node:timers/promises";
import type { App } from "../../src/app.ts";
import { systemCall } from "../../src/kernel/call.ts";
import { createSandbox } from "../../sandbox/index.ts";
import type { Target } from "../target.ts";
import { openApp, unlimited } from "./app.ts";

let app: App;
let ownerId = "";
let stopService = async (): Promise<void> => undefined;
const job = () => systemCall("job", "bench");
const keys: string[] = [];
const hooksPerKey = 20;
let hooks = 0;

async function ask(method: string, path: string, body: object, key = keys[0] ?? ""): Promise<{ id: string }> {
  const headers = { Authorization: `Bearer ${key}`, "X-Acting-User": ownerId, "Content-Type": "application/json" };
  const answer = await fetch(`${app.address()}${path}`, { method, headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(await answer.text());
  return ((await answer.json()) as { data: { id: string } }).data;
}

/** The whole service, which writes events and tells receivers of them. */
export const webhooks: Target = {
  request: { paths: [], headers: {} },
  async start() {
    const sandbox = await createSandbox({ seed: "small", record: false });
    ownerId = sandbox.seeded.users.olivia.id;
    const opened = await openApp(sandbox, ownerId, { ...unlimited, WEBHOOK_ALLOW_PRIVATE: "127.0.0.1" });
    app = opened.app;
    stopService = opened.stop;
    await app.start();
    await sandbox.waitFor(() => !app.guildState.freshness().stale);
    return Number(new URL(app.address()).port);
  },
  stop: async () => stopService(),
  tasks: {
    /** Make a web-hook that is paused; answers its id. */
    async hook({ url, type }: { url: string; type: string }): Promise<string> {
      if (hooks % hooksPerKey === 0)
        keys.push((await app.keys.bootstrap(systemCall("cli", "bench"), { name: `bench ${hooks.toString()}` })).key);
      hooks += 1;
      const { id } = await ask("POST", "/webhooks", { name: url, url, types: [type] }, keys.at(-1));
      await ask("PATCH", `/webhooks/${id}`, { state: "paused" }, keys.at(-1));
      return id;
    },
    async set({ ids, state }: { ids: readonly string[]; state: "active" | "paused" }): Promise<void> {
      for (const id of ids) await ask("PATCH", `/webhooks/${id}`, { state });
    },
    /** Commit one event after the other at a steady pace. @returns when each was committed, in milliseconds of the machine */
    async emit({ count, everyMs }: { count: number; everyMs: number }): Promise<number[]> {
      const committed: number[] = [];
      const began = performance.now();
      for (let n = 0; n < count; n += 1) {
        await delay(Math.max(0, began + n * everyMs - performance.now()));
        await app.database.write(job(), (tx) => {
          app.events.emit(tx, { type: "owner.changed", data: { n } });
          tx.afterCommit(() => void committed.push(performance.timeOrigin + performance.now()));
          return Promise.resolve();
        });
      }
      return committed;
    },
    /** Commit many events of another type, a hundred at a time. */
    async fill(count: number): Promise<void> {
      for (let n = 0; n < count; n += 100)
        await app.database.write(job(), (tx) => {
          for (let one = 0; one < 100; one += 1) app.events.emit(tx, { type: "roster.drift", data: { n: n + one } });
          return Promise.resolve();
        });
    },
  },
};
