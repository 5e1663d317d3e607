import "./umask.ts";

// Loaded once the mask is set: in a build, what a file imports is loaded before its own first line.
const { serve } = await import("./server.ts");
await serve(process.argv.slice(2));
