import fc from "fast-check";
import { seedOf } from "./size.ts";

/** Properties try the same cases in each run of the quick tier and of all, so that a change alone turns a test red; the long tier looks for new ones. */
fc.configureGlobal({ seed: seedOf(20_261_122) });
