/** A second signal within this time is the first one again: a terminal sends it to npm and to the program, and npm passes it on. */
const echoMs = 1000;

/**
 * Do something when somebody ends this process: a supervisor by SIGTERM, a terminal by SIGINT.
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
}
