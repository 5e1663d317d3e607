// @module-tag sqlite
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { startServiceProcess } from "../support/service-process.ts";

/** Have a process stand still, by its debugger: nothing in it is made for that. */
async function stall(address: string, ms: number): Promise<void> {
  const debug = new WebSocket(address);
  onTestFinished(() => debug.terminate());
  await new Promise((resolve) => debug.once("open", resolve));
  // A process does not end while somebody debugs it.
  debug.once("message", () => debug.terminate());
  const expression = `Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ${ms.toString()})`;
  debug.send(JSON.stringify({ id: 1, method: "Runtime.evaluate", params: { expression } }));
}

test("a process whose event loop stands still fails its probe, then says so and fails it for half a minute, then recovers", async () => {
  const service = await startServiceProcess({}, ["--inspect=127.0.0.1:0"]);
  const probe = async (ms: number): Promise<number | "no answer"> => {
    try {
      return (await fetch(`${service.url}/livez`, { signal: AbortSignal.timeout(ms) })).status;
    } catch {
      return "no answer";
    }
  };
  const [, address = ""] = /Debugger listening on (ws:\S+)/.exec(service.printed()) ?? [];
  expect(await probe(5000)).toBe(200);
  await stall(address, 12_000);
  await delay(500);
  expect(await probe(5000)).toBe("no answer");
  // This one waits in the socket: it is read when the time in which it should have been sent is over.
  expect(await probe(30_000)).not.toBe(200);
  expect(await probe(5000)).toBe(503);
  const since = performance.now();
  await expect.poll(service.printed).toMatch(/"level":50,.*"seconds":1\d,"msg":"the event loop stood still, /);
  while (performance.now() - since < 25_000) {
    expect(await probe(5000)).toBe(503);
    await delay(5000);
  }
  await expect.poll(() => probe(5000), { interval: 1000 }).toBe(200);
  expect(await service.stop()).toBe(0);
});
