import { setFlagsFromString } from "node:v8";

// Before anything else is loaded. By itself V8 lets garbage grow to several times what is alive before it collects; on a small machine that
// memory is better spent on the database. What was measured: docs/decisions/0002-http.md.
setFlagsFromString("--heap-growing-percent=20");
