/**
 * Loaded into a program that is measured, before it starts: tells its parent what it costs, as a host does, and ends with it. JavaScript,
 * as what makes Node read TypeScript takes 50 MB.
 */
const patienceMs = 10_000;

/** @type {Record<string, () => unknown>} */
const tasks = { cpu: () => process.cpuUsage(), memory: () => Math.round(process.memoryUsage.rss() / 1e6) };

process.on("message", (/** @type {{ task: string }} */ { task }) => process.send?.({ answer: tasks[task]?.() }));
process.once("disconnect", () => {
  process.kill(process.pid, "SIGTERM");
  setTimeout(() => process.exit(1), patienceMs).unref();
});
