import { setFlagsFromString } from "node:v8";

/**
 * From now on. By itself V8 lets garbage grow to several times what is alive before it collects; on a small machine that memory is better
 * spent on the database. While the service is loaded there is little garbage, and to look for it takes a sixth of the start.
 * What was measured: docs/decisions/0002-http.md.
 */
export function boundHeap(): void {
  setFlagsFromString("--heap-growing-percent=20");
}
