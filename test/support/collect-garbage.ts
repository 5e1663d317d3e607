import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");

/** Have V8 collect, at once, what nothing holds any more. */
export const collectGarbage = runInNewContext("gc") as () => void;
