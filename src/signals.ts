/** Told again within this time, a process was told once: a terminal tells npm and the program, and npm passes it on. */
const echoMs = 1000;

/**
 * Do something when somebody ends this process: a supervisor by SIGTERM, a terminal by SIGINT.
 * @param stop called once; whoever tells the process again, later than an echo comes, does not want to wait and ends it
 */
export function onStop(stop: (signal: NodeJS.Signals) => void): void {
  let toldAt: number | undefined;
  const take = (signal: NodeJS.Signals): void => {
    if (toldAt !== undefined && performance.now() - toldAt > echoMs) process.exit(1);
    if (toldAt !== undefined) return;
    toldAt = performance.now();
    stop(signal);
  };
  process.on("SIGTERM", take);
  process.on("SIGINT", take);
}
