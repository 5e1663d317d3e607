import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

/** The limit is computed by a collection, and this one is not to hold up the first answers. */
const collectAfterMs = 1000;

/**
 * From now on. By itself V8 lets garbage grow to several times what is alive before it collects; on a small machine that memory is better
 * spent on the database. While the service is loaded there is little garbage, and to look for it takes a sixth of the start.
 * The limit that V8 set before stays until it collects the next time, at up to four times what was alive then, so it is asked to once.
 * What was measured: docs/decisions/0002-http.md.
 */
export function boundHeap(): void {
  setFlagsFromString("--heap-growing-percent=30");
  setTimeout(collectGarbage, collectAfterMs).unref();
}

/** Have V8 collect, at once, what nothing holds any more. */
export function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  setFlagsFromString("--no-expose-gc");
  collect();
}
