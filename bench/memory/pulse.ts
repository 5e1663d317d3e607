import { setTimeout as wait } from "node:timers/promises";

// In a process of its own, since the one that plays Discord is busy itself: `pulse.ts <address>` asks again and again, and
// answers each message with the milliseconds since the one before.
const [, , address = ""] = process.argv;
const everyMs = 25;
let times: number[] = [];
process.on("message", () => {
  process.send?.(times);
  times = [];
});

while (process.connected) {
  const before = performance.now();
  await (await fetch(address)).arrayBuffer();
  times.push(performance.now() - before);
  await wait(everyMs);
}
