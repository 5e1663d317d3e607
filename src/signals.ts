import { isRunByNpx } from "./config/npx.ts";

/** A second signal within this time is the first one again: a terminal sends it to npm and to the program, and npm passes it on. */
const echoMs = 1000;
/** How often it is looked whether npx is still there. npm itself leaves half a second after the shell in between. */
const parentMs = 50;

/** The process that started this one. When it ends, another process becomes the parent. */
const parent = process.ppid;

/**
 * Do something when somebody ends this process: a supervisor by SIGTERM, a terminal by SIGINT, or either by ending npx, which runs it.
 * @param stop called once; a signal that comes later than an echo ends the process without waiting
 */
export function onStop(stop: (signal: NodeJS.Signals) => void): void {
  let signalledAt: number | undefined;
  const take = (signal: NodeJS.Signals): void => {
    if (signalledAt !== undefined && performance.now() - signalledAt > echoMs) process.exit(1);
    if (signalledAt !== undefined) return;
    signalledAt = performance.now();
    stop(signal);
  };
  process.on("SIGTERM", take);
  process.on("SIGINT", take);
  // npx passes SIGTERM on to the shell in between, which ends without a word to the program.
  if (!isRunByNpx()) return;
  const watch = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(watch);
    if (signalledAt === undefined) take("SIGTERM");
  }, parentMs).unref();
}
